"""Answers about the node and its tables: schema, storage_info, stats; and unflatten_rows and truncate."""

import json
from typing import Any

from catalog.descriptor import Descriptor
from nodes.context import Environment
from nodes.crud.answers import metadata, plain_json
from nodes.crud.calls import Call
from nodes.crud.errors import unknown_table
from nodes.crud.requests import Request
from nodes.crud.values import as_written, unflattened
from nodes.execution.fairness import in_thread
from nodes.execution.writing.truncate import Emptying
from nodes.router.attempts import Attempts
from nodes.router.counters import total
from nodes.sql.plans import TruncatePlan
from nodes.store.pipeline import Command
from nodes.store.transaction import Transaction
from storage.buckets import owned_by

OPERATIONS = frozenset({"schema", "storage_info", "stats", "unflatten_rows"})
Json = dict[str, Any]

EXISTING = "SELECT existing::text FROM storage_layout"
VERSIONS = """
SELECT json_object_agg(t.name, json_build_object(
    'newest', t.version, 'accepted_from', pg_sequence_last_value(to_regclass('storage_{number}.fence_' || t.id)),
    'known', (SELECT json_agg(v.version ORDER BY v.version) FROM storage_{number}.versions v
              WHERE v.table_id = t.id AND v.version >= t.version - 1)))::text
FROM (
    SELECT t.* FROM catalog_table AS t JOIN catalog_descriptor AS d ON d.table_id = t.id AND d.version = t.version
    WHERE t.state = 'live' AND {number} <= (
        SELECT max(coalesce(nullif((one ->> 'storages')::integer, 0), {first}))
        FROM jsonb_array_elements(d.body -> 'placements') AS one)
    ORDER BY t.name LIMIT 1000
) AS t
"""
"""The versions of each table that lies on a storage: others may know nothing of it (`Descriptor.storage_count`)."""


async def answer(env: Environment, call: Call) -> str:
    match call.operation.name:
        case "unflatten_rows":
            rows, columns = call.arguments["rows"], call.arguments["metadata"]
            return await in_thread(lambda: f"[{', '.join(map(as_written, unflattened(rows, columns)))}]")
        case "stats" if call.table is not None:
            return plain_json(env.router.report_of(call.table) if call.table in env.router.counters.tables else {})
        case "stats":
            whole = total(env.router.counters.tables.values()).to_json()
            return plain_json({"node": env.node, "total": whole, "tables": env.router.report()})
        case "storage_info":
            return plain_json(await _storage_info(env))
    tables = {d.name: _described(env, d) for d in await env.directory.tables()}
    if call.table is not None and call.table not in tables:
        raise unknown_table(call.table, tables)
    return plain_json(tables if call.table is None else tables[call.table])


async def _storage_info(env: Environment) -> Json:
    found = {}
    there = await env.directory.ask(Command(EXISTING))
    count = int(there.get_value(0, 0) or b"0")
    for number in range(1, count + 1):
        result = await env.directory.ask(Command(VERSIONS.format(number=number, first=env.storages)))
        owned = owned_by(number, count, env.buckets)
        tables = json.loads(result.get_value(0, 0) or b"{}")
        found[f"storage_{number}"] = {"status": "running", "buckets": [owned[0], owned[-1]], "tables": tables}
    return found


def _described(env: Environment, descriptor: Descriptor) -> Json:
    names = {column.id: column.name for column in descriptor.columns}
    return {
        "version": descriptor.version,
        "format": metadata(descriptor, descriptor.public_columns),
        "primary_key": [names[c] for c in descriptor.declared_key],
        "indexes": [
            {"name": i.name, "unique": i.unique, "parts": [names[c] for c in i.column_ids]}
            for i in descriptor.public_indexes
            if all(names[c] for c in i.column_ids)
        ],
        "sharding_key": [names[c] for c in descriptor.sharding_key if names[c]],
        "sharding_func": descriptor.placement.function,
        "storages": descriptor.placement.storage_count(env.storages),
        "coordination": descriptor.coordination.value,
    }


async def truncated(request: Request) -> str:
    """Empty the table in bounded transactions (R9), each an attempt of its own."""

    emptying = Emptying()

    async def some(transaction: Transaction, descriptor: Descriptor) -> bool:
        plan = TruncatePlan((descriptor,))
        await request.use_others(transaction, plan)
        return await emptying.some(request.env, transaction, plan)

    while await request.part_within_time(request.attempt(some)):
        request.attempts = Attempts()
    request.counts.map_reduces += 1
    return "true"
