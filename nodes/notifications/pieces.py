"""A notification as PostgreSQL carries it: NOTIFY on one channel of the store, sent by the transaction itself. Pure.

    n1 17 5 0f3a.. 1/2 4 news<payload>      node, incarnation, number of the session, digest, piece, length of the name

So rollback, order and the folding of equal ones are PostgreSQL's. The store takes less than 8000 bytes at a time, so a
long one goes in two pieces. The digest keeps different notifications apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from zlib import crc32

from expressions.errors import INVALID_PARAMETER_VALUE, SqlError

STORE_CHANNEL = "schemalab_sql"
CHANNEL_BYTES_MAX = 63
PAYLOAD_BYTES_MAX = 7999
PIECE_BYTES = 7000
ELSEWHERE = 1 << 30
"""Numbers of sessions of other nodes begin here: none is that of a session of one's own."""


@dataclass(frozen=True, slots=True)
class Sender:
    node: str
    incarnation: int
    pid: int

    def seen_from(self, node: str, incarnation: int) -> int:
        """The number by which a session of another node, or of this one, knows it."""
        if (self.node, self.incarnation) == (node, incarnation):
            return self.pid
        return ELSEWHERE | (crc32(f"{self.node} {self.incarnation}".encode()) & 0xFFFF) << 14 | self.pid & 0x3FFF


@dataclass(frozen=True, slots=True)
class Notification:
    sender: Sender
    channel: str
    payload: str


def check(channel: str, payload: str) -> None:
    """Raises 22023 for what PostgreSQL does not take."""
    if not channel:
        raise SqlError(INVALID_PARAMETER_VALUE, "channel name cannot be empty")
    if len(channel.encode()) > CHANNEL_BYTES_MAX:
        raise SqlError(INVALID_PARAMETER_VALUE, "channel name too long")
    if len(payload.encode()) > PAYLOAD_BYTES_MAX:
        raise SqlError(INVALID_PARAMETER_VALUE, "payload string too long")


def pieces_of(notification: Notification) -> list[str]:
    body = notification.channel + notification.payload
    parts: list[str] = []
    left = body.encode()
    while left or not parts:
        part = left[:PIECE_BYTES].decode(errors="ignore")
        parts.append(part)
        left = left[len(part.encode()) :]
    sender, length = notification.sender, len(notification.channel)
    digest = blake2b(f"{length} {body}".encode(), digest_size=12).hexdigest()
    head = f"{sender.node} {sender.incarnation} {sender.pid} {digest}"
    return [f"{head} {number}/{len(parts)} {length} {part}" for number, part in enumerate(parts, start=1)]


@dataclass(eq=False)
class Assembler:
    _digest: str = ""
    _parts: Sequence[str] = ()

    def take(self, piece: str) -> Notification | None:
        """The notification that is complete with this piece. Raises `ValueError` for what is none."""
        node, incarnation, pid, digest, place, length, part = piece.split(" ", 6)
        number, count = map(int, place.split("/"))
        before = self._parts if digest == self._digest else ()
        if len(before) != number - 1:
            raise ValueError(f"piece {place} of a notification without those before it")
        self._digest, self._parts = digest, (*before, part)
        if number < count:
            return None
        body, self._digest, self._parts = "".join(self._parts), "", ()
        return Notification(Sender(node, int(incarnation), int(pid)), body[: int(length)], body[int(length) :])
