"""Errors in statements: SQLSTATE, sentence, position in characters from 1 (psql's caret), and what would be right
(X5)."""

from __future__ import annotations

from catalog.text.mistakes import in_words
from changes.ddl.actions import CreateTable

SYNTAX_ERROR = "42601"
NOT_SUPPORTED = "0A000"
UNDEFINED_TABLE = "42P01"
UNDEFINED_COLUMN = "42703"
UNDEFINED_OBJECT = "42704"
UNDEFINED_SCHEMA = "3F000"
DUPLICATE_TABLE = "42P07"
DUPLICATE_COLUMN = "42701"
DUPLICATE_OBJECT = "42710"
INVALID_TABLE_DEFINITION = "42P16"
DATATYPE_MISMATCH = "42804"
INVALID_FOREIGN_KEY = "42830"
DEPENDENT_OBJECTS = "2BP01"
WRONG_OBJECT_TYPE = "42809"
NOT_READY = "55000"
INVALID_PARAMETER = "22023"
TOO_LONG = "54000"
INTERNAL_ERROR = "XX000"


TOO_MANY_COLUMNS = "54011"

COLUMNS_MAX = 1600
KEY_COLUMNS_MAX = 32


class DdlError(Exception):
    """A statement that cannot become a change. `position` counts characters from 1, or is None."""

    def __init__(self, sqlstate: str, message: str, *, position: int | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.message = message
        self.position = position
        self.hint = hint

    def to_json(self) -> dict[str, str | int | None]:
        return {"sqlstate": self.sqlstate, "message": self.message, "position": self.position, "hint": self.hint}


def check_has_key(action: CreateTable) -> None:
    """Refuses a table of the lab without a primary key (42P16), since the lab names rows by their keys."""
    if action.primary_key:
        return
    hint = "Write PRIMARY KEY behind a column, or PRIMARY KEY (a, b) as an element of its own."
    message = f'table "{action.table}" needs a primary key'
    raise DdlError(INVALID_TABLE_DEFINITION, message, position=action.table.position, hint=hint)


def unsupported(what: str, *, position: int | None = None, hint: str | None = None) -> DdlError:
    return DdlError(NOT_SUPPORTED, f"{what} is not supported yet", position=position, hint=hint)


def check_width(columns: int, position: int | None) -> None:
    if columns > COLUMNS_MAX:
        raise DdlError(TOO_MANY_COLUMNS, f"tables can have at most {COLUMNS_MAX} columns", position=position)


def check_key_width(columns: int, position: int | None, what: str = "columns in an index") -> None:
    if columns > KEY_COLUMNS_MAX:
        raise DdlError(TOO_MANY_COLUMNS, f"cannot use more than {KEY_COLUMNS_MAX} {what}", position=position)


def unforeseen(mistake: Exception) -> DdlError:
    message = f"the change could not be planned: {in_words(mistake)}"
    hint = "This is a mistake in Schema Lab; the worker's log has all of it. Nothing was changed."
    return DdlError(INTERNAL_ERROR, message, hint=hint)
