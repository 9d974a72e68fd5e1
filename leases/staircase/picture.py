"""A window in sentences, tables and figures. `static/picture/lanes.js` draws the lanes, from `facts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import pairwise

from leases.staircase import plots
from leases.staircase.facts import FALLS, RISES, Facts, Json, Mark, Walk
from leases.staircase.lanes import falls, most_at_once, nodes_shown, uses_by_node
from leases.staircase.stops import stops
from leases.staircase.waits import last_to_leave, without_passing_jobs

HEARTBEAT_LATE_S = 5.0


def picture(facts: Facts) -> Json:
    everybody = facts.walks
    facts = replace(
        facts, marks=news_only(facts.marks), walks=tuple(without_passing_jobs(w, facts.end) for w in everybody)
    )
    return {
        "is_partial": facts.is_partial,
        "tables": [_table(*walks, facts) for walks in zip(facts.walks, everybody, strict=True)],
        "has_statements": any(one.statements_per_s for one in facts.seconds),
        "figures": plots.sentence(facts.seconds, facts.works),
        "beside": asdict(plots.beside(facts.seconds, facts.works[0], facts.calm_since))
        if len(facts.works) == 1
        else None,
        "seconds": [asdict(one) | {"at": iso(one.at)} for one in plots.rows(facts.seconds)],
        "stops": [asdict(one) | {"at": iso(one.at)} for one in stops(facts)],
    }


def iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")


def news_only(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Without redundant marks: a killed node is silent, and joining brings it back."""
    down: set[str] = set()
    kept: list[Mark] = []
    marks = sorted(marks, key=lambda mark: mark.at)
    for number, mark in enumerate(marks):
        if (mark.kind == "silent" and mark.node in down) or (mark.kind == "back" and mark.node not in down):
            continue
        if mark.kind == "silent" and any(_explains(later, mark) for later in marks[number + 1 :]):
            continue
        if mark.kind in FALLS:
            down.add(mark.node)
        elif mark.kind in RISES:
            down.discard(mark.node)
        kept.append(mark)
    return tuple(kept)


def _explains(fall: Mark, silence: Mark) -> bool:
    """The node fell soon after its last heartbeat, from which on it is called silent."""
    return fall.node == silence.node and fall.kind in FALLS - {"silent"} and fall.at - silence.at < HEARTBEAT_LATE_S


def _table(walk: Walk, every: Walk, facts: Facts) -> Json:
    return {
        "id": walk.table_id,
        "name": walk.name,
        "has_leases": walk.has_leases,
        "summary": _summary(every, facts) | _way(walk),
        "twin": _twin(walk, nodes_shown(walk, facts)),
    }


def _summary(walk: Walk, facts: Facts) -> Json:
    end = facts.end
    waits = []
    for _, newer in pairwise(walk.versions):
        last = last_to_leave(walk.uses, version=newer.version, since=newer.published_at)
        if last is not None:
            left, is_over = end if last.ended is None else last.ended, last.ended is not None and last.ended <= end
            waits.append((left - newer.published_at, last.node, last.version, newer.published_at, is_over))
    found: Json = {"at_once": most_at_once(walk.uses), "wait": None, "is_fallen": False}
    if waits:
        length, node, version, since, is_over = max(waits)
        fell = falls((mark for mark in facts.marks if mark.concerns({walk.table_id})), end).get(node, ())
        found["wait"] = {"seconds": round(length, 3), "node": node, "version": version, "is_over": is_over}
        found["is_fallen"] = any(down < since + length and rose > since for down, rose in fell)
    return found


def _way(walk: Walk) -> Json:
    """The number and way of nodes that were waited for; else of the last users."""
    used = {node: {use.version for use in uses} for node, uses in uses_by_node(walk).items()}
    last = max((version for versions in used.values() for version in versions), default=None)
    went = [versions for versions in used.values() if len(versions) > 1]
    if not went:
        return {"first": last, "last": last, "nodes": sum(last in versions for versions in used.values())}
    return {"first": min(map(min, went)), "last": max(map(max, went)), "nodes": len(went)}


def _twin(walk: Walk, shown: Sequence[str]) -> Json:
    by_node = uses_by_node(walk)
    return {
        "versions": [asdict(one) | {"published_at": iso(one.published_at)} for one in walk.versions],
        "rows": [
            {
                "node": node,
                "cells": [
                    [
                        {
                            "began": iso(use.began),
                            "ended": None if use.ended is None else iso(use.ended),
                            "ran_out": use.ran_out,
                        }
                        for use in by_node[node]
                        if use.version == version.version
                    ]
                    for version in walk.versions
                ],
            }
            for node in shown
        ],
    }
