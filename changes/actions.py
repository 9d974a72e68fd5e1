"""What a statement asks for, once it is parsed: the language between DDL and planner.

`changes.ddl` reads SQL into these, golden scripts and the lab build them by hand, and
`changes.plan` turns one of them and a descriptor into a plan. Names are as the user
meant them (folded, unquoted). Each name bears its position in the statement (characters
from 1, None when nobody typed it), so that a refusal points at the word it means (X5);
positions do not count when two actions are compared.
"""

from dataclasses import dataclass, field

from catalog.types import SqlType

Position = int | None


@dataclass(frozen=True, slots=True)
class Name:
    """A word of the statement and where it stands."""

    text: str
    position: Position = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column of CREATE TABLE. `default` is an SQL expression."""

    name: Name
    type: SqlType
    not_null: bool = False
    default: str | None = None
    identity: bool = False


@dataclass(frozen=True, slots=True)
class IndexPart:
    """One column of an index key; NULLs sort as PostgreSQL sorts them: last, first when `descending`."""

    column: Name
    descending: bool = False


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE TABLE. An empty sharding key means the primary key."""

    table: Name
    columns: tuple[NewColumn, ...]
    primary_key: tuple[Name, ...]
    sharding_key: tuple[Name, ...] = ()
    sharding_function: str = "strcrc32"


@dataclass(frozen=True, slots=True)
class DropTable:
    """DROP TABLE."""

    table: Name


@dataclass(frozen=True, slots=True)
class CreateIndex:
    """CREATE [UNIQUE] INDEX. `index` is the name given, or the one chosen for a statement that gives none."""

    index: Name
    table: Name
    columns: tuple[IndexPart, ...]
    unique: bool = False
    where: str | None = None


@dataclass(frozen=True, slots=True)
class DropIndex:
    """DROP INDEX; `table` is the table the index was found on."""

    index: Name
    table: Name


Action = CreateTable | DropTable | CreateIndex | DropIndex
