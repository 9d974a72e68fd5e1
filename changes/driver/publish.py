"""Publishes the next version of a table, and proves that no node uses the last but one (L7, L9).

    leases on      v-1      v       v+1
    publish v+1    none     any     -        exclusive lock on v-1 obtained, fence set to v
    drained at v+1 none     none    any      exclusive lock on v obtained, fence set to v+1

An expired lease proves nothing about transactions of its node, which may still commit; the lock does: each transaction
holds it shared from its `enter` to its end, and the fence moves before the lock is released (T2). The order inside each
function is the rule itself. With coordination by hashes the fence is at v+1 once v+1 is published (`accepted_from`):
new transactions of v are refused, those in flight finish.

Several tables move together or not at all (L11), locked in the order of ids: all rows, then all advisory locks; then
all is written, the events, and last the fences (L14). The functions run in the executor's transaction and never wait:
they return `Blocked`, with nothing changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catalog.descriptor import Descriptor, from_json
from catalog.elements import Coordination, TableId
from catalog.hashing import schema_hash, sharding_hash
from leases import rules
from leases.rules import Hindrance
from leases.selectors import leases_as_of_now
from storage import pair_views
from storage import postgres as store
from storage.sequences import sequences_of

NO_HINDRANCE = Hindrance(())
"""Blocked by nothing that can be named."""


class UnexpectedVersion(Exception):
    """The table is at a version outside of this plan: another process moved it."""


@dataclass(frozen=True, slots=True)
class LockHolder:
    table_id: int
    version: int
    session: str
    pid: int
    since: datetime
    coordination: Coordination = Coordination.LEASE


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why a publish or drain must wait: leases, locks with their sessions, or a locked row."""

    hindrance: Hindrance = NO_HINDRANCE
    held: tuple[LockHolder, ...] = ()
    is_row_locked: bool = False

    def outlived(self, table_id: int) -> tuple[LockHolder, ...]:
        """The transactions that have outlived all leases of their version (L8)."""
        if any(lease.table == table_id for lease in self.hindrance.leases):
            return ()
        return tuple(one for one in self.held if one.table_id == table_id)

    def grace_s(self, table_id: int, lease_s: float) -> float:
        """Seconds that these transactions may last, by their coordination (L8)."""
        return max(rules.grace_s(one.coordination, lease_s) for one in self.outlived(table_id))


DONE = Blocked()

IS_LEASED_BEFORE = """SELECT EXISTS (
    SELECT FROM leases_lease WHERE table_id = %s AND version < %s AND expires_at > clock_timestamp())"""

BODY = "SELECT body::text FROM catalog_descriptor WHERE table_id = %s AND version = %s"


def node_of(session: str) -> str:
    """The node in a session's name "schemalab node n1 7"; other names as they are."""
    words = session.split()
    return words[2] if words[:2] == ["schemalab", "node"] and len(words) > 2 else session


# --- L7


def publish(cur: Any, versions: Iterable[Descriptor], *, storages: int) -> Blocked | None:
    """Publishes `versions`, all or none. None: done, now or before (X2). The first `storages` storages learn of them.
    Raises `UnexpectedVersion`."""
    news = in_lock_order(versions)
    found = hindrance_to(cur, news)
    if found is None:
        for new in news:
            _write_version(cur, new, storages)
    return None if found is DONE else found


def hindrance_to(cur: Any, news: Sequence[Descriptor]) -> Blocked | None:
    """Locks in order and returns what blocks; `DONE` when they are published already."""
    at = [_lock_table(cur, new.table_id) for new in news]
    if None in at:
        return Blocked(is_row_locked=True)
    if all(version == new.version and _is_published(cur, new) for version, new in zip(at, news, strict=True)):
        return DONE
    for version, new in zip(at, news, strict=True):
        if version != new.version - 1:
            raise UnexpectedVersion(f"cannot publish {new}: the table is at version {version}")
    return _blocked(cur, {new.table_id: _publish_hindrance(cur, new) for new in news})


def close_last_but_one(cur: Any, versions: Iterable[Descriptor], *, storages: int) -> None:
    """Ends L7, after the events and under the locks: no version before the predecessors may enter."""
    for new in in_lock_order(versions):
        store.set_fence(cur, storages, new.table_id, max(new.version - 1, 1))


def accept_only_newest(cur: Any, versions: Iterable[Descriptor], *, storages: int) -> None:
    """After a publish has committed: excludes the predecessor where storages accept the newest version alone. Later
    than the publish, so that a lost publish leaves a usable version; the drain repeats it after a crash. The caller
    holds the change's row, so a fence never goes back."""
    for new in in_lock_order(versions):
        store.set_fence(cur, storages, new.table_id, rules.accepted_from(new.version, new.coordination))


def in_lock_order(versions: Iterable[Descriptor]) -> Sequence[Descriptor]:
    """By table id, as all code locks several tables (L14)."""
    return sorted(versions, key=lambda version: version.table_id)


def _lock_table(cur: Any, table_id: int) -> int | None:
    """Locks the table's row without waiting; its version, or None when another transaction has it."""
    row = cur.execute("SELECT version FROM catalog_table WHERE id = %s FOR UPDATE SKIP LOCKED", (table_id,)).fetchone()
    return None if row is None else int(row[0])


