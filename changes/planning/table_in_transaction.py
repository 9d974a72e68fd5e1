"""Tables made inside an explicit transaction, and public at its COMMIT (T9).

No other session knows their ids, so they need no states and no lease. Later statements on them take the last version of
their plan at once, and rewrite the rows. Names are reserved first, in a control transaction of its own; the catalog
rows (`statements_at_commit`) are the transaction's last statements; then the table is announced, or its names are freed
(`changes.submission.new_tables`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId
from catalog.hashing import schema_hash, sharding_hash
from catalog.story import table_stream
from changes.ddl.actions import CreateTable
from changes.plan.model import Plan
from changes.planning.planner import make_plan
from changes.planning.tables import NO_TABLES, Tables
from storage.sequences import make_sql, sequences_of

Sql = tuple[str, tuple[Any, ...]]


class OthersTakePart(Exception):
    """The statement moves a table that other nodes may use, so it cannot be rolled back."""

    def __init__(self, table: str) -> None:
        super().__init__(f"table {table} is not one that this transaction has made")
        self.table = table


@dataclass(frozen=True, slots=True)
class Remade:
    """The transaction's tables after a statement, its own first. `computed`: expressions over the version before, by
    column."""

    tables: tuple[Descriptor, ...]
    computed: Mapping[ColumnId, str] = field(default_factory=dict)


def new_table(action: CreateTable, table_id: int, tables: Tables = NO_TABLES) -> Descriptor:
    """Version 1, public from the start."""
    return replace(make_plan(action, None, table_id=table_id, tables=tables).result, version=1)


def remade(plan: Plan, own: Collection[int]) -> Remade:
    """The result of a plan on tables of the transaction alone, `own`. Raises `OthersTakePart`."""
    for table in plan.results:
        if table.table_id not in own:
            raise OthersTakePart(table.name)
    known = set() if plan.base is None else {column.id for column in plan.base.columns}
    added = {column.id for column in plan.result.columns} - known
    derived = [column for step in plan.publishes for column in step.published.columns if column.derived is not None]
    computed = {c.id: c.derived.expression for c in reversed(derived) if c.id in added and c.derived is not None}
    return Remade(plan.results, computed)


def statements_at_commit(table: Descriptor, *, storages: int, who: str) -> list[Sql]:
    """The statements to run right before COMMIT, in order. The first must put one row: else the name was lost.
    `storages` is the number with which the cluster began."""
    storages = table.storage_count(storages)
    hashes = (schema_hash(table), sharding_hash(table))
    payload = {"table": table.name, "version": table.version, "who": who}
    # the fences let its version in. Not undone by a rollback, and harmless then: the id is never used again
    doors = (f"storage_{number}.fence_{int(table.table_id)}" for number in range(1, storages + 1))
    return [
        (
            "INSERT INTO catalog_table (id, name, version, state, created_at)"
            " VALUES (%s, %s, %s, 'live', clock_timestamp()) ON CONFLICT DO NOTHING",
            (table.table_id, table.name, table.version),
        ),
        (
            "INSERT INTO catalog_descriptor (table_id, version, body, schema_hash, sharding_hash, modified_at)"
            " VALUES (%s, %s, %s::jsonb, %s, %s, clock_timestamp())",
            (table.table_id, table.version, json.dumps(table.to_json()), *hashes),
        ),
        *(
            (
                f"INSERT INTO storage_{number}.versions (table_id, version, schema_hash, sharding_hash)"
                " VALUES (%s, %s, %s, %s)",
                (table.table_id, table.version, *hashes),
            )
            for number in range(1, storages + 1)
        ),
        *((make_sql(sequence, column), ()) for sequence, column in sequences_of(table).items()),
        (
            "SELECT catalog_tell(%s::text[], 'table created', %s, %s::jsonb)",
            ([table_stream(table.table_id)], table.name, json.dumps(payload)),
        ),
        ("SELECT " + ", ".join(f"setval('{door}', {int(table.version)})" for door in doors), ()),
    ]
