"""The next version of a table, and the proof that nobody is left on the last but one.

    leases on      v-1      v       v+1
    publish v+1    none     any     -        exclusive lock on v-1 obtained, fence set to v
    drained at v+1 none     none    any      exclusive lock on v obtained, fence set to v+1

A lease that ended proves nothing about a transaction that its node began: it may still commit. The lock proves it: each
transaction holds it shared from its `enter` to its end, and the fence, moved before the lock is given back, shuts the
door behind it (T2). So the order inside each function here is the rule itself (L7, L9), not a matter of taste.

What spans several tables moves in all of them at once: every table's condition is met, or nothing is changed in any
(L11). They are locked in the order of their ids: all rows, then all advisory locks; all is written, then told, and the
fences come last of all (L14).

The functions run inside the executor's transaction, which holds the change's row and the schema-change leases (L14).
They never wait: what is missing comes back as `Blocked`, with nothing changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catalog.descriptor import Descriptor, from_json
from catalog.hashing import schema_hash, sharding_hash
from changes.driver.schema_change_lease import Cursor
from storage import postgres as store


class UnexpectedVersion(Exception):
    """The table is at a version that this plan does not lead through: somebody else moved it."""


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """Node `node` may use `version` of the table until `expires_at`, the database's time."""

    table_id: int
    node: str
    incarnation: int
    version: int
    expires_at: datetime
    remaining_s: float

    def to_json(self) -> dict[str, Any]:
        shown = {"node": self.node, "table_id": self.table_id, "version": self.version}
        return shown | {"until": self.expires_at.isoformat()}


@dataclass(frozen=True, slots=True)
class Held:
    """Session `session` has a transaction of `version` of the table."""

    table_id: int
    version: int
    session: str
    pid: int
    since: datetime

    def to_json(self) -> dict[str, Any]:
        shown = {"node": node_of(self.session), "table_id": self.table_id, "version": self.version}
        return shown | {"session": self.session, "until": None}


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why not now: live leases, transactions that still run, or only a row that somebody is just looking at."""

    leases: tuple[LeaseRow, ...] = ()
    held: tuple[Held, ...] = ()
    is_row_locked: bool = False

    @property
    def until(self) -> datetime | None:
        return max((lease.expires_at for lease in self.leases), default=None)

    @property
    def remaining_s(self) -> float | None:
        return max((lease.remaining_s for lease in self.leases), default=None)

    @property
    def whom(self) -> tuple[str, ...]:
        return tuple(sorted({lease.node for lease in self.leases} | {node_of(held.session) for held in self.held}))

    def outlived(self, table_id: int) -> tuple[Held, ...]:
        """The transactions on a table that have outlived every lease of their version (L8)."""
        if any(lease.table_id == table_id for lease in self.leases):
            return ()
        return tuple(one for one in self.held if one.table_id == table_id)

    def to_json(self) -> list[dict[str, Any]]:
        return [row.to_json() for row in (*self.leases, *self.held)]


def node_of(session: str) -> str:
    """The node in a database session's name, "schemalab node n1 7"; other sessions are named as they are."""
    words = session.split()
    return words[2] if words[:2] == ["schemalab", "node"] and len(words) > 2 else session


def _together(found: Iterable[Blocked | None]) -> Blocked | None:
    """Whoever blocks one table blocks all of them; None: nobody."""
    there = [one for one in found if one is not None]
    if not there:
        return None
    leases = tuple(lease for one in there for lease in one.leases)
    held = tuple(held for one in there for held in one.held)
    return Blocked(leases, held)


# --- L7


def publish(cur: Cursor, versions: Iterable[Descriptor], *, storages: int) -> Blocked | None:
    """Make each of `versions` its table's newest, all or none. None: done, or it had been done before (re-entry, X2).

    Raises `UnexpectedVersion`.
    """
    news = in_lock_order(versions)
    at = [_lock_table(cur, new.table_id) for new in news]
    if None in at:
        return Blocked(is_row_locked=True)
    if all(version == new.version and _is_published(cur, new) for version, new in zip(at, news, strict=True)):
        return None
    for version, new in zip(at, news, strict=True):
        if version != new.version - 1:
            raise UnexpectedVersion(f"cannot publish {new}: the table is at version {version}")
    hindrance = _together([_last_but_one_is_used(cur, new) for new in news])
    if hindrance is None:
        for new in news:
            _write_version(cur, new, storages)
    return hindrance


def close_last_but_one(cur: Cursor, versions: Iterable[Descriptor], *, storages: int) -> None:
    """The end of L7, after the story is told and still under the locks: no version before the predecessors enters."""
    for new in in_lock_order(versions):
        store.set_fence(cur, storages, new.table_id, max(new.version - 1, 1))


