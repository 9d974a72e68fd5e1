"""Keys that a scan must read: the conditions of a statement as ranges of bytes of the primary key or an index.

The path that pins most columns is taken, the primary key when equal (an index costs a second read) and when it leaves
but a few rows; a partial index only where the conditions imply its predicate. The conditions are still checked on what
is read, so a bound may be too wide but never too narrow.
"""

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import takewhile

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, Column, ColumnId, Index
from catalog.values import floats
from catalog.values.types import FLOATING, INT_LIMITS, SqlType, Value
from expressions.rows import compiled, is_local
from expressions.typed import Context, Expr, PyValue, evaluate
from nodes.sql.conditions.implication import is_implied
from nodes.sql.conditions.predicates import VALUES_MAX, Bound, column_bounds, fits
from storage import encoding, pairs
from storage.buckets import bucket_of, storage_of

POINTS_MAX = VALUES_MAX
PARTIAL_SCORE = 0.3
"""A partial index is short: it is worth reading even where nothing else bounds its columns."""

NARROW_ROWS = 256
"""Rows of the primary key that are read rather than the equal values of an index: nobody knows how many of those there
are, and each costs a second read."""

Range = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Access:
    """A way to a table's rows. `ranges` are of whole keys, prefix included; `points` are whole K(r)."""

    index: Index | None
    ranges: tuple[Range, ...]
    storages: tuple[int, ...]
    points: tuple[bytes, ...] | None = None
    columns: tuple[ColumnId, ...] = ()

    @property
    def is_everything(self) -> bool:
        return self.index is None and not self.columns


@dataclass(slots=True)
class _Path:
    columns: tuple[tuple[ColumnId, bool], ...]
    index: Index | None
    ranges: list[Range] = field(default_factory=list)
    prefixes: list[bytes] = field(default_factory=list)
    used: int = 0
    score: float = 0.0


def access(
    descriptor: Descriptor, conditions: Sequence[Expr], context: Context, *, storages: int, buckets: int
) -> Access:
    """The cheapest way to the rows that may meet all `conditions`. The cluster began with `storages`."""
    storages = descriptor.placement.storage_count(storages)
    bounds = column_bounds(descriptor, conditions, context)
    primary = _path(descriptor, bounds, [(c, False) for c in descriptor.primary_key], None)
    best, indexes = primary, descriptor.public_indexes
    if indexes and _rows_at_most(descriptor, bounds, primary) <= NARROW_ROWS:
        indexes = tuple(index for index in indexes if index.unique)
    for index in indexes:
        if not serves(descriptor, index, conditions, context):
            continue
        path = _path(descriptor, bounds, [(p.column, p.descending) for p in index.columns], index)
        path.score += PARTIAL_SCORE if index.where is not None else 0
        if path.score > best.score + (0.25 if best.score else 0):
            best = path
    placed = _storages(descriptor, bounds, storages, buckets)
    index_id = best.index.id if best.index else PRIMARY
    start = pairs.prefix(descriptor, descriptor.placement.id, index_id)
    ranges = _places(start, best.ranges)
    points = None
    if best.index is None and best.used == len(descriptor.primary_key) and best.prefixes:
        points = tuple(sorted(best.prefixes))
    if best.index is not None and best.index.unique:
        placed = tuple(range(1, storages + 1))  # unique entries lie by their own values
    used = tuple(column_id for column_id, _ in best.columns[: best.used])
    return Access(best.index, _joined(ranges), placed, points, used)


def _rows_at_most(descriptor: Descriptor, bounds: dict[ColumnId, Bound], primary: _Path) -> float:
    """The number of rows that ranges of the primary key may have: of whole numbers between two bounds so many."""
    if primary.used < len(descriptor.primary_key):
        return math.inf
    if primary.prefixes:
        return len(primary.prefixes)
    last = descriptor.key_columns[-1]
    bound = bounds[last.id]
    if last.type not in INT_LIMITS or bound.low is None or bound.high is None:
        return math.inf
    low, high = bound.low[0], bound.high[0]
    if not (isinstance(low, int | float | Decimal) and isinstance(high, int | float | Decimal)):
        return math.inf
    return (float(high) - float(low) + 1) * len(primary.ranges)


