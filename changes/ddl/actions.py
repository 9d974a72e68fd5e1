"""A parsed statement as an action: the language between DDL and planner.

`changes.ddl.statements` reads SQL into these, golden scripts and the lab build them by hand, and
`changes.plan.model` turns one of them and a descriptor into a plan. Names are as the user
meant them (folded, unquoted). Each name bears its position in the statement (characters
from 1, None when nobody typed it), so that a refusal points at the word it means (X5);
positions do not count when two actions are compared.
"""

from dataclasses import dataclass, field
from typing import Any

from catalog.elements import NO_ACTION, Coordination
from catalog.values.types import SqlType

Position = int | None


@dataclass(frozen=True, slots=True)
class Name:
    """A word of the statement and where it stands."""

    text: str
    position: Position = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the statement and where it stands."""

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
    """An expression of the statement. `node` is its parse tree, whose places count bytes of `source`."""

    text: str
    node: Any = field(default=None, compare=False, repr=False)
    source: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column that is to be. `default` is an SQL expression that reads no column."""

    name: Name
    type: SqlType
    not_null: bool = False
    default: str | None = None
    identity: bool = False
    length: int | None = None
    identity_always: bool = False
    default_position: Position = field(default=None, compare=False)
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
    """UNIQUE (columns): kept by a unique index of its name.

    `guards_key`: nobody wrote it; the table's rows are spread by columns outside the primary key, which it guards.
    `primary`: ADD PRIMARY KEY, to a table that was made without one.
    """

    name: Name
    columns: tuple[Name, ...]
    position: Position = field(default=None, compare=False)
    guards_key: bool = False
    primary: bool = False


@dataclass(frozen=True, slots=True)
class NewForeignKey:
    """FOREIGN KEY (columns) REFERENCES references (reference_columns); none of these: its primary key."""

    name: Name
    columns: tuple[Name, ...]
    references: Name
    reference_columns: tuple[Name, ...] = ()
    on_delete: str = NO_ACTION
    on_update: str = NO_ACTION
    position: Position = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class IndexPart:
    """One column of an index key; NULLs sort as PostgreSQL sorts them: last, first when `descending`."""

    column: Name
    descending: bool = False


# Statements


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE. An empty sharding key means the primary key; no storages: as many as the cluster began with.

    Without a primary key its rows are kept by hidden row ids.
    """

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
    """CREATE [UNIQUE] INDEX. `index` is the name given, or the one chosen for a statement that gives none."""

    index: Name
    table: Name
    columns: tuple[IndexPart, ...]
    unique: bool = False
    where: Sql | None = None


@dataclass(frozen=True, slots=True)
class DropIndex:
    """DROP INDEX; `table` is the table the index was found on."""

    index: Name
    table: Name


@dataclass(frozen=True, slots=True)
class RenameTable:
    table: Name
    new: Name


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """ALTER TABLE .. RENAME COLUMN .. TO."""

    table: Name
    column: Name
    new: Name


@dataclass(frozen=True, slots=True)
class RenameIndex:
    """ALTER INDEX .. RENAME TO; `table` is the table the index was found on."""

    index: Name
    table: Name
    new: Name


@dataclass(frozen=True, slots=True)
class RenameConstraint:
    """ALTER TABLE .. RENAME CONSTRAINT .. TO."""

    table: Name
    constraint: Name
    new: Name


@dataclass(frozen=True, slots=True)
class SetComment:
    """COMMENT ON a "table", a "column", an "index" or a "constraint" (`of`); None takes the comment away.

    `table` is the one it is about, or the index was found on.
    """

    table: Name
    of: str
    name: Name
    text: str | None


# What ALTER TABLE may do, several things in one statement


@dataclass(frozen=True, slots=True)
class AddColumn:
    """ADD COLUMN, with its constraints. `forgiving` is IF NOT EXISTS."""

    column: NewColumn
    checks: tuple[NewCheck, ...] = ()
    uniques: tuple[NewUnique, ...] = ()
    foreign_keys: tuple[NewForeignKey, ...] = ()
    forgiving: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    """DROP COLUMN. `forgiving` is IF EXISTS."""

    column: Name
    forgiving: bool = False


@dataclass(frozen=True, slots=True)
class SetNotNull:
    """ALTER COLUMN .. SET NOT NULL, or DROP NOT NULL."""

    column: Name
    not_null: bool = True


@dataclass(frozen=True, slots=True)
class SetDefault:
    """ALTER COLUMN .. SET DEFAULT; None: DROP DEFAULT."""

    column: Name
    default: Sql | None = None


@dataclass(frozen=True, slots=True)
class SetIdentity:
    """ALTER COLUMN .. ADD GENERATED .. AS IDENTITY, DROP IDENTITY; `sequence`: SET DEFAULT nextval(..) of that one."""

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
    """ALTER COLUMN .. TYPE .. [USING ..]."""

    column: Name
    type: SqlType
    using: Sql | None = None
    length: int | None = None
    position: Position = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class DropConstraint:
    """DROP CONSTRAINT. `forgiving` is IF EXISTS."""

    name: Name
    forgiving: bool = False


@dataclass(frozen=True, slots=True)
class UseIndex:
    """ADD PRIMARY KEY or UNIQUE USING INDEX: the index takes the constraint's name, where it has one."""

    index: Name
    name: Name
    primary: bool
    position: Position = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SetSharding:
    """SET (sharding_key = .., sharding_func = .., storages = ..); None: as it is. `guard`: the index it may need."""

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
    """ALTER TABLE: everything it does is one change."""

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
