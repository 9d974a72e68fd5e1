"""Foreign keys over pairs: what a row refers to, and which pair says that it is there.

    flights (dest) -> airports (code)     a flight refers to the values of its dest, encoded; NULL refers to nothing
    code is the primary key               the airport is there when the pair `exists` of K(r) = these values is
    code is unique by an index            .. when the index has an entry with these values

Both are one key on one storage, found without a search: statements of nodes, verification, audits, the clauses and the
lab ask here. Values refer as MATCH SIMPLE says: one NULL among several, and the row refers to nothing.

A foreign key is enforced from write-only on, by both tables: rows that refer are refused when nothing is there
(`asked`), and rows that are referred to are not taken away (`lost`). It is relied on when it is public (C6).

A statement meets a list of *demands*, the same for everybody who writes rows; how they are looked up is the
writer's own matter:

    rows before and after     demands
    -        flight 1, LAX    an airport has LAX
    flight 2, CDG -> CDG      none: as in PostgreSQL, a row that refers to what it referred to is not asked again
    airport LAX -> -          no flight refers to LAX
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
    """The pair that is there if, and only if, a row with certain values is."""

    bucket: int
    key: bytes


def is_enforced(constraint: Constraint) -> bool:
    """True when statements must obey it: from write-only on."""
    return rule(constraint.kind, constraint.state).insert is Write.ENFORCE


def values_of(descriptor: Descriptor, columns: Collection[ColumnId], row: StoredRow) -> Values | None:
    """The values of a row in these columns; None when one is NULL."""
    found = tuple(key_value(descriptor, row, column) for column in columns)
    return None if encoding.NULL in found else found


def refers_to(descriptor: Descriptor, foreign_key: Constraint, row: StoredRow) -> Values | None:
    """The values that a row's foreign key refers to, in the order of its columns; None: to nothing."""
    return values_of(descriptor, foreign_key.columns, row)


def place_of(referenced: Descriptor, foreign_key: Constraint, values: Values, buckets: int) -> Place:
    """Where the referenced table says whether it has a row with these values."""
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
    """The unique index whose entry says that a row is there; None: its own pair does.

    The primary key's does not where rows are spread by other columns: its guard has one place for all storages.
    """
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
    """A demand of a foreign key on the other table: that a row has `values`, or that none refers to them.

    `row` numbers the first changed row that is concerned; `how` is what ON DELETE or ON UPDATE says of it.
    """

    row: int
    constraint: Constraint
    values: Values
    how: str = NO_ACTION

    @property
    def wants_row(self) -> bool:
        """True when a row must be there; else none may refer."""
        return self.constraint.rule == FOREIGN_KEY

    @property
    def sqlstate(self) -> str:
        """The code under which it is refused when it is not met: 23503, and 23001 where RESTRICT asks."""
        return RESTRICT_VIOLATION if self.how == RESTRICT else FOREIGN_KEY_VIOLATION

    @property
    def order(self) -> tuple[int, bool, int]:
        """The order in which those that are not met are reported: as PostgreSQL's triggers fire."""
        return self.row, self.wants_row, self.constraint.id


def enforced(constraints: Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Those of a table's foreign keys, or of what refers to it, that its statements must obey."""
    return tuple(filter(is_enforced, constraints))


def demands(
    descriptor: Descriptor, changed: Sequence[Change], among: Iterable[Constraint] | None = None
) -> list[Demand]:
    """All demands on a statement that has changed these rows, in the order in which they are reported.

    `among`: only by these constraints; else by all that this version enforces.
    """
    if among is None:
        among = enforced((*descriptor.foreign_keys, *descriptor.referenced_by))
    found = (
        demand
        for constraint in among
        for demand in (asked if constraint.rule == FOREIGN_KEY else lost)(descriptor, constraint, changed)
    )
    return sorted(found, key=lambda demand: demand.order)


def asked(descriptor: Descriptor, foreign_key: Constraint, changed: Iterable[Change]) -> Iterator[Demand]:
    """Demands of new rows, and of rows that refer to something else than before; each once."""
    seen: set[Values | None] = {None}
    for number, (before, after) in enumerate(changed):
        values = None if after is None else refers_to(descriptor, foreign_key, after)
        if values in seen or (before is not None and refers_to(descriptor, foreign_key, before) == values):
            continue
        seen.add(values)
        assert values is not None, "None is seen from the start"
        yield Demand(number, foreign_key, values)


def lost(descriptor: Descriptor, referenced: Constraint, changed: Iterable[Change]) -> Iterator[Demand]:
    """The values that a statement took away: nothing may refer to them when it ends.

    NO ACTION looks at what is there in the end: a row that takes over the values of another one is as good, a new one
    too. RESTRICT looks at each row by itself.
    """
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
    """Why a demand is not met: `row` still refers to what was lost; None: no row has the values."""

    row: StoredRow | None = None


def why_unmet(
    demand: Demand,
    other: Descriptor,
    *,
    has: Callable[[Place], bool],
    rows: Callable[[], Iterable[StoredRow]],
    buckets: int = BUCKETS,
) -> Unmet | None:
    """Why the other table is not as a demand wants it; None when it is.

    `has` says whether a pair is there, and no tombstone; `rows` are those of the other table that may refer.
    """
    if demand.wants_row:
        return None if has(place_of(other, demand.constraint, demand.values, buckets)) else Unmet()
    return next((Unmet(row) for row in rows() if refers_still(other, demand, row)), None)


def refers_still(child: Descriptor, demand: Demand, row: StoredRow) -> bool:
    """True when a row of the table that refers has the values that were lost."""
    return values_of(child, demand.constraint.reference_columns, row) == demand.values
