"""An incident: a range of time, and perhaps a change, as an address to share.

/incident/?change=12&from=2026-05-04T12:00:00Z&until=2026-05-04T12:05:10Z
/incident/?table=flights&from=..&until=..
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from django.db.models import Q
from django.http import QueryDict

from catalog.database import database_clock_s
from catalog.models import Table
from catalog.selectors import table_named
from catalog.story_list import wanted as story
from catalog.text.numbers import whole_number
from changes.models import Change
from changes.records import windows
from leases.recorder import reading
from leases.recorder.trim import SECONDS_KEPT_S
from leases.staircase.facts import LEAD_S, Facts

LONGEST = timedelta(hours=6)
LAST = timedelta(minutes=10)
"""Without a range: so long before now."""
WORKS_SHOWN = 20
DIGITS_MAX = 9


@dataclass(frozen=True, slots=True)
class Incident:
    """`tables` are drawn, by id and name; changes moved `others` in that time, too."""

    since: datetime
    until: datetime
    change: Change | None
    tables: tuple[tuple[int, str], ...]
    is_shortened: bool = False
    others: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        about: dict[str, str | int] = {}
        if self.change is not None:
            about["change"] = self.change.pk
        elif self.tables:
            about["table"] = self.tables[0][1]
        return urlencode(about | self._range)

    @property
    def range_address(self) -> str:
        return urlencode(self._range)

    @property
    def _range(self) -> dict[str, str | int]:
        return {"from": story.written(self.since), "until": story.written(self.until)}

    @property
    def part(self) -> story.StoryFilter:
        """Its part of the cluster's story, with the nodes that fell."""
        return story.StoryFilter(since=self.since, until=self.until)


def incident(asked: QueryDict) -> Incident:
    """The incident of an address. Raises `Change.DoesNotExist`, `Table.DoesNotExist`."""
    number = whole_number(asked.get("change", ""), digits_max=DIGITS_MAX)
    if asked.get("change") and number is None:
        raise Change.DoesNotExist
    change = None if number is None else Change.objects.get(pk=number)
    now = datetime.fromtimestamp(database_clock_s(), UTC).replace(microsecond=0) + timedelta(seconds=1)
    since, until = story.moment(asked.get("from", "")), story.moment(asked.get("until", ""))
    if change is not None and change.started_at is not None:
        lead, rest = timedelta(seconds=LEAD_S), timedelta(seconds=reading.REST_S)
        since = since or (change.started_at - lead).replace(microsecond=0)
        until = until or ((change.ended_at or now) + rest).replace(microsecond=0)
    until = min(until or now, now)
    since = min(since or until - LAST, until - timedelta(seconds=1))
    shortened = since < until - LONGEST
    since = until - LONGEST if shortened else since
    if change is not None:
        return Incident(since, until, change, tuple(windows.named(change.table_ids)), shortened)
    moved = windows.tables_moved(since, until)
    tables = _tables(asked, moved)
    others = tuple(name for one, name in windows.named(moved) if (one, name) not in tables)
    return Incident(since, until, None, tables, shortened, others)


def _tables(asked: QueryDict, moved: Sequence[int]) -> tuple[tuple[int, str], ...]:
    if asked.get("table"):
        found = table_named(asked["table"])
        if found is None:
            raise Table.DoesNotExist
        return tuple(windows.named([found.pk]))
    last = moved[0] if moved else windows.table_of_interest()
    return () if last is None else tuple(windows.named([last]))


def facts_of(shown: Incident) -> Facts | None:
    if not shown.tables:
        return None
    start, end = shown.since.timestamp(), shown.until.timestamp()
    is_late = start < database_clock_s() - SECONDS_KEPT_S
    kept = windows.kept_of(shown.change) if shown.change is not None and is_late else None
    if kept is not None and kept.start < end and start < kept.end:
        return kept.since(start).until(end)
    ids = [table_id for table_id, _ in shown.tables]
    found = Change.objects.filter(table_ids__overlap=ids, started_at__lte=shown.until)
    lasting = found.filter(Q(ended_at=None) | Q(ended_at__gte=shown.since))
    works = [windows.work(one) for one in sorted(lasting.order_by("-started_at")[:WORKS_SHOWN], key=lambda one: one.pk)]
    facts = reading.read_facts(shown.tables, works, start=start).until(end)
    seconds = reading.read_seconds(start, end)
    return replace(facts, end=end, is_live=False, seconds=seconds, is_partial=is_late)
