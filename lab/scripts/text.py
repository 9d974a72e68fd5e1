"""Rows and pairs as words, and words as rows."""

import re
from collections.abc import Callable, Iterable, Sequence

from catalog.descriptor import Descriptor, UnknownElement
from catalog.elements import EXISTS, PRIMARY, Column, ColumnId, State, TableId
from catalog.text.sentence import Sentence
from catalog.values.types import FLOATING, WHOLE, SqlType, Value, fitted, parse_text, to_text
from storage import encoding
from storage.mutations import REMOVALS, Act, Op
from storage.pairs import Pair, PairName, StoredRow, StrayKey, encoded_value, key_parts, name_of, row_key

LITERAL = re.compile(r"\s*('(?:[^']|'')*'|[^\s,()']+)\s*")


class BadRow(ValueError):
    """Words that are no row of the table."""


def literals(text: str) -> list[str | None]:
    """The values between the parentheses of `(1, 'a', null)`. Raises `BadRow`."""
    inner = text.strip()
    if not (inner.startswith("(") and inner.endswith(")")):
        raise BadRow(f"{text!r} is not a list of values such as (1, 'a', null)")
    rest, found = inner[1:-1], []
    while rest.strip():
        match = LITERAL.match(rest)
        if match is None:
            raise BadRow(f"{rest!r} is not a value such as 1, 'a' or null")
        found.append(_literal(match.group(1)))
        rest = rest[match.end() :].removeprefix(",")
    return found


def _literal(word: str) -> str | None:
    if word.lower() == "null":
        return None
    return word[1:-1].replace("''", "'") if word.startswith("'") else word


def stored(sql_type: SqlType, text: str | None, length: int | None = None) -> bytes:
    """A literal as the bytes of its pair. Raises `BadValue` if it does not fit a column of this length."""
    value = None if text is None else parse_text(sql_type, text)
    return encoding.encode_value(sql_type, fitted(sql_type, length, value))


def new_row(descriptor: Descriptor, values: Sequence[str | None], next_row_id: Callable[[TableId], int]) -> StoredRow:
    """An INSERT's row: public columns from `values`, write-only ones from defaults; a hidden row id without a primary
    key."""
    columns = descriptor.public_columns
    if len(values) != len(columns):
        names = ", ".join(column.name for column in columns)
        raise BadRow(f"{descriptor} takes {len(columns)} values ({names}), not {len(values)}")
    encoded = {
        column.id: stored(column.type, value, column.length) for column, value in zip(columns, values, strict=True)
    }
    encoded |= {column.id: _default(column) for column in descriptor.columns if column.state is State.WRITE_ONLY}
    if descriptor.has_hidden_key:
        (hidden,) = descriptor.key_columns
        encoded[hidden.id] = encoding.encode_value(hidden.type, next_row_id(descriptor.table_id))
    return StoredRow(_key(descriptor, encoded), _not_key(descriptor, encoded))


def _default(column: Column) -> bytes:
    """The value of a column that the insert cannot name: its default, if that is a literal."""
    if column.default is not None and LITERAL.fullmatch(column.default):
        return stored(column.type, _literal(column.default), column.length)
    return column.fill_value if column.fill_value is not None else encoding.NULL


def _key(descriptor: Descriptor, encoded: dict[ColumnId, bytes]) -> bytes:
    return b"".join(encoding.key_of(column.type, encoded[column.id]) for column in descriptor.key_columns)


def _not_key(descriptor: Descriptor, encoded: dict[ColumnId, bytes]) -> dict[ColumnId, bytes]:
    return {column_id: value for column_id, value in encoded.items() if column_id not in descriptor.primary_key}


def key_of(descriptor: Descriptor, values: Sequence[str | None]) -> bytes:
    if len(values) != len(descriptor.primary_key):
        raise BadRow(f"the key of {descriptor} has {len(descriptor.primary_key)} columns, not {len(values)}")
    typed: list[Value | None] = []
    for column, text in zip(descriptor.key_columns, values, strict=True):
        typed.append(None if text is None else parse_text(column.type, text))
    return row_key(descriptor, typed)


