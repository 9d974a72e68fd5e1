"""The tables that the next change will meet, and their numbers of rows."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Set
from dataclasses import dataclass

from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Coalesce

from catalog.descriptor import Descriptor
from catalog.descriptor import from_json as descriptor_from_json
from catalog.elements import EXISTS, State, TableId
from catalog.selectors import stored_views
from changes.ddl.resolve import CatalogView
from changes.models import IN_QUEUE, Change, Reservation, Status
from changes.plan.model import plan_from_json
from changes.planning.tables import KnownTables
from changes.submission.judging import compute, judge, judge_default
from storage.buckets import StorageCount
from storage.pairs import after, prefix
from storage.postgres import PLAN_LOCALLY, storages_there
from storage.statements import WITHIN, bounds, kv

COUNT_MAX = 20_000
"""Up to so many pairs of a storage are counted; beyond, PostgreSQL's estimate has to do."""
PAIR_BYTES = 90
"""What a pair takes on disk, roughly; for tables that PostgreSQL has not analysed yet."""
PAIRS_NOW = """
SELECT coalesce(nullif(pg_stat_get_live_tuples(oid), 0)::float, CASE WHEN relpages > 0 AND reltuples > 0
    THEN reltuples / relpages * (pg_relation_size(oid) / current_setting('block_size')::int) END), pg_relation_size(oid)
FROM pg_class WHERE oid = %s::regclass
"""
"""The live pairs by PostgreSQL's counters, which blocks full of dead ones do not mislead; without counters as many on
each block as when PostgreSQL last looked, which may have been in the middle of a load."""
MAKING = "A transaction that has not ended is creating it."
AWAITED = "Change {}, which awaits approval, is to create it."
VERSIONS_KEPT = 4096
NEWEST = """
SELECT DISTINCT ON (t.id) t.id, t.name, t.sandbox_of IS NOT NULL AS is_sandbox, d.body
FROM catalog_table t LEFT JOIN catalog_descriptor d ON d.table_id = t.id
WHERE t.state <> 'dropped' ORDER BY t.id, d.version DESC
"""


def catalog_view(making: Set[int] = frozenset()) -> CatalogView:
    """The tables as the open changes will leave them, and the names that are taken (L12), without those `making`."""
    # names of tables that other transactions make (T9); read before the tables: a commit meanwhile is seen twice
    reserved = dict(Reservation.objects.exclude(table_id__in=making).values_list("table_id", "names"))
    queued = Change.objects.filter(status__in=IN_QUEUE).order_by(Coalesce("place", "id"))
    plans = [(change, plan_from_json(change.plan)) for change in queued]
    awaiting = dict(Change.objects.filter(status=Status.AWAITING).values_list("table_id", "id"))
    ahead = {table.table_id: table for _, plan in plans for table in plan.results}
    tables: list[Descriptor] = []
    newest = _newest()
    known = {table.table_id for table in newest}
    taken = {name: MAKING for table_id, names in reserved.items() if table_id not in known for name in names}
    for table in newest:
        then = ahead.get(table.table_id, table.now)
        if then is None:
            unapproved = awaiting.get(table.table_id)
            taken[table.name] = MAKING if unapproved is None else AWAITED.format(unapproved)
        else:
            tables.append(then)
    for change, plan in plans:
        # names that a change on its way gives up, by a drop or a rename: not free before it is complete (L12)
        why = f"It is given up by change {change.pk}; the name is free when that is done."
        taken |= dict.fromkeys(names_in(plan.base) - names_in(plan.result), why)
    views = stored_views()
    return CatalogView(
        tuple(tables),
        taken,
        _sandboxes(newest),
        storage_count_now(),
        views=views,
        judge=judge,
        compute=compute,
        judge_default=judge_default,
    )


@dataclass(frozen=True, slots=True)
class Newest:
    table_id: TableId
    name: str
    is_sandbox: bool
    now: Descriptor | None


def _newest() -> list[Newest]:
    with connection.cursor() as cursor:
        cursor.execute(NEWEST)
        rows = cursor.fetchall()
    return [
        Newest(TableId(table_id), name, is_sandbox, None if body is None else _version_in(body))
        for table_id, name, is_sandbox, body in rows
    ]


@functools.lru_cache(maxsize=VERSIONS_KEPT)
def _version_in(body: str) -> Descriptor:
    """Cached: each DDL statement reads all tables while others wait."""
    return descriptor_from_json(json.loads(body))


def _sandboxes(tables: Iterable[Newest]) -> frozenset[TableId]:
    return frozenset(table.table_id for table in tables if table.is_sandbox)


def names_in(table: Descriptor | None) -> set[str]:
    """Names of a version that nothing else may bear: table, indexes, sequences."""
    if table is None or table.state is State.ABSENT:
        return set()
    return {table.name, *(index.name for index in table.indexes), *table.implied_relations}


def tables_now() -> KnownTables:
    newest = _newest()
    known = tuple(table.now for table in newest if table.now is not None)
    return KnownTables(known, _sandboxes(newest), storage_count_now(), stored_views(), judge, compute, judge_default)


def storage_count_now() -> StorageCount:
    with connection.cursor() as cursor:
        return StorageCount(settings.STORAGE_COUNT, storages_there(cursor))


@dataclass(frozen=True, slots=True)
class Rows:
    rows: int
    is_exact: bool


def estimate_rows(table: Descriptor | None) -> Rows:
    """Counts few rows; else estimates from PostgreSQL's statistics and the pairs of the first rows."""
    if table is None:
        return Rows(0, is_exact=True)
    count = table.placement.storage_count(settings.STORAGE_COUNT)
    parts = [_storage_rows(table, storage) for storage in range(1, count + 1)]
    return Rows(sum(part.rows for part in parts), all(part.is_exact for part in parts))


def _storage_rows(table: Descriptor, storage: int) -> Rows:
    low = prefix(table, table.placement.id)
    pairs = kv(storage, table.table_id)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(PLAN_LOCALLY)
        cursor.execute(
            f"SELECT count(*), count(*) FILTER (WHERE c = {EXISTS})"
            f" FROM (SELECT c FROM {pairs} WHERE {WITHIN} LIMIT %b) AS counted".replace("%b", "%s"),
            [*bounds(low, after(low)), COUNT_MAX + 1],
        )
        seen, rows = cursor.fetchone()
        if seen <= COUNT_MAX:
            return Rows(rows, is_exact=True)
        cursor.execute(PAIRS_NOW, [pairs])
        tuples, size = cursor.fetchone()
    pairs_of_rows = seen + rows * len(table.indexes)
    return Rows(int(tuples or size // PAIR_BYTES) * rows // pairs_of_rows, is_exact=False)
