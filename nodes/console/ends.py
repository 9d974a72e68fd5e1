"""The end of a pane's transaction that its owner did not bring about, with its cause from the story."""

from __future__ import annotations

from typing import Any

from catalog.models import StoryEvent
from catalog.story import CLUSTER
from nodes.console.sessions import Pane
from nodes.console.unfinished import Unfinished

OF_VERSIONS = ("lease revoked", "sessions ended")
OF_NODES = ("process killed", "process crashed", "node ended itself", "node left")
Json = dict[str, Any]


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