def assignments(
    descriptor: Descriptor, old: StoredRow, pairs: Iterable[tuple[str, str | None]]
) -> tuple[dict[ColumnId, bytes], bytes | None]:
    assigned = {}
    for name, text in pairs:
        column = _public(descriptor, name)
        assigned[column.id] = stored(column.type, text, column.length)
    key = key_parts(descriptor, old.key) | {c: v for c, v in assigned.items() if c in descriptor.primary_key}
    moved = _key(descriptor, key)
    return _not_key(descriptor, assigned), None if moved == old.key else moved


def _public(descriptor: Descriptor, name: str) -> Column:
    column = descriptor.column_named(name)
    if column.state is not State.PUBLIC:
        raise BadRow(f"column {name} of {descriptor} is {column.state.value}: only a public column can be used")
    return column


def row_text(descriptor: Descriptor, row: StoredRow) -> str:
    values = (value_text(column, encoded_value(descriptor, row, column.id)) for column in descriptor.public_columns)
    return f"({', '.join(values)})"


def value_text(column: Column, data: bytes) -> str:
    return _decoded(column.type, data)


def _decoded(sql_type: SqlType, data: bytes, *, descending: bool = False) -> str:
    value, _ = encoding.decode(sql_type, data, descending=descending)
    if value is None:
        return "null"
    text = to_text(sql_type, value)
    return text if sql_type in WHOLE | FLOATING | {SqlType.BOOLEAN, SqlType.NUMERIC} else f"'{text}'"


def key_text(descriptor: Descriptor, key: bytes) -> str:
    parts = key_parts(descriptor, key)
    return f"({', '.join(_decoded(descriptor.column(c).type, parts[c]) for c in descriptor.primary_key)})"


def pair_text(descriptor: Descriptor, pair: Pair) -> Sentence:
    key, value = pair
    content = _content(descriptor, key, value)
    return Sentence("{subject}{content}", subject=subject(descriptor, key, value), content=content)


def subject(descriptor: Descriptor, key: bytes, value: bytes | None = None) -> Sentence:
    """The owner of a pair by its key, in words; of a unique entry by `value`. Names a placement that is not read."""
    try:
        name = name_of(descriptor, key)
    except StrayKey:
        stray = "key {key} of an element that {what} does not contain"
        return Sentence(stray, key=key.hex(), what=f"{descriptor}")
    there = "" if name.placement == descriptor.placement.id else f"placement {name.placement}: "
    if name.index == PRIMARY:
        of_row = {"table": descriptor.name, "key": key_text(descriptor, name.row_key or b"")}
        return Sentence("{there}{table} {key}{column}", there=there, column=_column(descriptor, name), **of_row)
    owner = name.row_key if name.row_key is not None else value
    index = descriptor.index(name.index)
    values, offset = [], 0
    for part in index.columns:
        sql_type = descriptor.column(part.column).type
        piece = (name.values or b"")[offset:]
        values.append(_decoded(sql_type, piece, descending=part.descending))
        offset += encoding.length_at(sql_type, piece, 0, descending=part.descending)
    entry = "{there}{index} ({values}) -> {key}" if owner else "{there}{index} ({values})"
    row = key_text(descriptor, owner) if owner else ""
    return Sentence(entry, there=there, index=index.name, values=", ".join(values), key=row)


def _column(descriptor: Descriptor, name: PairName) -> str:
    if name.column == EXISTS or name.column is None:
        return ""
    try:
        return f" {descriptor.column(name.column).name}"
    except UnknownElement:
        return f" column {name.column}"


def _content(descriptor: Descriptor, key: bytes, value: bytes | None) -> str:
    if value is None:
        return " tombstone"
    try:
        name = name_of(descriptor, key)
        if name.index != PRIMARY:
            return ""
        if name.column == EXISTS or name.column is None:
            return " exists"
        return f" = {value_text(descriptor.column(name.column), value)}"
    except (StrayKey, UnknownElement):
        return f" = {value.hex()}" if value else ""


SIGNS = {Act.TOMBSTONE: "~", Act.TOMBSTONE_UNIQUE: "~"}


def op_text(descriptor: Descriptor, op: Op) -> Sentence:
    """One operation in words: + put, - removed, ~ tombstone."""
    if op.act in SIGNS:
        return Sentence("~ {pair}", pair=subject(descriptor, op.key, op.value))
    if op.act in REMOVALS:
        return Sentence("- {pair}", pair=subject(descriptor, op.key, op.value))
    return Sentence("+ {pair}", pair=pair_text(descriptor, (op.key, op.value)))
