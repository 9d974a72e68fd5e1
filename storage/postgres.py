"""The store in PostgreSQL: a schema for each storage, with a pair table for each table.

    storage_i.kv_7       pairs of table 7 (a NULL value is a tombstone)
    storage_i.fence_7    a sequence: the oldest version of table 7 that may still write, read as of now
    storage_i.versions   both hashes of every (table, version)
    storage_i.enter(..)  the beginning of every transaction (T2)
    identity.numbers_..  sequences of identity columns (`storage.sequences`)

From `enter` to its end a transaction holds a shared advisory lock on (table, version), one for all storages. The
exclusive lock proves that no transaction of a version is left (L7, L9). Functions take any psycopg cursor.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from catalog.elements import Column
from storage.sequences import SCHEMA, make_sql
from storage.statements import (
    Statement,
    column_suffixes,
    get_sql,
    kv,
    next_low,
    packed_scan_sql,
    scan_sql,
    statements_for,
)

__all__ = [
    "BELOW_FENCE", "HASH_DIFFERS", "LEASE_OVER", "PLAN_LOCALLY", "PLAN_SETTINGS", "SESSION_SETTINGS", "STORAGE_REMOVED",
    "USERS_SETTINGS", "VERSION_NOT_VISIBLE", "Holder",
    "Statement", "arm_deadline_sql", "column_suffixes", "drop_sequences", "drop_table",
    "end_sessions", "enter", "enter_sql", "fence", "get_sql", "held_before", "holders",
    "insert_version_copies", "insert_version_copy", "kv",
    "layout_mistake", "make_sequences", "make_spare_tables", "next_low", "packed_scan_sql", "scan_sql",
    "session_options", "set_fence", "statements_for", "storages_kept", "storages_there",
    "take_spare_table", "try_exclusive",
]  # fmt: skip

BELOW_FENCE, VERSION_NOT_VISIBLE, HASH_DIFFERS, LEASE_OVER = "SL001", "SL002", "SL003", "SL004"
"""How `enter` refuses: the version is too old; newer than the snapshot; another schema; no time left."""

STORAGE_REMOVED = ("3F000", "42883")
"""No such schema, or function: how PostgreSQL refuses `enter` for a version on a storage that was removed since."""

PLAN_SETTINGS = {"enable_seqscan": "off", "enable_bitmapscan": "off", "max_parallel_workers_per_gather": "0"}
"""Settings that leave PostgreSQL one way to read pairs, by key, in key order (T6). It takes the column filter of a page
(`c = ANY`) for twenty times as narrow as it is, and would scan and sort the whole table for each page."""
USERS_SETTINGS = {
    "timezone": "UTC",
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "extra_float_digits": "1",
    "bytea_output": "hex",
}
"""What a client may set and its statements heed; these are the values under which pairs are made (W1)."""
SESSION_SETTINGS = {
    "default_transaction_isolation": "serializable",
    **PLAN_SETTINGS,
    **USERS_SETTINGS,
    "jit": "off",
    "synchronous_commit": "on",
    "client_connection_check_interval": "500",
    "search_path": 'pg_catalog,"$user",public,pg_temp',
}
"""Of every session that reads or writes pairs in serializable transactions. Acknowledged writes survive a crash (T7),
whatever the server's default is. The query of a killed process ends, and releases its lock (T4). Temporary objects come
last: a client's temporary table `timestamptz` is a type of this name, too."""
PLAN_LOCALLY = "; ".join(f"SET LOCAL {name} = {value}" for name, value in PLAN_SETTINGS.items())
"""The same plans for the rest of a transaction, in a session that also does other things."""


BLANK = "\\ "


def session_options(application_name: str, **settings: str) -> dict[str, str]:
    """Keyword arguments of `psycopg.connect` for a data session."""
    chosen = SESSION_SETTINGS | settings
    options = " ".join(f"-c {name}={value.replace(' ', BLANK)}" for name, value in chosen.items())
    return {"options": options, "application_name": application_name}


# --- the door


@functools.lru_cache
def enter_sql(storages: tuple[int, ...]) -> str:
    """`enter` on these storages in one statement (T2). Parameters: table, version, both hashes, expiration, which is
    'infinity' for a transaction that only reads (T4). Numbered parameters keep the statement short."""
    return "SELECT " + ", ".join(f"storage_{number}.enter($1, $2, $3, $4, $5)" for number in storages)


