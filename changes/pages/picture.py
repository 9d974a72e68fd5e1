"""The facts from which a browser draws the cluster: once the time until now, and then what holds now.

    facts   versions, uses, marks, changes and reorganisations of one table: sent when a page begins to follow
    now     its leases with their holders, its newest versions, the change that moves it: sent when one of them differs

A browser adds each `now`, and each event of the story, to the facts. So a moment is drawn from the same values whether
it is the present or was long ago.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from catalog.text.job_nodes import is_job
from leases.staircase.facts import Facts, Walk
from leases.staircase.lanes import looks
from leases.staircase.waits import without_passing_jobs

Json = dict[str, Any]
TRAFFIC = "traffic"
"""The name under which the clients of traffic sign in."""
HELD_S = 1.0
"""A transaction is shown from this age on: most end sooner."""


def facts_json(facts: Facts, runs: Iterable[Json], lease_s: float) -> Json:
    """The window of one table. Times are seconds since 1970, on the database's clock."""
    walk = without_passing_jobs(facts.walks[0], facts.end)
    return {
        "table": {"id": walk.table_id, "name": walk.name},
        "start": facts.start,
        "lease_s": lease_s,
        "versions": _versions(walk),
        "uses": [asdict(use) for use in walk.uses if not is_job(use.node)],
        "marks": [asdict(mark) for mark in facts.marks],
        "works": [asdict(work) for work in facts.works],
        "runs": list(runs),
    }


def _versions(walk: Walk) -> list[Json]:
    shown = looks(walk)
    return [
        {"version": one.version, "at": one.published_at, "phase": shown[one.version].phase, "of": _of(one.moving)}
        for one in walk.versions
    ]


def _of(moving: Sequence[Mapping[str, Any]]) -> str:
    """The one element that moves, by kind and name; empty where none does, or several do."""
    names = {f"{one['element']} {one['name']}" for one in moving}
    return names.pop() if len(names) == 1 else ""


def now_json(table_id: int, snapshot: Mapping[str, Any], change: Mapping[str, Any] | None) -> Json:
    """One table and the nodes as they are, from `leases.selectors.lane_snapshot`, and the summary of its change."""
    table = next(one for one in snapshot["tables"] if one["id"] == table_id)
    nodes = [node for node in snapshot["nodes"] if not is_job(node["name"])]
    leases = [
        {"node": node["name"], "version": lease["version"]}
        | {"began": lease["acquired_at"], "until": lease["expires_at"], "holders": _holders(lease["holders"])}
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


def _holders(holders: Iterable[Mapping[str, Any]]) -> list[Json]:
    """The sessions by name, without their seconds, which only count. Traffic's are many, and short."""
    kept = [one for one in holders if one["for_s"] >= HELD_S and one["application"] != TRAFFIC]
    return [{"who": one["application"] or one["user"], "user": one["user"], "session": one["session"]} for one in kept]


def change_json(summary: Mapping[str, Any]) -> Json:
    """A change as the picture shows it: its steps with their times, whom it waits for, how far its work is."""
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
