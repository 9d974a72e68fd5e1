"""Runs of traffic that were started from the page: stored, so that a page that crashed finds them again. A run that has
not reported for long is *lost*: its process ended or stands still. The next run may begin, and this one ends should it
go on. The timetable ends it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import IntegrityError
from django.db.models import Q, QuerySet
from django.utils.timezone import now

from catalog.selectors import newest_descriptor, table_named
from catalog.services import append_event, control_transaction
from catalog.story import CLUSTER, table_stream
from catalog.text.sentence import Sentence
from nodes.models import TrafficRun
from nodes.traffic.book import NotSuitable, shape_of

RUNS_MAX = 3
CLIENTS_MAX = 8
"""For each node."""
STATEMENTS_PER_S = 20
"""Of each client, at most."""
MINUTES_MAX = 60
LOST_AFTER_S = 15.0
STARTS_WITHIN_S = 90.0
"""Before its first report a process is given more: on a busy machine it takes long to start."""
LOST = Sentence("its process ended without a word")
TIME_OVER = Sentence("its time was over")
REPLACED = Sentence("another run took its place")
CLUSTER_STOPPED = Sentence("the cluster stopped")


class TrafficRefused(Exception):
    """A run cannot be started or stopped; the message says why."""


class NoSuchRun(TrafficRefused):
    """There is no run with this number."""


def ask(table_name: str, *, clients: int, writes_percent: int, minutes: int, who: str) -> TrafficRun:
    """Store a run. Raises `TrafficRefused`."""
    _check_between("clients for each node", clients, 1, CLIENTS_MAX)
    _check_between("the share of writes", writes_percent, 0, 100)
    _check_between("minutes", minutes, 1, MINUTES_MAX)
    table = table_named(table_name)
    descriptor = None if table is None else newest_descriptor(table.pk)
    if table is None or descriptor is None:
        raise TrafficRefused(f"there is no table {table_name}")
    if table.sandbox_of:
        raise TrafficRefused(f"{table_name} is a sandbox of the lab, which belongs to {table.sandbox_of}")
    try:
        shape_of(descriptor)
    except NotSuitable as error:
        raise TrafficRefused(str(error)) from None
    end_lost()
    others = list(going_on())
    same = next((run for run in others if run.table_id == table.pk), None)
    if same is not None:
        raise TrafficRefused(f"{same.who} has traffic on {table_name} already: stop that first")
    if len(others) >= RUNS_MAX:
        raise TrafficRefused(f"{len(others)} runs of traffic go on, {RUNS_MAX} are the limit: stop one first")
    wanted = {"clients": clients, "writes_percent": writes_percent, "who": who}
    try:
        with control_transaction():
            run = TrafficRun.objects.create(
                table_id=table.pk, table_name=table_name, ends_at=now() + timedelta(minutes=minutes), **wanted
            )
            _append("traffic started", run, minutes=minutes, clients=clients, writes=writes_percent, who=who)
    except IntegrityError:
        raise TrafficRefused(f"somebody has just started traffic on {table_name}") from None
    return run


def _check_between(what: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise TrafficRefused(f"{what}: {value} is not from {least} to {most}")


def begin(number: int) -> TrafficRun:
    """The run that a process is to carry out. Raises `NoSuchRun`, or `TrafficRefused` when it is over."""
    run = TrafficRun.objects.filter(pk=number).first()
    if run is None:
        raise NoSuchRun(f"there is no run {number} of traffic")
    if run.ended_at is not None:
        raise TrafficRefused(why_not_stopped(run))
    return run


def report(run: TrafficRun, figures: Mapping[str, Any]) -> str:
    """Store the figures of the last second; why the run is to end now, or an empty text."""
    mine = TrafficRun.objects.filter(pk=run.pk, ended_at=None)
    wanted = mine.values_list("stopped_by", "ends_at").first() if mine.update(**_news(figures)) else None
    if wanted is None:
        return REPLACED
    stopped_by, ends_at = wanted
    if stopped_by:
        return Sentence("{name} stopped it", name=stopped_by)
    return TIME_OVER if now() >= ends_at else ""


def why_ended(run: TrafficRun) -> str:
    stopped = Sentence("{name} stopped it", name=run.stopped_by)
    return next((one for one in (LOST, TIME_OVER, REPLACED, CLUSTER_STOPPED, stopped) if one == run.why), run.why)


def _news(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {"figures": dict(figures), "reported_at": now()}


def why_not_stopped(run: TrafficRun) -> str | None:
    if run.ended_at is not None:
        return Sentence("run {n} of traffic has ended: {what}", n=run.pk, what=why_ended(run))
    return Sentence("{who} has stopped it already: it ends in a moment", who=run.stopped_by) if run.stopped_by else None


def stop(number: int, *, who: str) -> TrafficRun:
    run = begin(number)
    if (refusal := why_not_stopped(run)) is not None:
        raise TrafficRefused(refusal)
    with control_transaction():
        if TrafficRun.objects.filter(pk=number, ended_at=None, stopped_by="").update(stopped_by=who):
            _append("traffic stopped", run, who=who)
    if is_lost(run):
        finish(run, LOST)
    return run


def finish(run: TrafficRun, why: str) -> None:
    """The run has ended; the first who says so counts."""
    with control_transaction():
        if TrafficRun.objects.filter(pk=run.pk, ended_at=None).update(ended_at=now(), why=why):
            run.refresh_from_db()
            counted = {name: run.figures.get(name, 0) for name in ("statements", "wrong")}
            _append("traffic ended", run, why=why, **counted)


def going_on() -> QuerySet[TrafficRun]:
    return TrafficRun.objects.filter(ended_at=None).exclude(_silent())


def end_lost() -> None:
    for run in TrafficRun.objects.filter(_silent(), ended_at=None):
        finish(run, LOST)


def is_lost(run: TrafficRun) -> bool:
    patience_s = LOST_AFTER_S if run.figures else STARTS_WITHIN_S
    return run.ended_at is None and run.reported_at < now() - timedelta(seconds=patience_s)


def _silent() -> Q:
    """Runs whose processes would have reported, if they were there."""
    started, still = now() - timedelta(seconds=STARTS_WITHIN_S), now() - timedelta(seconds=LOST_AFTER_S)
    return Q(figures={}, reported_at__lt=started) | (Q(reported_at__lt=still) & ~Q(figures={}))


def _append(kind: str, run: TrafficRun, **facts: Any) -> None:
    payload = {"table": run.table_name, "run": run.pk, **facts}
    append_event(kind, run.table_name, payload, [CLUSTER, table_stream(run.table_id)])
