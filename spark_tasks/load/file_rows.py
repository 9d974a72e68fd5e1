"""Rows of a file as one version of the table takes them: a public column is NULL when the file lacks it, a write-only
one gets its value in existing rows, constraints are checked from write-only on. Arrow parses values where it reads what
PostgreSQL reads; others are parsed one by one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import Column, Kind, State
from catalog.states import Write, rule
from catalog.values.arrays import ELEMENTS_MAX, TOO_MANY_ELEMENTS
from catalog.values.errors import BadValue
from catalog.values.intervals import DAY
from catalog.values.times import END, MIDDLE, unit_of
from catalog.values.types import DOCUMENTS, MOMENTS, TEXTS, WHOLE, SqlType, fitted, limit_of, parse_text, type_of_bytes
from storage import encoding
from storage.arrow.columns import ROW_RULES, breaks, derived_values
from storage.arrow.encoding import ARROW, PACKED, column_of, listed
from storage.arrow.rows import StoredRows, rows_of_batch
from storage.asking import Ask
from storage.derived import derived_columns
from storage.integrity.clauses import row_words
from storage.pairs import CannotDerive


class CannotLoad(Exception):
    """The file cannot be loaded: which row or column, and why."""


def typed_rows(descriptor: Descriptor, texts: Mapping[str, pa.Array], first: int, ask: Ask | None = None) -> StoredRows:
    """The rows of a chunk under one version. Raises `CannotLoad` with row, column and value."""
    if rule(Kind.TABLE, descriptor.state).insert is not Write.PUT:
        raise CannotLoad(f"table {descriptor.name} is {descriptor.state.value}: it takes no rows")
    if descriptor.has_hidden_key:
        raise CannotLoad(f"table {descriptor.name} has no primary key: its rows come through a node, INSERT or COPY")
    names = {c.name: c for c in descriptor.columns}
    for name in texts:
        if name not in names or names[name].state is not State.PUBLIC:
            public = ", ".join(c.name for c in descriptor.public_columns)
            raise CannotLoad(f"the file has a column {name}, the table has not; it has {public}")
    count = len(next(iter(texts.values())))
    writes = {c: rule(c.kind, c.state).insert for c in descriptor.columns}
    given = [c for c, write in writes.items() if write is Write.PUT and c.derived is None]
    rows = rows_of_batch(descriptor, {c.id: _typed(c, texts.get(c.name), count, first) for c in given}, ask)
    defaults = {c.id: _default(c, count) for c in descriptor.stored_columns if writes[c] is Write.PUT_DEFAULT}
    complete = _with_derived(descriptor, replace(rows, columns={**rows.columns, **defaults}))
    for constraint in descriptor.constraints:
        if constraint.rule not in ROW_RULES or rule(constraint.kind, constraint.state).insert is not Write.ENFORCE:
            continue
        broken = breaks(descriptor, constraint, complete)
        if pc.any(broken).as_py():
            place = broken.index(True).as_py()
            words = row_words(descriptor, complete.keys[place].as_py())
            number = number_in_file(first, place)
            raise CannotLoad(f"row {number}: {words} breaks constraint {constraint.name} ({constraint.state.value})")
    return complete


def _with_derived(descriptor: Descriptor, rows: StoredRows) -> StoredRows:
    put = [c for c in derived_columns(descriptor) if rule(c.kind, c.state).insert is Write.PUT]
    try:
        derived = {c.id: derived_values(descriptor, c, rows) for c in put}
    except CannotDerive as cannot:
        raise CannotLoad(str(cannot)) from cannot
    return replace(rows, columns={**rows.columns, **derived})


def _default(column: Column, count: int) -> pa.Array:
    """Values of a column that no file has: of an added one the fill's, of a dropped one an insert's, since a cancel
    brings it back."""
    if column.fill_value is None and column.default is not None:
        why = "is being dropped and has a default, which a bulk load does not evaluate"
        raise CannotLoad(f"column {column.name} {why}: load the file when that change has ended")
    value = encoding.NULL if column.fill_value is None else column.fill_value
    return pa.repeat(pa.scalar(value, pa.binary()), count)


def _typed(column: Column, given: pa.Array | None, count: int, first: int) -> pa.Array:
    if given is None:
        if column.default is not None or column.not_null:
            why = "has a default, which a bulk load does not evaluate" if column.default else "is NOT NULL"
            raise CannotLoad(f"the file has no column {column.name}, which {why}")
        return pa.nulls(count, ARROW[column.type])
    if column.not_null and given.null_count:
        place = given.is_null().index(True).as_py()
        raise CannotLoad(f"row {number_in_file(first, place)}: column {column.name} is NOT NULL and has no value")
    return _parse(column, given, first)


FAST = WHOLE | {SqlType.DOUBLE}
_DAY = r"(?:[1-9]\d{3}|0[1-9]\d{2}|00[1-9]\d|000[1-9])-\d{2}-\d{2}"
_TIME = r"[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?"
PLAIN = {
    SqlType.DATE: f"^{_DAY}$",
    SqlType.TIMESTAMP: f"^{_DAY}{_TIME}$",
    SqlType.TIMESTAMPTZ: f"^{_DAY}{_TIME}$",
    SqlType.BOOLEAN: "^(?:t|f|true|false)$",
}
"""How most files write values of these types: where all do, Arrow reads them as PostgreSQL does."""


def _parse(column: Column, given: pa.Array, first: int) -> pa.Array:
    read = _read(column, given, first)
    if column.type in MOMENTS and column.length is not None:
        # times of a precision, rounded away from the year 2000, or midnight (`times.rounded`)
        unit, middle = unit_of(column.length), 0 if column.type is SqlType.TIME else MIDDLE
        since = pc.subtract(read.cast(pa.int64()), middle)
        away = pc.multiply(pc.divide(pc.add(pc.abs(since), unit // 2), unit), unit)
        micros = pc.add(pc.multiply(pc.sign(since), away), middle)
        is_beyond = pc.fill_null(pc.greater_equal(micros, END), False)
        _refuse(column, is_beyond, first, lambda _: "timestamp out of range")
        return micros.cast(read.type)
    if column.type in WHOLE and column.length is not None:
        _refuse_beyond(column, column.length, read, first)
    return read


def _refuse_beyond(column: Column, length: int, values: pa.Array, first: int) -> None:
    limit = limit_of(column.type, length)
    is_beyond = pc.fill_null(pc.or_(pc.less(values, -limit), pc.greater_equal(values, limit)), False)
    _refuse(column, is_beyond, first, lambda at: f"{values[at]} is out of range for type {type_of_bytes(length).value}")


def _refuse(column: Column, is_wrong: pa.Array, first: int, why: Callable[[int], str]) -> None:
    """Raises `CannotLoad` for the first wrong value."""
    if pc.any(is_wrong).as_py():
        place = is_wrong.index(True).as_py()
        raise CannotLoad(f"row {number_in_file(first, place)}: column {column.name}: {why(place)}")


def _read(column: Column, given: pa.Array, first: int) -> pa.Array:
    """By Arrow's cast where it reads what PostgreSQL reads, else one by one."""
    if pa.types.is_list(given.type):
        return _arrays(column, given, first)
    if pa.types.is_binary(given.type) and column.type is not SqlType.BYTEA:
        raise CannotLoad(f"column {column.name} of the file is of type binary, which only a bytea column takes")
    if column.type in TEXTS:
        return _fitted(column, _without_nul(column, given.cast(pa.string()), first), first)
    if pa.types.is_time(given.type) and column.type is SqlType.TIME:
        return _times_of_day(column, given.cast(ARROW[column.type]), first)
    if given.type == ARROW[column.type] and column.type not in PACKED and column.type not in DOCUMENTS:
        return given
    if column.type in FAST and _is_number_or_text(given.type):
        try:
            return given.cast(ARROW[column.type])
        except pa.ArrowInvalid:
            pass  # the slow way names the value
    plain = _plain(column.type, given)
    if plain is not None:
        return plain
    values = [
        _value(column, text, number_in_file(first, n)) for n, text in enumerate(given.cast(pa.string()).to_pylist())
    ]
    return column_of(column.type, values)


