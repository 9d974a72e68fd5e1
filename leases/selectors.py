"""Reads leases and nodes. Times are the database's."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import connection

from catalog.descriptor import Descriptor, from_json
from catalog.elements import NodeId, TableId
from leases import rules
from leases.holders import Holder, of_lease
from leases.holders import to_json as holder_json
from leases.models import Lease, Node
from leases.redis.samples import read_holders
from leases.staircase.phases import moving_elements, phases


@dataclass(frozen=True, slots=True)
class LeaseOn:
    """A live lease; `newest` is the table's newest version."""

    id: int
    table_id: int
    table: str
    version: int
    newest: int
    node: str
    incarnation: int
    expires_at: datetime
    remaining_s: float
    acquired_at: datetime
    holders: tuple[Holder, ...] = ()
    """Sessions whose transactions use it, as the node has reported within the last second or so."""


@dataclass(frozen=True, slots=True)
class NodeWithLeases:
    name: str
    incarnation: int
    host: str
    port: int
    pid: int
    state: str
    heartbeat_at: datetime | None
    leases: tuple[LeaseOn, ...]

    @property
    def leases_end_at(self) -> datetime | None:
        return max((lease.expires_at for lease in self.leases), default=None)


LEASES = """
    SELECT l.id, l.table_id, t.name, l.version, newest.version, l.node, l.incarnation, l.expires_at,
           lease_remaining(l.expires_at), l.acquired_at
    FROM leases_lease l
    JOIN catalog_table t ON t.id = l.table_id
    CROSS JOIN LATERAL (SELECT max(d.version) AS version FROM catalog_descriptor d WHERE d.table_id = t.id) newest
    WHERE l.expires_at > clock_timestamp() AND l.table_id = coalesce(%s, l.table_id) AND l.node = coalesce(%s, l.node)
    ORDER BY t.name, l.version, l.node, l.incarnation
"""


def leases_on(table_id: int | None = None, *, node: str | None = None) -> list[LeaseOn]:
    """The live leases on a table or all, of a node or all, oldest version first."""
    with connection.cursor() as cursor:
        cursor.execute(LEASES, [table_id, node])
        return [LeaseOn(*row) for row in cursor.fetchall()]


def held_leases(table_id: int | None = None) -> list[LeaseOn]:
    found = leases_on(table_id)
    reported = read_holders(lease.node for lease in found)
    return [replace(lease, holders=holders_of(lease, reported)) for lease in found]


def holders_of(lease: LeaseOn | Lease, reported: Mapping[str, tuple[int, tuple[Holder, ...]]]) -> tuple[Holder, ...]:
    return of_lease(
        reported, node=lease.node, incarnation=lease.incarnation, table_id=lease.table_id, version=lease.version
    )


def sessions_by_use(nodes: Collection[str]) -> dict[tuple[str, int, int], list[dict[str, Any]]]:
    reported = read_holders(nodes)
    found: dict[tuple[str, int, int], list[dict[str, Any]]] = defaultdict(list)
    for name, incarnation in Node.objects.filter(name__in=reported).values_list("name", "incarnation"):
        for one in reported[name][1] if reported[name][0] == incarnation else ():
            found[name, one.table_id, one.version].append(holder_json(one))
    return found


def sessions_reported(node: Node) -> tuple[Holder, ...]:
    incarnation, holders = read_holders([node.name]).get(node.name, (None, ()))
    return holders if incarnation == node.incarnation else ()


def held_lease(lease_id: int) -> LeaseOn | None:
    return next((lease for lease in held_leases() if lease.id == lease_id), None)


