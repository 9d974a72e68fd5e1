"""Traffic, requests and storages on live pages."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext, gettext_lazy

from catalog.live import snapshot
from catalog.selectors import newest_descriptor
from changes.streams import table_drawn
from leases.samples import minute
from leases.streams import samples
from nodes import selectors
from nodes.entries import entries_of
from nodes.models import TrafficRun
from nodes.traffic import runs

ENDED_SHOWN = 3
REQUESTS = "requests"
MEANINGS = {
    "08006": gettext_lazy(
        "The connection was lost: its node was killed, or stood still. The client went on at another node and read"
        " first what it had written last."
    ),
    "08007": gettext_lazy("The outcome of a commit was unknown; the next read showed it."),
    "23502": gettext_lazy("A required column refused a NULL."),
    "23503": gettext_lazy("A foreign key refused a row that refers to nothing; it does so from write-only on."),
    "23505": gettext_lazy(
        "A unique index refused a second row with the same values; it does so from write-only on, also if the change"
        " fails later."
    ),
    "23514": gettext_lazy("A CHECK refused a row; it does so from write-only on."),
    "25P04": gettext_lazy("The transaction would have outlived its lease; nothing of it was kept."),
    "40001": gettext_lazy(
        "Two transactions met, or a version was over: nothing was kept, and the client tried again, as a correct client"
        " does."
    ),
    "40P01": gettext_lazy("Two transactions waited for each other: one was ended and tried again."),
    "42501": gettext_lazy("It may not do that."),
    "42703": gettext_lazy("A column is not there any more: traffic knows the columns of its start."),
    "42P01": gettext_lazy("The table is not there any more."),
    "53300": gettext_lazy("The node had no room for another session."),
    "57014": gettext_lazy("The statement took longer than a node allows."),
    "57P01": gettext_lazy("The node was told to end: the client went on at another one."),
    "57P03": gettext_lazy("The node takes nothing now (it drains, or has no lease); the client went on elsewhere."),
}


def meaning(sqlstate: str) -> str:
    return str(MEANINGS.get(sqlstate) or gettext("Traffic does not expect this one: the message below is the node's."))


@snapshot.once
def _going_on() -> list[TrafficRun]:
    return list(TrafficRun.objects.filter(ended_at=None))


@snapshot.once
def _ended() -> list[TrafficRun]:
    return list(TrafficRun.objects.exclude(ended_at=None).order_by("-ended_at")[:ENDED_SHOWN])


def _run(run: TrafficRun) -> dict[str, Any]:
    figures = run.figures
    refused = [
        {"code": code, "count": count, "meaning": meaning(code)}
        for code, count in sorted(figures.get("refused", {}).items())
    ]
    return {
        "id": run.pk,
        "table_id": run.table_id,
        "table": run.table_name,
        "who": run.who,
        "clients": run.clients,
        "writes_percent": run.writes_percent,
        "started_at": run.started_at.isoformat(),
        "ends_at": run.ends_at.isoformat(),
        "ended_at": run.ended_at and run.ended_at.isoformat(),
        "why": runs.why_ended(run),
        "stopped_by": run.stopped_by,
        "is_lost": runs.is_lost(run),
        "has_begun": bool(figures),
        "figures": figures,
        "refused": refused,
    }


def _pulse(_id: int) -> dict[str, Any]:
    """A second as the picture shows it: statements of each node, traffic in short, entries on each storage."""
    rates = {name: round(newest.statements_per_s) for name, of in samples().items() if (newest := minute(of)[-1])}
    table_id = table_drawn()
    descriptor = None if table_id is None else newest_descriptor(table_id)
    return {
        "rates": rates,
        "traffic": _traffic_in_short(),
        "entries": [] if descriptor is None else entries_of(descriptor),
    }


def _traffic_in_short() -> dict[str, Any]:
    """The runs that go on with their figures, or else the one that ended last."""
    runs_now = _going_on()
    last = next(iter(_ended()), None)
    shown = runs_now or ([last] if last else [])
    counted = [run.figures for run in shown]
    return {
        "is_running": bool(runs_now) and not all(runs.is_lost(run) for run in runs_now),
        "has_begun": any(figures.get("statements") for figures in counted),
        "clients": sum(run.clients for run in runs_now),
        "wrong": sum(figures.get("wrong", 0) for figures in counted),
        "checked": sum(figures.get("statements", 0) for figures in counted),
        "ends_at": max((run.ends_at.isoformat() for run in runs_now), default=None),
        "ended_at": None if runs_now or last is None else last.ended_at and last.ended_at.isoformat(),
    }


snapshot.register("cluster", "wrong", "parts/wrong.html", lambda _id: _traffic_in_short(), is_sampled=True)
snapshot.register("cluster", "pulse", "parts/json.html", _pulse, is_sampled=True)
snapshot.register(
    "cluster",
    "traffic",
    "parts/traffic.html",
    lambda _id: {"runs": [_run(run) for run in _going_on()], "ended": [_run(run) for run in _ended()]},
    is_sampled=True,
)
snapshot.register(
    "cluster", "storages", "parts/storages.html", lambda _id: selectors.storages_now(selectors.TABLES_ON_CLUSTER)
)
snapshot.register_stream(REQUESTS, lambda number: number == 0)
snapshot.register(REQUESTS, "counts", "parts/requests.html", lambda _id: selectors.requests_now(), is_sampled=True)
snapshot.register(REQUESTS, "storages", "parts/storages.html", lambda _id: selectors.storages_now(), is_sampled=True)