def serves(descriptor: Descriptor, index: Index, conditions: Sequence[Expr], context: Context) -> bool:
    """True if every row that meets the conditions has an entry in the index."""
    if index.where is None:
        return True
    if not conditions or not is_local(descriptor, index.where):
        return False
    return is_implied(descriptor, compiled(descriptor, index.where), conditions, context)


def along(
    descriptor: Descriptor,
    index: Index | None,
    conditions: Sequence[Expr],
    context: Context,
    storages: int,
    buckets: int,
) -> Access:
    """The way through all of an index (None: the primary key), within what the conditions say of its columns."""
    storages = descriptor.placement.storage_count(storages)
    bounds = column_bounds(descriptor, conditions, context)
    columns = [(c, False) for c in descriptor.primary_key]
    if index is not None:
        columns = [(part.column, part.descending) for part in index.columns]
    path = _path(descriptor, bounds, columns, index)
    start = pairs.prefix(descriptor, descriptor.placement.id, PRIMARY if index is None else index.id)
    ranges = _places(start, path.ranges)
    placed = _storages(descriptor, bounds, storages, buckets)
    if index is not None and index.unique:
        placed = tuple(range(1, storages + 1))
    return Access(index, _joined(ranges), placed, None, tuple(column for column, _ in columns[: path.used]))


def point(descriptor: Descriptor, key: Sequence[Expr], context: Context) -> Access:
    """The one row with this key, or none when a part of it is NULL."""
    parts = []
    for column, expr in zip(descriptor.key_columns, key, strict=True):
        value = evaluate(expr, {}, context)
        if value is None:
            return Access(None, (), (), ())
        parts.append(encoding.encode(column.type, value))
    return Access(None, (), (), (b"".join(parts),))


def _path(
    descriptor: Descriptor, bounds: dict[ColumnId, Bound], columns: Sequence[tuple[ColumnId, bool]], index: Index | None
) -> _Path:
    path = _Path(tuple(columns), index, prefixes=[b""])
    for column_id, descending in columns:
        bound = bounds.get(column_id)
        column = descriptor.column(column_id)
        if bound is None:
            break
        if bound.values is not None and len(path.prefixes) * max(len(bound.values), 1) <= POINTS_MAX:
            encoded = [
                encoding.encode(column.type, stored_value(column, v), descending=descending) for v in bound.values
            ]
            path.prefixes = [p + e for p in path.prefixes for e in encoded]
            path.used += 1
            path.score += 1
            continue
        if bound.low is not None or bound.high is not None:
            path.used += 1
            path.score += 0.4 + 0.1 * (bound.low is not None and bound.high is not None)
            path.ranges = [_range(column, bound, prefix, descending=descending) for prefix in path.prefixes]
            path.prefixes = []
        break
    if path.prefixes:
        path.ranges = [(p, pairs.after(p)) if p else (b"", b"") for p in path.prefixes]
    return path


def stored_value(column: Column, value: PyValue) -> PyValue:
    """The value as the column has it. A double that is no real becomes the nearest one."""
    if column.type not in FLOATING or not isinstance(value, int | float):
        return value
    return floats.single(value) if column.type is SqlType.REAL else float(value)


