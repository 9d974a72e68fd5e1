"""Changes on live pages: one sentence on the cluster, those in flight, and one change in full."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from catalog.live import snapshot as live
from catalog.live.relay import SAMPLE_S
from changes import change_list, selectors
from changes.models import ENDED, Change
from changes.pages import change_page
from changes.records import windows
from leases.lanes import lanes
from leases.selectors import lane_snapshot
from leases.staircase.facts import Facts
from leases.staircase.picture import picture

OPEN_SHOWN = 8
ENDED_SHOWN = 5
ENDED_OF_TABLE_SHOWN = 20
PICTURES_KEPT = 32
Json = dict[str, Any]
Shown = tuple[Facts | None, list[tuple[int, str]]]
"""The facts of a picture, and the other tables that are named below it."""


def summaries(table_id: int | None = None, most: int | None = None) -> list[Json]:
    """The first of the open changes, of one table or of all: those that move come first."""
    leases = selectors.leases_now()
    shown = selectors.in_order(table_id)[: OPEN_SHOWN if most is None else most]
    return [change_page.summary(selectors.change_snapshot(change.pk), leases) for change in shown]


def ended(limit: int, **of: Any) -> list[Json]:
    """The changes that ended last."""
    found = Change.objects.filter(status__in=ENDED, **of).order_by("-ended_at")[:limit]
    return [change_page.line(selectors.change_line(change)) for change in found]


def _in_flight(_id: int) -> Json:
    return _with_pulse({"open": summaries(), "more": _more(), "ended": ended(ENDED_SHOWN)})


def _of_table(table_id: int) -> Json:
    found = ended(ENDED_OF_TABLE_SHOWN, table_ids__contains=[table_id])
    shown = {"open": summaries(table_id), "more": _more(table_id), "ended": found, "is_of_table": True}
    return _with_pulse(shown)


def _more(table_id: int | None = None) -> int:
    """The open changes that are not shown."""
    return max(0, selectors.in_order(table_id).count() - OPEN_SHOWN)


def _with_pulse(part: Json) -> Json:
    """A reorganisation that runs moves without a notification."""
    return part | {"is_busy": any(one["progress"] for one in part["open"])}


def _change(change_id: int) -> Json:
    snapshot = selectors.change_snapshot(change_id)
    shown = change_page.view(snapshot, selectors.leases_now())
    return shown | {"is_busy": shown["progress"] is not None}


def _headline(_id: int) -> Json:
    """One sentence: what happens, and why it does not move."""
    shown, first = lanes(lane_snapshot()), summaries(most=1)
    present = [node for node in shown["nodes"] if not node["has_left"]]
    return {
        "nodes": sum(not node["is_down"] for node in present),
        "nodes_all": len(present),
        "down": [node for node in present if node["is_down"]],
        "tables": len(shown["moving"]) + len(shown["settled"]),
        "in_use_most": shown["in_use_most"],
        "alarm": shown["alarm"],
        "first": first[0] if first else None,
        "open": selectors.in_order().count(),
    }


def _over_time(_id: int) -> live.Drawing:
    """Lanes over time of the table that moves, or moved last."""
    return _drawn("cluster", _of_cluster)


def _over_time_of_table(table_id: int) -> live.Drawing:
    return _drawn(f"table {table_id}", lambda: (windows.of_table(table_id), []))


def _over_time_of_change(change_id: int) -> live.Drawing:
    return _drawn(f"change {change_id}", lambda: (windows.of_change(Change.objects.get(pk=change_id)), []))


def _of_cluster() -> Shown:
    table_id = windows.table_of_interest()
    return (None, []) if table_id is None else (windows.of_table(table_id), windows.other_tables(table_id))


class _Drawn(NamedTuple):
    """A picture, of which facts it is, and when (by `monotonic`) those were read."""

    read_at: float
    shown: Shown
    drawing: live.Drawing


_drawing = Lock()
_drawn_last: dict[str, _Drawn] = {}


def _drawn(of: str, read: Callable[[], Shown]) -> live.Drawing:
    """The picture of these facts, read once a second for all who look; the same one while the facts are the same."""
    began = monotonic()
    known = _drawn_last.get(of)
    if known is not None and began - known.read_at < SAMPLE_S:
        return known.drawing
    facts, others = read()
    with _drawing:
        known = _drawn_last.pop(of, None)
        if known is None or known.shown != (facts, others):
            drawn = picture(facts) if facts is not None and facts.walks else None
            drawing = live.Drawing({"picture": drawn, "others": others})
        else:
            drawing = known.drawing
        _drawn_last[of] = _Drawn(began, (facts, others), drawing)
        while len(_drawn_last) > PICTURES_KEPT:
            del _drawn_last[next(iter(_drawn_last))]
        return drawing


for _prefix, _read in (
    ("cluster", _over_time),
    ("table", _over_time_of_table),
    ("change", _over_time_of_change),
):
    live.register(_prefix, "over_time", "parts/over_time.html", _read, is_sampled=True, is_html_only=True)
live.register("cluster", "headline", "parts/headline.html", _headline)
live.register("cluster", "changes", "parts/changes.html", _in_flight)
live.register("table", "changes", "parts/changes.html", _of_table)
live.register("change", "change", "parts/change.html", _change)
live.register("queue", "queue", "parts/queue.html", lambda _id: change_list.queue(), is_html_only=True)
live.register_stream("queue", lambda number: number == 0)
live.register_stream("change", lambda change_id: Change.objects.filter(pk=change_id).exists())
