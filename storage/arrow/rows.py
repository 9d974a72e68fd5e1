"""Pairs to rows and back, a batch at a time: the vectorised twin of `storage.pairs`. The existence pair of a row comes
first, so counting them numbers the rows. A column pair whose row does not exist is an orphan (C1) and set aside."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, Column, ColumnId, Index, Placement, PlacementId
from catalog.values.types import SqlType
from expressions.errors import SqlError
from expressions.rows import columns_of, evaluator, is_local
from expressions.typed import PyValue
from storage import encoding, pairs
from storage.answers import Question
from storage.arrow.buckets import buckets_of, storage_of
from storage.arrow.encoding import (
    END,
    Pairs,
    concat,
    cut,
    decode,
    encode_value,
    inverted,
    join,
    key_of,
    listed,
    value_of_key,
)
from storage.arrow.key_order import key_order
from storage.asking import Ask, answers_of, question_sql
from storage.buckets import CUSTOM

T = TypeVar("T")
ROWS_AT_ONCE = 50_000
"""Rows whose values are judged at once: an expression makes objects of them."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Existing rows: K(r), and encoded values of the columns read (null: no pair). `ask` asks PostgreSQL for values."""

    keys: pa.Array
    columns: Mapping[ColumnId, pa.Array]
    orphans: Pairs
    ask: Ask | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def slice(self, start: int, length: int) -> "StoredRows":
        columns = {column_id: values.slice(start, length) for column_id, values in self.columns.items()}
        return StoredRows(self.keys.slice(start, length), columns, self.orphans.slice(0, 0), self.ask)


def stored_rows(page: Pairs, columns: Iterable[ColumnId], ask: Ask | None = None) -> StoredRows:
    """The rows of `page`, which holds whole rows in key order; pairs of other columns are dropped."""
    suffixes = pc.binary_slice(page.keys, -pairs.COLUMN.size, END)
    is_row = pc.equal(suffixes, pairs.COLUMN.pack(EXISTS))
    row_keys = pc.binary_slice(page.keys.filter(is_row), pairs.PREFIX.size, -pairs.COLUMN.size)
    numbers = pc.subtract(pc.cumulative_sum(is_row.cast(pa.int32())), 1)
    owner = row_keys.take(pc.if_else(pc.greater_equal(numbers, 0), numbers, pa.scalar(None, pa.int32())))
    own = pc.binary_slice(page.keys, pairs.PREFIX.size, -pairs.COLUMN.size)
    is_orphan = pc.fill_null(pc.not_equal(owner, own), True)  # not of the row whose existence pair came last
    found = {}
    for column_id in columns:
        mask = pc.and_not(pc.equal(suffixes, pairs.COLUMN.pack(column_id)), is_orphan)
        values = page.values.filter(mask)
        count = len(row_keys)
        if len(values) == count:
            found[column_id] = values
        elif not len(values):
            found[column_id] = pa.nulls(count, pa.binary())
        else:
            found[column_id] = pc.scatter(values, numbers.filter(mask), max_index=count - 1)
    return StoredRows(row_keys, found, page.filter(is_orphan), ask)


class RowReader:
    """Turns pages of a scan into rows; keeps back a row that a page may have cut."""

    def __init__(self, columns: Iterable[ColumnId], ask: Ask | None = None) -> None:
        self._columns, self._ask = tuple(columns), ask
        self._kept = concat([])

    def feed(self, page: Pairs) -> StoredRows:
        """The rows that are complete with `page`."""
        joined = concat([self._kept, page]) if len(self._kept) else page
        last = _last_row(joined)
        self._kept = joined.slice(last)
        return stored_rows(joined.slice(0, last), self._columns, self._ask)

    def finish(self) -> StoredRows:
        kept, self._kept = self._kept, concat([])
        return stored_rows(kept, self._columns, self._ask)


def _last_row(page: Pairs) -> int:
    exists = pairs.COLUMN.pack(EXISTS)
    for place in range(len(page) - 1, -1, -1):
        if page.keys[place].as_py().endswith(exists):
            return place
    return 0


def encoded_column(descriptor: Descriptor, rows: StoredRows, column: Column) -> pa.Array:
    """Each row's encoded value in a column; a missing pair reads as fill value or NULL."""
    if column.id in descriptor.primary_key:
        return key_columns(descriptor, rows.keys)[column.id]
    values = rows.columns[column.id]
    return values.fill_null(pairs.missing_value(column)) if values.null_count else values


def key_columns(descriptor: Descriptor, row_keys: pa.Array) -> dict[ColumnId, pa.Array]:
    parts = zip(descriptor.key_columns, cut(pairs.types_of_key(descriptor), row_keys), strict=True)
    return {column.id: value_of_key(column.type, column.length, part) for column, part in parts}


