"""Advisory locks of one session, held at the store: `pg_advisory_lock(7)`, over all nodes.

They have a session at the store for themselves, so the store decides who waits, sees deadlocks (40P01), and frees what
a client, or a killed node, has left. The product's own advisory locks have two keys each. So one key is taken as it is,
and two are made one by a digest, in the space of one key, which the product never uses.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from expressions.errors import CONNECTION_FAILURE, FatalError, SqlError
from nodes.clients.protocols import Client
from nodes.store import pipeline

UNLOCK_ALL = pipeline.Command("SELECT pg_advisory_unlock_all()")
WAIT_IN_BLOCK_MS = 10_000
"""Of a transaction that has used a table: who waits for its rows, or, with a schema change, for its version of the
table, is not seen by the store that looks for a deadlock among these locks."""


class Lock(NamedTuple):
    key: int
    is_shared: bool

    @property
    def mode(self) -> str:
        return "ShareLock" if self.is_shared else "ExclusiveLock"

    def command(self, verb: str) -> pipeline.Command:
        name = {"lock": "pg_advisory_lock", "try": "pg_try_advisory_lock", "unlock": "pg_advisory_unlock"}[verb]
        return pipeline.Command(f"SELECT {name}{'_shared' if self.is_shared else ''}(%b)", (pipeline.int8(self.key),))


def key_of(values: list[int]) -> int:
    if len(values) == 1:
        return values[0]
    (key,) = struct.unpack("!q", blake2b(struct.pack("!ii", *values), digest_size=8).digest())
    return int(key)


@dataclass(eq=False)
class AdvisoryLocks:
    pool: pipeline.StorePool
    client: Client
    user: str = ""
    connection: pipeline.StoreConnection | None = None
    _held: dict[Lock, int] = field(default_factory=dict)
    """How often the session holds each."""
    _of_transaction: list[tuple[int, Lock]] = field(default_factory=list)
    """After which savepoint the transaction has taken each."""

    def refuse_lost(self) -> None:
        if self.connection is not None and self.connection.is_lost:
            raise self._lost()

    def _lost(self) -> FatalError:
        why = "" if self.connection is None else self.connection.last_words
        return FatalError(CONNECTION_FAILURE, f"terminating connection: its advisory locks are lost, {why}")

    async def take(self, lock: Lock, *, tries: bool, savepoint: int | None, wait_ms: int) -> bool:
        """Takes a lock, for the transaction after this savepoint or else for the session. False if a try found it held.
        Raises 55P03 when it is not free in time; 0 ms: no limit."""
        self.refuse_lost()
        if self.connection is None:
            self.connection = await self.pool.take(self.user)
        limit = pipeline.Command("SELECT set_config('lock_timeout', %b, false)", (str(wait_ms).encode(),), is_text=True)
        try:
            _, result = await self.connection.run([limit, lock.command("try" if tries else "lock")], commit=True)
        except pipeline.CancelledAtCommit as cancelled:
            has_it = cancelled.error is None and (not tries or cancelled.results[1].get_value(0, 0) == b"\1")
            await self._free([lock] if has_it else [])
            raise cancelled.cancel from None
        except pipeline.StoreConnectionLost as lost:
            raise self._lost() from lost
        except pipeline.StoreError as error:
            await self._free([])
            raise SqlError(error.sqlstate, error.message, detail=error.detail or None) from error
        if tries and result.get_value(0, 0) != b"\1":
            await self._free([])
            return False
        if savepoint is None:
            self._held[lock] = self._held.get(lock, 0) + 1
        else:
            self._of_transaction.append((savepoint, lock))
        return True

    async def give(self, lock: Lock) -> bool:
        """Give back a lock of the session; False, with a warning, if it has none."""
        self.refuse_lost()
        if lock not in self._held:
            self.client.notice(f"you don't own a lock of type {lock.mode}", "WARNING")
            return False
        self._held[lock] -= 1
        if not self._held[lock]:
            del self._held[lock]
        await self._free([lock])
        return True

    async def give_all(self) -> None:
        held, self._held = self._held, {}
        await self._free([lock for lock, count in held.items() for _ in range(count)])

    async def end_transaction(self, *, since: int = 0) -> None:
        """The transaction is over, or what it did since this savepoint."""
        if not self._of_transaction:
            return
        ended = [lock for savepoint, lock in self._of_transaction if savepoint >= since]
        self._of_transaction = [taken for taken in self._of_transaction if taken[0] < since]
        await self._free(ended)

    async def _free(self, locks: Sequence[Lock]) -> None:
        """Gives these back at the store, whose session is left when none remains. A cancel comes too late for it: the
        store would keep what this node forgot, and a COMMIT before it is done."""
        await pipeline.finished(self._unlock(locks))

    async def _unlock(self, locks: Sequence[Lock]) -> None:
        connection, is_free = self.connection, not self._held and not self._of_transaction
        if connection is None:
            return
        if locks and not connection.is_lost:
            try:
                await connection.run([UNLOCK_ALL] if is_free else [lock.command("unlock") for lock in locks])
            except pipeline.StoreError as error:  # the next statement reports it, if locks are lost by that
                await connection.close(error.message)
        if is_free:
            self.connection = None
            self.pool.put_back(connection)

    async def close(self) -> None:
        self._held, self._of_transaction = {}, []
        if self.connection is not None:
            await self.connection.close()
            await self._free([])
