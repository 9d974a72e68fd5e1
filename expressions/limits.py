"""Limits of a value: in one place for what is computed here, by the query engine, and stored.

PostgreSQL lets a value grow to 1 GB. A node holds many rows of many clients at once, so a value has `VALUE_BYTES_MAX`
at most, and what would be longer is refused before its memory is taken.
"""

from expressions.errors import PROGRAM_LIMIT, SqlError

VALUE_BYTES_MAX = 2**20
TOO_LONG = f"a value may have at most {VALUE_BYTES_MAX} bytes"
GROWN_BYTES_MAX = 2**17
"""For what multiplies lengths: the query engine computes such a text for 2,048 rows at a time."""


def too_long() -> SqlError:
    return SqlError(PROGRAM_LIMIT, TOO_LONG)


def refuse_length(length: int) -> None:
    """Raises 54000 for a text of more characters than a value may have bytes."""
    if length > VALUE_BYTES_MAX:
        raise too_long()


def grown(length: str, operand: str, duck: str = "VARCHAR") -> str:
    """The same as `guarded`, for a call that makes a long text of short ones."""
    return guarded(length, operand, duck, bytes_max=GROWN_BYTES_MAX)


def guarded(length: str, operand: str, duck: str = "VARCHAR", *, bytes_max: int = VALUE_BYTES_MAX) -> str:
    """The engine's text for an `operand` of type `duck`, refused where `length` bytes would come of it.

    It stands inside the call it guards: an engine that computes constants beforehand would look at no CASE around it.
    And it is a text that is no number, not `error()`, which the engine takes to be volatile and refuses in windows.
    """
    words = TOO_LONG if bytes_max == VALUE_BYTES_MAX else f"a text may grow to at most {bytes_max} bytes"
    refusal = f"CAST(CAST('SQLSTATE {PROGRAM_LIMIT} {words}' AS INTEGER) AS {duck})"
    return f"CASE WHEN {length} > {bytes_max} THEN {refusal} ELSE {operand} END"
