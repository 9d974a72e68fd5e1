"""The elements that the names in a statement stand for: settled once, when it is submitted (L12).

A queued change is planned again when its turn comes, perhaps more than once, and names do not wait for it:

    change 1   ALTER TABLE airports RENAME TO ports       queued, and cancelled later
    change 2   ALTER TABLE trips ADD .. REFERENCES ports  queued: ports is table 7
    change 3   CREATE TABLE ports ..                      done meanwhile: table 9
    change 2   begins                                     it refers to table 7, which is called airports

The names of the UNIQUE constraints are kept, too: those of a column that exists (IF NOT EXISTS) are in
no plan, and may be needed after all.
"""

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
from expressions.rows import Judge
from storage.buckets import StorageCount


@dataclass(frozen=True, slots=True)
class Names:
    """The ids of the other tables that a statement names, and the names of its UNIQUE constraints in its order.

    `implied`: those of its sequences and primary key (`resolve.implied_names`).
    """

    tables: Mapping[str, int]
    uniques: tuple[str, ...]
    implied: tuple[str | None, ...] = ()

    def to_json(self) -> dict[str, Any]:
        implied = {"implied": list(self.implied)} if self.implied else {}
        return {"tables": dict(self.tables), "uniques": list(self.uniques), **implied}


def names_from_json(body: Mapping[str, Any]) -> Names:
    """The names that `to_json` wrote; of an empty body none."""
    return Names(body.get("tables", {}), tuple(body.get("uniques", ())), tuple(body.get("implied", ())))


def names_in(action: Action, tables: Tables) -> Names:
    """The elements that the names in a resolved action stand for on these tables. A name of nothing is left out."""
    if not isinstance(action, AlterTable | CreateTable):
        return Names({}, ())
    found = {name: tables.named(name) for name in _tables_in(action)}
    ids = {name: table.table_id for name, table in found.items() if table is not None}
    return Names(ids, tuple(unique.name.text for unique in uniques_of(action)), tuple(implied_names(action)))


def named_again(action: Named, names: Names) -> Named:
    """The action as it was resolved, from the statement as it is parsed."""
    named = with_names(action, [Name(name) for name in names.uniques])
    return with_implied_names(named, names.implied) if names.implied else named


@dataclass(frozen=True, slots=True)
class AsNamed:
    """These tables by the names that a statement meant them by, whatever they are called now."""

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
    def compute(self) -> Compute | None:
        return self.tables.compute

    def named(self, name: str) -> Descriptor | None:
        table_id = self.names.tables.get(name)
        return None if table_id is None else self.numbered(table_id)

    def numbered(self, table_id: int) -> Descriptor | None:
        return self.tables.numbered(table_id)


def _tables_in(action: AlterTable | CreateTable) -> Iterator[str]:
    """The tables that foreign keys of the statement refer to."""
    if isinstance(action, CreateTable):
        yield from (one.references.text for one in action.foreign_keys)
        return
    for alteration in action.alterations:
        if isinstance(alteration, NewForeignKey):
            yield alteration.references.text
        if isinstance(alteration, AddColumn):
            yield from (one.references.text for one in alteration.foreign_keys)