def in_lock_order(versions: Iterable[Descriptor]) -> Sequence[Descriptor]:
    """As everybody locks several tables (L14): by id."""
    return sorted(versions, key=lambda version: version.table_id)


def _lock_table(cur: Cursor, table_id: int) -> int | None:
    """The table's version, its row locked FOR UPDATE without waiting; None when somebody has it."""
    row = cur.execute("SELECT version FROM catalog_table WHERE id = %s FOR UPDATE SKIP LOCKED", (table_id,)).fetchone()
    return None if row is None else int(row[0])


def _is_published(cur: Cursor, new: Descriptor) -> bool:
    row = cur.execute(
        "SELECT body FROM catalog_descriptor WHERE table_id = %s AND version = %s", (new.table_id, new.version)
    ).fetchone()
    return row is not None and from_json(row[0]) == new


def _last_but_one_is_used(cur: Cursor, new: Descriptor) -> Blocked | None:
    older = new.version - 2
    if older < 1:
        return None
    is_free = store.try_exclusive(cur, new.table_id, older)
    leases = live_leases(cur, new.table_id, below=new.version - 1)  # a later statement than the lock: L7
    if is_free and not leases:
        return None
    return Blocked(leases, () if is_free else _held(cur, new.table_id, older))


def _write_version(cur: Cursor, new: Descriptor, storages: int) -> None:
    hashes = {"schema_hash": schema_hash(new), "sharding_hash": sharding_hash(new)}
    cur.execute(
        "INSERT INTO catalog_descriptor (table_id, version, body, schema_hash, sharding_hash, modified_at)"
        " VALUES (%s, %s, %s, %s, %s, clock_timestamp())",
        (new.table_id, new.version, json.dumps(new.to_json()), hashes["schema_hash"], hashes["sharding_hash"]),
    )
    store.insert_version_copy(cur, storages, new.table_id, new.version, **hashes)
    cur.execute(
        "UPDATE catalog_table SET version = %s, name = %s, state = 'live' WHERE id = %s",
        (new.version, new.name, new.table_id),
    )


# --- L9


def drain(cur: Cursor, versions: Mapping[int, int], *, storages: int) -> Blocked | None:
    """None: nobody can use an older version of any of these tables any more, and their fences say so.

    `versions` are the ones to be drained at, by table.
    """
    tables = sorted(versions.items())
    hindrance = _together([_is_older_used(cur, table_id, version, storages) for table_id, version in tables])
    if hindrance is None:
        for table_id, version in tables:
            store.set_fence(cur, storages, table_id, version)
    return hindrance


def _is_older_used(cur: Cursor, table_id: int, version: int, storages: int) -> Blocked | None:
    """Who may use a version of a table before `version`; if nobody, the lock of each such version is held."""
    leases = live_leases(cur, table_id, below=version)
    if leases:
        return Blocked(leases)
    for older in range(max(store.fence(cur, storages, table_id), 1), version):
        if not store.try_exclusive(cur, table_id, older):
            return Blocked(held=_held(cur, table_id, older))
    return None


# --- who is in the way


def live_leases(cur: Cursor, table_id: int, *, below: int) -> tuple[LeaseRow, ...]:
    """The unexpired leases on versions older than `below`, the last to end first."""
    cur.execute(
        "SELECT node, incarnation, version, expires_at, extract(epoch FROM expires_at - clock_timestamp())::float8"
        " FROM leases_lease WHERE table_id = %s AND version < %s AND expires_at > clock_timestamp()"
        " ORDER BY expires_at DESC, node",
        (table_id, below),
    )
    return tuple(LeaseRow(table_id, *row) for row in cur.fetchall())


def _held(cur: Cursor, table_id: int, version: int) -> tuple[Held, ...]:
    found = store.holders(cur, table_id, version)
    return tuple(Held(table_id, version, holder.application_name, holder.pid, holder.since) for holder in found)


def end_holders(cur: Cursor, table_id: int, held: Iterable[Held]) -> tuple[Held, ...]:
    """End the sessions of transactions that outlived every lease of their version (L8); which ones it were.

    Looked at again, here: a version that is leased anew, or a transaction that has ended by itself, is left alone.
    """
    seen = tuple(held)
    if not seen or live_leases(cur, table_id, below=max(one.version for one in seen) + 1):
        return ()
    sessions = [store.Holder(one.pid, one.session, one.since) for one in seen]
    return seen if store.end_sessions(cur, sessions, wait_ms=0) else ()


# --- the story


def tell(cur: Cursor, kind: str, subject: str, payload: Mapping[str, Any], streams: Iterable[str]) -> list[Any]:
    """One fact to its streams, in this transaction (X7); the caller pushes what comes back once it is committed."""
    row = cur.execute(
        "SELECT catalog_tell(%s, %s, %s, %s)", (sorted(set(streams)), kind, subject, json.dumps(payload))
    ).fetchone()
    assert row is not None
    return list(row[0])
