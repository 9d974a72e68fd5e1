"""Foreign keys over pairs: the values that a row refers to, and the pair that says that such a row exists.

    flights (dest) -> airports (code)     a flight refers to the values of its dest, encoded; NULL refers to nothing
    code is the primary key               the airport exists when the pair `exists` of K(r) = these values does
    code is unique by an index            .. when the index has an entry with these values

MATCH SIMPLE: one NULL, and the row refers to nothing. Both tables enforce it from write-only on: new references
(`asked`) and lost rows (`lost`); readers rely on it when public (C6). A statement meets a list of *demands*, the same
for all writers: an insert that refers to LAX demands the airport, the delete of LAX that no row refers to it. As in
PostgreSQL, an unchanged reference demands nothing.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, NO_ACTION, PRIMARY, RESTRICT, ColumnId, Constraint, Index
from catalog.states import Write, rule
from expressions.errors import FOREIGN_KEY_VIOLATION, RESTRICT_VIOLATION
from storage import encoding
from storage.buckets import BUCKETS
from storage.mutations import unique_bucket
from storage.pairs import StoredRow, column_key, key_value, prefix, row_bucket

Values = tuple[bytes, ...]
"""Encoded values, in the order of a foreign key's columns; none of them NULL."""

Change = tuple[StoredRow | None, StoredRow | None]
"""A row before and after a statement; None: it was, or is, not there."""


@dataclass(frozen=True, slots=True)
class Place:
    """The pair that exists if, and only if, a row with certain values does."""

    bucket: int
    key: bytes


def is_enforced(constraint: Constraint) -> bool:
    return rule(constraint.kind, constraint.state).insert is Write.ENFORCE


def values_of(descriptor: Descriptor, columns: Collection[ColumnId], row: StoredRow) -> Values | None:
    """A row's values in these columns; None when one is NULL."""
    found = tuple(key_value(descriptor, row, column) for column in columns)
    return None if encoding.NULL in found else found


def refers_to(descriptor: Descriptor, foreign_key: Constraint, row: StoredRow) -> Values | None:
    return values_of(descriptor, foreign_key.columns, row)


def place_of(referenced: Descriptor, foreign_key: Constraint, values: Values, buckets: int) -> Place:
    """The pair of the referenced table that says whether a row has these values."""
    given = dict(zip(foreign_key.reference_columns, values, strict=True))
    index = index_referred_by(referenced, foreign_key)
    if index is None:
        row = StoredRow(b"".join(given[column] for column in referenced.primary_key))
        bucket = row_bucket(referenced, referenced.placement, row, buckets)
        return Place(bucket, column_key(prefix(referenced, referenced.placement.id), row.key))
    parts = (encoding.inverted(given[p.column]) if p.descending else given[p.column] for p in index.columns)
    entry = b"".join(parts)
    return Place(unique_bucket(entry, buckets), prefix(referenced, referenced.placement.id, index.id) + entry)


def index_referred_by(referenced: Descriptor, foreign_key: Constraint) -> Index | None:
    """The unique index whose entry says it; None: the row's own pair. Where rows are spread by other columns it is the
    primary key's guard, whose entry has one place for all storages."""
    if foreign_key.index != PRIMARY:
        return referenced.index(foreign_key.index)
    if referenced.is_home_in_key:
        return None
    guard = referenced.key_guard
    assert guard is not None, f"{referenced} is spread by columns outside its primary key, and nothing guards that"
    return guard


# -- the demands of a statement


@dataclass(frozen=True, slots=True)
class Demand:
    """Another table must have a row with `values`, or no row that refers to them. `row` numbers the first changed row
    concerned; `how` is its ON DELETE or ON UPDATE."""

    row: int
    constraint: Constraint
    values: Values
    how: str = NO_ACTION

    @property
    def wants_row(self) -> bool:
        return self.constraint.rule == FOREIGN_KEY

    @property
    def sqlstate(self) -> str:
        """23503, or 23001 for RESTRICT."""
        return RESTRICT_VIOLATION if self.how == RESTRICT else FOREIGN_KEY_VIOLATION

    @property
    def order(self) -> tuple[int, bool, int]:
        """The order of reports, as PostgreSQL's triggers fire."""
        return self.row, self.wants_row, self.constraint.id


def enforced(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """The foreign keys of a table, and to it, that its statements must obey."""
    return tuple(filter(is_enforced, constraints))


def demands(
    descriptor: Descriptor, changed: Sequence[Change], among: Iterable[Constraint] | None = None
) -> list[Demand]:
    """All demands on a statement with these changes, in the order of reports; `among`: only by these constraints."""
    if among is None:
        among = enforced((*descriptor.foreign_keys, *descriptor.referenced_by))
    found = (
        demand
        for constraint in among
        for demand in (asked if constraint.rule == FOREIGN_KEY else lost)(descriptor, constraint, changed)
    )
    return sorted(found, key=lambda demand: demand.order)


def asked(descriptor: Descriptor, foreign_key: Constraint, changed: Iterable[Change]) -> Iterator[Demand]:
    """Demands of new rows and changed references; each once."""
    seen: set[Values | None] = {None}
    for number, (before, after) in enumerate(changed):
        values = None if after is None else refers_to(descriptor, foreign_key, after)
        if values in seen or (before is not None and refers_to(descriptor, foreign_key, before) == values):
            continue
        seen.add(values)
        assert values is not None, "None is seen from the start"
        yield Demand(number, foreign_key, values)


def lost(descriptor: Descriptor, referenced: Constraint, changed: Iterable[Change]) -> Iterator[Demand]:
    """Values that a statement took away, to which no row may refer at its end. NO ACTION accepts another row with the
    values; RESTRICT looks at each row by itself."""
    taken_away: dict[Values, Demand] = {}
    has: set[Values | None] = set()
    for number, (before, after) in enumerate(changed):
        had = None if before is None else values_of(descriptor, referenced.columns, before)
        now = None if after is None else values_of(descriptor, referenced.columns, after)
        has.add(now)
        if had is not None and had != now:
            how = referenced.on_delete if after is None else referenced.on_update
            taken_away.setdefault(had, Demand(number, referenced, had, how))
    yield from (demand for values, demand in taken_away.items() if demand.how == RESTRICT or values not in has)


@dataclass(frozen=True, slots=True)
class Unmet:
    """Why a demand is not met: `row` still refers to lost values; None: no row has them."""

    row: StoredRow | None = None


def why_unmet(
    demand: Demand,
    other: Descriptor,
    *,
    has: Callable[[Place], bool],
    rows: Callable[[], Iterable[StoredRow]],
    buckets: int = BUCKETS,
) -> Unmet | None:
    if demand.wants_row:
        return None if has(place_of(other, demand.constraint, demand.values, buckets)) else Unmet()
    return next((Unmet(row) for row in rows() if refers_still(other, demand, row)), None)


def refers_still(child: Descriptor, demand: Demand, row: StoredRow) -> bool:
    return values_of(child, demand.constraint.reference_columns, row) == demand.values
