"""A session at the store that a client keeps between its transactions: a cursor WITH HOLD has its rows there. When the
last cursor is closed, DISCARD ALL makes it the pool's again. A pool lets at most half of its sessions be kept, and half
of a user's share of them (53300)."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from expressions.errors import CONNECTION_FAILURE, SqlError
from nodes.store.pipeline import Command, StoreConnection, StoreConnectionLost, StoreError, StorePool
from nodes.store.relay import Relay

log = logging.getLogger(__name__)


@dataclass(eq=False)
class PinnedSession:
    pool: StorePool
    connection: StoreConnection | None = None
    _relay: Relay | None = None

    def keep(self, connection: StoreConnection) -> None:
        """Keep the session of a transaction when that is over. Raises 53300 when too many are kept."""
        if self.connection is None:
            self.pool.pin(connection)
            self.connection = connection

    async def connect(self) -> StoreConnection | None:
        """The session for a transaction; None without one that lives."""
        await self._quiet()
        if self.connection is not None and self.connection.is_lost:
            await self.release()
        return self.connection

    async def run(self, commands: Sequence[Command]) -> "list[Any]":
        await self._quiet()
        assert self.connection is not None
        try:
            return await self.connection.run(commands)
        except StoreConnectionLost as lost:
            message = f"the session at the store that kept this is lost: {lost.message}"
            raise SqlError(CONNECTION_FAILURE, message) from lost
        except StoreError as error:
            raise SqlError(
                error.sqlstate, error.message, detail=error.detail or None, hint=error.hint or None
            ) from error

    def relay(self, commands: Sequence[Command], relay: Relay) -> None:
        relay.begin(asyncio.get_running_loop().create_task(self._relayed(self._relay, commands)))
        self._relay = relay

    async def _relayed(self, before: Relay | None, commands: Sequence[Command]) -> "list[Any]":
        if before is not None:
            await before.drop()
        return await self.run(commands)

    async def _quiet(self) -> None:
        """Rows that are relayed are all sent, or dropped, before their client asks for something else."""
        if self._relay is not None and not self._relay.is_of(asyncio.current_task()):
            relay, self._relay = self._relay, None
            await relay.drop()

    async def release(self) -> None:
        """Give the session back to the pool, with nothing of the client's in it; never fails."""
        await self._quiet()
        connection, self.connection = self.connection, None
        if connection is None:
            return
        try:
            if not connection.is_lost:
                await connection.discard_all()
        except StoreError as error:
            log.warning("a session at the store is closed: %s", error)
            await connection.close()
        except BaseException:
            await connection.close()
            raise
        finally:
            self.pool.put_back(connection)
