"""Reads a part of the story, newest first, in pages. A search for text, which has no index, has a time limit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from catalog.models import StoryEvent
from catalog.selectors import event_json
from catalog.story import kinds_of
from catalog.story_list.wanted import StoryFilter

PAGE = 100
SEARCH_S_MAX = 3.0
FILE_S_MAX = 30.0
"""For each part of a file."""
CANCELLED = "57014"


class SearchTooLong(Exception):
    """The search took too long."""


@contextmanager
def limited(seconds: float | None = None) -> Iterator[None]:
    """A transaction whose statements end after `SEARCH_S_MAX`. Raises `SearchTooLong`."""
    seconds = SEARCH_S_MAX if seconds is None else seconds
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = '{round(seconds * 1000)}ms'")
            yield
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != CANCELLED:
            raise
        raise SearchTooLong(f"the search was ended after {seconds:g} s") from error


def events(wanted: StoryFilter) -> QuerySet[StoryEvent]:
    found = StoryEvent.objects.filter(stream=wanted.stream).order_by("-seq")
    if wanted.kinds:
        found = found.filter(kind__in=kinds_of(wanted.kinds))
    if wanted.text:
        in_details = Q(details__icontains=wanted.text) | Q(kind__icontains=wanted.text)
        found = found.annotate(details=Cast("payload", TextField())).filter(in_details)
    limits = {"at__gte": wanted.since, "at__lte": wanted.until, "seq__lt": wanted.before, "seq__gt": wanted.after}
    return found.filter(**{name: limit for name, limit in limits.items() if limit is not None})


def page(wanted: StoryFilter, size: int = PAGE, *, seconds: float = SEARCH_S_MAX) -> tuple[list[dict[str, Any]], bool]:
    """At most `size` events, and whether there are older ones. Raises `SearchTooLong`."""
    with limited(seconds):
        found = [event_json(one) for one in events(wanted)[: size + 1]]
    return found[:size], len(found) > size
