"""Foreign keys over pairs: what a row refers to, and which pair says that it is there.

    flights (dest) -> airports (code)     a flight refers to the values of its dest, encoded; NULL refers to nothing
    code is the primary key               the airport is there when the pair `exists` of K(r) = these values is
    code is unique by an index            .. when the index has an entry with these values

Both are one key on one storage, found without a search: statements of nodes, verification, audits, the clauses and the
lab ask here. Values refer as MATCH SIMPLE says: one NULL among several, and the row refers to nothing.

A foreign key is enforced from write-only on, by both tables: rows that refer are refused when nothing is there, and
rows that are referred to are not taken away (`lost`). It is relied on when it is public (C6).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, RESTRICT, ColumnId, Constraint
from catalog.states import Write, rule
from storage import encoding
from storage.mutations import unique_bucket
from storage.pairs import StoredRow, column_key, encoded_value, prefix, row_bucket

Values = tuple[bytes, ...]
"""Encoded values, in the order of a foreign key's columns; none of them NULL."""


@dataclass(frozen=True, slots=True)
class Place:
    """The pair that is there if, and only if, a row with certain values is."""

    bucket: int
    key: bytes


def is_enforced(constraint: Constraint) -> bool:
    """Whether statements must obey it: from write-only on."""
    return rule(constraint.kind, constraint.state).insert is Write.ENFORCE


def values_of(descriptor: Descriptor, columns: Collection[ColumnId], row: StoredRow) -> Values | None:
    """What a row has in these columns; None when one is NULL."""
    found = tuple(encoded_value(descriptor, row, column) for column in columns)
    return None if encoding.NULL in found else found


def refers_to(descriptor: Descriptor, foreign_key: Constraint, row: StoredRow) -> Values | None:
    """The values that a row's foreign key refers to, in the order of its columns; None: to nothing."""
    return values_of(descriptor, foreign_key.columns, row)


def place_of(referenced: Descriptor, foreign_key: Constraint, values: Values, buckets: int) -> Place:
    """Where the referenced table says whether it has a row with these values."""
    given = dict(zip(foreign_key.reference_columns, values, strict=True))
    if foreign_key.index == PRIMARY:
        row = StoredRow(b"".join(given[column] for column in referenced.primary_key))
        bucket = row_bucket(referenced, referenced.placement, row, buckets)
        return Place(bucket, column_key(prefix(referenced, referenced.placement.id), row.key))
    index = referenced.index(foreign_key.index)
    parts = (encoding.inverted(given[p.column]) if p.descending else given[p.column] for p in index.columns)
    entry = b"".join(parts)
    return Place(unique_bucket(entry, buckets), prefix(referenced, referenced.placement.id, index.id) + entry)


def lost(
    descriptor: Descriptor, referenced: Constraint, changed: Iterable[tuple[StoredRow, StoredRow | None]]
) -> set[Values]:
    """The values that a statement took away: nothing may refer to them when it ends.

    `changed` are the rows before and after it; None: deleted. NO ACTION looks at what is there in the end: a row that
    takes over the values of another one is as good. RESTRICT looks at each row by itself.
    """
    gone: set[Values] = set()
    restricted: set[Values] = set()
    has: set[Values | None] = set()
    for before, after in changed:
        had = values_of(descriptor, referenced.columns, before)
        now = None if after is None else values_of(descriptor, referenced.columns, after)
        has.add(now)
        if had is not None and had != now:
            how = referenced.on_delete if after is None else referenced.on_update
            (restricted if how == RESTRICT else gone).add(had)
    return (gone - has) | restricted
