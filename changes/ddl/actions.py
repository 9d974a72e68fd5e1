"""A parsed statement as an action: the language between DDL and planner, also built directly by scripts and the lab.
Names are folded and unquoted. Each has its position (characters from 1, None if generated), which does not count in
comparisons, so that a refusal points at the word it means (X5)."""

from dataclasses import dataclass, field
from typing import Any

from catalog.elements import NO_ACTION, Coordination
from catalog.values.types import SqlType

Position = int | None


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    position: Position = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    position: Position = field(default=None, compare=False)


UNNAMED = Name("")
"""Stands for a name that the statement leaves to us, and for the table that DROP INDEX does not say."""

ROW_ID = Name("")
"""The hidden row ids of a table without a primary key: the empty name, which no statement can write."""


STRCRC32 = Name("strcrc32")
"""The sharding function of a table whose statement names none."""


@dataclass(frozen=True, slots=True)
class Sql:
    """An expression. Positions in its parse tree `node` count bytes of `source`."""

    text: str
    node: Any = field(default=None, compare=False, repr=False)
    source: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column to add. `default` is an SQL expression that reads no column."""

    name: Name
    type: SqlType
    not_null: bool = False
    default: str | None = None
    identity: bool = False
    length: int | None = None
    identity_always: bool = False
    default_position: Position = field(default=None, compare=False)
    default_sql: Sql | None = field(default=None, compare=False, repr=False)
    """The default as it stands in the statement, where it is no constant."""
    identity_start: int = 1
    sequence: str | None = None
    """The name of an identity column's sequence; None: the one that follows from table and column."""


@dataclass(frozen=True, slots=True)
class NewCheck:
    name: Name
    expression: Sql
    position: Position = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NewUnique:
    """UNIQUE (columns): an index of that name keeps it. `guards_key`: added by us, because rows are spread by columns
    outside the primary key. `primary`: ADD PRIMARY KEY."""

    name: Name
    columns: tuple[Name, ...]
    position: Position = field(default=None, compare=False)
    guards_key: bool = False
    primary: bool = False


@dataclass(frozen=True, slots=True)
class NewForeignKey:
    """FOREIGN KEY (columns) REFERENCES references (reference_columns; empty: its primary key)."""

    name: Name
    columns: tuple[Name, ...]
    references: Name
    reference_columns: tuple[Name, ...] = ()
    on_delete: str = NO_ACTION
    on_update: str = NO_ACTION
    position: Position = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class IndexPart:
    """One column of an index key. NULLs sort last, first when `descending`, as in PostgreSQL."""

    column: Name
    descending: bool = False


# Statements


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE. Empty sharding key: the primary key. No storages: as many as the cluster began with."""

    table: Name
    columns: tuple[NewColumn, ...]
    primary_key: tuple[Name, ...]
    sharding_key: tuple[Name, ...] = ()
    sharding_function: Name = STRCRC32
    coordination: Coordination = Coordination.LEASE
    checks: tuple[NewCheck, ...] = ()
    uniques: tuple[NewUnique, ...] = ()
    foreign_keys: tuple[NewForeignKey, ...] = ()
    storages: Number | None = None
    temporary: str = ""
    """What COMMIT does with a temporary table, as SQL has it ("preserve rows", "delete rows", "drop")."""
    key_name: str | None = None
    """The primary key's name; None: the one that follows from the table's."""


@dataclass(frozen=True, slots=True)
class DropTable:
    table: Name


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """CREATE [UNIQUE] INDEX; the name is given or chosen."""

    index: Name
    table: Name
    columns: tuple[IndexPart, ...]
    unique: bool = False
    where: Sql | None = None


@dataclass(frozen=True, slots=True)
class DropIndex:
    index: Name
    table: Name


@dataclass(frozen=True, slots=True)
class RenameTable:
    table: Name
    new: Name


@dataclass(frozen=True, slots=True)
class RenameColumn:
    table: Name
    column: Name
    new: Name


@dataclass(frozen=True, slots=True)
class RenameIndex:
    """ALTER INDEX .. RENAME TO; `resolve` finds the table."""

    index: Name
    table: Name
    new: Name


@dataclass(frozen=True, slots=True)
class RenameConstraint:
    table: Name
    constraint: Name
    new: Name


@dataclass(frozen=True, slots=True)
class SetComment:
    """COMMENT ON a "table", "column", "index" or "constraint" (`of`); text None removes the comment."""

    table: Name
    of: str
    name: Name
    text: str | None


# What ALTER TABLE may do, several things in one statement


@dataclass(frozen=True, slots=True)
class AddColumn:
    """ADD COLUMN with its constraints. `forgiving`: IF NOT EXISTS."""

    column: NewColumn
    checks: tuple[NewCheck, ...] = ()
    uniques: tuple[NewUnique, ...] = ()
    foreign_keys: tuple[NewForeignKey, ...] = ()
    forgiving: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    """`forgiving`: IF EXISTS."""

    column: Name
    forgiving: bool = False


@dataclass(frozen=True, slots=True)
class SetNotNull:
    column: Name
    not_null: bool = True


@dataclass(frozen=True, slots=True)
class SetDefault:
    """SET DEFAULT; None: DROP DEFAULT."""

    column: Name
    default: Sql | None = None


@dataclass(frozen=True, slots=True)
class SetIdentity:
    """ADD GENERATED .. AS IDENTITY or DROP IDENTITY; `sequence`: SET DEFAULT nextval(..) of that sequence."""

    column: Name
    is_always: bool = False
    is_dropped: bool = False
    forgiving: bool = False
    sequence: str | None = None
    sequence_name: str | None = None
    """The name that the sequence is to have."""
    start: int = 1
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class SetType:
    column: Name
    type: SqlType
    using: Sql | None = None
    length: int | None = None
    position: Position = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """`forgiving`: IF EXISTS."""

    name: Name
    forgiving: bool = False


@dataclass(frozen=True, slots=True)
class UseIndex:
    """ADD PRIMARY KEY or UNIQUE USING INDEX; the index takes the constraint's name, if it has one."""

    index: Name
    name: Name
    primary: bool
    position: Position = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SetSharding:
    """SET (sharding_key, sharding_func, storages); None: unchanged. `guard`: an index it may need."""

    key: tuple[Name, ...] | None = None
    function: Name | None = None
    guard: Name = UNNAMED
    position: Position = field(default=None, compare=False)
    storages: Number | None = None


@dataclass(frozen=True, slots=True)
class SetCoordination:
    coordination: Coordination
    position: Position = field(default=None, compare=False)


Alteration = (
    AddColumn
    | DropColumn
    | SetNotNull
    | SetDefault
    | SetIdentity
    | SetType
    | SetSharding
    | SetCoordination
    | NewCheck
    | NewUnique
    | NewForeignKey
    | UseIndex
    | DropConstraint
)


@dataclass(frozen=True, slots=True)
class AlterTable:
    """ALTER TABLE: all of it is one change."""

    table: Name
    alterations: tuple[Alteration, ...]


Action = (
    CreateTable
    | DropTable
    | CreateIndex
    | DropIndex
    | AlterTable
    | RenameTable
    | RenameColumn
    | RenameIndex
    | RenameConstraint
    | SetComment
)
