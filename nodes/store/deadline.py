"""The deadline of an open transaction at the store, which moves with its leases (T4). Each statement takes a new
deadline along. While none comes, the leases may be renewed: the client may think for longer than those last that the
transaction began under. So it looks itself."""

import asyncio
import datetime as dt
import logging
from typing import Protocol

from nodes.store.entering import arm_command
from nodes.store.pipeline import StoreConnection, StoreConnectionLost, StoreError

log = logging.getLogger(__name__)

LOOK_S = 0.2
"""How often an open transaction looks whether its leases were renewed: often, as a lease is renewed at its half."""


class Bounded(Protocol):
    connection: StoreConnection | None
    armed: dt.datetime | None
    is_over: bool

    @property
    def expires_at(self) -> dt.datetime | None: ...

    async def abandon(self, why: str) -> None: ...


class Deadline:
    """Looks at one transaction from now on. `moving` is the batch that moves its deadline, if one does."""

    __slots__ = ("_looking", "_transaction", "moving")

    def __init__(self, transaction: Bounded) -> None:
        self._transaction = transaction
        self._looking: asyncio.TimerHandle | None = None
        self.moving: asyncio.Task[None] | None = None
        self._look()

    def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()

    def _look_later(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def _look(self) -> None:
        """Move the deadline if all versions pinned were renewed and no statement runs, which would take it along."""
        expires_at, connection = self._transaction.expires_at, self._transaction.connection
        armed = self._transaction.armed
        is_later = expires_at is not None and armed is not None and expires_at > armed
        if is_later and connection is not None and connection.is_ready:
            assert expires_at is not None
            self.moving = asyncio.get_running_loop().create_task(self._move(connection, expires_at))
        elif not self._transaction.is_over:
            self._look_later()

    async def _move(self, connection: StoreConnection, expires_at: dt.datetime) -> None:
        try:
            await connection.run([arm_command(expires_at)])
            self._transaction.armed = expires_at
        except StoreConnectionLost as lost:
            log.info("moving a deadline: %s", lost)  # the next statement reports it
        except StoreError as error:
            await self._transaction.abandon(error.message)
        finally:
            self.moving = None
            if not self._transaction.is_over:
                self._look_later()