def _is_published(cur: Any, new: Descriptor) -> bool:
    row = cur.execute(BODY, (new.table_id, new.version)).fetchone()
    return row is not None and from_json(json.loads(row[0])) == new


def _publish_hindrance(cur: Any, new: Descriptor) -> Hindrance | None:
    older = new.version - 2
    if older < 1:
        return None
    locked = () if store.try_exclusive(cur, new.table_id, older) else (older,)
    leases, now = leases_as_of_now(cur, new.table_id)  # a later statement than the lock: L7
    return rules.publish_hindrance(leases, table=new.table_id, next_version=new.version, now=now, locked=locked)


def _write_version(cur: Any, new: Descriptor, storages: int) -> None:
    hashes = {"schema_hash": schema_hash(new), "sharding_hash": sharding_hash(new)}
    cur.execute(
        "INSERT INTO catalog_descriptor (table_id, version, body, schema_hash, sharding_hash, modified_at)"
        " VALUES (%s, %s, %s, %s, %s, clock_timestamp())",
        (new.table_id, new.version, json.dumps(new.to_json()), hashes["schema_hash"], hashes["sharding_hash"]),
    )
    store.insert_version_copy(cur, storages, new.table_id, new.version, **hashes)
    wanted = sequences_of(new)
    if wanted and new.version > 1:
        row = cur.execute(BODY, (new.table_id, new.version - 1)).fetchone()
        before = {} if row is None else sequences_of(from_json(json.loads(row[0])))
        wanted = {sequence: column for sequence, column in wanted.items() if sequence not in before}
    store.make_sequences(cur, wanted)
    if made := pair_views.make_sql(new, storages):
        cur.execute("; ".join(made))
    cur.execute(
        "UPDATE catalog_table SET version = %s, name = %s, state = 'live' WHERE id = %s",
        (new.version, new.name, new.table_id),
    )


# --- L9


def drain(cur: Any, versions: Mapping[int, int], *, storages: int) -> Blocked | None:
    """None: no transaction can use older versions of these tables (by id) any more, and their fences are set."""
    tables = sorted((TableId(table_id), version) for table_id, version in versions.items())
    for table_id, version in tables:
        # as the publisher does after its publish, which may have ended before that: without leases nodes that hear
        # nothing would come in for ever, and the lock would never be free
        oldest = rules.accepted_from(version, _coordination(cur, table_id, version))
        if oldest == version:
            store.set_fence(cur, storages, table_id, oldest)
    blocked = _blocked(cur, {table: _drain_hindrance(cur, table, version, storages) for table, version in tables})
    if blocked is None:
        for table_id, version in tables:
            store.set_fence(cur, storages, table_id, version)
    return blocked


def _drain_hindrance(cur: Any, table: TableId, version: int, storages: int) -> Hindrance | None:
    leases, now = leases_as_of_now(cur, table)
    hindrance = rules.drain_hindrance(leases, table=table, version=version, now=now)
    if hindrance is not None:
        return hindrance
    proved_before = min(store.fence(cur, storages, table), version - 1)  # the fence may be ahead of what was proved
    for older in range(max(proved_before, 1), version):
        if not store.try_exclusive(cur, table, older):
            return rules.drain_hindrance(leases, table=table, version=version, now=now, locked=(older,))
    past = store.held_before(cur, table, proved_before)  # the fence goes ahead of proofs, and the lab past the rules
    return rules.drain_hindrance(leases, table=table, version=version, now=now, locked=past) if past else None


# --- who is in the way


def _blocked(cur: Any, found: Mapping[TableId, Hindrance | None]) -> Blocked | None:
    """A hindrance of one table is one of all (L11); with the sessions behind the locks."""
    hindrance = rules.all_hindrances(found.values())
    if hindrance is None:
        return None
    locked = [(table, version) for table, one in found.items() if one is not None for version in one.locked]
    return Blocked(hindrance, tuple(held for table, version in locked for held in _holders(cur, table, version)))


def _holders(cur: Any, table_id: int, version: int) -> Iterator[LockHolder]:
    how = _coordination(cur, table_id, version)
    for one in store.holders(cur, table_id, version):
        yield LockHolder(table_id, version, one.application_name, one.pid, one.since, how)


def _coordination(cur: Any, table_id: int, version: int) -> Coordination:
    sql = "SELECT body ->> 'coordination' FROM catalog_descriptor WHERE table_id = %s AND version = %s"
    known = cur.execute(sql, (table_id, version)).fetchone()
    return Coordination.LEASE if known is None else Coordination(known[0])


def is_leased_before(cur: Any, table_id: int, version: int) -> bool:
    """True if a version older than `version` is leased; reads without locks. Called for each lease that ends, so its
    cost must not grow with their number."""
    row = cur.execute(IS_LEASED_BEFORE, (table_id, version)).fetchone()
    return bool(row[0])


def end_holders(cur: Any, table_id: int, held: Iterable[LockHolder]) -> tuple[LockHolder, ...]:
    """Ends the sessions of transactions that outlived all leases of their version (L8), and returns these. Checks again
    first: a version that was leased anew is left alone."""
    seen = tuple(held)
    if not seen or is_leased_before(cur, table_id, max(one.version for one in seen) + 1):
        return ()
    sessions = [store.Holder(one.pid, one.session, one.since) for one in seen]
    return seen if store.end_sessions(cur, sessions, wait_ms=0) else ()