def enter(
    connection: psycopg.Connection[Any],
    storages: int,
    table_id: int,
    version: int,
    *,
    schema_hash: str | None = None,
    sharding_hash: str | None = None,
    expires_at: Any,
) -> None:
    """A new transaction enters a table on the first `storages` storages (T2). A hash of None is not compared;
    `expires_at` is the earliest among the transaction's tables (T4)."""
    params = (table_id, version, schema_hash, sharding_hash, expires_at)
    psycopg.RawCursor(connection).execute(enter_sql(tuple(range(1, storages + 1))), params)


def arm_deadline_sql() -> str:
    """Moves the deadline after a renewal (T4). Parameter: the expiration."""
    return "SELECT storage_arm_deadline(%b::timestamptz)"


# --- versions and fences


def insert_version_copy(
    cur: psycopg.Cursor[Any], storages: int, table_id: int, version: int, *, schema_hash: str, sharding_hash: str
) -> None:
    numbers = range(1, storages + 1)
    insert_version_copies(cur, numbers, table_id, version, schema_hash=schema_hash, sharding_hash=sharding_hash)


def insert_version_copies(
    cur: psycopg.Cursor[Any],
    numbers: Iterable[int],
    table_id: int,
    version: int,
    *,
    schema_hash: str,
    sharding_hash: str,
) -> None:
    """Tells some storages of a version. Inserted once, never updated (T2)."""
    for number in numbers:
        cur.execute(
            f"INSERT INTO storage_{number}.versions (table_id, version, schema_hash, sharding_hash)"
            " VALUES (%s, %s, %s, %s)",
            (table_id, version, schema_hash, sharding_hash),
        )


def set_fence(cur: psycopg.Cursor[Any], storages: int, table_id: int, version: int) -> None:
    """Refuses versions below `version` at once, even if the caller's transaction fails. The caller holds the exclusive
    lock of each excluded version (L7, L9). A fence never goes back."""
    names = [f"storage_{number}.fence_{int(table_id)}" for number in range(1, storages + 1)]
    moves = [f"setval('{name}', greatest({int(version)}, pg_sequence_last_value('{name}')))" for name in names]
    cur.execute(f"SELECT {', '.join(moves)}")


def fence(cur: psycopg.Cursor[Any], storages: int, table_id: int) -> int:
    """The oldest version that every storage accepts; 0 before the first is published."""
    names = ", ".join(
        f"pg_sequence_last_value('storage_{number}.fence_{int(table_id)}')" for number in range(1, storages + 1)
    )
    row = cur.execute(f"SELECT coalesce(greatest({names}), 0)").fetchone()
    assert row is not None
    return int(row[0])


# --- who still uses a version


def try_exclusive(cur: psycopg.Cursor[Any], table_id: int, version: int) -> bool:
    """True when no transaction of (table, version) is left; then the caller's transaction keeps the lock (L7, L9)."""
    row = cur.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", (table_id, version)).fetchone()
    assert row is not None
    return bool(row[0])


@dataclass(frozen=True, slots=True)
class Holder:
    pid: int
    application_name: str
    since: Any


def holders(cur: psycopg.Cursor[Any], table_id: int, version: int) -> list[Holder]:
    """The sessions that hold the shared lock of (table, version), longest first (L8)."""
    cur.execute(
        "SELECT a.pid, a.application_name, a.xact_start FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
        " WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.mode = 'ShareLock'"
        " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        " AND l.classid = %s::bigint::oid AND l.objid = %s::bigint::oid ORDER BY a.xact_start",
        (table_id, version),
    )
    return [Holder(*row) for row in cur.fetchall()]


def held_before(cur: psycopg.Cursor[Any], table_id: int, version: int) -> tuple[int, ...]:
    """The versions older than `version` under which other sessions have transactions, oldest first: a proof where the
    fence excludes these versions. Each lock is tried and released, since listing `pg_locks` with all predicate locks
    may take too long."""
    free = "CASE WHEN pg_try_advisory_lock(%s, older) THEN pg_advisory_unlock(%s, older) ELSE false END"
    cur.execute(
        f"SELECT older FROM generate_series(1, %s - 1) AS older WHERE NOT {free} ORDER BY older",
        (version, table_id, table_id),
    )
    return tuple(int(found) for (found,) in cur.fetchall())


