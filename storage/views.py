"""The pair browser: what is really stored for a table, decoded and raw."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest
from django.shortcuts import render
from django.views.decorators.http import require_GET

from catalog import selectors as catalog
from catalog.elements import IndexId
from catalog.models import Table
from storage.selectors import pairs_page

KEY_HEX_MAX = 6000


@login_required
@require_GET
def pairs(request: HttpRequest, table_id: int) -> HttpResponse:
    descriptor = catalog.newest_descriptor(table_id)
    if descriptor is None or not Table.objects.filter(pk=table_id, state=Table.State.LIVE).exists():
        raise Http404(f"there is no live table with id {table_id}")
    try:
        storage, index = int(request.GET.get("storage", "1")), int(request.GET.get("index", "0"))
        start = bytes.fromhex(request.GET.get("start", "")[:KEY_HEX_MAX])
    except ValueError:
        return HttpResponseBadRequest("storage and index must be numbers, start a key in hexadecimal digits")
    if not 1 <= storage <= settings.STORAGE_COUNT:
        return HttpResponseBadRequest(f"storage must be from 1 to {settings.STORAGE_COUNT}")
    if index and index not in {known.id for known in descriptor.indexes}:
        return HttpResponseBadRequest(f"{descriptor} has no index {index}")
    lines, after = pairs_page(descriptor, storage=storage, index=IndexId(index), start=start)
    context = {
        "section": "tables",
        "table_id": table_id,
        "descriptor": descriptor,
        "indexes": descriptor.indexes,
        "storages": range(1, settings.STORAGE_COUNT + 1),
        "storage": storage,
        "index": index,
        "lines": lines,
        "is_first": not start,
        "after": None if after is None else after.hex(),
        "tombstones": sum(line.is_tombstone for line in lines),
    }
    return render(request, "parts/pairs.html" if request.headers.get("HX-Request") else "pairs.html", context)
