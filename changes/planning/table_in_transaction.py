"""A table made inside an explicit transaction, and public at its COMMIT (T9).

Nobody else knows its id, so it needs no ladder and no lease: its first version is public, and becomes visible with the
rows that were written to it. Its catalog rows are the transaction's last statements:

    reserve the name (at once, a control transaction of its own)   services.reserve_table
    .. rows of the new table, without lease and door ..
    `statements_at_commit`, COMMIT                                 in the node's serializable transaction
    tell the others, or free the name                              services.announce_table, services.free_table
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import State
from catalog.hashing import schema_hash, sharding_hash
from catalog.story import table_stream
from changes.ddl.actions import CreateTable
from changes.planning.planner import make_plan

Sql = tuple[str, tuple[Any, ...]]


def new_table(action: CreateTable, table_id: int) -> Descriptor:
    """The table as its own transaction uses it: version 1, public from the start."""
    first = make_plan(action, None, table_id=table_id).publishes[0].published
    return replace(first, state=State.PUBLIC)


def statements_at_commit(table: Descriptor, *, storages: int, who: str) -> list[Sql]:
    """Statements to run right before COMMIT, in this order. The first must touch one row: else the name was lost."""
    hashes = (schema_hash(table), sharding_hash(table))
    payload = {"table": table.name, "version": table.version, "who": who}
    return [
        (
            "UPDATE catalog_table SET state = 'live', version = %s WHERE id = %s AND state = 'reserved'",
            (table.version, table.table_id),
        ),
        ("DELETE FROM changes_reservation WHERE table_id = %s", (table.table_id,)),
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
        (
            "SELECT catalog_tell(%s::text[], 'table created', %s, %s::jsonb)",
            ([table_stream(table.table_id)], table.name, json.dumps(payload)),
        ),
        (_open_doors(table.table_id, storages), ()),
    ]


def _open_doors(table_id: int, storages: int) -> str:
    """The fences let version 1 in. Not undone by a rollback, and harmless then: the id is never used again."""
    return "SELECT " + ", ".join(f"setval('storage_{n}.fence_{int(table_id)}', 1)" for n in range(1, storages + 1))
