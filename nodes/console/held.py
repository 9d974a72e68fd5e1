"""The open transaction of a pane: the versions it uses, until when, and which changes wait for it; or its end."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from changes.pages.change_page import tables
from changes.selectors import waits_for_leases
from leases.selectors import leases_on
from nodes.console.ends import ended
from nodes.console.sessions import Pane

Json = dict[str, Any]


def shown(pane: Pane | None) -> Json:
    """The pane's transaction for its page; `digest` stands for all that it says."""
    status = "idle" if pane is None else pane.transaction
    held = None if pane is None else pane.held
    node = "" if pane is None else pane.node
    found: Json = {"status": status, "node": node, "since": None, "tables": [], "has_written": False}
    if pane is not None and (end := ended(pane)) is not None:
        found |= {"ended": end}
    elif pane is not None and held is not None:
        used = _used(pane.node, held["tables"])
        found |= {"since": held["since"], "has_written": held["has_written"], "tables": used}
    return found | {"digest": hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]}


def _used(node: str, versions: list[Json]) -> list[Json]:
    if not versions:
        return []
    ends = {(lease.table_id, lease.version): lease.expires_at.isoformat() for lease in leases_on(node=node)}
    waits = waits_for_leases([one["id"] for one in versions])
    return [
        one | {"until": ends.get((one["id"], one["version"])), "waits": _waits(waits, node, one)} for one in versions
    ]


def _waits(waits: list[Json], node: str, version: Json) -> list[Json]:
    mine = (node, version["id"], version["version"])
    return [
        {"id": change["id"], "tables": tables(change), "element": change["element"]}
        for change in waits
        if any((held["node"], held["table_id"], held["version"]) == mine for held in change["blockers"])
    ]
