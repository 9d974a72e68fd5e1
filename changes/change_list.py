"""The list of changes and their queue (/changes/?status=open&table=flights&who=sam&text=index&before=120). Its pages
are bounded by numbers of changes, so that they stay the same while changes come."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

from django.db.models import Max, Q, QuerySet
from django.http import QueryDict

from catalog.models import Table
from catalog.story_list import reading
from catalog.text.numbers import whole_number
from changes import selectors
from changes.models import ENDED, MOVING, OPEN, Change, Status
from changes.pages import change_page
from changes.plan.model import plan_from_json
from changes.queue import directly_behind

PAGE = 50
QUEUE_SHOWN = 100
TEXT_MAX = 200
DIGITS_MAX = 9
GROUPS = {"open": OPEN, "ended": ENDED}
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """The filter of an address; an empty text filters nothing. `mistake`: an unknown status."""

    status: str = ""
    table: str = ""
    who: str = ""
    text: str = ""
    before: int | None = None
    after: int | None = None
    mistake: str = ""

    @property
    def is_filtered(self) -> bool:
        return bool(self.status or self.table or self.who or self.text)

    def address(self, **pages: int) -> str:
        texts = {"status": self.status, "table": self.table, "who": self.who, "text": self.text}
        return urlencode({name: text for name, text in texts.items() if text} | pages)


def wanted(asked: QueryDict) -> ChangeFilter:
    texts = {name: asked.get(name, "").strip()[:TEXT_MAX] for name in ("status", "table", "who", "text")}
    status = texts.pop("status")
    is_status = not status or status in GROUPS or status in Status
    numbers = {name: whole_number(asked.get(name, ""), digits_max=DIGITS_MAX) for name in ("before", "after")}
    return ChangeFilter(status if is_status else "", **texts, **numbers, mistake="" if is_status else status)


def matching(asked: ChangeFilter) -> QuerySet[Change]:
    """All changes that pass the filter. A table matches by its current name, too."""
    found = Change.objects.all()
    if asked.status:
        found = found.filter(status__in=GROUPS.get(asked.status, (asked.status,)))
    if asked.table:
        named = Q(table_name=asked.table)
        for table_id in Table.objects.filter(name=asked.table).values_list("pk", flat=True):
            named |= Q(table_ids__contains=[table_id])
        found = found.filter(named)
    if asked.who:
        found = found.filter(who=asked.who)
    if asked.text:
        found = found.filter(Q(statement__icontains=asked.text) | Q(error__message__icontains=asked.text))
    return found


def page(asked: ChangeFilter, size: int = PAGE) -> Json:
    """One page of the list, newest first, with the addresses of its neighbours. `search_s_max`: the limit of a search
    that was ended for taking too long, else None."""
    try:
        with reading.limited():
            changes, newer, older = _read(asked, size)
    except reading.SearchTooLong:
        return {"lines": [], "newer": None, "older": None, "search_s_max": reading.SEARCH_S_MAX}
    return {
        "lines": [change_page.line(selectors.change_line(change)) for change in changes],
        "newer": asked.address(after=changes[0].pk) if newer else None,
        "older": asked.address(before=changes[-1].pk) if older else None,
        "search_s_max": None,
    }


def _read(asked: ChangeFilter, size: int) -> tuple[list[Change], bool, bool]:
    found = matching(asked)
    if asked.after is not None:
        changes = list(reversed(found.filter(pk__gt=asked.after).order_by("id")[:size]))
    else:
        of_page = found if asked.before is None else found.filter(pk__lt=asked.before)
        changes = list(of_page.order_by("-id")[:size])
    if not changes:
        return [], False, False
    return changes, found.filter(pk__gt=changes[0].pk).exists(), found.filter(pk__lt=changes[-1].pk).exists()


def queue() -> Json:
    """The open changes, in the order of the queue, with the changes that each waits for directly. When `mark` changes,
    a page should load its list again."""
    ahead = directly_behind(selectors.places())
    held_up = {one: sorted(later for later, first in ahead.items() if one in first) for one in ahead}
    leases, every = selectors.leases_now(), selectors.in_order()
    lines = [
        _line(change, leases) | {"behind": ahead.get(change.pk, []), "holds_up": held_up.get(change.pk, [])}
        for change in every[:QUEUE_SHOWN]
    ]
    counts = Counter(every.order_by().values_list("status", flat=True))
    # differs as soon as a line of the list may: a change came, or one has another status
    newest = Change.objects.aggregate(newest=Max("pk"), ended=Max("ended_at"))
    open_ones = Change.objects.filter(status__in=OPEN).order_by("id").values_list("id", "status")
    return {
        "lines": lines,
        "more": counts.total() - len(lines),
        "moving": sum(counts[status] for status in MOVING),
        "waiting": counts[Status.QUEUED],
        "awaiting": counts[Status.AWAITING],
        "mark": f"{crc32(repr((newest, list(open_ones))).encode()):08x}",
        "is_busy": any(one.get("progress") for one in lines),
    }


def _line(change: Change, leases: list[Json]) -> Json:
    if change.status in MOVING:
        return change_page.summary(selectors.change_snapshot(change.pk), leases)
    return change_page.line(selectors.change_line(change)) | {"element": plan_from_json(change.plan).headline}
