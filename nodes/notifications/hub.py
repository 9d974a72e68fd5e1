"""A node's listener at PostgreSQL, and its sessions that listen. One session at the store listens for all, from the
first LISTEN on. When it is lost, messages may have been missed: the sessions that listen are ended, and their clients
connect and look anew, as after a restart of PostgreSQL."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg

from expressions.errors import CONNECTION_FAILURE, FatalError, SqlError
from nodes.notifications.listening import Listening
from nodes.notifications.pieces import STORE_CHANNEL, Assembler, Notification
from nodes.store.pipeline import CONNECT_S_MAX, first_line

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Hub:
    """The sessions of a node that listen: each with what to call when something has come, or when it has to end."""

    dsn: str
    application_name: str
    listeners: dict[Listening, tuple[Callable[[], None], Callable[[FatalError], None]]] = field(default_factory=dict)
    _task: "asyncio.Task[None] | None" = None
    _is_listening: "asyncio.Future[None] | None" = None

    async def join(self, listening: Listening, deliver: Callable[[], None], end: Callable[[FatalError], None]) -> None:
        """Have this session hear what is sent from now on. Raises 08006 when the store does not answer."""
        self.listeners[listening] = deliver, end
        if self._task is None or self._task.done():
            self._is_listening = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._listen(self._is_listening), name="listening to NOTIFY")
        assert self._is_listening is not None
        try:
            await asyncio.shield(self._is_listening)
        except psycopg.OperationalError as error:
            raise SqlError(CONNECTION_FAILURE, f"the store does not answer: {first_line(error)}") from error

    def leave(self, listening: Listening) -> None:
        self.listeners.pop(listening, None)

    async def _listen(self, is_listening: "asyncio.Future[None]") -> None:
        why: Exception
        try:
            async with await psycopg.AsyncConnection.connect(
                self.dsn, autocommit=True, application_name=self.application_name, connect_timeout=CONNECT_S_MAX
            ) as connection:
                await connection.execute(f"LISTEN {STORE_CHANNEL}")
                is_listening.set_result(None)
                assembler = Assembler()
                async for note in connection.notifies():
                    try:
                        notification = assembler.take(note.payload)
                    except (ValueError, TypeError) as error:
                        log.warning("a notification that no node has sent: %s", error)
                    else:
                        if notification is not None:
                            self._hand_on(notification)
            why = psycopg.OperationalError("the store closed the session")
        except psycopg.OperationalError as error:
            why = error
        if not is_listening.done():
            is_listening.set_exception(why)
            is_listening.exception()  # whoever waits for it has it, which may be nobody
        log.warning("nobody hears notifications any more: %s", first_line(why))
        listeners, self.listeners = self.listeners, {}
        for _, end in listeners.values():
            message = f"terminating connection: notifications may be lost, {first_line(why)}"
            end(FatalError(CONNECTION_FAILURE, message, hint="connect and LISTEN again, and look what has changed"))

    def _hand_on(self, notification: Notification) -> None:
        for listening, (deliver, end) in list(self.listeners.items()):
            try:
                listening.receive(notification)
            except FatalError as error:
                self.leave(listening)
                end(error)
            else:
                deliver()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
