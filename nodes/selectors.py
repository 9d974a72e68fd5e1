"""Reads for pages: the versions that each storage accepts of each table, and the counts of each node's requests."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from django.db import connection

from catalog.descriptor import Descriptor, from_json
from leases.models import Node
from leases.redis.samples import read_totals
from storage.buckets import owned_by
from storage.selectors import storage_numbers

TABLES_SHOWN, TABLES_ON_CLUSTER = 50, 12
HASH_SHOWN = 6
"""Digits of a hash: enough to tell the versions of a table apart."""
Json = dict[str, Any]

KNOWN = """
SELECT t.id, pg_sequence_last_value(to_regclass('storage_{number}.fence_' || t.id)),
    (SELECT json_agg(json_build_array(v.version, v.schema_hash, v.sharding_hash) ORDER BY v.version)
     FROM storage_{number}.versions AS v WHERE v.table_id = t.id AND v.version >= t.version - 1)::text
FROM catalog_table AS t WHERE t.id = ANY(%s)
"""
COUNTED = ("requests", "mismatches", "reloads", "joined", "retries", "conflicts", "map_reduces")


def storages_now(tables_max: int = TABLES_SHOWN) -> Json:
    """The storages with their buckets, and what each knows of each table: the fence, the versions around the newest."""
    numbers = storage_numbers()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT t.id, t.name, t.version, d.body::text FROM catalog_table AS t"
            " JOIN catalog_descriptor AS d ON d.table_id = t.id AND d.version = t.version"
            " WHERE t.state = 'live' ORDER BY t.name LIMIT %s",
            [tables_max + 1],
        )
        found = cursor.fetchall()
        shown = found[:tables_max]
        known: dict[int, list[tuple[int | None, list[Any]]]] = {table_id: [] for table_id, *_ in shown}
        for number in numbers:
            cursor.execute(KNOWN.format(number=int(number)), [list(known)])
            there = {table_id: (fence, json.loads(text or "[]")) for table_id, fence, text in cursor.fetchall()}
            for table_id, of_storages in known.items():
                of_storages.append(there.get(table_id, (None, [])))
    tables = [
        _table(from_json(json.loads(body)), name, newest, known[table_id]) for table_id, name, newest, body in shown
    ]
    owned = {number: owned_by(number, len(numbers), settings.BUCKET_COUNT) for number in numbers}
    storages = [{"number": n, "first": buckets[0], "last": buckets[-1]} for n, buckets in owned.items() if buckets]
    return {"storages": storages, "tables": tables, "is_cut": len(found) > tables_max}


def _table(descriptor: Descriptor, name: str, newest: int, known: list[tuple[int | None, list[Any]]]) -> Json:
    """A table as its storages know it; storages that know the same are shown once. Others may know nothing of it: a
    table that a transaction has made is told to its own storages alone (T9)."""
    cells = [
        {
            "fence": fence,
            "versions": [
                {
                    "number": version,
                    "is_accepted": fence is not None and version >= fence,
                    "schema": schema[:HASH_SHOWN],
                    "sharding": sharding[:HASH_SHOWN],
                }
                for version, schema, sharding in versions
            ],
        }
        for fence, versions in known[: descriptor.storage_count(settings.STORAGE_COUNT)]
    ]
    agree = all(cell == cells[0] for cell in cells)
    return {
        "id": descriptor.table_id, "name": name, "newest": newest, "coordination": descriptor.coordination.value,
        "storages": cells, "agree": agree,
    }  # fmt: skip


def requests_now() -> Json:
    """The counts of each node and table, as nodes reported them last; and those of all together."""
    totals = read_totals(Node.objects.filter(port__gt=0).values_list("name", flat=True))
    rows = []
    for node, one in sorted(totals.items()):
        for table, counts in sorted(one.requests.items()):
            reloads, seconds = counts.get("reloads") or 0, counts.get("reload_s") or 0.0
            mean_ms = 1000 * seconds / reloads if reloads else None
            about = {"node": node, "table": table, "reload_ms": mean_ms, "age_s": counts.get("snapshot_age_s")}
            rows.append(about | {name: int(counts.get(name) or 0) for name in COUNTED})
    sums = {name: sum(row[name] for row in rows) for name in COUNTED}
    return {"rows": rows, "sums": sums, "nodes": sorted(totals)}
