"""A notification as PostgreSQL carries it: NOTIFY on one channel of the store, sent by the transaction itself. Pure.

    0f3a.. 1/2 ["n1", 17, 5, "news", "..      digest, piece, and its part of the notification as JSON

So rollback, order and the folding of equal ones are PostgreSQL's. The store takes less than 8000 bytes at a time, so a
long one goes in pieces. The digest keeps different notifications apart.
"""

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple
from zlib import crc32

from expressions.errors import INVALID_PARAMETER_VALUE, SqlError

STORE_CHANNEL = "schemalab_sql"
CHANNEL_BYTES_MAX = 63
PAYLOAD_BYTES_MAX = 7999
PIECE_BYTES = 7000
ELSEWHERE = 1 << 30
"""Numbers of sessions of other nodes begin here: none is that of a session of one's own."""


class Notification(NamedTuple):
    """`node`, `incarnation` and `pid` are of the session that sent it."""

    node: str
    incarnation: int
    pid: int
    channel: str
    payload: str

    def sender_for(self, node: str, incarnation: int) -> int:
        """The number by which a session of another node, or of this one, knows the sender."""
        if (self.node, self.incarnation) == (node, incarnation):
            return self.pid
        return ELSEWHERE | (crc32(f"{self.node} {self.incarnation}".encode()) & 0xFFFF) << 14 | self.pid & 0x3FFF


def pieces_of(notification: Notification) -> list[str]:
    """Raises 22023 for what PostgreSQL does not take."""
    if not notification.channel:
        raise SqlError(INVALID_PARAMETER_VALUE, "channel name cannot be empty")
    if len(notification.channel.encode()) > CHANNEL_BYTES_MAX:
        raise SqlError(INVALID_PARAMETER_VALUE, "channel name too long")
    if len(notification.payload.encode()) > PAYLOAD_BYTES_MAX:
        raise SqlError(INVALID_PARAMETER_VALUE, "payload string too long")
    left, parts = json.dumps(notification, ensure_ascii=False).encode(), list[str]()
    digest = blake2b(left, digest_size=12).hexdigest()
    while left:
        parts.append(left[:PIECE_BYTES].decode(errors="ignore"))
        left = left[len(parts[-1].encode()) :]
    return [f"{digest} {number}/{len(parts)} {part}" for number, part in enumerate(parts, start=1)]


@dataclass(eq=False)
class Assembler:
    _digest: str = ""
    _parts: tuple[str, ...] = ()

    def take(self, piece: str) -> Notification | None:
        """The notification that is complete with this piece. Raises `ValueError` for what is none."""
        digest, place, part = piece.split(" ", 2)
        number, count = map(int, place.split("/"))
        before = self._parts if digest == self._digest else ()
        if len(before) != number - 1:
            raise ValueError(f"piece {place} of a notification without those before it")
        self._digest, self._parts = digest, (*before, part)
        if number < count:
            return None
        text, self._digest, self._parts = "".join(self._parts), "", ()
        return Notification(*json.loads(text))
