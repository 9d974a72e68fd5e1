"""Errors of values, with PostgreSQL's codes."""


class BadValue(ValueError):
    """Not a value of its type; `sqlstate` and `detail` are PostgreSQL's."""

    sqlstate = "22000"

    def __init__(self, message: str, sqlstate: str = "", detail: str | None = None) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate or self.sqlstate
        self.detail = detail


class InvalidText(BadValue):
    sqlstate = "22P02"


class InvalidDatetime(BadValue):
    sqlstate = "22007"


class NumberOutOfRange(BadValue):
    sqlstate = "22003"


class DatetimeOutOfRange(BadValue):
    sqlstate = "22008"


class TooLong(BadValue):
    sqlstate = "22001"


class TooManyDigits(BadValue):
    sqlstate = "54000"


class Malformed(ValueError):
    """Bytes that are no stored value."""
