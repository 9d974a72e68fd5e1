"""Windows of time: the tables, changes and times that belong into one picture."""

from __future__ import annotations

from datetime import timedelta

from catalog.models import Descriptor, Table
from changes.models import ENDED, MOVING, Change, Record
from leases.recorder import reading
from leases.staircase.facts import Facts, Work, from_json

CHANGES_SHOWN = 3
TOGETHER = timedelta(hours=2)
"""Changes that began no longer before a table's newest one are shown with it."""
OTHERS_SHOWN = 8


def of_change(change: Change) -> Facts | None:
    """The window of a change that has begun: as it was kept, or as it is now."""
    if change.started_at is None:
        return None
    kept = Record.objects.filter(pk=change.pk).first()
    return from_json(kept.facts) if kept is not None else fresh(change)


def fresh(change: Change) -> Facts:
    """The same, read now. What happened after the change does not belong to it."""
    assert change.started_at is not None, f"change {change.pk} has not begun"
    facts = reading.read_facts(
        _named(change.table_ids), [_work(change)], start=change.started_at.timestamp() - reading.LEAD_S
    )
    return facts if change.ended_at is None else facts.until(change.ended_at.timestamp() + reading.REST_S)


def of_table(table_id: int) -> Facts | None:
    """The window of a table's last changes; None when none has begun."""
    begun = Change.objects.filter(table_ids__contains=[table_id], started_at__isnull=False).order_by("-started_at")
    changes = list(begun[:CHANGES_SHOWN])
    if not changes:
        return None
    shown = [one for one in changes if one.started_at > changes[0].started_at - TOGETHER]
    start = shown[-1].started_at.timestamp() - reading.LEAD_S
    return reading.read_facts(_named([table_id]), [_work(one) for one in reversed(shown)], start=start)


def table_of_interest() -> int | None:
    """The table with a change under way, or else the one that was changed last."""
    moving = Change.objects.filter(status__in=MOVING, started_at__isnull=False).order_by("started_at").first()
    found = moving or Change.objects.filter(status__in=ENDED, started_at__isnull=False).order_by("-started_at").first()
    return None if found is None else found.table_id


def other_tables(table_id: int) -> list[tuple[int, str]]:
    """The other tables that were changed lately, by name: each has a picture on its page."""
    recent = Change.objects.filter(started_at__isnull=False).order_by("-started_at").values_list("table_ids", flat=True)
    ids = {one for of_change in recent[: 4 * OTHERS_SHOWN] for one in of_change} - {table_id}
    there = Table.objects.filter(pk__in=ids, state=Table.State.LIVE, descriptors__isnull=False).distinct()
    return list(there.order_by("name").values_list("id", "name")[:OTHERS_SHOWN])


def _named(table_ids: list[int]) -> list[tuple[int, str]]:
    """The tables that have a version, in this order, by their names of today."""
    versions = Descriptor.objects.filter(table_id__in=table_ids).values_list("table_id", flat=True)
    names = dict(Table.objects.filter(pk__in=versions).values_list("id", "name"))
    return [(table_id, names[table_id]) for table_id in table_ids if table_id in names]


def _work(change: Change) -> Work:
    assert change.started_at is not None, f"change {change.pk} has not begun"
    ended = None if change.ended_at is None else change.ended_at.timestamp()
    return Work(change.pk, change.started_at.timestamp(), ended, change.status)
