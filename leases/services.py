"""Actions of operators and of the clock on leases and nodes, one transaction each; the story's counters last (L14)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError, transaction

from catalog.models import Table
from catalog.services import OutOfTime, append_event, control_transaction
from catalog.story import CLUSTER, LEASES, PROCESSES, table_stream
from leases.models import Lease, Node
from leases.redis.gossip import call_node
from leases.selectors import sessions_using

SILENT_AFTER_S = 3.0
"""A node sends a heartbeat each second; one that missed three does not answer."""

WOULD_NOT_END = "SL103"


class CannotBeDone(Exception):
    """Something cannot be done to a lease or a node."""


class UnknownNode(CannotBeDone):
    """No node bears this name."""


class NoSuchLease(CannotBeDone):
    """The lease was released, or has expired."""


class LeaseInUse(CannotBeDone):
    """Transactions use the lease: revoke it."""


class SessionStays(CannotBeDone):
    """A session did not end within a second, so its lease stays."""


REFUSALS = (CannotBeDone, OutOfTime)


@dataclass(frozen=True, slots=True)
class Registration:
    """A node's new incarnation, and the remains of former ones."""

    incarnation: int
    sessions_ended: int
    leases_ended: int


@dataclass(frozen=True, slots=True)
class Revocation:
    version: int
    sessions_ended: int


@dataclass(frozen=True, slots=True)
class Swept:
    table_id: int
    version: int
    node: str
    incarnation: int
    expires_at: datetime


def register_node(name: str, *, host: str, port: int, pid: int) -> Registration:
    """A node starts: its former incarnations' sessions end, then their leases (L10)."""
    with control_transaction() as cursor:
        cursor.execute("SELECT * FROM node_register(%s, %s, %s, %s)", [name, host, port, pid])
        registration = Registration(*cursor.fetchone())
        append_event("node joined", name, {"node": name, "incarnation": registration.incarnation}, [CLUSTER])
    return registration


def leave_node(name: str, *, incarnation: int) -> bool:
    """An orderly end. False: it was superseded."""
    with control_transaction() as cursor:
        cursor.execute("SELECT node_leave(%s, %s)", [name, incarnation])
        has_left = cursor.fetchone()[0]
        if has_left:
            append_event("node left", name, {"node": name}, [CLUSTER])
    return has_left


def release_lease(lease_id: int, *, who: str) -> Lease:
    """Releases a lease without transactions for its node. Raises `NoSuchLease`, `LeaseInUse`."""
    with control_transaction() as cursor:
        lease = Lease.objects.filter(id=lease_id).first()
        if lease is None:
            raise NoSuchLease(f"lease {lease_id} does not exist any more: it was given back, or is over")
        users = len(sessions_using(lease.table_id, lease.version, node=lease.node))
        if users:
            what = f"{lease.node} leases {_table_name(lease.table_id)} v{lease.version}"
            raise LeaseInUse(f"cannot release: {what} and {users} of its transactions run; revoke ends them")
        cursor.execute(
            "SELECT lease_release(%s, %s, %s, %s)", [lease.table_id, lease.version, lease.node, lease.incarnation]
        )
        transaction.on_commit(lambda: call_node(lease.node))
        _append_lease_event("lease released", lease.table_id, lease.version, node=lease.node, who=who)
    return lease


def revoke_lease(table_id: int, node: str, *, who: str, version: int | None = None) -> list[Revocation]:
    """Revokes a node's leases on a table (or version) and ends their sessions (L10). Raises `NoSuchLease`,
    `SessionStays`."""
    with control_transaction() as cursor, _ending_sessions():
        cursor.execute("SELECT version, sessions_ended FROM lease_revoke(%s, %s, %s)", [table_id, node, version])
        revoked = [Revocation(*row) for row in cursor.fetchall()]
        if not revoked:
            what = f"table {_table_name(table_id)}" + ("" if version is None else f" v{version}")
            raise NoSuchLease(f"cannot revoke: {node} has no lease on {what}")
        for revocation in revoked:
            _append_lease_event("lease revoked", table_id, revocation.version, node=node, who=who)
        transaction.on_commit(lambda: call_node(node))
    return revoked


@contextmanager
def _ending_sessions() -> Iterator[None]:
    try:
        yield
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", None) != WOULD_NOT_END:
            raise
        raise SessionStays(f"nothing was revoked: {error}; try again") from error


def _append_lease_event(kind: str, table_id: int, version: int, *, node: str, who: str) -> None:
    name = _table_name(table_id)
    payload = {"who": who, "node": node, "table": name, "table_id": table_id, "version": version}
    append_event(kind, name, payload, [CLUSTER, LEASES, table_stream(table_id)])


def _table_name(table_id: int) -> str:
    return Table.objects.filter(id=table_id).values_list("name", flat=True).first() or str(table_id)


def drain_node(name: str, *, who: str) -> None:
    """The node takes no new leases and releases others once idle (L10)."""
    _ask_drain(name, who=who, is_asked=True, kind="node draining")


def undrain_node(name: str, *, who: str) -> None:
    _ask_drain(name, who=who, is_asked=False, kind="node undrained")


def _ask_drain(name: str, *, who: str, is_asked: bool, kind: str) -> None:
    with control_transaction() as cursor:
        cursor.execute("SELECT node_drain(%s, %s)", [name, is_asked])
        if not cursor.fetchone()[0]:
            raise _unknown(name)
        append_event(kind, name, {"node": name, "who": who}, [CLUSTER, LEASES, PROCESSES])
        transaction.on_commit(lambda: call_node(name))


def check_node(name: str) -> None:
    """Raises `UnknownNode`, which names the known nodes."""
    if not Node.objects.filter(name=name).exists():
        raise _unknown(name)


def _unknown(name: str) -> UnknownNode:
    known = ", ".join(Node.objects.order_by("name").values_list("name", flat=True)) or "none"
    return UnknownNode(f"there is no node {name}; known: {known}")


def sweep_expired() -> list[Swept]:
    with control_transaction() as cursor:
        cursor.execute("SELECT table_id, version, node, incarnation, expires_at FROM lease_sweep()")
        return [Swept(*row) for row in cursor.fetchall()]


SILENT = """
    UPDATE leases_node n SET state = 'down'
    WHERE n.state <> 'down' AND n.heartbeat_at < clock_timestamp() - make_interval(secs => %s)
    RETURNING n.name, n.heartbeat_at,
        (SELECT max(l.expires_at) FROM leases_lease l WHERE l.node = n.name AND l.expires_at > clock_timestamp())
"""
BACK = """
    UPDATE leases_node n SET state = CASE WHEN n.is_drain_asked THEN 'draining' ELSE 'up' END
    WHERE n.state = 'down' AND n.heartbeat_at >= clock_timestamp() - make_interval(secs => %s)
    RETURNING n.name
"""


def watch_nodes() -> None:
    """Reports once when a node falls silent, and once when it answers again."""
    with control_transaction() as cursor:
        cursor.execute(SILENT, [SILENT_AFTER_S])
        silent = cursor.fetchall()
        cursor.execute(BACK, [SILENT_AFTER_S])
        back = cursor.fetchall()
        for name, since, until in sorted(silent):
            payload = {"node": name, "since": since.isoformat()}
            if until is None:
                append_event("node silent without leases", name, payload, [CLUSTER])
            else:
                append_event("node silent", name, payload | {"until": until.isoformat()}, [CLUSTER])
        for (name,) in sorted(back):
            append_event("node back", name, {"node": name}, [CLUSTER])