def computed(
    descriptor: Descriptor,
    rows: StoredRows,
    expression: str,
    what: str,
    returns: SqlType,
    of: Callable[[PyValue], T],
    otherwise: T | None = None,
    *,
    to: pa.DataType,
) -> pa.Array:
    """The value of an expression for each row (`pairs.computed`), computed once for rows that are equal in the one
    column it reads. Rows without a value get `otherwise`; None: raises `CannotDerive`."""
    columns = [descriptor.column(c) for c in sorted(columns_of(expression))]
    encoded, places = [encoded_column(descriptor, rows, column) for column in columns], None
    if len(encoded) == 1:
        folded = encoded[0].dictionary_encode()
        encoded, places = [folded.dictionary], folded.indices
    count = len(encoded[0]) if columns else len(rows)
    if is_local(descriptor, expression):
        values = _evaluated(descriptor, expression, columns, encoded, count)
    else:
        values = _answered(descriptor, rows, expression, returns, encoded, count)
    found: list[T] = []
    for value in values:
        try:
            if isinstance(value, SqlError):
                raise value
            found.append(of(value))
        except SqlError as error:
            if otherwise is None:
                at = len(found) if places is None else pc.index(places, len(found)).as_py()
                raise pairs.CannotDerive(what, pairs.row_words(descriptor, rows.keys[at].as_py()), error) from error
            found.append(otherwise)
    return pa.array(found, to) if places is None else pa.array(found, to).take(places)


def _evaluated(
    descriptor: Descriptor, expression: str, columns: Sequence[Column], encoded: Sequence[pa.Array], count: int
) -> Iterator[PyValue | SqlError]:
    value_of, ids = evaluator(descriptor, expression), [column.id for column in columns]
    values = zip(*(listed(c.type, decode(c.type, e)) for c, e in zip(columns, encoded, strict=True)), strict=True)
    for row in values if columns else [()] * count:
        try:
            yield value_of(dict(zip(ids, row, strict=True)))
        except SqlError as error:
            yield error


def _answered(
    descriptor: Descriptor, rows: StoredRows, expression: str, returns: SqlType, encoded: Sequence[pa.Array], count: int
) -> Iterator[PyValue | SqlError]:
    """PostgreSQL's answer for each row; equal rows are asked for once."""
    ask = rows.ask
    assert ask is not None, f"nothing can be asked for {expression}"
    inputs = zip(*(one.to_pylist() for one in encoded), strict=True) if encoded else [()] * count
    questions = [Question(expression, returns, tuple(one)) for one in inputs]
    sql, answers = question_sql(descriptor, expression, returns), dict[Question, PyValue | SqlError]()
    different = list(dict.fromkeys(questions))
    for first in range(0, len(different), ROWS_AT_ONCE):
        some = different[first : first + ROWS_AT_ONCE]
        answers |= answers_of(some, lambda arrays: ask(sql, arrays))
    yield from (answers[one] for one in questions)


def rows_of_batch(descriptor: Descriptor, columns: Mapping[ColumnId, pa.Array], ask: Ask | None = None) -> StoredRows:
    """Typed columns as stored rows. Columns not given have no pair."""
    encoded = {c.id: encode_value(c.type, columns[c.id]) for c in descriptor.columns if c.id in columns}
    keys = join(*(key_of(column.type, encoded.pop(column.id)) for column in descriptor.key_columns))
    return StoredRows(keys, encoded, concat([]), ask)


def row_pairs(descriptor: Descriptor, placement: PlacementId, rows: StoredRows) -> Pairs:
    """The existence and column pairs of the rows, unordered."""
    start = pairs.prefix(descriptor, placement)
    empty = pa.repeat(pa.scalar(b"", pa.binary()), len(rows))
    parts = [Pairs(join(start, rows.keys, pairs.COLUMN.pack(EXISTS)), empty)]
    for column_id, values in rows.columns.items():
        part = Pairs(join(start, rows.keys, pairs.COLUMN.pack(column_id)), values)
        parts.append(part.filter(values.is_valid()) if values.null_count else part)
    return concat(parts)


def accepted(descriptor: Descriptor, index: Index, rows: StoredRows, *, now: bool = False) -> pa.Array | None:
    """Mask of the rows with an entry in `index`, None for all. Raises `CannotDerive`. `now`: the rows exist, and one
    whose condition has no value never got an entry (`pairs.entry_now`)."""
    if index.where is None:
        return None
    what, otherwise, masks = f"the condition of index {index.name}", False if now else None, []
    for first in range(0, len(rows), ROWS_AT_ONCE):
        some = rows.slice(first, ROWS_AT_ONCE)
        masks.append(computed(descriptor, some, index.where, what, SqlType.BOOLEAN, _is_true, otherwise, to=pa.bool_()))
    return pa.concat_arrays(masks) if masks else pa.array([], pa.bool_())


