"""Elements of a schema: tables, columns, indexes, constraints, placements, each immutable, with a state and an id that
is never reused. Stored keys have ids, only descriptors have names."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import NewType

from catalog.kinds import Kind as Kind  # `Kind` and `State` are taken from here, with the elements that have them
from catalog.kinds import State as State
from catalog.values.types import SqlType, type_name

TableId = NewType("TableId", int)
ColumnId = NewType("ColumnId", int)
IndexId = NewType("IndexId", int)
ConstraintId = NewType("ConstraintId", int)
PlacementId = NewType("PlacementId", int)
NodeId = NewType("NodeId", str)

NOT_NULL, CHECK, FOREIGN_KEY, REFERENCED = "not null", "check", "foreign key", "referenced"
"""What a constraint may ask of rows; the last one is a foreign key as the table it references bears it."""

NO_ACTION, RESTRICT = "no action", "restrict"
"""What a foreign key does when a referenced row is deleted: refuse unless one with its values is there, or refuse."""

HIDDEN_ROW_ID = "hidden row id"
"""The column that numbers the rows of a table without a primary key, as pages call it; no statement can write its empty
name."""

EXISTS = ColumnId(0)
"""The column id of the pair that says "this row exists"."""

PRIMARY = IndexId(0)
"""The index id under which rows themselves are kept."""


class Coordination(Enum):
    """Agreement of nodes on a table's version (requests.md). Each version has at least one of two protections: leases
    bound how long an older version is used, the fence at the newest refuses it at once.

                leases    the newest version alone is accepted
        lease   yes       -
        both    yes       yes
        hash    -         yes
    """

    LEASE = "lease"
    HASH = "hash"
    BOTH = "both"

    @property
    def has_leases(self) -> bool:
        return self is not Coordination.HASH

    @property
    def is_strict(self) -> bool:
        return self is not Coordination.LEASE

    def steps_to(self, other: "Coordination") -> tuple["Coordination", ...]:
        """The coordination of each version on the way to `other`: neighbours share a protection."""
        if self is other:
            return ()
        is_apart = {self, other} == {Coordination.LEASE, Coordination.HASH}
        return (Coordination.BOTH, other) if is_apart else (other,)


@dataclass(frozen=True, slots=True)
class Derivation:
    """A column's value follows from another's: `expression` is SQL over columns by id (`"#3"`). `inverse` gives the
    source back, not always as it was ('07' is 7 is '7'), so a pair matches when either one says so (C5)."""

    source: ColumnId
    expression: str
    inverse: str | None = None


IDENTITY = ("identity", "identity_always", "identity_start", "identity_generation", "sequence")
"""The fields of a column that say which numbers it has."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `default` is an SQL expression; `fill_value` the encoded value a fill puts. `length`: characters of a
    varchar or char; precision and scale of a numeric (`numerics.modifier_of`); digits of a time's seconds; of a whole
    number the bytes of its former narrower type, while nodes of that type read it. `identity_generation`: the version
    of its ADD IDENTITY, which names its sequence. While its type changes a column has a twin of the other type. One is
    public, the other `derived`; `place_of` is the number by which clients know both.
    """

    id: ColumnId
    name: str
    type: SqlType
    state: State = State.PUBLIC
    not_null: bool = False
    default: str | None = None
    fill_value: bytes | None = None
    identity: bool = False
    added_with_default: bool = False
    filling: bool = False
    derived: Derivation | None = None
    length: int | None = None
    identity_always: bool = False
    comment: str | None = None
    identity_start: int = 1
    identity_generation: int = 1
    place_of: ColumnId | None = None
    sequence: str | None = None
    """The name of an identity column's sequence where it does not follow from those of table and column."""
    not_null_constraint: str | None = None
    """The same of its NOT NULL."""

    @property
    def number(self) -> ColumnId:
        return self.place_of or self.id

    @property
    def is_hidden(self) -> bool:
        """True for row ids of a table without a primary key, which no statement can name."""
        return not self.name

    @property
    def shown(self) -> str:
        return self.name or HIDDEN_ROW_ID

    @property
    def type_name(self) -> str:
        return type_name(self.type, self.length)

    @property
    def required(self) -> bool:
        """Every row has a pair: NOT NULL, or being added with a default."""
        return self.not_null or self.added_with_default

    @property
    def kind(self) -> Kind:
        if self.derived is not None:
            return Kind.DERIVED_COLUMN
        return Kind.REQUIRED_COLUMN if self.required else Kind.OPTIONAL_COLUMN


@dataclass(frozen=True, slots=True)
class IndexColumn:
    column: ColumnId
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """An index; `where` is an SQL predicate over columns by id (`"#3"`). `primary`: it keeps the visible primary key
    of a table of hidden row ids. `is_constraint`: made by UNIQUE. `constraint_comment` is the constraint's own."""

    id: IndexId
    name: str
    columns: tuple[IndexColumn, ...]
    unique: bool = False
    where: str | None = None
    state: State = State.PUBLIC
    filling: bool = False
    primary: bool = False
    comment: str | None = None
    constraint_comment: str | None = None
    is_constraint: bool = False

    @property
    def kind(self) -> Kind:
        return Kind.UNIQUE_INDEX if self.unique else Kind.INDEX

    @property
    def column_ids(self) -> tuple[ColumnId, ...]:
        return tuple(part.column for part in self.columns)


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule on rows: `rule` is NOT_NULL, CHECK, FOREIGN_KEY or REFERENCED. A NOT NULL is a constraint while it moves,
    then `Column.not_null`. A foreign key stands in both tables in the same state (L11): FOREIGN_KEY where `columns`
    refer to `reference_columns` of table `references`, REFERENCED the other way round. `partner` is the other side's
    id, `index` makes the referenced values unique: an index, or PRIMARY."""

    id: ConstraintId
    name: str
    rule: str
    columns: tuple[ColumnId, ...] = ()
    expression: str | None = None
    references: TableId | None = None
    reference_columns: tuple[ColumnId, ...] = ()
    state: State = State.PUBLIC
    partner: ConstraintId | None = None
    index: IndexId = PRIMARY
    on_delete: str = NO_ACTION
    on_update: str = NO_ACTION
    comment: str | None = None

    @property
    def kind(self) -> Kind:
        return Kind.CONSTRAINT

    def mirrored(self, table: TableId) -> "Constraint":
        """The other side of a foreign key; this side stands in `table`. Comments stay on the referring side."""
        assert self.partner is not None, f"{self.name} has no other side"
        return replace(
            self,
            id=self.partner,
            rule=REFERENCED if self.rule == FOREIGN_KEY else FOREIGN_KEY,
            columns=self.reference_columns,
            references=table,
            reference_columns=self.columns,
            partner=self.id,
            comment=None,
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """A way of spreading rows over storages. An empty sharding key means the primary key. `function` is in
    `storage.buckets.FUNCTIONS`. `storages` share the buckets; 0: as many as the cluster began with."""

    id: PlacementId
    sharding_key: tuple[ColumnId, ...] = ()
    function: str = "strcrc32"
    state: State = State.PUBLIC
    filling: bool = False
    storages: int = 0

    @property
    def kind(self) -> Kind:
        return Kind.PLACEMENT

    def storage_count(self, first: int) -> int:
        return self.storages or first
