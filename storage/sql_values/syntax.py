"""Pieces of SQL, each named by its schema."""

from catalog.values import numerics
from catalog.values.types import LENGTHS, MOMENTS, SqlType

_MODIFIED = {SqlType.NUMERIC, *LENGTHS, *MOMENTS}
"""Types whose length is a modifier."""


def call(function: str, *arguments: str | int) -> str:
    return f"pg_catalog.{function}({', '.join(map(str, arguments))})"


def cast(expression: str, type_name: str) -> str:
    return f"({expression})::pg_catalog.{type_name}"


def typed(expression: str, sql_type: SqlType, length: int | None = None) -> str:
    element = sql_type.element
    name, array = (sql_type, "") if element is None else (element, "[]")
    modifier = ""
    if length is not None and name in _MODIFIED:
        numbers = numerics.precision_and_scale(length) if name is SqlType.NUMERIC else (length,)
        modifier = f"({','.join(map(str, numbers))})"
    return cast(expression, f"{name.typname}{modifier}{array}")


def constant(data: bytes) -> str:
    return rf"E'\\x{data.hex()}'::pg_catalog.bytea"


def int8(number: int) -> str:
    return f"'{number}'::pg_catalog.int8"


def part(data: str, start: int, length: str | int | None = None) -> str:
    """Bytes of `data` from byte `start` (from 0) on."""
    if length is None:
        return data if start == 0 else call("substr", data, start + 1)
    return call("substr", data, start + 1, length)


def joined(*pieces: str) -> str:
    return " || ".join(pieces)


def inverted(data: str) -> str:
    digits = call("encode", data, "'hex'")
    return call("decode", call("translate", digits, "'0123456789abcdef'", "'fedcba9876543210'"), "'hex'")
