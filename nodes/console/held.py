"""The open transaction of a pane: the versions it uses, until when, and which changes wait for it; or its end, with the
cause from the story, where its owner did not bring that about."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from catalog.models import StoryEvent
from catalog.story import CLUSTER
from changes.pages.change_page import tables
from changes.selectors import waits_for_leases
from leases.selectors import leases_on
from nodes.console.sessions import Pane
from nodes.console.unfinished import Unfinished

OF_VERSIONS = ("lease revoked", "sessions ended")
OF_NODES = ("process killed", "process crashed", "node ended itself", "node left")
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
        found |= {"since": held["since"], "has_written": held["has_written"]}
        versions = held["tables"]
        leases = leases_on(node=node) if versions else ()
        ends = {(lease.table_id, lease.version): lease.expires_at.isoformat() for lease in leases}
        waits = waits_for_leases([one["id"] for one in versions]) if versions else []
        for one in versions:
            mine = (node, one["id"], one["version"])
            blocked = [
                {"id": change["id"], "tables": tables(change), "element": change["element"]}
                for change in waits
                if any((held["node"], held["table_id"], held["version"]) == mine for held in change["blockers"])
            ]
            found["tables"].append(one | {"until": ends.get(mine[1:]), "waits": blocked})
    return found | {"digest": hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]}


def ended(pane: Pane) -> Json | None:
    """The end of the pane's transaction, and what was lost with it; None: nobody has, or nothing is open."""
    begun = pane.unfinished
    if begun is None:
        return None
    since = min(begun.tables.values(), default=begun.heard)
    found = StoryEvent.objects.filter(stream=CLUSTER, seq__gt=since, kind__in=OF_VERSIONS + OF_NODES).order_by("seq")
    event = next((one for one in found if _ends(one, pane.node, begun)), None)
    if event is None:
        return None
    return {
        "kind": event.kind,
        "at": event.at.isoformat(),
        "since": begun.since,
        "node": pane.node,
        "who": event.payload.get("who", ""),
        "table": event.payload.get("table", ""),
        "table_id": event.payload.get("table_id"),
        "version": event.payload.get("version"),
        "change": event.payload.get("change"),
        "sql": begun.sql,
        "statements": len(begun.statements) + begun.left_out,
        "left_out": begun.left_out,
        "writes": begun.writes,
    }


def _ends(event: StoryEvent, node: str, begun: Unfinished) -> bool:
    about = event.payload
    if event.kind in OF_NODES:
        return event.seq > begun.heard and node == about.get("node", about.get("process"))
    nodes = [about["node"]] if event.kind == "lease revoked" else about["whom"].split(", ")
    used_after = begun.tables.get((about.get("table_id", 0), about["version"]))
    return node in nodes and used_after is not None and event.seq > used_after
