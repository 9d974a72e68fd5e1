"""The elements of a schema: tables, columns, indexes, constraints, placements.

Every element carries a state and a numeric id that is never reused; keys in the
store hold ids, only descriptors hold names. Elements are immutable: a change of
schema is a new descriptor with other elements in it.
"""

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
"""What pages call the column that numbers the rows of a table without a primary key. Its name is empty, which no
statement can write."""

EXISTS = ColumnId(0)
"""The column id of the pair that says "this row exists"."""

PRIMARY = IndexId(0)
"""The index id under which rows themselves are kept."""


class Coordination(Enum):
    """The way in which nodes of a table agree on its version (requests.md).

    Two protections, at least one of them in each version: leases bound how long an older version is used, the fence at
    the newest version refuses an older one at once.

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
        """A node uses a version under a lease."""
        return self is not Coordination.HASH

    @property
    def is_strict(self) -> bool:
        """The storages accept the newest version alone."""
        return self is not Coordination.LEASE

    def steps_to(self, other: "Coordination") -> tuple["Coordination", ...]:
        """The coordination of each version on the way to `other`: neighbours have a protection in common."""
        if self is other:
            return ()
        is_apart = {self, other} == {Coordination.LEASE, Coordination.HASH}
        return (Coordination.BOTH, other) if is_apart else (other,)


@dataclass(frozen=True, slots=True)
class Derivation:
    """A column's value follows from another's: `expression` is SQL over the row's columns, named by id (`"#3"`).

    `inverse` gives the source's value back, over the derived column itself. Not every value comes back as it was
    ('07' is 7 is '7'), so a pair matches its source when either expression says so (C5).
    """

    source: ColumnId
    expression: str
    inverse: str | None = None


IDENTITY = ("identity", "identity_always", "identity_start", "identity_generation", "sequence")
"""The fields of a column that say which numbers it has."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `default` is an SQL expression; `fill_value` the encoded value a fill puts (bytes).

    `length`: the characters that a varchar may have, or a char has; of a numeric its precision and scale in one number
    (`numerics.modifier_of`); of a time or timestamp the digits of its seconds, 0 too; of a whole number the bytes of
    the narrower type that it had, while nodes of that type still read it. `identity_always`: statements may give no
    number; `identity_start`: the first one; `identity_generation`: the version that gave it its numbers, so that those
    of a later ADD are another sequence.

    While its type changes, a column has a twin of the other type: one of the two is public, the other `derived`. The
    twin then stands in its place, and `place_of` is the number by which clients know both.
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
        """The number by which clients know it. It grows along the table's columns, whatever their types were before."""
        return self.place_of or self.id

    @property
    def is_hidden(self) -> bool:
        """True for the row ids of a table without a primary key: they are its key, and no statement can name them."""
        return not self.name

    @property
    def shown(self) -> str:
        """The name for people."""
        return self.name or HIDDEN_ROW_ID

    @property
    def type_name(self) -> str:
        """The type as a statement names it, with its length."""
        return type_name(self.type, self.length)

    @property
    def required(self) -> bool:
        """Every row must have a pair: NOT NULL, or being added with a default."""
        return self.not_null or self.added_with_default

    @property
    def kind(self) -> Kind:
        if self.derived is not None:
            return Kind.DERIVED_COLUMN
        return Kind.REQUIRED_COLUMN if self.required else Kind.OPTIONAL_COLUMN


@dataclass(frozen=True, slots=True)
class IndexColumn:
    """One column of an index key, and whether it sorts backwards."""

    column: ColumnId
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """An index over columns of its table; `where` is an SQL predicate over the row's columns, named by id (`"#3"`).

    `primary`: in a table of hidden row ids it keeps what clients know as the primary key. A UNIQUE or PRIMARY KEY that
    it keeps has a comment of its own, `constraint_comment`. `is_constraint`: it was made by UNIQUE, not as an index.
    """

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
    """A rule on rows: `rule` is NOT_NULL, CHECK, FOREIGN_KEY or REFERENCED.

    `expression` is SQL over the row's columns, named by id (`"#3"`). A column that was NOT NULL from the start, and
    one whose rule has become public, bears it as `Column.not_null`: the constraint itself is there while it moves.

    A foreign key stands in the descriptors of both its tables, in the same state (L11): FOREIGN_KEY where `columns`
    refer to `reference_columns` of table `references`, REFERENCED where `columns` are referred to by
    `reference_columns` of table `references`. `partner` is the id of the other one. `index` is what the referenced
    values are unique by: an index of the referenced table, or PRIMARY.
    """

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
        """The other side of a foreign key: how the table at its other end bears it. This side stands in `table`.

        A comment stands in the table that refers.
        """
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
    """One way of spreading a table's rows over storages. An empty sharding key means the primary key.

    `function` names one of `storage.buckets.FUNCTIONS`. `storages` is how many storages the buckets are divided among;
    0: as many as the cluster began with (`STORAGE_COUNT`), which tables of before this could be changed have, too.
    """

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
        """The number of storages of this placement, in a cluster that began with `first`."""
        return self.storages or first
