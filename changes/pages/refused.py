"""A statement that cannot become a plan, as pages show it: what is wrong, where, and what would be right."""

from typing import Any

from django.utils.translation import gettext

from catalog.text.marking import mark
from catalog.text.sentence import in_other_words
from changes.ddl.errors import TOO_LONG, DdlError
from changes.ddl.resolve import NothingToDo

STATEMENT_CHARS_MAX = 20_000


def refused(statement: str, refusal: Exception) -> dict[str, Any]:
    """The refusal, and the statement with the word that it means."""
    position, hint = getattr(refusal, "position", None), getattr(refusal, "hint", None)
    return {
        "refusal": {
            "is_nothing": isinstance(refusal, NothingToDo),
            "sqlstate": getattr(refusal, "sqlstate", ""),
            "message": in_other_words(getattr(refusal, "message", str(refusal)), gettext),
            "hint": None if hint is None else in_other_words(hint, gettext),
        },
        "marked": mark(statement, position),
    }


def check_length(statement: str, most: int = STATEMENT_CHARS_MAX) -> None:
    """Raises `DdlError` for a statement that is longer than a page takes."""
    if len(statement) > most:
        raise DdlError(TOO_LONG, f"a statement of {len(statement)} characters; the limit is {most}")
