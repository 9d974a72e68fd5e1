"""The facts from which a browser draws the cluster, and lanes over time: `facts` when a page opens, `now` on each
difference, and the story's events, so the present and the past are drawn from the same values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from catalog.text.job_nodes import is_job
from leases.staircase.facts import Facts, Use, Walk, thinned
from leases.staircase.lanes import counts, looks, nodes_shown
from leases.staircase.picture import news_only
from leases.staircase.waits import without_passing_jobs

Json = dict[str, Any]
TRAFFIC = "traffic"
"""The name under which the clients of traffic sign in."""
HELD_S = 1.0
"""A transaction is shown from this age on: most end sooner."""
LEASES_KEPT = 200
SECONDS_DRAWN = 240


class Sessions:
    """The sessions that held a lease, with their times; nodes report only the current ones."""

    def __init__(self) -> None:
        self._of: dict[tuple[int, str, int, float], dict[int, Json]] = {}

    def see(self, nodes: Iterable[Mapping[str, Any]], at: float) -> None:
        """Records the holders of these nodes' leases (`leases.selectors.node_json`) at a moment."""
        for node in nodes:
            for lease in node["leases"]:
                began = datetime.fromisoformat(lease["acquired_at"]).timestamp()
                self._see((lease["table_id"], node["name"], lease["version"], began), lease["holders"], at)

    def _see(self, lease: tuple[int, str, int, float], holders: Iterable[Mapping[str, Any]], at: float) -> None:
        held = _lasting(holders)
        known = self._of.get(lease, {})
        if not held and not known:
            return
        self._of[lease] = known = known | {
            one["session"]: {"from": at - one["for_s"], "to": None} | _session(one)
            for one in held
            if one["session"] not in known
        }
        lasting = {one["session"] for one in held}
        for session, shown in known.items():
            if session not in lasting and shown["to"] is None:
                shown["to"] = at
        while len(self._of) > LEASES_KEPT:
            del self._of[next(iter(self._of))]

    def of(self, table_id: int, use: Use) -> list[Json]:
        return [dict(one) for one in self._of.get((table_id, use.node, use.version, use.began), {}).values()]


def facts_json(facts: Facts, walk: Walk, runs: Iterable[Json], lease_s: float, sessions: Sessions) -> Json:
    """The window of one table. Times are seconds since 1970, on the database's clock."""
    shown = looks(walk)
    return {
        "table": {"id": walk.table_id, "name": walk.name},
        "start": facts.start,
        "lease_s": lease_s,
        "versions": [
            {"version": one.version, "at": one.published_at, "phase": shown[one.version].phase, "of": _of(one.moving)}
            | {"name": shown[one.version].of}
            for one in walk.versions
        ],
        "uses": [asdict(use) | {"holds": sessions.of(walk.table_id, use)} for use in walk.uses],
        "marks": [asdict(mark) for mark in facts.marks if mark.concerns({walk.table_id})],
        "works": [asdict(work) for work in facts.works],
        "runs": list(runs),
    }


def over_time_json(facts: Facts, runs: Iterable[Json], lease_s: float, sessions: Sessions) -> Json:
    """All tables of a window, and its seconds; of many nodes the laggards, and counts for each version."""
    seconds, runs = thinned(facts.seconds, SECONDS_DRAWN), list(runs)
    facts = replace(facts, marks=news_only(facts.marks))
    tables = []
    for walk in (without_passing_jobs(one, facts.end) for one in facts.walks):
        nodes = nodes_shown(walk, facts)
        shown = replace(walk, uses=tuple(use for use in walk.uses if use.node in nodes))
        tables.append(
            facts_json(facts, shown, runs, lease_s, sessions) | {"counts": counts(walk, facts), "nodes": nodes}
        )
    return {
        "start": facts.start,
        "end": facts.end,
        "is_live": facts.is_live,
        "tables": tables,
        "seconds": [asdict(one) for one in seconds],
        "each": -(-len(facts.seconds) // SECONDS_DRAWN) or 1,
        "works": [asdict(work) for work in facts.works],
    }


def _of(moving: Sequence[Mapping[str, Any]]) -> str:
    names = {f"{one['element']} {one['name']}" for one in moving}
    return names.pop() if len(names) == 1 else ""


def now_json(table_id: int, snapshot: Mapping[str, Any], change: Mapping[str, Any] | None) -> Json:
    """The current state of a table and the nodes, from `leases.selectors.lane_snapshot`."""
    table = next(one for one in snapshot["tables"] if one["id"] == table_id)
    nodes = [node for node in snapshot["nodes"] if not is_job(node["name"])]
    leases = [
        {"node": node["name"], "version": lease["version"]}
        | {
            "began": lease["acquired_at"],
            "until": lease["expires_at"],
            "holders": [_session(one) for one in _lasting(lease["holders"])],
        }
        for node in nodes
        for lease in node["leases"]
        if lease["table_id"] == table_id
    ]
    return {
        "table": {name: table[name] for name in ("id", "name", "newest", "in_use", "has_leases")},
        "versions": [
            {"version": one["version"], "at": one["published_at"], "phase": one["phase"], "of": _of(one["moving"])}
            for one in table["versions"]
        ],
        "nodes": [
            {"name": node["name"], "is_down": node["state"] == "down", "is_draining": node["state"] == "draining"}
            for node in nodes
            if node["heartbeat_at"] is not None or node["leases"]
        ],
        "leases": leases,
        "change": change,
    }


def _lasting(holders: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [one for one in holders if one["for_s"] >= HELD_S and one["application"] != TRAFFIC]


def _session(holder: Mapping[str, Any]) -> Json:
    return {"who": holder["application"] or holder["user"], "user": holder["user"], "session": holder["session"]}


def change_json(summary: Mapping[str, Any]) -> Json:
    progress = summary["progress"] or {}
    return {name: summary[name] for name in ("id", "statement", "status", "is_back", "wait", "next")} | {
        "timeline": [
            {name: point[name] for name in ("kind", "state", "version", "when", "began", "ended", "whom")}
            | {"works": [{"kind": one["kind"], "when": one["when"]} for one in point["works"]]}
            for point in summary["timeline"]
        ],
        "work": {
            name: progress.get(name) for name in ("kind", "state", "done", "total", "percent", "is_exact", "version")
        }
        if progress
        else None,
    }
