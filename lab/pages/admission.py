"""Admission to the lab, noted beside each address in `lab/urls.py` and `lab/pages/urls.py`. Most pages have no guard: a
visitor's progress is kept in the browser's session and taken over at sign-in, and all visitors together have one place
in the queue of questions (`lab.services`). Courses are for teachers."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib import messages
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from lab.classroom.selectors import MAY_TEACH, has_lost_course
from lab.classroom.services import step_out

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def for_teachers(view: View[P]) -> View[P]:
    @wraps(view)
    def admitted(request: HttpRequest, *arguments: P.args, **named: P.kwargs) -> HttpResponse:
        if request.user.has_perm(MAY_TEACH):
            return view(request, *arguments, **named)
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.get_full_path())

    return admitted


def for_teachers_open_page(view: View[P]) -> View[P]:
    """A view of what an open page of theirs asks for: a person who may not see it any more loads that page again."""

    @wraps(view)
    def admitted(request: HttpRequest, *arguments: P.args, **named: P.kwargs) -> HttpResponse:
        if request.user.has_perm(MAY_TEACH):
            return view(request, *arguments, **named)
        return HttpResponse(status=403)

    return admitted


def while_the_course_exists(view: View[P]) -> View[P]:
    """A view of a learner's work. Its course may be deleted while they work: then they read so, and nothing is stored
    elsewhere instead."""

    @wraps(view)
    def admitted(request: HttpRequest, *arguments: P.args, **named: P.kwargs) -> HttpResponse:
        if not has_lost_course(request):
            try:
                return view(request, *arguments, **named)
            except IntegrityError:  # deleted since the request came
                del request.lab_member  # type: ignore[attr-defined]
                if not has_lost_course(request):
                    raise
        step_out(request.session)
        messages.warning(
            request,
            _("Your course was deleted, or your teacher removed you from it. From now on you work on your own."),
        )
        return redirect("lab")

    return admitted
