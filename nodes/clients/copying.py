"""COPY between a node and its client: data is handed on piece by piece, both ways. The beginning of what a client sends
is kept for a while, so that a small COPY can be tried again as an INSERT is."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from expressions import errors
from nodes.clients.channel import Channel
from nodes.clients.portals import Portal
from nodes.wire import messages
from nodes.wire.results import Row

KEPT_BYTES_MAX = 256 * 1024
IGNORED = frozenset(b"HS")
"""Flush and Sync: a client that does not know that its statement was a COPY sends them behind it."""


@dataclass(eq=False)
class CopyData:
    channel: Channel
    clients_turn: Callable[[], AbstractContextManager[None]]
    _kept: list[bytes] = field(default_factory=list)
    _kept_bytes: int = 0
    _columns: tuple[int, ...] | None = None
    """What the client was asked for: the table's id and its columns'. None before that."""

    _is_done: bool = False

    @property
    def has_begun(self) -> bool:
        """True once the client was asked for it: what it is told of its data, it has been told then."""
        return self._columns is not None

    @property
    def can_begin_again(self) -> bool:
        return self._kept_bytes <= KEPT_BYTES_MAX

    async def begin(self, table: int, columns: Sequence[int], *, is_binary: bool) -> None:
        """Asks the client for its data, once. Raises 40001 where another try has other columns: fields of a line would
        become values of columns that the client does not mean."""
        if self.has_begun:
            if self._columns != (table, *columns):
                message = "could not serialize access: the columns changed while COPY read its data"
                raise errors.SqlError(errors.SERIALIZATION_FAILURE, message, hint="Send the data again.")
            return
        self._columns = table, *columns
        self.channel.send(messages.copy_response(b"G", len(columns), is_binary=is_binary))
        with self.clients_turn():
            await self.channel.flush()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The data from its beginning. Raises 57014 when the client gives up."""
        for piece in list(self._kept):
            yield piece
        while not self._is_done:
            with self.clients_turn():
                kind, piece = await self.channel.data()
            match chr(kind):
                case "d":
                    self._kept_bytes += len(piece)
                    if self.can_begin_again:
                        self._kept.append(piece)
                    else:
                        self._kept.clear()
                    yield piece
                case "c":
                    self._is_done = True
                case "f":
                    self._is_done = True
                    why = messages.Reader(piece).text()
                    raise errors.SqlError(errors.QUERY_CANCELED, f"COPY from stdin failed: {why}")
                case _ if kind in IGNORED:
                    pass
                case _:
                    message = f"unexpected message type 0x{kind:02X} during COPY from stdin"
                    raise errors.FatalError(errors.PROTOCOL_VIOLATION, message)

    async def discard(self, *, is_binary: bool) -> None:
        """Take what a client sends for a COPY that is refused, and drop it; nothing when it was asked for already."""
        if self.has_begun:
            return
        await self.begin(0, (), is_binary=is_binary)
        try:
            async for _ in self.pieces():
                pass
        except errors.SqlError as error:
            if error.sqlstate != errors.QUERY_CANCELED:
                raise


async def send_copy(portal: Portal, channel: Channel, flush: Callable[[], Awaitable[None]]) -> None:
    result = portal.result
    assert result is not None
    assert result.copy is not None
    channel.send(messages.copy_response(b"H", result.copy.columns, is_binary=result.copy.is_binary))
    parts: list[Row] | None = result.rows
    result.rows = []
    while parts is not None:
        for [part] in parts:
            channel.send(part or b"")
            if channel.is_full:
                await flush()
        parts = None if result.more is None else await anext(result.more, None)
    result.more = None
    channel.send(messages.COPY_DONE)
    channel.send(messages.command_complete(result.copy.tag))
    portal.is_done = True
