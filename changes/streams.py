"""Changes on live pages: a headline of the cluster, the open changes, and one change in full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from django.conf import settings

from catalog.database import database_clock_s
from catalog.live import snapshot as live
from catalog.live.relay import SAMPLE_S
from catalog.text.job_nodes import is_job
from changes import change_list, selectors
from changes.models import ENDED, Change
from changes.pages import change_page
from changes.pages import picture as cluster_picture
from changes.records import windows
from leases.lanes import lanes
from leases.recorder import reading
from leases.staircase.facts import Facts
from leases.staircase.picture import picture
from leases.staircase.waits import without_passing_jobs
from leases.streams import lane_facts
from spark_tasks.models import ReorgRun

OPEN_SHOWN = 8
ENDED_SHOWN = 5
ENDED_OF_TABLE_SHOWN = 20
PICTURES_KEPT = 32
ENDED_KEPT = 8
AT_REST_S = 60.0
"""A table that no change has moved is shown from so long ago on."""
Json = dict[str, Any]
_sessions = cluster_picture.Sessions()
"""The holders seen by the open pages of this process."""


def summaries(table_id: int | None = None, most: int | None = None) -> list[Json]:
    return [_summary(change) for change in _open(table_id)[: OPEN_SHOWN if most is None else most]]


def awaited() -> list[Json]:
    """The nodes that the first open change waits for, each with its sessions; the last to release first."""
    return [holder for one in summaries(most=1) if one["wait"] for holder in one["wait"]["holders"]]


@live.once
def _open(table_id: int | None) -> list[int]:
    return list(selectors.in_order(table_id).values_list("pk", flat=True))


@live.once
def _summary(change_id: int) -> Json:
    return change_page.summary(selectors.change_snapshot(change_id), _leases_now())


@live.once
def _leases_now() -> list[Json]:
    return selectors.leases_now()


def ended(limit: int, **of: Any) -> list[Json]:
    found = Change.objects.filter(status__in=ENDED, **of).order_by("-ended_at")[:limit]
    return [change_page.line(selectors.change_line(change)) for change in found]


def _in_flight(_id: int) -> Json:
    return _with_pulse({"open": summaries(), "more": _more(), "ended": ended(ENDED_SHOWN)})


def _of_table(table_id: int) -> Json:
    found = ended(ENDED_OF_TABLE_SHOWN, table_ids__contains=[table_id])
    shown = {"open": summaries(table_id), "more": _more(table_id), "ended": found, "is_of_table": True}
    return _with_pulse(shown)


def _more(table_id: int | None = None) -> int:
    return max(0, len(_open(table_id)) - OPEN_SHOWN)


def _with_pulse(part: Json) -> Json:
    """A running reorganisation progresses without notifications."""
    return part | {"is_busy": any(one["progress"] for one in part["open"])}


def _change(change_id: int) -> Json:
    snapshot = selectors.change_snapshot(change_id)
    shown = change_page.view(snapshot, selectors.leases_now())
    return shown | {"is_busy": shown["progress"] is not None}


def _headline(_id: int) -> Json:
    shown, first = lanes(lane_facts()), summaries(most=1)
    present = [node for node in shown["nodes"] if not node["has_left"] and not is_job(node["name"])]
    return {
        "nodes": sum(not node["is_down"] for node in present),
        "nodes_all": len(present),
        "down": [node for node in present if node["is_down"]],
        "tables": len(shown["moving"]) + len(shown["settled"]),
        "in_use_most": shown["in_use_most"],
        "alarm": shown["alarm"],
        "first": first[0] if first else None,
        "open": len(_open(None)),
    }


@live.once
def table_drawn() -> int | None:
    """The table of the picture: the one that moves or moved last, else the one that most nodes lease."""
    return windows.table_of_interest() or windows.table_at_rest()


def _facts(_id: int) -> Json:
    table_id = table_drawn()
    if table_id is None:
        return {}
    facts = windows.of_table(table_id)
    if facts is None:
        start = database_clock_s() - AT_REST_S
        facts = reading.read_facts(windows.named([table_id]), [], start=start)
    walk = without_passing_jobs(facts.walks[0], facts.end)
    walk = replace(walk, uses=tuple(use for use in walk.uses if not is_job(use.node)))
    return cluster_picture.facts_json(facts, walk, _runs(facts), settings.LEASE_S, _sessions)


def _runs(facts: Facts) -> list[Json]:
    found = ReorgRun.objects.filter(
        change_id__in=[work.change for work in facts.works], started_at__isnull=False
    ).order_by("id")
    return [
        {"kind": run.kind, "version": run.version, "change": run.change_id, "began": run.started_at.timestamp()}
        | {"ended": None if run.ended_at is None else run.ended_at.timestamp()}
        for run in found
    ]


def over_time(facts: Facts | None, *, is_range: bool = False) -> Json:
    """Lanes over time of a window, in words and as facts to draw; None without a table."""
    if facts is None or not facts.walks:
        return {"picture": None}
    facts = facts if is_range else facts.near_changes()
    drawn = cluster_picture.over_time_json(facts, _runs(facts), settings.LEASE_S, _sessions)
    return {"picture": picture(facts) | {"drawn": drawn}}


def _see_sessions() -> None:
    _sessions.see(lane_facts()["nodes"], datetime.fromisoformat(lane_facts()["at"]).timestamp())


def _now(_id: int) -> Json:
    """That table's state, and its change; the last one stays until another begins."""
    table_id = table_drawn()
    if table_id is None:
        return {}
    open_one = next(iter(summaries(table_id, most=1)), None)
    shown = open_one or _last_ended(table_id)
    if shown and shown["timeline"] and shown["timeline"][0]["version"] == 0:
        shown = None  # it made the table: there was nothing to move
    change = cluster_picture.change_json(shown) if shown else None
    found = cluster_picture.now_json(table_id, lane_facts(), change)
    _see_sessions()
    return found | {"is_busy": bool(open_one and open_one["progress"])}


