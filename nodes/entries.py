"""The entries of an index on each storage: as a fill counts them while it works, and counted now and then at rest.

Counting costs a range scan, so that the next count waits a hundred times as long as the last one took. A count that
takes too long is left out.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from time import monotonic
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Sum

from catalog.descriptor import Descriptor
from catalog.elements import Index, State
from spark_tasks.models import Kind, ReorgRange, ReorgRun, RunState
from storage.selectors import about_rows, count_entries

INDEXES_SHOWN = 2
REST = 100
AGAIN_S = 5.0
Json = dict[str, Any]


class _Count(NamedTuple):
    entries: int | None
    again_at: float


_counts: dict[tuple[int, int, int], _Count] = {}
"""By table, index and storage; of the tables that were looked at last."""
COUNTS_KEPT = 64
_guard = threading.Lock()
"""Over `_counts`, as several pages are served at once; no storage is asked under it."""


def entries_of(descriptor: Descriptor) -> list[Json]:
    """For each storage of the table its rows, and of the indexes that move, or are newest, entries and state."""
    shown = _indexes(descriptor)
    found = []
    for storage in range(1, descriptor.storage_count(settings.STORAGE_COUNT) + 1):
        elements = [_element(descriptor, index, storage) for index in shown]
        read = next((one["total"] for one in elements if one["total"]), None)
        rows = about_rows(descriptor, storage=storage) if read is None else read
        found.append({"storage": storage, "rows": rows, "is_exact": read is not None, "elements": elements})
    return found


def _indexes(descriptor: Descriptor) -> list[Index]:
    """Those that are on their way come first, then the newest."""
    return sorted(descriptor.indexes, key=lambda one: (one.state is State.PUBLIC, -one.id))[:INDEXES_SHOWN]


def _element(descriptor: Descriptor, index: Index, storage: int) -> Json:
    about: Json = {"name": index.name, "state": "reorganising" if index.filling else index.state.value, "total": None}
    filling = _filling(descriptor.table_id, index)
    if filling is None:
        return about | {"entries": _counted(descriptor, index, storage)}
    ranges = ReorgRange.objects.filter(run=filling, storage=storage)
    sums = ranges.aggregate(done=Sum("rows_done"), total=Sum("rows_total"))
    return about | {"entries": sums["done"] or 0, "total": sums["total"]}


def _filling(table_id: int, index: Index) -> ReorgRun | None:
    """The fill of this index that works now."""
    begun = ReorgRun.objects.filter(table_id=table_id, kind=Kind.FILL, state=RunState.RUNNING).order_by("-id")
    return next((run for run in begun if _is_of(run.elements, index)), None)


def _is_of(elements: Collection[Json], index: Index) -> bool:
    return any(one["id"] == index.id and "index" in one["kind"] for one in elements)


def _counted(descriptor: Descriptor, index: Index, storage: int) -> int | None:
    key = (descriptor.table_id, index.id, storage)
    began = monotonic()
    with _guard:
        last = _counts.pop(key, None)
        if last is not None and last.again_at > began:
            _counts[key] = last
            return last.entries
        _keep(key, _Count(None if last is None else last.entries, began + AGAIN_S))
    entries = count_entries(descriptor, storage=storage, index=index.id)
    with _guard:
        _keep(key, _Count(entries, began + max(AGAIN_S, REST * (monotonic() - began))))
    return entries


def _keep(key: tuple[int, int, int], count: _Count) -> None:
    """As the newest: other threads use the last count as long as one thread counts anew."""
    _counts.pop(key, None)
    _counts[key] = count
    while len(_counts) > COUNTS_KEPT:
        del _counts[next(iter(_counts))]
