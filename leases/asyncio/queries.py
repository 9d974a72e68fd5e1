"""The requests of a node's lease machine to the database. Acquisitions and releases may wait for a publisher. So
renewals and heartbeats have a session of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from catalog.descriptor import from_json
from catalog.elements import TableId
from leases.asyncio.session import Row, Session, Unreachable
from leases.gossip import News
from leases.node.uses import Schema
from leases.node.vocabulary import Acquired, AcquireFailed, Renewal, Renewed, RenewOutcome

REQUEST_SHARE, REQUEST_S_MAX = 0.2, 2.0
"""A request may take this share of a lease, and at most so long."""
TRIES_MAX = 2
"""So often a request is made before it counts as failed: once for a session that is found dead."""

ACQUIRE = "CALL node_acquire(%s, %s, %s, %s, NULL, NULL, NULL, NULL, NULL, NULL)"
REFUSAL = "SELECT lease_refusal(%s)"
RENEW = "SELECT table_id, version, expires_at, remaining_s, outcome FROM lease_renew(%s, %s, %s, %s)"
RELEASE = "CALL node_release(%s, %s, %s, %s, NULL)"
HEARTBEAT = """
    SELECT node_heartbeat(%s, %s), ARRAY(
        SELECT jsonb_build_array(d.table_id, max(d.version))
        FROM catalog_descriptor d
        WHERE d.table_id = ANY (%s)
            AND NOT EXISTS (SELECT FROM leases_news_withheld_now w WHERE w.table_id = d.table_id AND w.node = %s)
        GROUP BY d.table_id), ARRAY(
        SELECT jsonb_build_array(l.table_id, l.version)
        FROM leases_lease l WHERE l.table_id = ANY (%s) AND l.node = %s AND l.incarnation = %s)
"""


class Superseded(Exception):
    """A newer incarnation of this node is registered (L10)."""


class DrainAsked(Exception):
    """An operator drains this node."""


@dataclass(frozen=True, slots=True)
class Leased:
    """A lease was granted; `acquired` is for the machine."""

    acquired: Acquired
    schema: Schema


@dataclass(frozen=True, slots=True)
class Pulse:
    """The answer to a heartbeat: draining or not, newest versions, existing leases. So lost news costs a second."""

    is_drain_asked: bool
    news: tuple[News, ...]
    leased: frozenset[tuple[TableId, int]]


class Queries:
    """The requests of one incarnation. All raise `Unreachable` without an answer in time."""

    def __init__(self, *, dsn: str, node: str, incarnation: int, lease_s: float) -> None:
        self._node, self._incarnation, self._lease_s = node, incarnation, lease_s
        name, limit_s = session_name(node, incarnation), min(REQUEST_S_MAX, lease_s * REQUEST_SHARE)
        self._asking = Session(dsn, name=name, request_s_max=limit_s)
        self._living = Session(dsn, name=name, request_s_max=limit_s)

    async def acquire(self, table: TableId) -> Leased | AcquireFailed:
        """The newest version, leased if its coordination says so. Raises `Superseded` and `DrainAsked`."""
        rows = await self._ask(ACQUIRE, [table, self._node, self._incarnation, self._lease_s])
        version, body, schema_hash, sharding_hash, expires_at, remaining_s = rows[0]
        if version is None:
            reason = (await self._ask(REFUSAL, [table]))[0][0]
            if reason is None:
                return AcquireFailed(table, "the table has only just become leasable: try again")
            return AcquireFailed(table, reason, gone=True)
        descriptor = from_json(body)
        return Leased(
            Acquired(
                table,
                version,
                expires_at.timestamp(),
                remaining_s,
                descriptor.name,
                is_leased=descriptor.coordination.has_leases,
            ),
            Schema(descriptor, schema_hash, sharding_hash),
        )

    async def release(self, table: TableId, version: int) -> None:
        await self._ask(RELEASE, [table, version, self._node, self._incarnation])

    async def renew(self, tables: Sequence[TableId]) -> Renewed:
        """Extends the leases on these tables, in one statement (L5)."""
        params = [self._node, self._incarnation, self._lease_s, list(tables)]
        rows = await self._living.run(RENEW, params, tries_max=TRIES_MAX)
        return Renewed(tuple(_outcome(*row) for row in rows))

    async def heartbeat(self, tables: Sequence[TableId]) -> Pulse:
        """Raises `Superseded`."""
        mine, asked = [self._node, self._incarnation], list(tables)
        rows = await self._living.run(HEARTBEAT, [*mine, asked, self._node, asked, *mine], tries_max=1)
        state, newest, leased = rows[0]
        if state is None:
            raise self._superseded()
        news = tuple(News(TableId(table), version) for table, version in newest)
        return Pulse(state == "draining", news, frozenset((TableId(table), version) for table, version in leased))

    async def _ask(self, query: str, params: Sequence[Any]) -> list[Row]:
        try:
            return await self._asking.run(query, params, tries_max=TRIES_MAX)
        except psycopg.Error as error:
            if error.sqlstate == "SL101":
                raise self._superseded() from error
            if error.sqlstate == "SL102":
                raise DrainAsked from error
            raise Unreachable(str(error)) from error

    def _superseded(self) -> Superseded:
        return Superseded(f"node {self._node} runs as a newer incarnation than {self._incarnation}")

    def abandon(self) -> None:
        self._asking.abandon()
        self._living.abandon()

    async def close(self) -> None:
        await self._asking.close()
        await self._living.close()


def _outcome(
    table: int, version: int | None, expires_at: datetime | None, remaining_s: float | None, outcome: str
) -> RenewOutcome:
    if expires_at is None or remaining_s is None:
        return RenewOutcome(TableId(table), version or 0, Renewal(outcome))
    return RenewOutcome(TableId(table), version or 0, Renewal(outcome), expires_at.timestamp(), remaining_s)


def session_name(node: str, incarnation: int) -> str:
    """The name of a node's database sessions, by which they can be ended (L8, L10)."""
    return f"schemalab node {node} {incarnation}"
