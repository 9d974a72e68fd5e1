"""The lab is for people with an account, and for learners who have come by the invite link of a course."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse

from lab.classroom.selectors import member_of

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def for_learners(view: View[P]) -> View[P]:
    """A view that others are sent away from, to sign in."""

    @wraps(view)
    def admitted(request: HttpRequest, *arguments: P.args, **named: P.kwargs) -> HttpResponse:
        if request.user.is_authenticated or member_of(request.session) is not None:
            return view(request, *arguments, **named)
        return redirect_to_login(request.get_full_path())

    return admitted