def _range(column: Column, bound: Bound, prefix: bytes, *, descending: bool) -> Range:
    live = prefix + (encoding.inverted(encoding.LIVE) if descending else encoding.LIVE)
    low, high = (bound.high, bound.low) if descending else (bound.low, bound.high)
    start, end = live, pairs.after(live)
    if low is not None:
        near = stored_value(column, low[0])
        key = prefix + encoding.encode(column.type, near, descending=descending)
        start = key if low[1] or near != low[0] else pairs.after(key)
    if high is not None:
        near = stored_value(column, high[0])
        key = prefix + encoding.encode(column.type, near, descending=descending)
        end = pairs.after(key) if high[1] or near != high[0] else key
    return start, max(start, end)


def _places(start: bytes, ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Ranges between places, from ranges of what follows the beginning of all keys; without an end: of all of them."""
    ends = ((start + low, start + high if high else pairs.after(start)) for low, high in ranges)
    return tuple((pairs.place(low), pairs.place(high)) for low, high in ends)


def _joined(ranges: Sequence[Range]) -> tuple[Range, ...]:
    return tuple(sorted(r for r in ranges if r[0] < r[1]))


def _storages(descriptor: Descriptor, bounds: dict[ColumnId, Bound], storages: int, buckets: int) -> tuple[int, ...]:
    combinations: list[list[tuple[SqlType, Value | None]]] = [[]]
    for column_id in descriptor.sharding_key:
        bound = bounds.get(column_id)
        if bound is None or bound.values is None or len(combinations) * len(bound.values) > POINTS_MAX:
            return tuple(range(1, storages + 1))
        column = descriptor.column(column_id)
        stored = (encoding.encode(column.type, stored_value(column, value)) for value in bound.values)
        values = [encoding.decode(column.type, data)[0] for data in stored]
        combinations = [[*c, (column.type, value)] for c in combinations for value in values]
    function = descriptor.placement.function
    found = {storage_of(bucket_of(function, key, buckets), storages, buckets) for key in combinations}
    return tuple(sorted(found))


RANGES_MAX = 100
"""Key ranges that looked-up values are worth, each of which is read by itself."""


def looked_up(
    descriptor: Descriptor,
    columns: Sequence[ColumnId],
    rows: Sequence[Sequence[PyValue]],
    conditions: Sequence[Expr],
    context: Context,
    *,
    storages: int,
    buckets: int,
) -> Access | None:
    """The way to the rows that have one of these combinations of values in `columns`; None without a short one. The
    conditions say whether a partial index may serve."""
    place = {column_id: n for n, column_id in enumerate(columns)}
    covered = _leading(descriptor.primary_key, place)
    index: Index | None = None
    for other in descriptor.public_indexes:
        columns_of = [part.column for part in other.columns]
        if len(_leading(columns_of, place)) > len(covered) and serves(descriptor, other, conditions, context):
            covered, index = _leading(columns_of, place), other
    falling = {} if index is None else {part.column: part.descending for part in index.columns}
    described = [(descriptor.column(c), place[c], falling.get(c, False)) for c in covered]
    prefixes = sorted({key for row in rows if (key := _prefix(described, row)) is not None})
    if index is None and len(covered) == len(descriptor.primary_key):
        return Access(None, (), (), tuple(prefixes), tuple(covered))
    if not covered or len(prefixes) > RANGES_MAX:
        return None
    start = pairs.prefix(descriptor, descriptor.placement.id, PRIMARY if index is None else index.id)
    ranges = _places(start, [(prefix, pairs.after(prefix)) for prefix in prefixes])
    everywhere = tuple(range(1, descriptor.placement.storage_count(storages) + 1))
    return Access(index, ranges, everywhere, None, tuple(covered))


def _leading(columns: Sequence[ColumnId], known: Container[ColumnId]) -> Sequence[ColumnId]:
    return list(takewhile(lambda column: column in known, columns))


def _prefix(described: Sequence[tuple[Column, int, bool]], row: Sequence[PyValue]) -> bytes | None:
    parts = []
    for column, place, descending in described:
        value = row[place]
        if value is None or not fits(column.type, value):
            return None
        parts.append(encoding.encode(column.type, value, descending=descending))
    return b"".join(parts)