def sessions_using(table_id: int, version: int, *, node: str) -> list[int]:
    """A node's database sessions that use a version, as the database sees it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT u.pid FROM lease_users(%s, %s) u WHERE starts_with(u.session_name, node_session_prefix(%s))"
            " ORDER BY u.pid",
            [table_id, version, node],
        )
        return [pid for (pid,) in cursor.fetchall()]


def nodes() -> list[NodeWithLeases]:
    leases: dict[str, list[LeaseOn]] = defaultdict(list)
    for lease in held_leases():
        leases[lease.node].append(lease)
    return [
        NodeWithLeases(
            name=node.name,
            incarnation=node.incarnation,
            host=node.host,
            port=node.port,
            pid=node.pid,
            state=node.state,
            heartbeat_at=node.heartbeat_at,
            leases=tuple(leases[node.name]),
        )
        for node in Node.objects.all()
    ]


def leases_as_of_now(cursor: Any, table_id: int) -> tuple[list[rules.Lease], float]:
    """Every lease on a table, expired or not, and the clock for `leases.rules` (L1, L7, L9)."""
    cursor.execute(
        "SELECT version, node, incarnation, extract(epoch FROM expires_at)::float8,"
        " extract(epoch FROM clock_timestamp())::float8 FROM leases_lease WHERE table_id = %s",
        [table_id],
    )
    rows = cursor.fetchall()
    leases = [
        rules.Lease(TableId(table_id), version, NodeId(node), incarnation, expires_at)
        for version, node, incarnation, expires_at, _ in rows
    ]
    return leases, min((now for *_, now in rows), default=0.0)


NEWEST_TWO = """
    SELECT t.id, t.name, t.state, d.version, d.body, d.modified_at
    FROM catalog_table t
    CROSS JOIN LATERAL (
        SELECT version, body, modified_at FROM catalog_descriptor WHERE table_id = t.id ORDER BY version DESC LIMIT 2
    ) d
    WHERE t.state <> 'dropped' ORDER BY t.name, d.version DESC
"""


UNLEASED = """
    SELECT t.name, t.version
    FROM catalog_table t JOIN catalog_descriptor d ON d.table_id = t.id AND d.version = t.version
    WHERE t.state <> 'dropped' AND d.body ->> 'coordination' = 'hash' AND t.id = coalesce(%s, t.id) ORDER BY t.name
"""


def tables_without_leases(table_id: int | None = None) -> list[tuple[str, int]]:
    """Name and newest version of each table that is used without leases."""
    with connection.cursor() as cursor:
        cursor.execute(UNLEASED, [table_id])
        return cursor.fetchall()


def lane_snapshot() -> dict[str, Any]:
    """The lanes as JSON: nodes with their versions, tables with their two newest versions."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    leases = leases_on()
    return {"at": now.isoformat(), "nodes": [node_json(node) for node in nodes()], "tables": _tables_json(leases)}


def node_json(node: NodeWithLeases) -> dict[str, Any]:
    return {
        "name": node.name,
        "incarnation": node.incarnation,
        "host": node.host,
        "port": node.port,
        "state": node.state,
        "heartbeat_at": _iso(node.heartbeat_at),
        "leases_end_at": _iso(node.leases_end_at),
        "leases": [lease_json(lease) for lease in node.leases],
    }


def lease_json(lease: LeaseOn) -> dict[str, Any]:
    return asdict(lease) | {
        "expires_at": lease.expires_at.isoformat(),
        "acquired_at": _iso(lease.acquired_at),
        "remaining_s": round(lease.remaining_s, 3),
        "holders": [holder_json(holder) for holder in lease.holders],
    }


def _tables_json(leases: list[LeaseOn]) -> list[dict[str, Any]]:
    tables = []
    with connection.cursor() as cursor:
        cursor.execute(NEWEST_TWO)
        rows = cursor.fetchall()
    for _, of_table in groupby(rows, key=itemgetter(0)):
        newest_first = [(*row[:4], _descriptor(row[4]), row[5]) for row in of_table]
        table_id, name, state, version, newest, _ = newest_first[0]
        drawn = phases([descriptor for *_, descriptor, _ in reversed(newest_first)])
        versions = [
            _version_json(descriptor, modified_at, leases) | {"phase": phase}
            for (*_, descriptor, modified_at), phase in zip(newest_first, reversed(drawn), strict=True)
        ]
        table = {"id": table_id, "name": name, "state": state, "newest": version, "versions": versions}
        used = sorted({lease.version for lease in leases if lease.table_id == table_id})
        tables.append(table | {"in_use": used, "has_leases": newest.coordination.has_leases})
    return tables


def _descriptor(body: Any) -> Descriptor:
    return from_json(json.loads(body) if isinstance(body, str) else body)


def _version_json(descriptor: Descriptor, modified_at: datetime, leases: list[LeaseOn]) -> dict[str, Any]:
    holders = [
        lease for lease in leases if lease.table_id == descriptor.table_id and lease.version == descriptor.version
    ]
    return {
        "version": descriptor.version,
        "state": descriptor.state.value,
        "published_at": modified_at.isoformat(),
        "moving": moving_elements(descriptor),
        "nodes": [lease.node for lease in holders],
        "until": _iso(max((lease.expires_at for lease in holders), default=None)),
    }


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
