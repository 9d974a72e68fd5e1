"""Admission to the lab, noted beside each address in `lab/urls.py` and `lab/pages/urls.py`. Most pages have no guard: a
visitor's progress is kept in the browser's session and taken over at sign-in, and all visitors together have one place
in the queue of questions (`lab.services`). Courses are for teachers."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from lab.classroom.selectors import MAY_TEACH

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
