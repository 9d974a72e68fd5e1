"""Leases in the order in which they decide about changes, for the lease console."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from changes.pages.change_page import tables
from changes.selectors import waits_for_leases
from leases import selectors
from leases.ranking import LeaseKey, deciding_first, key
from leases.rules import is_in_the_way
from leases.selectors import LeaseOn, NodeWithLeases

LISTED_MAX = 500
LASTING_S = 1.0
"""A transaction that is over sooner would be seen as a flicker: it is shown where it holds something back alone."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LeaseContext:
    """The nodes by name, the waiting changes, and these by lease: read once for all rows."""

    nodes: Mapping[str, NodeWithLeases]
    waits: Sequence[Json]
    changes: Mapping[LeaseKey, Sequence[Json]]

    def ranked(self) -> list[LeaseOn]:
        return deciding_first((lease for node in self.nodes.values() for lease in node.leases), self.changes)


def held() -> Json:
    seen = _see()
    found = [_lastingly(lease) for lease in seen.ranked()]
    older = {lease.id for lease in found if is_in_the_way(lease.version, newest=lease.newest)}
    return {
        "waits": [_wait(change) for change in seen.waits],
        "leases": [_row(lease, seen) for lease in found if lease.id in older or lease.holders],
        "older": len(older),
        "unleased": [name for name, _ in selectors.tables_without_leases()],
    }


def every_lease() -> Json:
    seen = _see()
    found = [_lastingly(lease) for lease in seen.ranked()]
    return {
        "leases": [_row(lease, seen) | {"holders": len(lease.holders)} for lease in found[:LISTED_MAX]],
        "more": max(0, len(found) - LISTED_MAX),
    }


def _lastingly(lease: LeaseOn) -> LeaseOn:
    """A lease with its lasting holders; of an older version with all."""
    if is_in_the_way(lease.version, newest=lease.newest):
        return lease
    return replace(lease, holders=tuple(one for one in lease.holders if one.for_s >= LASTING_S))


def row_of(lease: LeaseOn) -> Json | None:
    seen = _see()
    return _row(lease, seen) if lease.node in seen.nodes else None


def _see() -> LeaseContext:
    waits = waits_for_leases()
    found: dict[LeaseKey, list[Json]] = defaultdict(list)
    for change in waits:
        for blocker in change["blockers"]:
            found[_key(blocker)].append(change)
    return LeaseContext({node.name: node for node in selectors.nodes()}, waits, found)


def _row(lease: LeaseOn, seen: LeaseContext) -> Json:
    node, changes = seen.nodes[lease.node], seen.changes.get(key(lease), ())
    return selectors.lease_json(lease) | {
        "is_in_the_way": is_in_the_way(lease.version, newest=lease.newest),
        "is_down": node.state == "down",
        "is_draining": node.state == "draining",
        "is_load": not node.port,
        "changes": [_wait(change) for change in changes],
        "decides": any(_key(change["blockers"][0]) == key(lease) for change in changes),
        "others": max((len(change["blockers"]) - 1 for change in changes), default=0),
    }


def _wait(change: Mapping[str, Any]) -> Json:
    blockers = change["blockers"]
    return {
        "id": change["id"],
        "tables": tables(change),
        "element": change["element"],
        "step": change["step"]["text"],
        "leases": len(blockers),
        "until": blockers[0]["until"],
    }


def _key(blocker: Mapping[str, Any]) -> LeaseKey:
    return blocker["table_id"], blocker["version"], blocker["node"]