def _arrays(column: Column, given: pa.Array, first: int) -> pa.Array:
    element = column.type.element
    if element is None:
        raise CannotLoad(f"column {column.name} of the file is of type {given.type}, which only an array takes")
    if pa.types.is_list(given.type.value_type):
        raise CannotLoad(f"column {column.name} of the file has lists of lists: an array has one dimension")
    if (pc.max(pc.list_value_length(given)).as_py() or 0) > ELEMENTS_MAX:
        raise CannotLoad(f"column {column.name}: {TOO_MANY_ELEMENTS}")
    of_items, items = replace(column, type=element), given.flatten()
    try:
        parsed = _parse(of_items, items, first)
    except CannotLoad:
        for number, row in enumerate(pc.list_parent_indices(given).to_pylist()):  # which row is it?
            _parse(of_items, items.slice(number, 1), first + row)
        raise
    counts = pc.list_value_length(given).to_pylist()
    return column_of(column.type, _in_lists(listed(element, parsed), counts))


def _in_lists(items: Sequence[Any], counts: Sequence[int | None]) -> Iterator[tuple[Any, ...] | None]:
    rest = iter(items)
    for count in counts:
        yield None if count is None else tuple(islice(rest, count))


def _times_of_day(column: Column, micros: pa.Array, first: int) -> pa.Array:
    is_wrong = pc.or_(pc.less(micros, 0), pc.greater(micros, DAY))
    _refuse(column, is_wrong, first, lambda at: f"{micros[at]} microseconds are no time of day")
    return micros


