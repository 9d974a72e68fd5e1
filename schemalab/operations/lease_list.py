"""Leases as the lease console shows them: whom a change waits for, who holds what, in the order that decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from changes.pages.change_page import tables
from changes.selectors import waits_for_leases
from leases import selectors
from leases.ranking import Held, deciding_first, key
from leases.rules import is_in_the_way
from leases.selectors import LeaseOn, NodeWithLeases

LISTED_MAX = 500
Json = dict[str, Any]


def held() -> Json:
    """The leases that hold something back or that transactions use: the one that decides first comes first."""
    nodes, waits = selectors.nodes(), waits_for_leases()
    shown = [row(lease, nodes, waits) for lease in ranked(nodes, waits)]
    return {
        "waits": [_wait(change) for change in waits],
        "leases": [one for one in shown if one["is_in_the_way"] or one["holders"]],
        "older": sum(one["is_in_the_way"] for one in shown),
    }


def every_lease() -> Json:
    """All leases in the same order."""
    nodes, waits = selectors.nodes(), waits_for_leases()
    found = ranked(nodes, waits)
    return {
        "leases": [row(lease, nodes, waits) | {"holders": len(lease.holders)} for lease in found[:LISTED_MAX]],
        "more": max(0, len(found) - LISTED_MAX),
    }


def ranked(nodes: Sequence[NodeWithLeases], waits: Sequence[Json]) -> list[LeaseOn]:
    return deciding_first((lease for node in nodes for lease in node.leases), _changes_of(waits))


def row(lease: LeaseOn, nodes: Sequence[NodeWithLeases], waits: Sequence[Json]) -> Json:
    """A lease with the node that has it, the changes that wait for it, and whether it is the last they wait for."""
    node = next(node for node in nodes if node.name == lease.node)
    changes = _changes_of(waits).get(key(lease), [])
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
    """A change that waits, its step, and how many leases are in its way until when at most."""
    blockers = change["blockers"]
    return {
        "id": change["id"],
        "tables": tables(change),
        "element": change["element"],
        "step": change["step"]["text"],
        "leases": len(blockers),
        "until": blockers[0]["until"],
    }


def _changes_of(waits: Sequence[Json]) -> dict[Held, list[Json]]:
    """The changes that wait for each lease."""
    found: dict[Held, list[Json]] = defaultdict(list)
    for change in waits:
        for blocker in change["blockers"]:
            found[_key(blocker)].append(change)
    return found


def _key(blocker: Mapping[str, Any]) -> Held:
    return blocker["table_id"], blocker["version"], blocker["node"]
