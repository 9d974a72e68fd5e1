"""The ranges of a run: computed once, stored, given to workers until each has its mark (R1, R3)."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection

from catalog.database import database_dsn
from catalog.descriptor import Descriptor
from catalog.services import control_transaction
from spark_tasks.chunks.chunk import RunToken
from spark_tasks.chunks.snapshot_reads import KeySpace, Size, ranges_of, snapshot
from spark_tasks.jobs.claim import CATCH_UP, Claim, RunFailed, require_open
from spark_tasks.jobs.lifecycle import WasClosed, WasPaused
from spark_tasks.models import ReorgPulse, ReorgRange, ReorgRun, RunRequest
from spark_tasks.runs.ranges import KeyRange, is_among_rows, rows_per_fill_range
from spark_tasks.runs.run_elements import Elements
from spark_tasks.spark import session
from storage.postgres import session_options

RANGES_STORED_AT_ONCE = 1000
STORING_S = 60.0
"""Clearing tombstones and storing ranges, in one transaction: the server ends it after this."""


@contextmanager
def reading(name: str) -> Iterator[psycopg.Connection[Any]]:
    """A session with its own snapshot, which scans where that is quicker."""
    with (
        psycopg.connect(database_dsn(), autocommit=True, **session_options(name, enable_seqscan="on")) as reader,
        snapshot(reader),
    ):
        yield reader


def ranges_over(descriptor: Descriptor, spaces: Iterable[KeySpace], size: Size | None = None) -> list[KeyRange]:
    """Ranges over several key spaces on all storages of the table's placements."""
    count = descriptor.storage_count(settings.STORAGE_COUNT)
    with reading("schemalab ranges") as reader:
        return [
            key_range for space in spaces for key_range in ranges_of(reader, descriptor.table_id, space, count, size)
        ]


def size_at_once(descriptor: Descriptor, elements: Elements) -> Size:
    """Large ranges, read at once, by the bytes that are read and filled: each range is a scan of the table."""
    storages = descriptor.placement.storage_count(settings.STORAGE_COUNT)
    workers = max(1, session.workers_expected() // storages)
    count = len(elements.columns) + len(elements.indexes)
    count += len(elements.placements) * (2 + len(descriptor.indexes))  # about so much as a whole row has
    added = sum(len(column.fill_value or b"") for column in elements.columns_of(descriptor))
    return Size(
        elements.columns_read(descriptor),
        lambda rows, size: rows_per_fill_range(
            rows=rows, bytes_read=size + added * rows, elements=count, workers=workers
        ),
    )


def prepare(run: ReorgRun, find: Callable[[], list[KeyRange]], meanwhile: Callable[[], object] | None = None) -> None:
    """Stores the run's ranges once, with what is to happen `meanwhile` in one transaction. Raises `WasClosed`."""
    if run.are_ranges_stored:
        return
    found = find()
    with control_transaction(STORING_S):
        locked = ReorgRun.objects.select_for_update().get(id=run.id)
        if locked.is_closed:
            raise WasClosed(f"{run} was closed before its ranges were stored")
        if not locked.are_ranges_stored:
            if meanwhile is not None:
                meanwhile()
            _store(run, found)
    run.are_ranges_stored = True


def prepare_again(claim: Claim, found: list[KeyRange]) -> None:
    """Stores more ranges; a finished range is never done again (R3). Raises `WasClosed`."""
    with control_transaction(STORING_S):
        require_open(claim)
        _store(claim.run, found)


def _store(run: ReorgRun, found: list[KeyRange]) -> None:
    first = ReorgRange.objects.filter(run=run).count()
    ReorgRange.objects.bulk_create(
        [
            ReorgRange(run=run, number=n, storage=p.storage, low=p.low, high=p.high, rows_total=p.rows)
            for n, p in enumerate(found, first)
        ],
        batch_size=RANGES_STORED_AT_ONCE,
    )
    ReorgRun.objects.filter(id=run.id).update(are_ranges_stored=True)
    with connection.cursor() as cursor:
        cursor.execute(CATCH_UP, {"run": run.pk})


def spread(claim: Claim, work: Callable[[RunToken], session.Work]) -> None:
    """Gives the unmarked ranges to workers: entries first, then rows (section 4). Raises `WasClosed`, `WasPaused`, and
    `RunFailed` when a row makes the work impossible."""
    for is_of_rows in (False, True):
        left = [key_range for key_range in ranges_left(claim) if is_among_rows(key_range) is is_of_rows]
        if left:
            _spread(claim, work, left)


def ranges_left(claim: Claim) -> list[KeyRange]:
    return [key_range_of(one) for one in ReorgRange.objects.filter(run=claim.run, is_done=False)]


def ranges_of_run(run: ReorgRun) -> list[KeyRange]:
    return [key_range_of(one) for one in ReorgRange.objects.filter(run=run)]


def key_range_of(stored: ReorgRange) -> KeyRange:
    return KeyRange(stored.storage, bytes(stored.low), bytes(stored.high), stored.rows_total, stored.id)


def _spread(claim: Claim, work: Callable[[RunToken], session.Work], key_ranges: list[KeyRange]) -> None:
    is_small = sum(key_range.rows for key_range in key_ranges) < session.ROWS_IN_PROCESS_MAX
    run_token = RunToken(database_dsn(), claim.run.id, claim.token, workers=1 if is_small else session.parallelism())
    refusals = [
        result["refused"]
        for result in session.spread(work(run_token), key_ranges, pool=claim.pool)
        if isinstance(result, dict) and "refused" in result
    ]
    if refusals:
        raise RunFailed(refusals[0])
    require_all_done(claim, key_ranges)


def require_all_done(claim: Claim, key_ranges: list[KeyRange]) -> None:
    """Raises `WasPaused`, `WasClosed` when the workers left something."""
    if ReorgRange.objects.filter(id__in=[key_range.id for key_range in key_ranges], is_done=False).exists():
        if ReorgPulse.objects.get(run=claim.run).wanted == RunRequest.PAUSE:
            raise WasPaused(f"{claim.run} is paused")
        raise WasClosed(f"{claim.run} was closed or taken over in attempt {claim.run.attempt}")
