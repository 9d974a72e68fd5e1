"""Two example literals for columns: one that a condition accepts or a default gives, and one that it refuses."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from catalog.values.errors import BadValue
from catalog.values.types import ARRAYS, SqlType, Value, parse_text
from expressions.errors import SqlError
from expressions.rows import columns_of, is_local, value_of
from lab.scripts.text import value_text
from storage import encoding

SAMPLES: Mapping[SqlType, tuple[str, ...]] = {
    SqlType.BOOLEAN: ("true", "false"),
    SqlType.SMALLINT: ("10", "20", "1", "0", "-1", "100", "1000"),
    SqlType.INTEGER: ("10", "20", "1", "0", "-1", "100", "1000"),
    SqlType.BIGINT: ("10", "20", "1", "0", "-1", "100", "1000"),
    SqlType.REAL: ("1.5", "2.5", "0", "-1", "100"),
    SqlType.DOUBLE: ("1.5", "2.5", "0", "-1", "100"),
    SqlType.NUMERIC: ("1.5", "2.50", "0", "-1", "100"),
    SqlType.VARCHAR: ("x", "y", "", "X1", "a@b.c"),
    SqlType.CHAR: ("x", "y", "X1", "a@b.c"),
    SqlType.TEXT: ("x", "y", "", "X1", "a@b.c"),
    SqlType.DATE: ("2026-03-01", "2026-04-01", "1970-01-01"),
    SqlType.TIMESTAMP: ("2026-03-01 09:00:00", "2026-04-01 09:00:00", "1970-01-01 00:00:00"),
    SqlType.TIMESTAMPTZ: ("2026-03-01 09:00:00+00", "2026-04-01 09:00:00+00", "1970-01-01 00:00:00+00"),
    SqlType.UUID: ("00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"),
    SqlType.JSON: ("{}", "[1]", "true"),
    SqlType.JSONB: ("{}", "[1]", "true"),
    SqlType.BYTEA: ("\\x0a", "\\x0b", "\\x"),
    SqlType.TIME: ("09:00:00", "17:30:00", "00:00:00"),
    SqlType.INTERVAL: ("01:00:00", "1 day", "00:00:00", "1 mon"),
    **dict.fromkeys(ARRAYS, ("{}", "{NULL}")),
}
LITERAL = re.compile(r"'((?:[^']|'')*)'|(?<![\w\"#])(\d+(?:\.\d+)?)")
LITERAL_CHARACTERS_MAX, CANDIDATES_MAX, ROWS_TRIED_MAX = 40, 12, 100
CONDITION_CHARACTERS_MAX = 300
"""Longer conditions are not tried out: a page waits for it."""

Row = dict[ColumnId, Value]


def examples(table: Descriptor, columns: Sequence[ColumnId], condition: str = "") -> tuple[str, ...]:
    """Two different literals for `columns`, several of them in parentheses; empty if none were found. `condition` is an
    expression as descriptors keep it, of no other columns than these."""
    read = columns_of(condition) if condition else frozenset()
    if not columns or not read <= set(columns) or len(condition) > CONDITION_CHARACTERS_MAX:
        return ()
    if condition and not is_local(table, condition):
        return ()
    found = [table.column(one) for one in columns]
    candidates = {column.id: _candidates(column, condition if column.id in read else "") for column in found}
    accepted, refused = ({one: values[at] for one, values in candidates.items()} for at in (0, 1))
    if condition:
        told_apart = _told_apart(table, condition, {one: candidates[one] for one in columns if one in read})
        if told_apart is None:
            return ()
        accepted, refused = accepted | told_apart[0], refused | told_apart[1]
    return _literal(found, accepted), _literal(found, refused)


def _told_apart(
    table: Descriptor, condition: str, candidates: Mapping[ColumnId, Sequence[Value]]
) -> tuple[Row, Row] | None:
    accepted: Row | None = None
    refused: Row | None = None
    for values in islice(product(*candidates.values()), ROWS_TRIED_MAX):
        row = dict(zip(candidates, values, strict=True))
        try:
            holds = value_of(table, condition, row)
        except SqlError:
            continue
        if holds is True:
            accepted = accepted or row
        elif holds is False:
            refused = refused or row
        if accepted is not None and refused is not None:
            return accepted, refused
    return None


def _candidates(column: Column, condition: str) -> list[Value]:
    found: list[Value] = []
    if column.fill_value is not None:
        value, _ = encoding.decode(column.type, column.fill_value)
        found += [] if value is None else [value]
    for text in (*_spoken_of(condition), *SAMPLES[column.type]):
        try:
            value = parse_text(column.type, text)
        except BadValue:
            continue
        if value not in found and len(text) <= LITERAL_CHARACTERS_MAX:
            found.append(value)
    return found[:CANDIDATES_MAX]


def _spoken_of(condition: str) -> Iterator[str]:
    for text, number in LITERAL.findall(condition):
        yield number or text.replace("''", "'")
        if number.isdigit():
            yield from (str(int(number) + 1), str(int(number) - 1), f"-{number}")


def _literal(columns: Sequence[Column], row: Row) -> str:
    words = [_word(column, row[column.id]) for column in columns]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


def _word(column: Column, value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value_text(column, encoding.encode_value(column.type, value))
