"""Reads the facts of a window of time from leases, versions, the story and the recorded seconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from django.db.models import Max

from catalog.database import database_clock_s
from catalog.descriptor import from_json
from catalog.models import Descriptor, StoryEvent
from catalog.selectors import newest_seq
from catalog.story import CLUSTER
from leases.models import Lease, Node, PastLease, RecordedSecond
from leases.staircase.facts import LEAD_S, MARKS, Facts, Mark, Second, Use, Version, Walk, Work
from leases.staircase.phases import moving_elements, phases
from leases.staircase.waits import last_to_leave

USES_MAX = 4000
VERSIONS_MAX = 40
EVENTS_LOOKED_AT = 5000
MARKS_MAX = 200
REST_S = LEAD_S
"""The picture of a table at rest ends this long after its last event."""
TICK_S = 2.0
"""Time alone moves a picture this often."""
FALLS_SOUGHT_S = 3600.0
"""A node that fell within this long before a window, and did not come back, is known to be down in it."""


def read_facts(
    tables: Sequence[tuple[int, str]], works: Sequence[Work], *, start: float, goes_on: bool = False
) -> Facts:
    """The facts of these tables (id, name) since `start`, with the changes that moved them. The window ends now while a
    change is under way, or statements run and it `goes_on`; else a little after the last event."""
    now = database_clock_s()
    walks = tuple(_walk(table_id, name, start, now) for table_id, name in tables)
    every = _marks({use.node for walk in walks for use in walk.uses}, start, now)
    marks = tuple(mark for mark in every if mark.concerns({table_id for table_id, _ in tables}))
    moments = [last_moment(walks, marks, works, start, now)]
    if goes_on:
        moments.append(last_busy_second(start))
    rest = max(moments) + REST_S
    is_live = rest > now or any(work.ended is None for work in works)
    ticks = math.floor(now / TICK_S)
    end = (ticks + 1.0) * TICK_S if is_live else rest
    seconds = read_seconds(start, ticks * TICK_S if is_live else rest)
    return Facts(start, end, is_live, walks, marks, seconds, tuple(works))


def last_moment(walks: Iterable[Walk], marks: Iterable[Mark], works: Iterable[Work], start: float, now: float) -> float:
    moments = [start, *(mark.at for mark in marks), *(work.ended for work in works if work.ended is not None)]
    for walk in walks:
        moments += [version.published_at for version in walk.versions]
        moments += [use.began for use in walk.uses]
        moments += [use.ended for use in walk.uses if use.ended is not None]
    return max(moment for moment in moments if moment <= now)


def last_busy_second(since: float) -> float:
    busy = RecordedSecond.objects.filter(at__gt=math.floor(since), at__lte=database_clock_s(), statements_per_s__gt=0)
    return float(max(busy.aggregate(last=Max("at"))["last"] or since, since))


def _walk(table_id: int, name: str, start: float, now: float) -> Walk:
    uses = _uses(table_id, start, now)
    used = {use.version for use in uses}
    rows = Descriptor.objects.filter(table_id=table_id)
    newest_first = rows.order_by("-version").values_list("version", "modified_at")[:VERSIONS_MAX]
    published = [(version, at.timestamp()) for version, at in reversed(list(newest_first))]
    before = max((version for version, at in published if at <= start), default=0)
    shown = [(version, at) for version, at in published if at > start or version in used or version == before]
    stored = dict(rows.filter(version__in=[version for version, _ in shown]).values_list("version", "body"))
    bodies = [from_json(stored[version]) for version, _ in shown]
    versions = (
        Version(body.version, at, phase, tuple(moving_elements(body)))
        for body, phase, (_, at) in zip(bodies, phases(bodies), shown, strict=True)
    )
    has_leases = any(body.coordination.has_leases for body in bodies) or not bodies
    return Walk(table_id, name, tuple(versions), tuple(uses), has_leases)


def _uses(table_id: int, start: float, now: float) -> list[Use]:
    since = datetime.fromtimestamp(start, UTC)
    past = PastLease.objects.filter(table_id=table_id, ended_at__gte=since).order_by("-ended_at", "-id")
    uses = [
        Use(node, version, began.timestamp(), ended.timestamp(), until.timestamp())
        for node, version, began, ended, until in past.values_list(
            "node", "version", "acquired_at", "ended_at", "expires_at"
        )[:USES_MAX]
    ]
    for one in Lease.objects.filter(table_id=table_id):
        until = one.expires_at.timestamp()
        uses.append(Use(one.node, one.version, one.acquired_at.timestamp(), until if until <= now else None, until))
    return sorted((use for use in uses if use.until > start), key=lambda use: (use.began, use.node, use.version))


def _marks(used: set[str], start: float, now: float) -> tuple[Mark, ...]:
    """The marks of nodes, oldest first, also before the window: nodes may be down when it begins."""
    names = used | set(Node.objects.values_list("name", flat=True))
    rows = StoryEvent.objects.filter(
        stream=CLUSTER,
        seq__gt=newest_seq(CLUSTER) - EVENTS_LOOKED_AT,
        kind__in=list(MARKS),
        at__gte=datetime.fromtimestamp(start - FALLS_SOUGHT_S, UTC),
    ).order_by("-seq")[:MARKS_MAX]
    marks = []
    for row in rows:
        since = row.payload.get("since")
        at = row.at if since is None else datetime.fromisoformat(since)
        node = row.payload.get("node") or row.payload.get("process") or ""
        if node in names and at.timestamp() <= now:
            marks.append(Mark(at.timestamp(), MARKS[row.kind], node, row.payload.get("table_id")))
    return tuple(sorted(marks, key=lambda mark: mark.at))


def nodes_left_at(versions: Mapping[int, int], *, since: float) -> float | None:
    """When the last node left an older one of these `versions` by table, after `since`."""
    now = database_clock_s()
    last = [
        last_to_leave(_uses(table_id, since, now), version=version, since=since)
        for table_id, version in versions.items()
    ]
    return max((now if use.ended is None else use.ended for use in last if use is not None), default=None)


def read_seconds(start: float, end: float) -> tuple[Second, ...]:
    rows = RecordedSecond.objects.filter(at__gte=math.ceil(start), at__lte=math.floor(end)).order_by("at")
    known = rows.values_list("at", "statements_per_s", "p50_ms", "p99_ms")
    return tuple(Second(float(at), rate, p50_ms, p99_ms) for at, rate, p50_ms, p99_ms in known)
