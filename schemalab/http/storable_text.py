"""Refuses requests with text that cannot be stored. JSON is checked where it is read; SQL has its own error for NUL."""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, QueryDict

from catalog.text.storable import is_storable

SQL = "statement"


def refuse_what_cannot_be_stored(
    respond: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: 400 for such a request."""

    def checked(request: HttpRequest) -> HttpResponse:
        fields = (request.GET, request.POST if request.method == "POST" else QueryDict())
        texts = [[request.path], *(those for all_of in fields for name, those in all_of.lists() if name != SQL)]
        if not is_storable(texts):
            raise BadRequest("a zero byte, or half of a character, is no text")
        return respond(request)

    return checked