def _last_ended(table_id: int) -> Json | None:
    ended_last = Change.objects.filter(status__in=ENDED, table_ids__contains=[table_id]).order_by("-ended_at")
    found = ended_last.values_list("pk", "ended_at").first()
    return None if found is None else _ended(*found)


@lru_cache(ENDED_KEPT)
def _ended(change_id: int, _ended_at: datetime) -> Json:
    return change_page.summary(selectors.change_snapshot(change_id), [])


def _over_time_of_table(table_id: int) -> live.Drawing:
    return _drawn(f"table {table_id}", lambda: windows.of_table(table_id))


def _over_time_of_change(change_id: int) -> live.Drawing:
    return _drawn(f"change {change_id}", lambda: windows.of_change(Change.objects.get(pk=change_id)))


class _Drawn(NamedTuple):
    read_at: float
    shown: Facts | None
    drawing: live.Drawing


_drawing = Lock()
_drawn_last: dict[str, _Drawn] = {}


def _drawn(of: str, read: Callable[[], Facts | None]) -> live.Drawing:
    """The picture of these facts, read once a second for all viewers."""
    began = monotonic()
    known = _drawn_last.get(of)
    if known is not None and began - known.read_at < SAMPLE_S:
        return known.drawing
    facts = read()
    if facts is not None and facts.is_live:
        _see_sessions()
    with _drawing:
        known = _drawn_last.pop(of, None)
        drawing = known.drawing if known and known.shown == facts else live.Drawing(over_time(facts))
        _drawn_last[of] = _Drawn(began, facts, drawing)
        while len(_drawn_last) > PICTURES_KEPT:
            del _drawn_last[next(iter(_drawn_last))]
        return drawing


for _prefix, _read in (("table", _over_time_of_table), ("change", _over_time_of_change)):
    live.register(_prefix, "over_time", "parts/over_time.html", _read, is_sampled=True, is_html_only=True)
live.register("cluster", "facts", "parts/json.html", _facts, is_once=True)
live.register("cluster", "now", "parts/json.html", _now)
live.register("cluster", "headline", "parts/headline.html", _headline)
live.register("cluster", "changes", "parts/changes.html", _in_flight)
live.register("table", "changes", "parts/changes.html", _of_table)
live.register("change", "change", "parts/change.html", _change)
live.register("queue", "queue", "parts/queue.html", lambda _id: change_list.queue(), is_html_only=True)
live.register_stream("queue", lambda number: number == 0)
live.register_stream("change", lambda change_id: Change.objects.filter(pk=change_id).exists())
