"""Drops the pair views of versions that storages no longer accept, after the drain, whose transaction must not wait.
Without leases the fence is ahead of transactions, so the version's lock is tried as well."""

import logging

from django.db import OperationalError, connection

from catalog.services import control_transaction
from storage.pair_views import LOCK_TIMEOUT_MS, OVER_SQL, drop_views
from storage.postgres import try_exclusive

log = logging.getLogger(__name__)

VERSIONS_AT_ONCE = 20


def drop_views_of_old_versions() -> list[tuple[int, int]]:
    """Returns the versions, as (table, version), without views now."""
    with connection.cursor() as cursor:
        cursor.execute(OVER_SQL, [VERSIONS_AT_ONCE])
        found: list[tuple[int, int]] = cursor.fetchall()
    return [one for one in found if _drop(*one)]


def _drop(table_id: int, version: int) -> bool:
    try:
        with control_transaction() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_MS}ms'")
            if not try_exclusive(cursor, table_id, version):
                return False
            drop_views(cursor, table_id, version)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != "55P03":
            raise
        log.info("pair views of version %s of table %s are in use, they go later", version, table_id)
        return False
    return True
