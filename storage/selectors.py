"""Reads stored pairs for pages: a page of one index, and all of one row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import OperationalError, ProgrammingError, connection, transaction

from catalog.descriptor import Descriptor
from catalog.elements import IndexId, PlacementId, State
from storage.answering import asking
from storage.asking import asks, questions_of_entries, with_answers
from storage.browser.lines import READ_BYTES_MAX, PairLine, describe, short
from storage.browser.row import Layout, RowView, Stored, entry_keys, ranges, read_row, row_shown
from storage.derived import derived_columns
from storage.mutations import source_columns
from storage.pairs import after, prefix
from storage.postgres import PLAN_LOCALLY, PLAN_SETTINGS, storages_there
from storage.reads import reads
from storage.statements import WITHIN, bounds, column_suffixes, get_every_sql, key_sql, kv, lookup, next_low, scan_sql

PAIRS_SHOWN = 50
READ_S_MAX, COUNT_S_MAX = 2.0, 0.5
READ_SETTINGS = [*PLAN_SETTINGS, "statement_timeout"]
UNDEFINED_TABLE, QUERY_CANCELED = "42P01", "57014"


def pairs_page(
    descriptor: Descriptor,
    *,
    storage: int,
    index: IndexId,
    placement: PlacementId | None = None,
    start: bytes = b"",
    limit: int = PAIRS_SHOWN,
) -> tuple[list[PairLine], bytes | None]:
    """Pairs in key order with tombstones, and the start of the next page (None: none). `placement` None: the one that
    is read. Nothing of a dropped table."""
    low = prefix(descriptor, descriptor.placement.id if placement is None else placement, index)
    page = scan_sql(storage, descriptor.table_id, tombstones=True).replace("%b", "%s")
    sql = f"SELECT key, substring(value, 1, {READ_BYTES_MAX + 1}) FROM ({page}) AS page"
    rows: list[tuple[bytes, bytes | None]] = []
    with _reading() as cursor:
        cursor.execute(sql, [*bounds(max(low, start), after(low)), limit + 1])
        rows = [(bytes(key), None if value is None else bytes(value)) for key, value in cursor.fetchall()]
    lines = [describe(descriptor, storage, key, value) for key, value in rows[:limit]]
    return lines, next_low(rows[limit - 1][0]) if len(rows) > limit else None


def count_entries(descriptor: Descriptor, *, storage: int, index: IndexId) -> int | None:
    """The live entries of an index on one storage. None: it takes too long, or is dropped."""
    low = prefix(descriptor, descriptor.placement.id, index)
    sql = f"SELECT count(*) FROM {kv(storage, descriptor.table_id)} WHERE {WITHIN} AND v IS NOT NULL"
    try:
        with _reading(COUNT_S_MAX) as cursor:
            cursor.execute(sql.replace("%b", "%s"), bounds(low, after(low)))
            return int(cursor.fetchone()[0])
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != QUERY_CANCELED:
            raise
    return None


def about_rows(descriptor: Descriptor, *, storage: int, entries: int = 0) -> int | None:
    """The rows of a table on one storage by PostgreSQL's estimate; None before there is one. `entries`: pairs of an
    index that is not public."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = to_regclass(%s)", [kv(storage, descriptor.table_id)])
        pairs = cursor.fetchone()
    each = 1 + len(descriptor.stored_columns) + sum(one.state is State.PUBLIC for one in descriptor.indexes)
    return None if pairs is None or pairs[0] < 0 else max(0, round((pairs[0] - entries) / each))


def storage_numbers() -> range:
    with connection.cursor() as cursor:
        return range(1, storages_there(cursor) + 1)


def stored_row(descriptor: Descriptor, key: bytes) -> RowView:
    """The row with K(r) `key`: all its pairs and entries, on all storages. The caller reads in one snapshot."""
    stored: Stored = {}
    with _reading() as cursor:
        own = _own_pairs(cursor, descriptor, key)
        row = read_row(descriptor, key, own)
        keys = entry_keys(descriptor, row)
        found: dict[bytes, list[tuple[int, bytes | None]]] = defaultdict(list)
        for storage in range(1, storages_there(cursor) + 1):
            cursor.execute(get_every_sql(storage, descriptor.table_id).replace("%b", "%s"), lookup(keys))
            _collect(found, storage, cursor.fetchall())
        stored = own | dict(found)
        if asks(descriptor):
            row = with_answers(descriptor, row, questions_of_entries, asking(connection.connection))
    return row_shown(descriptor, key, stored, Layout(settings.BUCKET_COUNT, settings.STORAGE_COUNT), row.answers)


@contextmanager
def _reading(seconds_max: float = READ_S_MAX) -> Iterator[Any]:
    """A short transaction, or a savepoint that restores the caller's settings; nothing of a dropped table."""
    is_part = connection.in_atomic_block
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            before = _settings_now(cursor) if is_part else []
            cursor.execute(f"{PLAN_LOCALLY}; SET LOCAL statement_timeout = '{int(1000 * seconds_max)}ms'")
            yield cursor
            for name, value in before:
                cursor.execute("SELECT set_config(%s, %s, true)", [name, value])
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", None) != UNDEFINED_TABLE:
            raise


def _settings_now(cursor: Any) -> list[tuple[str, str]]:
    """The settings that a read changes: SET LOCAL outlasts a released savepoint."""
    cursor.execute("SELECT name, current_setting(name) FROM unnest(%s::text[]) AS name", [READ_SETTINGS])
    return [(name, value) for name, value in cursor.fetchall()]


def _own_pairs(cursor: Any, descriptor: Descriptor, key: bytes) -> dict[bytes, list[tuple[int, bytes | None]]]:
    """The row's own pairs. A long text is read whole only when something follows from it."""
    found: dict[bytes, list[tuple[int, bytes | None]]] = defaultdict(list)
    needed = _columns_needed(descriptor)
    whole, stored_as = column_suffixes(needed), key_sql(descriptor.table_id)
    start = f"CASE WHEN c = ANY(%s::int2[]) THEN v ELSE substring(v, 1, {READ_BYTES_MAX + 1}) END"
    for storage in range(1, storages_there(cursor) + 1):
        for low, high in ranges(descriptor, key):
            pairs = f"FROM {kv(storage, descriptor.table_id)} WHERE {WITHIN} ORDER BY k, c".replace("%b", "%s")
            cursor.execute(f"SELECT {stored_as}, {start} {pairs}", [needed, *bounds(low, high)])
            rows = [(bytes(key), value) for key, value in cursor.fetchall()]
            _collect(
                found,
                storage,
                [
                    (key, value if key[-2:] in whole else (None if value is None else short(bytes(value))))
                    for key, value in rows
                ],
            )
    return dict(found)


def _columns_needed(descriptor: Descriptor) -> list[int]:
    needed: set[int] = set()
    for placement in descriptor.placements:
        needed.update(placement.sharding_key)
    for index in descriptor.indexes:
        needed.update(source_columns(descriptor, index))
    for column in derived_columns(descriptor):
        needed.update(reads(column))
    return sorted(needed)


def _collect(found: dict[bytes, list[tuple[int, bytes | None]]], storage: int, rows: Sequence[tuple[Any, Any]]) -> None:
    for key, value in rows:
        found[bytes(key)].append((storage, None if value is None else bytes(value)))
