"""The elements that the names in a statement mean, settled when it is submitted (L12). A queued change is planned again
when it starts, and a name may mean another table by then: a rename before it may be cancelled, and the name taken by a
new table. Names of UNIQUE constraints are kept, too, since a forgiving statement may have some that are in no plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import TableId
from catalog.view_definition import ViewDefinition
from changes.ddl.actions import Action, AddColumn, AlterTable, CreateTable, Name, NewForeignKey
from changes.ddl.resolve import Named, implied_names, uniques_of, with_implied_names, with_names
from changes.planning.tables import Compute, Tables
from expressions.rows import Judge, JudgeDefault
from storage.buckets import StorageCount


@dataclass(frozen=True, slots=True)
class Names:
    """Ids of the other tables named, and names of UNIQUE constraints, in order. `implied`: `resolve.implied_names`."""

    tables: Mapping[str, int]
    uniques: tuple[str, ...]
    implied: tuple[str | None, ...] = ()

    def to_json(self) -> dict[str, Any]:
        implied = {"implied": list(self.implied)} if self.implied else {}
        return {"tables": dict(self.tables), "uniques": list(self.uniques), **implied}


def names_from_json(body: Mapping[str, Any]) -> Names:
    return Names(body.get("tables", {}), tuple(body.get("uniques", ())), tuple(body.get("implied", ())))


def names_in(action: Action, tables: Tables) -> Names:
    """The meaning of the names in a resolved action; unknown names are left out."""
    if not isinstance(action, AlterTable | CreateTable):
        return Names({}, ())
    found = {name: tables.named(name) for name in _tables_in(action)}
    ids = {name: table.table_id for name, table in found.items() if table is not None}
    return Names(ids, tuple(unique.name.text for unique in uniques_of(action)), tuple(implied_names(action)))


def named_again(action: Named, names: Names) -> Named:
    named = with_names(action, [Name(name) for name in names.uniques])
    return with_implied_names(named, names.implied) if names.implied else named


@dataclass(frozen=True, slots=True)
class AsNamed:
    """The tables under the names that they had when a statement was submitted."""

    tables: Tables
    names: Names

    @property
    def sandboxes(self) -> Set[TableId]:
        return self.tables.sandboxes

    @property
    def storages(self) -> StorageCount:
        return self.tables.storages

    @property
    def views(self) -> tuple[ViewDefinition, ...]:
        return self.tables.views

    @property
    def judge(self) -> Judge | None:
        return self.tables.judge

    @property
    def judge_default(self) -> JudgeDefault | None:
        return self.tables.judge_default

    @property
    def compute(self) -> Compute | None:
        return self.tables.compute

    def named(self, name: str) -> Descriptor | None:
        table_id = self.names.tables.get(name)
        return None if table_id is None else self.numbered(table_id)

    def numbered(self, table_id: int) -> Descriptor | None:
        return self.tables.numbered(table_id)


def _tables_in(action: AlterTable | CreateTable) -> Iterator[str]:
    if isinstance(action, CreateTable):
        yield from (one.references.text for one in action.foreign_keys)
        return
    for alteration in action.alterations:
        if isinstance(alteration, NewForeignKey):
            yield alteration.references.text
        if isinstance(alteration, AddColumn):
            yield from (one.references.text for one in alteration.foreign_keys)
