"""The tables that a plan may need besides its own. `changes.ddl.resolve.CatalogView` is another implementation."""

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field
from typing import Protocol

from catalog.descriptor import Descriptor
from catalog.elements import State, TableId
from catalog.values.types import SqlType
from catalog.view_definition import ViewDefinition
from changes.plan.model import Element
from expressions.rows import Judge, JudgeDefault
from expressions.typed import PyValue
from storage.buckets import AS_BEGUN, StorageCount

Compute = Callable[[Descriptor, str, SqlType], PyValue]
"""The value, of this type, of an expression of no column: of a statement on this table. Raises `SqlError`."""


class Tables(Protocol):
    """Finds tables by name and id. An absent table has no name."""

    def named(self, name: str) -> Descriptor | None: ...

    def numbered(self, table_id: int) -> Descriptor | None: ...

    @property
    def sandboxes(self) -> Set[TableId]:
        """Tables on which the lab may break rules: no foreign key may touch them."""
        ...

    @property
    def storages(self) -> StorageCount: ...

    @property
    def views(self) -> tuple[ViewDefinition, ...]: ...

    @property
    def judge(self) -> Judge | None:
        """Asks PostgreSQL about expressions that are not computed here; without it they are refused."""
        ...

    @property
    def judge_default(self) -> JudgeDefault | None:
        """Asks PostgreSQL about defaults that are not computed here; without it they are taken as they are."""
        ...

    @property
    def compute(self) -> Compute | None:
        """Asks PostgreSQL for the value of an expression that reads no column."""
        ...


@dataclass(frozen=True, slots=True)
class KnownTables:
    tables: tuple[Descriptor, ...] = ()
    sandboxes: frozenset[TableId] = frozenset()
    storages: StorageCount = AS_BEGUN
    views: tuple[ViewDefinition, ...] = ()
    judge: Judge | None = field(default=None, compare=False)
    compute: Compute | None = field(default=None, compare=False)
    judge_default: JudgeDefault | None = field(default=None, compare=False)

    def named(self, name: str) -> Descriptor | None:
        return next((t for t in self.tables if t.name == name and t.state is not State.ABSENT), None)

    def numbered(self, table_id: int) -> Descriptor | None:
        return next((t for t in self.tables if t.table_id == table_id), None)


NO_TABLES = KnownTables()
"""For who plans on a table that no foreign key spans."""


def partners_of(elements: Iterable[Element], table: Descriptor, tables: Tables) -> tuple[Descriptor, ...]:
    """The other tables that foreign keys of `table` among `elements` reference, by id."""
    ids = {element.partner[0] for element in elements if element.partner is not None} - {table.table_id}
    found = [tables.numbered(table_id) for table_id in sorted(ids)]
    assert None not in found, f"{table} refers to tables {sorted(ids)}, and not all of them are known here"
    return tuple(partner for partner in found if partner is not None)
