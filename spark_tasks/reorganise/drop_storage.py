"""Drops the storage of dropped tables, after their change: it ended when the last version was drained (L12), absent
tables are not leased (L13), ids are never used again. Only readers outside of leases can be left: an audit is waited
for, and a lock that is not free is left for the next time, so that the change's end depends on no reader or vacuum."""

import logging

from django.db import OperationalError, connection

from catalog.services import control_transaction
from storage.postgres import drop_table, storages_kept

log = logging.getLogger(__name__)

TABLES_AT_ONCE = 10
LOCK_TIMEOUT = "50ms"

LEFT = """
SELECT t.id FROM catalog_table t
WHERE t.state = 'dropped' AND to_regclass('storage_1.fence_' || t.id) IS NOT NULL
  AND (EXISTS (SELECT FROM catalog_descriptor d WHERE d.table_id = t.id) OR NOT EXISTS (
    SELECT FROM pg_stat_activity a WHERE a.datname = current_database() AND a.backend_type = 'client backend'
    AND a.pid <> pg_backend_pid() AND greatest(age(a.backend_xmin), age(a.backend_xid)) >= age(t.xmin)))
  AND NOT EXISTS (SELECT FROM spark_tasks_auditjob a WHERE a.table_id = t.id AND a.ended_at IS NULL)
ORDER BY t.id LIMIT %s
"""
"""A table that never had a version was made by a transaction that rolled back, or whose node died (T9). A frozen one is
over once no snapshot is older than the row that says so. Only its maker ever knew the table's id."""


def drop_storage_of_dropped_tables() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(LEFT, [TABLES_AT_ONCE])
        found = [table_id for (table_id,) in cursor.fetchall()]
    return [table_id for table_id in found if _drop(table_id)]


def _drop(table_id: int) -> bool:
    """All or nothing; False when the table is in use."""
    try:
        with control_transaction() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            storages = storages_kept(cursor)  # one that is added just then copies what there is of the table
            if storages is None:
                return False
            drop_table(cursor, storages, table_id)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != "55P03":
            raise
        log.info("storage of dropped table %s is in use, it goes later", table_id)
        return False
    return True
