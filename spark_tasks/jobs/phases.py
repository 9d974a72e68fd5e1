"""The work of each kind of run on its elements: fill clears old tombstones first (R6); delete removes entries, then
values, then rows; purge removes the last tombstones, once no range can be written any more (R7, R8)."""

import logging
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import connection

from catalog.database import database_dsn
from catalog.descriptor import Descriptor
from catalog.selectors import descriptor_at
from spark_tasks.chunks.chunk import RunToken
from spark_tasks.chunks.snapshot_reads import Size
from spark_tasks.jobs.claim import Claim, RunFailed
from spark_tasks.jobs.run_ranges import prepare, prepare_again, ranges_over, reading, size_at_once, spread
from spark_tasks.models import Kind, ReorgRun
from spark_tasks.reorganise.backfill import Fill
from spark_tasks.reorganise.delete import DeleteKeys, DeleteRows
from spark_tasks.reorganise.rows_without_value import RowsWithoutValue
from spark_tasks.reorganise.tombstones import (
    are_values_left,
    clear_tombstones,
    key_space,
    key_spaces,
    tombstones_of,
    with_tombstones,
)
from spark_tasks.reorganise.verify import verify
from spark_tasks.runs.ranges import KeyRange, is_of_row, placement_of
from spark_tasks.runs.report import first_of_each_kind, gather
from spark_tasks.runs.run_elements import Elements, elements_of
from spark_tasks.spark import session

log = logging.getLogger(__name__)

WHOLE = Size(frozenset(), lambda rows, _: max(1, rows))
"""Ranges that are whole storages."""
PASSES_MAX = 20
"""So often a deletion goes over the rows again because some have moved meanwhile."""


def fill(claim: Claim) -> None:
    prepare_fill(claim.run)
    descriptor, elements = claim.descriptor(), claim.elements
    places = {"storages": settings.STORAGE_COUNT, "buckets": settings.BUCKET_COUNT}
    try:
        spread(claim, lambda run_token: Fill(run_token, descriptor, elements, **places))
    except RunFailed as failed:
        raise RunFailed(str(failed), violations=rows_without_value(claim)) from failed


def rows_without_value(claim: Claim) -> list[dict[str, Any]]:
    """The first rows that the elements have no value for, each with the total of its kind."""
    descriptor = claim.descriptor()
    work = RowsWithoutValue(RunToken(database_dsn(), claim.run.id, claim.token), descriptor, claim.elements)
    found = gather(session.spread(work, ranges_over(descriptor, [key_space(descriptor)]), pool=claim.pool))
    found.violations = first_of_each_kind(found.violations)
    return found.named()


def prepare_fill(run: ReorgRun) -> None:
    """Removes old tombstones and stores the ranges: in one transaction, once (R1, R6)."""
    if run.are_ranges_stored:
        return
    descriptor, elements = descriptor_at(run.table_id, run.version), elements_of(run.elements)
    with reading("schemalab clear") as reader:
        old = tombstones_of(reader, descriptor, elements, settings.STORAGE_COUNT)
    found = ranges_over(descriptor, [key_space(descriptor)], size_at_once(descriptor, elements))

    def clear() -> None:
        with connection.cursor() as cursor:
            removed = clear_tombstones(cursor, run.table_id, old)
        log.info("%s: %s tombstones cleared", run, removed)

    prepare(run, lambda: found, clear)


def delete(claim: Claim) -> None:
    """Phases in order: an entry whose row's values are deleted would be an orphan (C5)."""
    descriptor, elements, table_id = claim.descriptor(), claim.elements, claim.run.table_id
    if elements.has_table:
        prepare(claim.run, lambda: ranges_over(descriptor, [key_space(descriptor)]))
        spread(
            claim, lambda run_token: DeleteRows(run_token, descriptor, settings.STORAGE_COUNT, settings.BUCKET_COUNT)
        )
    else:
        placements = elements.placements
        prepare(claim.run, lambda: ranges_to_empty(descriptor, elements))
        spread(claim, lambda run_token: DeleteKeys(run_token, table_id, elements.columns, placements=placements))
        _delete_what_moved(claim)


def ranges_to_empty(descriptor: Descriptor, elements: Elements) -> list[KeyRange]:
    """Ranges of a deletion; values are one range for each storage, walked block by block."""
    spaces = key_spaces(descriptor, elements)
    walked = [s for s in spaces if is_of_row(s.low) and placement_of(s.low) not in elements.placements]
    others = [space for space in spaces if space not in walked]
    found = ranges_over(descriptor, others) if others else []
    return found + ranges_over(descriptor, walked, WHOLE) if walked else found


def _delete_what_moved(claim: Claim) -> None:
    """A row whose key changes takes hidden values along, perhaps into a finished range: repeats until none is seen,
    since delete-only makes no new ones."""
    descriptor, elements, table_id = claim.descriptor(), claim.elements, claim.run.table_id
    for _ in range(PASSES_MAX if elements.columns else 0):
        with reading("schemalab delete") as reader:
            if not are_values_left(reader, descriptor, elements, settings.STORAGE_COUNT):
                return
        prepare_again(claim, ranges_over(descriptor, [key_space(descriptor)], WHOLE))
        spread(claim, lambda run_token: DeleteKeys(run_token, table_id, elements.columns))
    if elements.columns:
        raise RunFailed(f"{claim.run}: after {PASSES_MAX} passes rows still move their values on; try again later")


def purge(claim: Claim) -> None:
    """No tombstone is removed while a range may still be written (R7, R8)."""
    fills = ReorgRun.objects.filter(change_id=claim.run.change_id, kind=Kind.FILL, is_closed=False)
    if fills.exists():
        raise RunFailed(f"{claim.run} must wait: {fills[0]} is not closed, it may still need the tombstones")
    table_id, elements = claim.run.table_id, claim.elements

    def find() -> list[KeyRange]:
        """No new tombstones are written, so one look without any is enough."""
        descriptor = claim.descriptor()
        with reading("schemalab purge") as reader:
            spaces = with_tombstones(reader, descriptor, elements, settings.STORAGE_COUNT)
        return ranges_over(descriptor, spaces)

    prepare(claim.run, find)
    of: dict[str, Any] = {"tombstones_only": True, "placements": elements.placements}
    spread(claim, lambda run_token: DeleteKeys(run_token, table_id, elements.columns, **of))


WORK: dict[Kind, Callable[[Claim], None]] = {
    Kind.FILL: fill,
    Kind.VERIFY: verify,
    Kind.DELETE: delete,
    Kind.PURGE: purge,
}
