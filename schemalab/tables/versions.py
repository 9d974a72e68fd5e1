"""A page for each version of a table. Its uses come from remembered leases (a day), later from the record of its
change, which may end before a use does."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.timezone import now
from django.views.decorators.http import require_GET

from catalog import descriptor as descriptors
from catalog import selectors
from catalog.elements import State
from catalog.models import Descriptor, StoryEvent, Table
from catalog.story import table_stream
from catalog.text.descriptors import differences, elements
from catalog.text.numbers import whole_number
from changes.models import Change
from changes.records import windows
from leases.recorder.trim import PAST_KEPT_S
from leases.staircase.facts import Use
from schemalab.operations import lease_history

DIGITS_MAX = 9
LISTED_MAX = 400
"""So many other versions can be chosen from, the newest."""
PUBLISHED, BY_THE_LAB, CREATED = "version published", "version published by the lab", "table created"
Json = dict[str, Any]


@login_required
@require_GET
def version(request: HttpRequest, table_id: int, number: int) -> HttpResponse:
    table = Table.objects.filter(pk=table_id).first()
    if table is None:
        raise Http404(f"there is no table with id {table_id}")
    row = Descriptor.objects.filter(table_id=table_id, version=number).first()
    if row is None:
        raise Http404(f"{table.name} has no version {number}")
    known = list(Descriptor.objects.filter(table_id=table_id).order_by("-version").values_list("version", flat=True))
    shown = _shown(row, known, with_version=whole_number(request.GET.get("with", ""), digits_max=DIGITS_MAX))
    shown["is_there"] = table.state == Table.State.LIVE and shown["table_state"] != State.ABSENT.value
    return render(request, "table_version.html", {"section": "tables", "table": table} | shown)


def _shown(row: Descriptor, known: list[int], *, with_version: int | None) -> Json:
    number, body = row.version, descriptors.from_json(row.body)
    before = max((one for one in known if one < number), default=None)
    after = min((one for one in known if one > number), default=None)
    other = with_version if with_version in known and with_version != number else before
    found = Descriptor.objects.filter(table_id=row.table_id, version=after)
    return {
        "version": number,
        "name": body.name,
        "newest": known[0],
        "before": before,
        "after": after,
        "published_at": row.modified_at,
        "replaced_at": None if after is None else found.values_list("modified_at", flat=True).first(),
        "schema_hash": row.schema_hash,
        "sharding_hash": row.sharding_hash,
        "table_state": body.state.value,
        "elements": elements(body, selectors.tables_beside([body])),
        "compared": _compared(row.table_id, body, other),
        "others": [one for one in known if one != number][:LISTED_MAX],
        "maker": (maker := _maker(row.table_id, number)),
    } | _uses(row, maker)


def _compared(table_id: int, body: descriptors.Descriptor, other: int | None) -> Json:
    if other is None:
        return {"older": None, "newer": body.version, "with": None, "lines": differences(None, body)}
    beside = selectors.descriptor_at(table_id, other)
    older, newer = sorted((body, beside), key=lambda one: one.version)
    lines = differences(older, newer, selectors.tables_beside([older, newer]))
    return {"older": older.version, "newer": newer.version, "with": other, "lines": lines}


def _maker(table_id: int, number: int) -> Json | None:
    """Its origin: a change, the lab, or a transaction; None: not remembered."""
    events = StoryEvent.objects.filter(stream=table_stream(table_id), kind__in=(PUBLISHED, BY_THE_LAB, CREATED))
    event = events.filter(payload__version=number).order_by("seq").first()
    if event is None:
        return None
    change = Change.objects.filter(pk=event.payload.get("change")).first()
    return {
        "kind": event.kind,
        "what": event.payload.get("what", ""),
        "who": change.who if change else event.payload.get("who", ""),
        "change": change,
    }


def _uses(row: Descriptor, maker: Json | None) -> Json:
    """Its leases, newest first, or those of the change's record. `has_older`: there may have been earlier ones;
    `record_ended_at`: None when they are not from a record."""
    leases, more = lease_history.rows(table_id=row.table_id, version=row.version)
    has_older = more or row.modified_at < now() - timedelta(seconds=PAST_KEPT_S)
    change, record_ended_at = maker and maker["change"], None
    if not leases and change is not None and (facts := windows.of_change(change)) is not None:
        walks = facts.of_table(row.table_id).walks
        leases = [_kept(use) for walk in walks for use in walk.uses if use.version == row.version]
        has_older, record_ended_at = facts.is_partial, _moment(facts.end)
    return {
        "leases": leases,
        "more": more,
        "nodes": len({one["node"] for one in leases}),
        "has_older": has_older,
        "record_ended_at": record_ended_at,
    } | _span(leases)


def _kept(use: Use) -> Json:
    return {
        "node": use.node,
        "incarnation": None,
        "acquired_at": _moment(use.began),
        "ended_at": None if use.ended is None else _moment(use.ended),
        "expires_at": _moment(use.until),
        "lasted_s": None if use.ended is None else use.ended - use.began,
        "how": "open" if use.ended is None else "ran out" if use.ran_out else "given back",
    }


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _span(leases: Iterable[Json]) -> Json:
    """When nodes are known to have used it; no end while one does, or did when its record ended."""
    listed = list(leases)
    ends = [one["ended_at"] for one in listed]
    return {
        "used_from": min((one["acquired_at"] for one in listed), default=None),
        "used_until": None if None in ends else max(ends, default=None),
    }
