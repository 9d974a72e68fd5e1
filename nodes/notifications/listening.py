"""The channels that one session listens to, as its transactions leave them, and what has come for it. LISTEN and
UNLISTEN count from COMMIT on, as in PostgreSQL. A client that lets more than `WAITING_BYTES_MAX` wait is disconnected,
so that it knows of the gap."""

from collections import deque
from dataclasses import dataclass, field

from expressions.errors import OUT_OF_MEMORY, FatalError, SqlError
from nodes.execution.held_rows import HeldRows
from nodes.notifications.pieces import Notification

WAITING_BYTES_MAX = 4 * 2**20
ENTRY_BYTES = 300
ALL = ""
"""UNLISTEN of every channel."""


@dataclass(eq=False)
class Listening:
    held: HeldRows
    channels: dict[str, None] = field(default_factory=dict)
    """In the order in which they were first listened to."""
    _undecided: list[tuple[int, bool, str]] = field(default_factory=list)
    """LISTEN and UNLISTEN of the transaction: after which savepoint, whether to listen, and to which channel."""
    waiting: deque[Notification] = field(default_factory=deque)
    _waiting_bytes: int = 0

    def ask(self, channel: str, *, listens: bool, savepoint: int) -> None:
        self._undecided.append((savepoint, listens, channel))

    def return_to(self, savepoint: int) -> None:
        self._undecided = [asked for asked in self._undecided if asked[0] < savepoint]

    def end(self, *, committed: bool) -> None:
        decided, self._undecided = self._undecided, []
        for _, listens, channel in decided if committed else ():
            if listens:
                self.channels.setdefault(channel)
            elif channel == ALL:
                self.channels.clear()
            else:
                self.channels.pop(channel, None)

    def receive(self, notification: Notification) -> None:
        """Have it wait, if it is for this session. Raises `FatalError` when too much does."""
        if notification.channel not in self.channels:
            return
        size = size_of(notification)
        try:
            if self._waiting_bytes + size > WAITING_BYTES_MAX:
                raise SqlError(OUT_OF_MEMORY, f"more than {WAITING_BYTES_MAX} bytes of notifications wait")
            self.held.take(size)
        except SqlError as error:
            message = f"terminating connection: its notifications were not taken, {error.message}"
            hint = "read what comes, and keep transactions of a session that listens short"
            raise FatalError(error.sqlstate, message, hint=hint) from error
        self.waiting.append(notification)
        self._waiting_bytes += size

    def next(self) -> Notification | None:
        """Take the next one for the client; those of channels that it has left meanwhile are nothing to it."""
        while self.waiting:
            notification = self.waiting.popleft()
            self._waiting_bytes -= (size := size_of(notification))
            self.held.give(size)
            if notification.channel in self.channels:
                return notification
        return None

    def close(self) -> None:
        self.channels.clear()
        self.next()


def size_of(notification: Notification) -> int:
    return ENTRY_BYTES + len(notification.channel) + len(notification.payload)
