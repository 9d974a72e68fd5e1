"""Parts of keys as SQL: the value of one column in K(r), and K(r) in an entry (P · I · values · K(r)). Behind a text,
numeric or bytea the rest is computed once by a subquery: written out it would grow with each such part."""

from collections.abc import Callable, Sequence

from catalog.elements import Column
from catalog.values import bytea, intervals, numerics
from catalog.values.types import SqlType
from storage.encoding import NULL, PAYLOAD_BYTES
from storage.sql_values.decoding import decode_key_part
from storage.sql_values.syntax import call, constant, part

SHORT = 40
"""Characters of an expression that may stand in another one several times."""


def decode_key_sql(columns: Sequence[Column], place: int, expression: str) -> str:
    """The value of the key column at `place` in `expression`, which is K(r)."""
    data, start = _behind([(column, False) for column in columns[:place]], expression, has_null=False)
    column = columns[place]
    if _fixed_length(column.type) is None:
        data, start = part(data, start), 0
        if place < len(columns) - 1:
            data = _once(data, lambda whole: part(whole, 0, _length(column.type, whole, 0)))
    return _once(data, lambda whole: decode_key_part(column, whole, start + 1))


def row_key_of_entry_sql(parts: Sequence[tuple[Column, bool]], expression: str) -> str:
    """K(r) in `expression`, the k of a plain entry from its values on. Parts: columns, True where descending."""
    return part(*_behind(parts, expression, has_null=True))


def _once(data: str, then: Callable[[str], str]) -> str:
    if len(data) <= SHORT:
        return then(data)
    return f"(SELECT {then('part.bytes')} FROM (SELECT {data} AS bytes OFFSET 0) AS part)"


def _behind(parts: Sequence[tuple[Column, bool]], data: str, *, has_null: bool) -> tuple[str, int]:
    """The end of these parts: bytes, and how many of them to pass."""
    start = 0
    for column, descending in parts:
        if _fixed_length(column.type) is not None and not has_null:
            start += _fixed_length(column.type) or 0
            continue
        data, start = _rest(column.type, part(data, start), 255 if descending else 0, has_null=has_null), 0
    return data, start


def _rest(sql_type: SqlType, data: str, flip: int, *, has_null: bool) -> str:
    def behind(whole: str) -> str:
        size = str(_fixed_length(sql_type) or _length(sql_type, whole, flip))
        if has_null:
            size = f"CASE {call('get_byte', whole, 0)} WHEN {NULL[0] ^ flip} THEN 1 ELSE {size} END"
        return call("substr", whole, f"1 + {size}")

    return _once(data, behind)


def _fixed_length(sql_type: SqlType) -> int | None:
    payload = intervals.KEY_BYTES if sql_type is SqlType.INTERVAL else PAYLOAD_BYTES.get(sql_type)
    return None if payload is None else 1 + payload


def _length(sql_type: SqlType, data: str, flip: int) -> str:
    """The length of the first part of `data`; `flip` is 255 where inverted."""

    def bytes_of(*numbers: int) -> str:
        return constant(bytes(number ^ flip for number in numbers))

    if sql_type is SqlType.BYTEA:
        return f"({call('position', data, bytes_of(*bytea.END))} + 1)"
    if sql_type is not SqlType.NUMERIC:
        return call("position", data, bytes_of(0))
    head = 4  # marker, kind and exponent, which may have the byte that ends the digits
    rest = part(data, head)
    cases = " ".join(
        f"WHEN {kind ^ flip} THEN {head} + {call('position', rest, bytes_of(end))}"
        for kind, end in ((numerics.POSITIVE, 0), (numerics.NEGATIVE, 255))
    )
    return f"CASE {call('get_byte', data, 1)} {cases} ELSE 2 END"
