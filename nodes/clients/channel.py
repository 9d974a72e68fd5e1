"""A client's connection as a stream of messages, with limits in both directions. A client that sends faster than it is
served is stopped. What is sent is gathered until `flush`, or until it is large, and waits while the client does not
read."""

import asyncio
import ssl
import struct
from collections.abc import Callable
from typing import cast

from expressions.errors import PROTOCOL_VIOLATION, FatalError
from nodes.wire.messages import COPY_MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX, STARTUP_BYTES_MAX

READ_AHEAD_BYTES = 256 * 1024
WRITE_BEHIND_BYTES = 64 * 1024
GOODBYE_S_MAX = 10.0
"""A client that does not take the last that was written to it is disconnected after this."""
KINDS = frozenset(b"QPBDECHSpXFdcf")
DATA = ord("d")
PLAIN_KINDS = KINDS - {DATA}
DATA_BYTES_MAX = 64 * 1024
"""Of the data for COPY, in one go."""

_INT = struct.Struct("!i")
_HEAD = struct.Struct("!Bi")
HEAD_BYTES = _HEAD.size


class Channel(asyncio.Protocol):
    """Messages of one client. `on_connect` is called with the channel when the client arrives."""

    def __init__(self, on_connect: Callable[["Channel"], None], on_lost: Callable[["Channel"], None]) -> None:
        self._on_connect = on_connect
        self._on_lost = on_lost
        self._received = bytearray()
        self._wanted: asyncio.Future[None] | None = None
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._writable: asyncio.Future[None] | None = None
        self._is_reading = True
        self._data_left = 0
        self._closing: asyncio.TimerHandle | None = None
        self.is_lost = False
        self.is_encrypted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._loop = asyncio.get_running_loop()
        self._on_connect(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._is_reading and len(self._received) > READ_AHEAD_BYTES and self._wanted is None:
            self._is_reading = False
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        if self._closing is not None:
            self._closing.cancel()
        self._wake()
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._on_lost(self)

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    @property
    def address(self) -> str:
        return str((self.transport.get_extra_info("peername") or ("",))[0])

    def refuse_unread(self) -> None:
        """Raises 08P01 when the client has sent more than was read."""
        if self._received:
            raise FatalError(
                PROTOCOL_VIOLATION,
                "received unencrypted data after SSL request",
                detail="This could be either a client-software bug or evidence of somebody in between.",
            )

    async def encrypt(self, context: ssl.SSLContext) -> None:
        """Go on over TLS. Raises `ConnectionResetError` when the client does not."""
        try:
            transport = await self._loop.start_tls(self.transport, self, context, server_side=True)
        except (OSError, ssl.SSLError) as error:
            raise ConnectionResetError(f"no TLS: {error}") from error
        if transport is None:
            raise ConnectionResetError
        self.transport, self.is_encrypted = cast(asyncio.Transport, transport), True

    async def startup_packet(self) -> tuple[int, bytes]:
        """The code and body of an untyped packet. Refuses a length that no startup packet has: garbage."""
        (length,) = _INT.unpack(await self._take(4))
        if not 8 <= length <= STARTUP_BYTES_MAX:
            raise FatalError(
                PROTOCOL_VIOLATION, "invalid length of startup packet: this port speaks PostgreSQL's protocol"
            )
        (code,) = _INT.unpack(await self._take(4))
        return code, bytes(await self._take(length - 8))

    def message_at_hand(self) -> tuple[int, bytes] | None:
        """The next message, if all of it is there and it is none that `message` treats apart."""
        received = self._received
        if len(received) < HEAD_BYTES or self._data_left:
            return None
        kind, length = _HEAD.unpack_from(received)
        end = length + 1
        if kind not in PLAIN_KINDS or not HEAD_BYTES <= end <= len(received) or length > MESSAGE_BYTES_MAX:
            return None
        body = bytes(received[HEAD_BYTES:end])
        del received[:end]
        return kind, body

    async def message(self) -> tuple[int, bytes]:
        """The kind and body of the next message. Skips data of a COPY that is over. Raises `ConnectionResetError`."""
        if not self._data_left:
            await self._peek(HEAD_BYTES)
            at_hand = self.message_at_hand()
            if at_hand is not None:
                return at_hand
        kind, body = await self.data()
        while self._data_left:
            await self.data()
        return kind, body

    async def data(self) -> tuple[int, bytes]:
        """The next message, as `message`; but of data for COPY no more than is there, however long it is."""
        if not self._data_left:
            head = await self._peek(HEAD_BYTES)
            kind, length = _HEAD.unpack_from(head)
            if kind not in KINDS:
                raise FatalError(PROTOCOL_VIOLATION, f"invalid frontend message type {kind}")
            most = MESSAGE_BYTES_MAX if kind != DATA else COPY_MESSAGE_BYTES_MAX
            if not 4 <= length <= most:
                message = f"invalid message length {length}: a message has 4 to {most} bytes"
                raise FatalError(PROTOCOL_VIOLATION, message)
            if kind != DATA:
                return kind, bytes((await self._take(length + 1))[5:])
            await self._take(5)
            self._data_left = length - 4
            if not self._data_left:
                return kind, b""
        there = await self._peek(1)
        taken = bytes(there[: min(self._data_left, DATA_BYTES_MAX)])
        del self._received[: len(taken)]
        self._data_left -= len(taken)
        return DATA, taken

    def kind_at_hand(self) -> int | None:
        return self._received[0] if self._received else None

    async def next_kind(self) -> int:
        return (await self._peek(1))[0]

    def send(self, data: bytes) -> None:
        self._out.append(data)
        self._out_bytes += len(data)

    @property
    def is_full(self) -> bool:
        """Enough is gathered, or written and not taken, for the client to read before more is made."""
        return self._out_bytes >= WRITE_BEHIND_BYTES or self._writable is not None

    def flush_at_once(self) -> bool:
        """Write what is gathered; True if the client takes it, so that nobody has to wait."""
        self.write()
        return self._writable is None and not self.is_lost

    async def flush(self) -> None:
        self.write()
        if self._writable is not None:
            await asyncio.shield(self._writable)  # a cancelled statement is over, the client's slowness is not
        if self.is_lost:
            raise ConnectionResetError

    def write(self) -> None:
        if self._out and not self.is_lost:
            self.transport.write(b"".join(self._out))
        self._out.clear()
        self._out_bytes = 0

    def close(self) -> None:
        """End the connection when what is written has been taken, or after `GOODBYE_S_MAX`."""
        self.write()
        self.transport.close()
        if not self.is_lost:
            self._closing = self._loop.call_later(GOODBYE_S_MAX, self.transport.abort)

    async def _peek(self, count: int) -> bytearray:
        while len(self._received) < count:
            if self.is_lost:
                raise ConnectionResetError
            if not self._is_reading:
                self._is_reading = True
                self.transport.resume_reading()
            self._wanted = self._loop.create_future()
            try:
                await self._wanted
            finally:
                self._wanted = None
        return self._received

    async def _take(self, count: int) -> bytearray:
        taken = (await self._peek(count))[:count]
        del self._received[:count]
        return taken

    def _wake(self) -> None:
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)
