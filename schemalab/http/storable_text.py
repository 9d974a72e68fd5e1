"""A request whose path, query or form has a text that cannot be stored is refused before any view sees it.

JSON is looked at where it is read. A statement of SQL is let through: whoever reads it says where in it NUL stands.
"""

from collections.abc import Callable

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, QueryDict

from catalog.text.storable import is_storable

SQL = "statement"
"""The field that SQL is written in."""


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
