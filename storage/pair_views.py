"""Pair views: the pairs of one version of a table on one storage, for users' texts (docs/architecture/node.md):
`t7_v13_s1` has existence and public columns of table 7, version 13, storage 1, `t7_v13_s1_i2` the entries of index 2.

The reader role has rights on these views and on no pair table. The publisher makes them in its transaction, a session
with each statement on its own table (T9); they are dropped when the version is drained and fenced, or with their pair
tables.
"""

from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, IndexId, State
from storage.pairs import TABLE_BYTES, after, prefix
from storage.reader.role import READER
from storage.statements import kv

SCHEMA = "pair_views"
LOCK_TIMEOUT_MS = 50


def pair_view(table_id: int, version: int, storage: int, index: IndexId = PRIMARY) -> str:
    return f"{SCHEMA}.{_name(table_id, version, storage)}{f'_i{index}' if index else ''}"


def _name(table_id: int, version: int, storage: int) -> str:
    return f"t{int(table_id)}_v{int(version)}_s{int(storage)}"


def has_pair_views(version: Descriptor) -> bool:
    return version.state is State.PUBLIC


def make_sql(version: Descriptor, storages: int) -> list[str]:
    """Statements that make the views of a version, in a cluster that began with `storages`."""
    if not has_pair_views(version):
        return []
    made = []
    for storage in range(1, version.placement.storage_count(storages) + 1):
        made.append(_view_sql(version, storage, PRIMARY))
        made += [_view_sql(version, storage, index.id) for index in version.public_indexes]
    return made


def _view_sql(version: Descriptor, storage: int, index: IndexId) -> str:
    low = prefix(version, version.placement.id, index)[TABLE_BYTES:]
    conditions = [f"k >= {bytea(low)}", f"k < {bytea(after(low))}", "v IS NOT NULL"]
    if index == PRIMARY:
        key = set(version.primary_key)
        shown = [EXISTS, *(column.id for column in version.public_columns if column.id not in key)]
        conditions.append(f"c IN ({', '.join(str(int(column)) for column in shown)})")
    name = pair_view(version.table_id, version.version, storage, index)
    return f"CREATE VIEW {name} AS SELECT k, c, v FROM {kv(storage, version.table_id)} WHERE {' AND '.join(conditions)}"


def bytea(data: bytes) -> str:
    return f"'\\x{data.hex()}'::bytea"


# --- the schema, after each migrate

MAKE_SCHEMA_SQL = f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"
GRANT_SQL = f"""
DO $do$ BEGIN
    IF to_regrole('{READER}') IS NOT NULL THEN
        GRANT USAGE ON SCHEMA {SCHEMA} TO {READER};
        GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO {READER};
        ALTER DEFAULT PRIVILEGES IN SCHEMA {SCHEMA} GRANT SELECT ON TABLES TO {READER};
    END IF;
END $do$
"""
"""What is made in the schema later is the reader's to read, too."""

LACKING_SQL = f"""
SELECT d.body FROM catalog_descriptor d JOIN catalog_table t ON t.id = d.table_id
WHERE t.state <> 'dropped' AND d.body ->> 'state' = '{State.PUBLIC.value}'
  AND d.version >= pg_sequence_last_value(to_regclass('storage_1.fence_' || t.id))
  AND to_regclass(format('{SCHEMA}.t%s_v%s_s1', d.table_id, d.version)) IS NULL
ORDER BY d.table_id, d.version
"""
"""Versions that may be in use and have no views: those of a cluster from before there were any."""


# --- versions that are over

OVER_SQL = f"""
SELECT DISTINCT found[1]::int, found[2]::int
FROM pg_class c, regexp_match(c.relname, '^t([0-9]+)_v([0-9]+)_s[0-9]+') AS found
WHERE c.relnamespace = '{SCHEMA}'::regnamespace AND c.relkind = 'v'
  AND found[2]::int < pg_sequence_last_value(to_regclass('storage_1.fence_' || found[1]))
ORDER BY 1, 2 LIMIT %s
"""

OF_VERSION_SQL = f"""
SELECT c.oid::regclass::text FROM pg_class c
WHERE c.relnamespace = '{SCHEMA}'::regnamespace AND c.relname ~ %s AND c.relkind = 'v'
"""


def drop_views(cur: Any, table_id: int, version: int) -> None:
    """Drops the views of a version, whose exclusive lock the caller holds."""
    cur.execute(OF_VERSION_SQL, (f"^t{int(table_id)}_v{int(version)}_s",))
    found = [name for (name,) in cur.fetchall()]
    if found:
        cur.execute(f"DROP VIEW {', '.join(found)}")
