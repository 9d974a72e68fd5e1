"""Windows of time: the tables, changes and times of one picture."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from django.db.models import Case, Count, Max, Q, When
from django.utils.timezone import now

from catalog.models import Descriptor, Table
from changes.models import ENDED, MOVING, Change, Record, Status
from leases.models import Lease
from leases.recorder import reading
from leases.recorder.trim import SECONDS_KEPT_S
from leases.staircase.facts import LEAD_S, Facts, Work, from_json

CHANGES_SHOWN = 3
TOGETHER = timedelta(hours=2)
"""Changes that began no longer before a table's newest one are shown with it."""
OTHERS_SHOWN = 8
CHANGES_SEARCHED = 100
RECORDS_KEPT = 16


def of_change(change: Change) -> Facts | None:
    """The window of a change that has begun, as kept or as read now."""
    if change.started_at is None:
        return None
    kept = kept_of(change)
    return fresh(change) if kept is None else kept


def fresh(change: Change) -> Facts:
    assert change.started_at is not None, f"change {change.pk} has not begun"
    facts = reading.read_facts(named(change.table_ids), [work(change)], start=change.started_at.timestamp() - LEAD_S)
    facts = replace(facts, calm_since=_calm_since(change))
    if change.ended_at is None:
        return facts
    return replace(facts.until(change.ended_at.timestamp() + reading.REST_S), is_partial=_is_late(change))


def _calm_since(change: Change) -> float:
    """The end of the last change before this one; its own start when one was still under way."""
    assert change.started_at is not None, f"change {change.pk} has not begun"
    earlier = Change.objects.filter(started_at__lt=change.started_at).exclude(pk=change.pk)
    if earlier.filter(Q(ended_at=None) | Q(ended_at__gte=change.started_at)).exists():
        return change.started_at.timestamp()
    ended = earlier.aggregate(last=Max("ended_at"))["last"]
    return 0.0 if ended is None else ended.timestamp()


def of_table(table_id: int) -> Facts | None:
    """The window of a table's last changes, kept ones with what came after while statements run; None before the
    first."""
    begun = Change.objects.filter(table_ids__contains=[table_id], started_at__isnull=False).order_by("-started_at")
    changes = list(begun[:CHANGES_SHOWN])
    if not changes:
        return None
    kept = kept_of(changes[0])
    if kept is not None:
        return _with_traffic(kept.of_table(table_id))
    shown = [one for one in changes if one.started_at > changes[0].started_at - TOGETHER]
    start = shown[-1].started_at.timestamp() - LEAD_S
    facts = reading.read_facts(named([table_id]), [work(one) for one in reversed(shown)], start=start, goes_on=True)
    return replace(facts, is_partial=_is_late(changes[0]))


def _with_traffic(kept: Facts) -> Facts:
    if reading.last_busy_second(kept.end) <= kept.end:
        return kept
    tables = [(walk.table_id, walk.name) for walk in kept.walks]
    return kept.followed_by(reading.read_facts(tables, [], start=kept.end, goes_on=True))


def tables_moved(since: datetime, until: datetime) -> list[int]:
    """The tables that changes moved within a range of time, the newest first; no sandboxes."""
    moving = Change.objects.filter(started_at__lte=until).filter(Q(ended_at=None) | Q(ended_at__gte=since))
    newest_first = moving.order_by("-started_at").values_list("table_ids", flat=True)[:CHANGES_SEARCHED]
    found = dict.fromkeys(table_id for table_ids in newest_first for table_id in table_ids)
    live = Table.objects.filter(pk__in=found, state=Table.State.LIVE, sandbox_of=None)
    there = set(live.values_list("pk", flat=True))
    return [table_id for table_id in found if table_id in there][: 1 + OTHERS_SHOWN]


def table_of_interest() -> int | None:
    """The table with a change under way (paused ones last), else the one changed last; a sandbox only if no other."""
    there = Table.objects.filter(state=Table.State.LIVE, descriptors__isnull=False)
    moving_first = Case(When(status=Status.PAUSED, then=1), When(status__in=MOVING, then=0), default=2)
    for tables in (there.filter(sandbox_of=None), there.exclude(sandbox_of=None)):
        begun = Change.objects.filter(
            table_id__in=tables.values("pk"), status__in=(*MOVING, *ENDED), started_at__isnull=False
        )
        found = begun.order_by(moving_first, "-started_at").values_list("table_id", flat=True).first()
        if found is not None:
            return found
    return None


def table_at_rest() -> int | None:
    """The table that most nodes lease, where no change has moved any yet."""
    there = Table.objects.filter(state=Table.State.LIVE, descriptors__isnull=False, sandbox_of=None)
    leased = Lease.objects.filter(table_id__in=there.values("pk")).values("table_id").annotate(nodes=Count("node"))
    most = leased.order_by("-nodes", "table_id").values_list("table_id", flat=True).first()
    return most or there.order_by("id").values_list("id", flat=True).first()


def named(table_ids: list[int]) -> list[tuple[int, str]]:
    versions = Descriptor.objects.filter(table_id__in=table_ids).values_list("table_id", flat=True)
    names = dict(Table.objects.filter(pk__in=versions).values_list("id", "name"))
    return [(table_id, names[table_id]) for table_id in table_ids if table_id in names]


def kept_of(change: Change) -> Facts | None:
    if change.status not in ENDED:
        return None
    kept_at = Record.objects.filter(pk=change.pk).values_list("kept_at", flat=True).first()
    return None if kept_at is None else _facts(change.pk, kept_at)


@lru_cache(RECORDS_KEPT)
def _facts(change_id: int, _kept_at: datetime) -> Facts:
    return from_json(Record.objects.get(pk=change_id).facts)


def _is_late(change: Change) -> bool:
    return change.ended_at is not None and change.ended_at < now() - timedelta(seconds=SECONDS_KEPT_S)


def work(change: Change) -> Work:
    assert change.started_at is not None, f"change {change.pk} has not begun"
    ended = None if change.ended_at is None else change.ended_at.timestamp()
    return Work(change.pk, change.started_at.timestamp(), ended, change.status)
