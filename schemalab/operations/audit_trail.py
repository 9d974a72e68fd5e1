"""The audit trail: which operator did what and when, from the story. For operators. Entries of the admin's log about
the same rows show the way an act came. A reader sees those about objects they may view in the admin."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from catalog.models import StoryEvent
from catalog.selectors import event_json
from catalog.story import CLUSTER, GROUPS
from catalog.story_list import reading
from catalog.story_list import wanted as story
from catalog.text.sheets import BOM, cell
from schemalab.operations.leases import for_staff

PAGE = 100
FILE_MAX = 10_000
STORY, ADMINISTRATION = "story", "administration"
SOURCES = (STORY, ADMINISTRATION)
HEAD = ("at", "who", "what", "kind", "source")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    at: datetime
    source: str
    number: int

    def __str__(self) -> str:
        return f"{story.written(self.at)},{self.source},{self.number}"


@dataclass(frozen=True, slots=True)
class Act:
    place: Place
    who: str
    what: str
    kind: str
    change: int | None = None


@dataclass(frozen=True, slots=True)
class ActFilter:
    part: story.StoryFilter
    who: str = ""
    before: Place | None = None

    @property
    def is_filtered(self) -> bool:
        return bool(self.who or self.part.is_filtered)

    def address(self, before: Place | None = None) -> str:
        extra = {"who": self.who, "before": "" if before is None else str(before)}
        query = QueryDict(self.part.address(), mutable=True)
        query.update({name: text for name, text in extra.items() if text})
        return query.urlencode()


def asked(query: QueryDict) -> ActFilter:
    part = replace(story.wanted(query), stream=CLUSTER, before=None, after=None)
    # the inverse of `Place.__str__`; None when invalid
    at, _, rest = query.get("before", "").partition(",")
    source, _, number = rest.partition(",")
    moment, known = story.moment(at), story.number(number)
    return ActFilter(
        part,
        query.get("who", "").strip()[: story.TEXT_MAX],
        Place(moment, source, known) if moment and source in SOURCES and known is not None else None,
    )


@for_staff
@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """A page of acts; `?form=csv`: all as a file."""
    wanted = asked(request.GET)
    is_file = request.GET.get("form") == "csv"
    found, seconds = [], reading.FILE_S_MAX if is_file else reading.SEARCH_S_MAX
    is_too_long = False
    try:
        with reading.limited(seconds):
            found = acts(wanted, request.user, FILE_MAX if is_file else PAGE + 1)
    except reading.SearchTooLong:
        is_too_long = True
    if is_file and not is_too_long:
        written = io.StringIO()
        csv.writer(written).writerows((HEAD, *_rows(found)))
        headers = {"Content-Disposition": f'attachment; filename="audit-trail-{timezone.now():%Y-%m-%d}.csv"'}
        return HttpResponse(BOM + written.getvalue(), content_type="text/csv; charset=utf-8", headers=headers)
    context: dict[str, Any] = {
        "section": "leases",
        "asked": wanted,
        "groups": (*GROUPS, ADMINISTRATION),
        "people": list(User.objects.order_by("username").values_list("username", flat=True)[:500]),
        "acts": found[:PAGE],
        "older": wanted.address(found[PAGE - 1].place) if len(found) > PAGE else None,
        "newest": wanted.address(),
        "file_max": FILE_MAX,
        "search_s_max": seconds if is_too_long else None,
    }
    return render(request, "audit_trail.html", context, status=503 if is_too_long else 200)


def acts(wanted: ActFilter, reader: Any, most: int) -> list[Act]:
    found = [*_of_story(wanted)[:most], *_entries(wanted, reader)[:most]]
    return sorted((_act(one) for one in found), key=lambda act: act.place, reverse=True)[:most]


def _of_story(wanted: ActFilter) -> QuerySet[StoryEvent]:
    named = reading.events(wanted.part).filter(payload__has_key="who")
    found = named.exclude(payload__who=None).exclude(payload__who="")
    if wanted.who:
        found = found.filter(payload__who=wanted.who)
    return _before(found, wanted.before, "at", STORY, "seq").order_by("-at", "-seq")


def _entries(wanted: ActFilter, reader: Any) -> QuerySet[LogEntry]:
    part = wanted.part
    every = ContentType.objects.all()
    found = LogEntry.objects.select_related("user", "content_type").filter(
        content_type__in=[one for one in every if reader.has_perm(f"{one.app_label}.view_{one.model}")]
    )
    if part.kinds and ADMINISTRATION not in part.kinds:
        return found.none()
    if wanted.who:
        found = found.filter(user__username=wanted.who)
    if part.text:
        found = found.filter(Q(object_repr__icontains=part.text) | Q(change_message__icontains=part.text))
    limits = {"action_time__gte": part.since, "action_time__lte": part.until}
    found = found.filter(**{name: at for name, at in limits.items() if at})
    return _before(found, wanted.before, "action_time", ADMINISTRATION, "pk").order_by("-action_time", "-pk")


def _before(found: QuerySet[Any], place: Place | None, at: str, source: str, number: str) -> QuerySet[Any]:
    if place is None:
        return found
    same_time = Q(**{at: place.at})
    if source == place.source:
        same_time &= Q(**{f"{number}__lt": place.number})
    elif source > place.source:
        same_time = Q(pk__in=())
    return found.filter(Q(**{f"{at}__lt": place.at}) | same_time)


def _act(found: StoryEvent | LogEntry) -> Act:
    if isinstance(found, StoryEvent):
        event = event_json(found)
        place = Place(found.at, STORY, found.seq)
        change = found.payload.get("change")
        is_number = isinstance(change, int)
        return Act(place, str(found.payload["who"]), event["sentence"], found.kind, change if is_number else None)
    what = f"{found.content_type.name if found.content_type else ''} {found.object_repr}: {found.get_change_message()}"
    place = Place(found.action_time, ADMINISTRATION, found.pk)
    return Act(place, found.user.get_username(), what.strip(), found.get_action_flag_display().lower())


def _rows(found: Iterable[Act]) -> Iterator[tuple[str, ...]]:
    for act in found:
        yield act.place.at.isoformat(), cell(act.who), cell(act.what), act.kind, act.place.source
