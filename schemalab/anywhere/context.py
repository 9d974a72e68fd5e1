"""Requests and templates there: nobody signs in, and pages leave out all that leads to a cluster."""

from collections.abc import Callable

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse


def nobody_signs_in(respond: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware in the place of Django's own, which loads pages and forms to sign in."""

    def answered(request: HttpRequest) -> HttpResponse:
        request.user = AnonymousUser()
        return respond(request)

    return answered


def anywhere(request: HttpRequest) -> dict[str, bool]:
    return {"is_anywhere": True}