def _is_true(value: PyValue) -> bool:
    return value is True


def in_key_order(rows: StoredRows) -> StoredRows:
    order = key_order(rows.keys)
    if order is None:
        return rows
    return replace(rows, keys=rows.keys.take(order), columns={c: v.take(order) for c, v in rows.columns.items()})


def chosen(rows: StoredRows, mask: pa.Array | None) -> StoredRows:
    if mask is None:
        return rows
    columns = {column_id: values.filter(mask) for column_id, values in rows.columns.items()}
    return replace(rows, keys=rows.keys.filter(mask), columns=columns)


def index_entries(descriptor: Descriptor, placement: PlacementId, index: Index, rows: StoredRows) -> Pairs:
    """The entries of the rows that have one (`pairs.index_entry`). Raises `CannotDerive`."""
    rows = chosen(rows, accepted(descriptor, index, rows))
    entries = entries_of(descriptor, placement, index, rows)
    at = pc.index(too_long(entries.keys), True).as_py()
    if at >= 0:
        size = len(entries.keys[at].as_buffer())
        raise pairs.KeyTooLong(descriptor, rows.keys[at].as_py(), size, index)
    return entries


def too_long(keys: pa.Array) -> pa.Array:
    return pc.greater(pc.binary_length(keys), pairs.KEY_BYTES_MAX)


def require_short_keys(descriptor: Descriptor, rows: StoredRows) -> None:
    """Raises `KeyTooLong`."""
    longest = pc.max(pc.binary_length(rows.keys)).as_py() or 0
    at = pc.index(pc.binary_length(rows.keys), longest).as_py()
    if at >= 0:
        pairs.require_short_key(descriptor, rows.keys[at].as_py())


def entries_of(descriptor: Descriptor, placement: PlacementId, index: Index, rows: StoredRows) -> Pairs:
    keys = key_columns(descriptor, rows.keys) if set(index.column_ids) & set(descriptor.primary_key) else {}
    columns = [descriptor.column(c) for c in index.column_ids]
    plain = [key_of(c.type, keys[c.id] if c.id in keys else encoded_column(descriptor, rows, c)) for c in columns]
    pieces = [inverted(v) if part.descending else v for part, v in zip(index.columns, plain, strict=True)]
    start = pairs.prefix(descriptor, placement, index.id)
    long_form = join(start, *pieces, rows.keys)
    empty = pa.repeat(pa.scalar(b"", pa.binary()), len(rows))
    if not index.unique:
        return Pairs(long_form, empty)
    is_null = reduce(pc.or_, (pc.equal(values, pa.scalar(encoding.NULL, pa.binary())) for values in plain))
    return Pairs(pc.if_else(is_null, long_form, join(start, *pieces)), pc.if_else(is_null, empty, rows.keys))


# --- where rows lie


def row_storages(
    descriptor: Descriptor, rows: StoredRows, *, storages: int, buckets: int, placement: Placement | None = None
) -> pa.Array:
    """Each row's storage under a placement (None: the one that is read), of a cluster that began with `storages`."""
    placement = placement or descriptor.placement
    types, values = _sharding_values(descriptor, rows, placement)
    found = buckets_of(placement.function, types, values, buckets)
    return storage_of(found, storages=placement.storage_count(storages), buckets=buckets)


def require_buckets(descriptor: Descriptor, rows: StoredRows, placement: Placement, buckets: int) -> None:
    """Refuses rows with an invalid bucket. Raises `CannotDerive`."""
    if placement.function != CUSTOM:
        return
    _, (named,) = _sharding_values(descriptor, rows, placement)
    is_wrong = pc.fill_null(pc.or_(pc.less(named, 1), pc.greater(named, buckets)), False)
    at = pc.index(is_wrong, True).as_py()
    if at >= 0:
        (column,) = placement.sharding_key or descriptor.primary_key
        raise pairs.no_bucket(descriptor, rows.keys[at].as_py(), column, named[at].as_py(), buckets)


def _sharding_values(
    descriptor: Descriptor, rows: StoredRows, placement: Placement
) -> tuple[list[SqlType], list[pa.Array]]:
    key = placement.sharding_key or descriptor.primary_key
    keys = key_columns(descriptor, rows.keys) if set(key) & set(descriptor.primary_key) else {}
    columns = [descriptor.column(c) for c in key]
    encoded = [keys[c.id] if c.id in keys else encoded_column(descriptor, rows, c) for c in columns]
    values = [decode(c.type, key_of(c.type, array)) for c, array in zip(columns, encoded, strict=True)]
    return [c.type for c in columns], values