def end_sessions(cur: psycopg.Cursor[Any], sessions: Iterable[Holder], *, wait_ms: int = 1000) -> int:
    """Ends these sessions, if process and transaction are still the same. Returns how many."""
    return sum(_end(cur, one, wait_ms) for one in sessions)


def _end(cur: psycopg.Cursor[Any], one: Holder, wait_ms: int) -> bool:
    cur.execute(
        "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid = %s AND xact_start = %s",
        (wait_ms, one.pid, one.since),
    )
    return any(ended for (ended,) in cur.fetchall())


# --- tables


def make_spare_tables(cur: psycopg.Cursor[Any], stock: int) -> int:
    """Keeps `stock` spare pair tables. Returns how many were made."""
    row = cur.execute("SELECT storage_make_spares(%s)", (stock,)).fetchone()
    assert row is not None
    return int(row[0])


def take_spare_table(cur: psycopg.Cursor[Any]) -> int:
    """The id of a new table with pair tables and fences, from stock or made now."""
    row = cur.execute("SELECT storage_take_table()").fetchone()
    assert row is not None
    return int(row[0])


def drop_table(cur: psycopg.Cursor[Any], storages: int, table_id: int) -> None:
    """Removes all of a dropped, drained table. Without a fence `enter` refuses every version."""
    for number in range(1, storages + 1):
        cur.execute(f"DROP TABLE IF EXISTS {kv(number, table_id)} CASCADE")  # and its pair views
        cur.execute(f"DROP SEQUENCE IF EXISTS storage_{number}.fence_{int(table_id)}")
        cur.execute(f"DELETE FROM storage_{number}.versions WHERE table_id = %s", (table_id,))
    cur.execute(SEQUENCES_OF_TABLE, (f"numbers\\_{int(table_id)}\\_%",))
    drop_sequences(cur, [f"{SCHEMA}.{name}" for (name,) in cur.fetchall()])


SEQUENCES_OF_TABLE = (
    f"SELECT relname FROM pg_class WHERE relnamespace = '{SCHEMA}'::regnamespace AND relkind = 'S' AND relname LIKE %s"
)


def make_sequences(cur: psycopg.Cursor[Any], sequences: Mapping[str, Column]) -> None:
    for sequence, column in sequences.items():
        cur.execute(make_sql(sequence, column))


def drop_sequences(cur: psycopg.Cursor[Any], sequences: Iterable[str]) -> None:
    """Drops sequences of columns that no version in use has."""
    for sequence in sequences:
        cur.execute(f"DROP SEQUENCE IF EXISTS {sequence}")


# --- the layout of the data there is


def storages_there(cur: Any) -> int:
    cur.execute("SELECT existing FROM storage_layout")
    return int(cur.fetchone()[0])


def storages_kept(cur: Any) -> int | None:
    """The number of storages, fixed to the end of the transaction; None while one is added or removed."""
    cur.execute("SELECT existing FROM storage_layout FOR SHARE SKIP LOCKED")
    row = cur.fetchone()
    return None if row is None else int(row[0])


def layout_mistake(cur: Any, *, storages: int, buckets: int) -> str | None:
    """Why these settings would not find the rows of this database, or None."""
    cur.execute("SELECT to_regclass('storage_layout') IS NOT NULL")
    if not cur.fetchone()[0]:
        return None  # no storages yet, or of before this was kept: the migrations come next
    cur.execute("SELECT storages, buckets FROM storage_layout")
    kept = dict(zip(("STORAGE_COUNT", "BUCKET_COUNT"), cur.fetchone(), strict=True))
    for name, value in (("STORAGE_COUNT", storages), ("BUCKET_COUNT", buckets)):
        if value != kept[name]:
            return (
                f"{name}={value}, but the rows of this database were laid out with {name}={kept[name]} and would not"
                f" be found: set {name}={kept[name]}, or begin with an empty database"
            )
    return None
