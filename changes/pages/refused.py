"""A refused statement, for pages."""

from typing import Any

from catalog.text.marking import mark
from changes.ddl.errors import TOO_LONG, DdlError
from changes.ddl.resolve import NothingToDo

STATEMENT_CHARS_MAX = 20_000


def refused(statement: str, refusal: Exception) -> dict[str, Any]:
    """The refusal, and the statement with the word it means marked."""
    position = getattr(refusal, "position", None)
    return {
        "refusal": {
            "is_nothing": isinstance(refusal, NothingToDo),
            "sqlstate": getattr(refusal, "sqlstate", ""),
            "message": str(refusal),
            "hint": getattr(refusal, "hint", None),
        },
        "marked": mark(statement, position),
    }


def check_length(statement: str, most: int = STATEMENT_CHARS_MAX) -> None:
    if len(statement) > most:
        raise DdlError(TOO_LONG, f"a statement of {len(statement)} characters; the limit is {most}")
