"""The entries of an index on each storage: as a fill counts them while it works, and counted now and then at rest.
Counting costs a range scan, so the next count waits a hundred times as long as the last one took."""

from __future__ import annotations

import threading
from collections.abc import Collection
from functools import lru_cache
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.db.models import Sum

from catalog.descriptor import Descriptor
from catalog.elements import Index, State
from catalog.selectors import descriptor_at
from spark_tasks.models import Kind, ReorgRange, ReorgRun, RunState
from storage.selectors import about_rows, count_entries

INDEXES_SHOWN = 2
REST = 100
AGAIN_S = 5.0
Json = dict[str, Any]
K, V = TypeVar("K"), TypeVar("V")


class _Count(NamedTuple):
    entries: int | None
    again_at: float


_counts: dict[tuple[int, int, int], _Count] = {}
"""By table, index and storage; of the tables that were looked at last."""
COUNTS_KEPT = 64
_rows_counted: dict[tuple[int, int], int] = {}
"""By table and storage: the rows when an index that had all of them was counted last."""
NEAR = 0.2
RUNS_SEEN = 20
_guard = threading.Lock()
"""Over `_counts`, as several pages are served at once; no storage is asked under it."""


def entries_of(descriptor: Descriptor) -> list[Json]:
    """For each storage of the table its rows, and of the indexes that move, or are newest, entries and state."""
    shown = sorted(descriptor.indexes, key=lambda one: (one.state is State.PUBLIC, -one.id))[:INDEXES_SHOWN]
    found = []
    for storage in range(1, descriptor.storage_count(settings.STORAGE_COUNT) + 1):
        elements = [_element(descriptor, index, storage) for index in shown]
        read = next((one["total"] for one in elements if one["total"]), None)
        rows = read
        if rows is None:
            counted = {one.id: about["entries"] for one, about in zip(shown, elements, strict=True)}
            rows = _rows(descriptor, storage, counted, {one.id for one in shown if _is_whole(descriptor, one)})
        found.append({"storage": storage, "rows": rows, "is_exact": read is not None, "elements": elements})
    return found


def _rows(descriptor: Descriptor, storage: int, counted: Json, whole: Collection[int]) -> int | None:
    """As many as a whole index has entries; else PostgreSQL's estimate, or the last such count if near. The estimate is
    a tenth off after a fill or a delete: an index beside it looked as if entries were missing."""
    key = (descriptor.table_id, storage)
    exact: int | None = next((counted[one] for one in whole if counted[one] is not None), None)
    if exact is not None:
        _keep(_rows_counted, key, exact)
        return exact
    moving = sum(
        counted[one.id] or 0 for one in descriptor.indexes if one.id in counted and one.state is not State.PUBLIC
    )
    about, last = about_rows(descriptor, storage=storage, entries=moving), _rows_counted.get(key)
    return last if last and about is not None and abs(about - last) <= NEAR * last else about


def _is_whole(descriptor: Descriptor, index: Index) -> bool:
    """Every row has its entry: the index is public, its fill is done, or it was public one version earlier."""
    if index.where is not None or index.filling:
        return False
    if index.state is not State.WRITE_ONLY:
        return index.state is State.PUBLIC
    done = ReorgRun.objects.filter(table_id=descriptor.table_id, kind=Kind.FILL, state=RunState.DONE).order_by("-id")
    return any(_is_of(run.elements, index) for run in done[:RUNS_SEEN]) or _was_public(
        descriptor.table_id, descriptor.version - 1, index.id
    )


@lru_cache(maxsize=64)
def _was_public(table_id: int, version: int, index_id: int) -> bool:
    try:
        earlier = descriptor_at(table_id, version)
    except ObjectDoesNotExist:
        return False
    return any(one.id == index_id and one.state is State.PUBLIC for one in earlier.indexes)


def _element(descriptor: Descriptor, index: Index, storage: int) -> Json:
    about: Json = {"name": index.name, "state": "reorganising" if index.filling else index.state.value, "total": None}
    begun = ReorgRun.objects.filter(table_id=descriptor.table_id, kind=Kind.FILL, state=RunState.RUNNING).order_by(
        "-id"
    )
    filling = next((run for run in begun if _is_of(run.elements, index)), None)
    if filling is None:
        return about | {"entries": _counted(descriptor, index, storage)}
    ranges = ReorgRange.objects.filter(run=filling, storage=storage)
    sums = ranges.aggregate(done=Sum("rows_done"), total=Sum("rows_total"))
    return about | {"entries": sums["done"] or 0, "total": sums["total"]}


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
        # other threads use the last count as long as one thread counts anew
        _keep(_counts, key, _Count(None if last is None else last.entries, began + AGAIN_S))
    entries = count_entries(descriptor, storage=storage, index=index.id)
    with _guard:
        _keep(_counts, key, _Count(entries, began + max(AGAIN_S, REST * (monotonic() - began))))
    return entries


def _keep(kept: dict[K, V], key: K, value: V) -> None:
    """As the newest of `COUNTS_KEPT`."""
    kept.pop(key, None)
    kept[key] = value
    while len(kept) > COUNTS_KEPT:
        del kept[next(iter(kept))]
