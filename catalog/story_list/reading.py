"""Events of the story that somebody wants, newest first: a page begins where the one before it ended."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from catalog.models import StoryEvent
from catalog.selectors import event_json
from catalog.story import kinds_of
from catalog.story_list.wanted import Wanted

PAGE = 100


def events(wanted: Wanted) -> QuerySet[StoryEvent]:
    """All the events that are wanted, newest first."""
    found = StoryEvent.objects.filter(stream=wanted.stream).order_by("-seq")
    if wanted.kinds:
        found = found.filter(kind__in=kinds_of(wanted.kinds))
    if wanted.text:
        in_details = Q(details__icontains=wanted.text) | Q(kind__icontains=wanted.text)
        found = found.annotate(details=Cast("payload", TextField())).filter(in_details)
    limits = {"at__gte": wanted.since, "at__lte": wanted.until, "seq__lt": wanted.before, "seq__gt": wanted.after}
    return found.filter(**{name: limit for name, limit in limits.items() if limit is not None})


def page(wanted: Wanted, size: int = PAGE) -> tuple[list[dict[str, Any]], bool]:
    """At most `size` events as data, and whether there are older ones."""
    found = [event_json(one) for one in events(wanted)[: size + 1]]
    return found[:size], len(found) > size
