"""How large a value may become: said once, for what is computed here, by the query engine, and stored.

PostgreSQL lets a value grow to 1 GB. A node holds many rows of many clients at once, so a value has `VALUE_BYTES_MAX`
at most, and what would be longer is refused before its memory is taken.
"""

from expressions.errors import PROGRAM_LIMIT, SqlError

VALUE_BYTES_MAX = 2**20
TOO_LONG = f"a value may have at most {VALUE_BYTES_MAX} bytes"


def too_long() -> SqlError:
    return SqlError(PROGRAM_LIMIT, TOO_LONG)


def refuse_length(length: int) -> None:
    """Raises 54000 for a text of more characters than a value may have bytes."""
    if length > VALUE_BYTES_MAX:
        raise too_long()


def guarded(length: str, operand: str, duck: str = "VARCHAR") -> str:
    """The engine's text for an `operand` of type `duck`, refused where `length` bytes would come of it.

    It stands inside the call it guards: an engine that computes constants beforehand would look at no CASE around it.
    """
    refusal = f"CAST(error('SQLSTATE {PROGRAM_LIMIT} {TOO_LONG}') AS {duck})"
    return f"CASE WHEN {length} > {VALUE_BYTES_MAX} THEN {refusal} ELSE {operand} END"
