"""The pair browser, and the page of one row."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.utils.text import Truncator
from django.views.decorators.http import require_GET

from catalog import selectors as catalog
from catalog.descriptor import Descriptor
from catalog.elements import IndexId, PlacementId
from catalog.live.snapshot import one_snapshot
from catalog.models import Table
from storage.browser.row import key_of, key_texts
from storage.pairs import after as after_key
from storage.pairs import prefix
from storage.selectors import pairs_page, storage_numbers, stored_row
from storage.statements import bounds

KEY_HEX_MAX = 6000
COLUMN_MAX = 2**15 - 1
"""Columns are int2 in a pair's place."""
REFUSAL_CHARS_MAX = 300
"""A refusal repeats the key, which may be long."""


@login_required
@require_GET
def pairs(request: HttpRequest, table_id: int) -> HttpResponse:
    descriptor = _descriptor(table_id)
    try:
        storage, index = int(request.GET.get("storage", "1")), int(request.GET.get("index", "0"))
        placement = int(request.GET.get("placement", str(descriptor.placement.id)))
        start = bytes.fromhex(request.GET.get("start", "")[:KEY_HEX_MAX])
    except ValueError:
        return HttpResponseBadRequest("storage, index and placement must be numbers, start a key in hexadecimal digits")
    storages = storage_numbers()
    if storage not in storages:
        return HttpResponseBadRequest(f"storage must be from 1 to {len(storages)}")
    if placement not in {known.id for known in descriptor.placements}:
        return HttpResponseBadRequest(f"{descriptor} has no placement {placement}")
    if index and index not in {known.id for known in descriptor.indexes}:
        return HttpResponseBadRequest(f"{descriptor} has no index {index}")
    if start and not _is_place(descriptor, PlacementId(placement), IndexId(index), start):
        return HttpResponseBadRequest("start must be a key of this index and placement")
    of = {"index": IndexId(index), "placement": PlacementId(placement)}
    lines, after = pairs_page(descriptor, storage=storage, **of, start=start)
    context = {
        "section": "tables",
        "table_id": table_id,
        "descriptor": descriptor,
        "indexes": descriptor.indexes,
        "storages": storages,
        "storage": storage,
        "placements": descriptor.placements,
        "placement": placement,
        "index": index,
        "lines": lines,
        "is_first": not start,
        "after": None if after is None else after.hex(),
        "tombstones": sum(line.is_tombstone for line in lines),
    }
    return render(request, "parts/pairs.html" if request.headers.get("HX-Request") else "pairs.html", context)


def _is_place(descriptor: Descriptor, placement: PlacementId, index: IndexId, start: bytes) -> bool:
    low = prefix(descriptor, placement, index)
    return low <= start < after_key(low) and bounds(start, start)[1] <= COLUMN_MAX


@login_required
@require_GET
def row(request: HttpRequest, table_id: int) -> HttpResponse:
    """One row, by the values of its primary key (`value`, repeated) or by K(r) in hex (`key`)."""
    given = request.GET.getlist("value")
    shown: dict[str, Any] = {"texts": given, "shown": None}
    with one_snapshot():
        descriptor = _descriptor(table_id)
        try:
            if "key" in request.GET:
                key = bytes.fromhex(request.GET["key"][:KEY_HEX_MAX])
                shown["texts"] = key_texts(descriptor, key)
                shown["shown"] = stored_row(descriptor, key)
            elif given:
                shown["shown"] = stored_row(descriptor, key_of(descriptor, given))
        except ValueError as refusal:
            shown["refusal"] = Truncator(str(refusal)).chars(REFUSAL_CHARS_MAX)
    texts = [*shown["texts"], *[""] * len(descriptor.key_columns)]
    context = {
        "section": "tables",
        "table_id": table_id,
        "descriptor": descriptor,
        "fields": list(zip(descriptor.key_columns, texts, strict=False)),
        "buckets": settings.BUCKET_COUNT,
    }
    return render(request, "row.html", context | shown, status=422 if "refusal" in shown else 200)


def _descriptor(table_id: int) -> Descriptor:
    descriptor = catalog.newest_descriptor(table_id)
    if descriptor is None or not Table.objects.filter(pk=table_id, state=Table.State.LIVE).exists():
        raise Http404(f"there is no live table with id {table_id}")
    return descriptor
