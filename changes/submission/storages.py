"""Adds and removes storages while the cluster is in use, and spreads tables over them (SET (storages = 3): nothing else
moves a row). Only the last storage can be removed, once no placement and no open change uses it.

Code that makes something on every storage holds the layout's row shared (`storages_kept`); while one is added or
removed, a publish tries again. One command runs at a time (`_command`), so parts of a storage that does not count are
left from an interrupted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import OperationalError, connection

from catalog.descriptor import Descriptor
from catalog.elements import State
from catalog.models import Table
from catalog.services import append_event, control_transaction
from catalog.story import CLUSTER
from catalog.text.sql_names import quoted
from changes.models import OPEN, Change, Reservation
from changes.plan.model import plan_from_json
from changes.services import SUBMISSIONS, ChangeError
from changes.submission import tables_ahead
from spark_tasks.models import AuditJob
from storage.buckets import STORAGES_MAX, owned_by
from storage.postgres import kv, storages_there

COMMAND = (0x5C4E, 2)
"""The advisory lock, of a session, of who adds or removes a storage: one at a time."""
DROP_TRIES = 5
"""So often is a table of a storage that counts no longer waited for, while somebody reads it."""
TABLES_AT_ONCE = 50
MAKING_S = 30.0
LOCK_TIMEOUT = "1s"
LOCKED = "55P03"


class CannotChange(ChangeError):
    """A storage cannot be added or removed now."""


class InUse(CannotChange):
    """A session works on the tables of a storage."""


# --- what there is


@dataclass(frozen=True, slots=True)
class StorageShown:
    """A storage: its buckets, the tables with rows there, and its size in bytes."""

    number: int
    buckets: tuple[int, int]
    tables: tuple[str, ...]
    size: int


def storages_shown() -> list[StorageShown]:
    live = set(Table.objects.filter(state=Table.State.LIVE).values_list("pk", flat=True))
    tables = [table for table in tables_ahead.tables_now().tables if table.table_id in live]
    with connection.cursor() as cursor:
        count = storages_there(cursor)
        sizes = {number: _size(cursor, number) for number in range(1, count + 1)}
    owned = {number: owned_by(number, count, settings.BUCKET_COUNT) for number in sizes}
    return [
        StorageShown(
            number,
            (owned[number][0], owned[number][-1]),
            tuple(t.name for t in tables if t.placement.storage_count(settings.STORAGE_COUNT) >= number),
            size,
        )
        for number, size in sizes.items()
    ]


def _size(cursor: Any, number: int) -> int:
    cursor.execute(
        "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
        " WHERE relnamespace = to_regnamespace(%s) AND relkind = 'r'",
        [f"storage_{number}"],
    )
    return int(cursor.fetchone()[0])


# --- one more


def add_storage(*, who: str) -> int:
    """Makes one more storage for all tables, and returns its number. Raises `CannotChange`. It counts only when
    complete; the next attempt drops what a crash leaves."""
    with _command():
        with connection.cursor() as cursor:
            number = storages_there(cursor) + 1
        if number > min(STORAGES_MAX, settings.BUCKET_COUNT):
            raise CannotChange(f"there are {number - 1} storages, and there can't be more")
        if left_over() is not None:
            _drop(number)
        with _making() as cursor:
            cursor.execute("SELECT storage_make_schema(%s)", [number])
        while _make_some(number):
            pass
        with _making() as cursor:
            _hold_layout(cursor, expected=number - 1)
            cursor.execute("SELECT storage_make_missing(%s, NULL)", [number])
            # drop what was made for tables that were dropped since, by somebody who did not know of this storage yet
            cursor.execute(
                "SELECT c.oid::regclass::text, c.relkind FROM pg_class c WHERE c.relnamespace = %s::regnamespace"
                " AND c.relname ~ '^(kv|fence)_[0-9]+$' AND c.relkind IN ('r', 'S')"
                " AND to_regclass('storage_1.' || c.relname) IS NULL",
                [f"storage_{number}"],
            )
            _drop_relations(cursor, cursor.fetchall())
            cursor.execute("SELECT storage_copy_versions(%s)", [number])
            cursor.execute("UPDATE storage_layout SET existing = %s", [number])
            tables = Table.objects.filter(state=Table.State.LIVE).count()
            payload = {"who": who, "storage": number, "tables": f"{tables} table{'' if tables == 1 else 's'}"}
            append_event("storage added", f"storage_{number}", payload, [CLUSTER])
    return number


def _make_some(number: int) -> int:
    with _making() as cursor:
        cursor.execute("SELECT storage_make_missing(%s, %s)", [number, TABLES_AT_ONCE])
        return int(cursor.fetchone()[0])


def _drop_relations(cursor: Any, found: Iterable[tuple[str, str]]) -> None:
    for name, kind in found:
        cursor.execute(f"DROP TABLE {name} CASCADE" if kind == "r" else f"DROP SEQUENCE {name}")  # and its pair views


# --- one less


def remove_storage(*, who: str) -> int:
    """Removes the last storage, and returns its number. Raises `CannotChange` with what uses it. It stops counting
    first; the next attempt drops what a crash or a reader leaves (`left_over`)."""
    with _command():
        left = left_over()
        if left is not None:
            _drop(left)
            return left
        with connection.cursor() as cursor:
            number = storages_there(cursor)
        if number == 1:
            raise CannotChange("there is one storage only: rows lie on it")
        with _making() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", SUBMISSIONS)  # no change is submitted meanwhile
            _hold_layout(cursor, expected=number)
            users = _all_users(cursor, number)
            if users:
                raise CannotChange(f"storage {number} is in use: {'; '.join(users)}")
            cursor.execute("UPDATE storage_layout SET existing = %s", [number - 1])
            append_event("storage removed", f"storage_{number}", {"who": who, "storage": number}, [CLUSTER])
        with suppress(InUse):  # it is removed, whoever reads a table of it still: `left_over` says so
            _drop(number)
    return number


def left_over() -> int | None:
    """The number of a storage that no longer counts but has tables left, or None."""
    with connection.cursor() as cursor:
        number = storages_there(cursor) + 1
        cursor.execute("SELECT to_regnamespace(%s) IS NOT NULL", [f"storage_{number}"])
        return number if cursor.fetchone()[0] else None


def _all_users(cursor: Any, number: int) -> list[str]:
    """The users of a storage, under the locks of submissions and layout. Tables are read last: a transaction or change
    that ends meanwhile is seen twice, never missed (T9)."""
    making = [names[0] for names in Reservation.objects.order_by("table_id").values_list("names", flat=True)]
    changes = list(Change.objects.filter(status__in=OPEN).order_by("id"))
    tables = tables_ahead.tables_now().tables
    audits = AuditJob.objects.filter(ended_at=None).order_by("id")
    return [
        *_users_of(number, tables, changes, making),
        *_strays_on(cursor, number, tables),
        *(f"audit {audit.pk} reads it" for audit in audits),
    ]


def _users_of(
    number: int, tables: Iterable[Descriptor], changes: Iterable[Change], making: Iterable[str]
) -> Iterator[str]:
    for table in tables:  # those that are dropped have none
        if _is_spread_over(table, number):
            yield f"table {table.name} is spread over {table.storage_count(settings.STORAGE_COUNT)} storages"
    for change in changes:
        plan = plan_from_json(change.plan)
        versions = [step.published for step in plan.publishes] + ([] if plan.base is None else [plan.base])
        if any(one.storage_count(settings.STORAGE_COUNT) >= number for one in versions):
            yield f"change {change.pk} of {change.table_name} uses it"
    for name in making:
        yield f"table {name} is being made"


def _is_spread_over(table: Descriptor, number: int) -> bool:
    return table.state is not State.ABSENT and table.storage_count(settings.STORAGE_COUNT) >= number


def _strays_on(cursor: Any, number: int, tables: Iterable[Descriptor]) -> Iterator[str]:
    spread = {table.table_id for table in tables if _is_spread_over(table, number)}
    for table in Table.objects.filter(state=Table.State.LIVE).exclude(pk__in=spread).order_by("name"):
        cursor.execute(f"SELECT EXISTS (SELECT FROM {kv(number, table.pk)} WHERE v IS NOT NULL)")
        if cursor.fetchone()[0]:
            yield f"table {table.name} has pairs there, which an audit names"


def _drop(number: int) -> None:
    """Drops the tables of a storage that no longer counts. Raises `CannotChange`, `InUse`."""
    tries = 0
    while True:
        try:
            if not _drop_some(number):
                return
        except InUse:
            tries += 1
            if tries == DROP_TRIES:
                raise


def _drop_some(number: int) -> bool:
    """Drops some tables of the storage, at last the schema; False then."""
    with _making() as cursor:
        cursor.execute("SELECT existing FROM storage_layout FOR SHARE")  # it does not count to the end of these drops
        if cursor.fetchone()[0] >= number:
            raise CannotChange(f"storage {number} counts again: nothing of it is dropped")
        cursor.execute(
            "SELECT c.oid::regclass::text, c.relkind FROM pg_class c"
            " WHERE c.relnamespace = to_regnamespace(%s) AND c.relkind IN ('r', 'S') LIMIT %s",
            [f"storage_{number}", 2 * TABLES_AT_ONCE],
        )
        found = cursor.fetchall()
        _drop_relations(cursor, found)
        if not found:
            cursor.execute(f"DROP SCHEMA IF EXISTS storage_{number} CASCADE")
        return bool(found)


# --- all tables


@dataclass(frozen=True, slots=True)
class Unspread:
    table: str
    statement: str
    storages: int


def unspread(count: int) -> list[Unspread]:
    """The tables on another number of storages, as the open changes will leave them."""
    tables = sorted(tables_ahead.catalog_view().tables, key=lambda table: table.name)
    public = (table for table in tables if table.state is State.PUBLIC)
    there = ((table, table.placement.storage_count(settings.STORAGE_COUNT)) for table in public)
    return [
        Unspread(table.name, f"ALTER TABLE {quoted(table.name)} SET (storages = {count})", now)
        for table, now in there
        if now != count
    ]


def table_names() -> list[str]:
    return [table.name for table in tables_ahead.catalog_view().tables if table.state is State.PUBLIC]


# --- locks


@contextmanager
def _command() -> Iterator[None]:
    """Excludes other such commands. Raises `CannotChange`."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", COMMAND)
        if not cursor.fetchone()[0]:
            raise CannotChange("somebody else is adding or removing a storage: wait until that has ended")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", COMMAND)


@contextmanager
def _making() -> Iterator[Any]:
    """A control transaction that makes or removes tables. Raises `InUse` when it would wait."""
    try:
        with control_transaction(MAKING_S) as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
            yield cursor
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != LOCKED:
            raise
        raise InUse("somebody is at work on the storages' tables just now: try again") from error


def _hold_layout(cursor: Any, *, expected: int) -> None:
    cursor.execute("SELECT existing FROM storage_layout FOR UPDATE")
    if cursor.fetchone()[0] != expected:
        raise CannotChange("somebody else has added or removed a storage meanwhile: look again")