def _is_number_or_text(given: pa.DataType) -> bool:
    """False for what Arrow would count in days, microseconds, or as 1."""
    kinds = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null
    texts = pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view
    return any(is_of(given) for is_of in (*kinds, *texts))


def _plain(sql_type: SqlType, given: pa.Array) -> pa.Array | None:
    """The values of texts in the usual form; None when one is not."""
    if sql_type not in PLAIN or not pa.types.is_string(given.type):
        return None
    if pc.any(pc.invert(pc.match_substring_regex(given, PLAIN[sql_type]))).as_py():
        return None
    try:
        if sql_type is SqlType.BOOLEAN:
            return pc.starts_with(given, "t")
        read = given.cast(pa.date32() if sql_type is SqlType.DATE else pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None  # 31 April: the slow way names it
    return read.cast(ARROW[sql_type])


def _value(column: Column, text: str | None, number: int) -> Any:
    try:
        return None if text is None else fitted(column.type, column.length, parse_text(column.type, text))
    except BadValue as bad:
        raise CannotLoad(f"row {number}: column {column.name}: {bad}") from None


def _without_nul(column: Column, texts: pa.Array, first: int) -> pa.Array:
    has_nul = pc.fill_null(pc.match_substring(texts, "\x00"), False)
    _refuse(column, has_nul, first, lambda _: "a text may not contain the character 0x00")
    return texts


def _fitted(column: Column, texts: pa.Array, first: int) -> pa.Array:
    if column.length is None or not pc.any(pc.greater(pc.utf8_length(texts), column.length)).as_py():
        return texts
    values = [_value(column, text, number_in_file(first, n)) for n, text in enumerate(texts.to_pylist())]
    return pa.array(values, pa.string())


def number_in_file(first: int, place: int) -> int:
    """A row's number for people: 1 is the file's first."""
    return first + place + 1
