"""A client that speaks the protocol byte by byte, for tests of what libraries never send."""

import socket
import struct
from dataclasses import dataclass, field


@dataclass
class Raw:
    """One TCP connection. `receives`: bytes that the system takes while nobody reads, if that matters."""

    port: int
    receives: int | None = None
    sock: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.sock = socket.socket()
        self.sock.settimeout(10)
        if self.receives is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receives)
        self.sock.connect(("127.0.0.1", self.port))

    def __enter__(self) -> "Raw":
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def startup(self, *, version: int = 196608, **parameters: str) -> list[tuple[bytes, bytes]]:
        """Connect; everything up to ReadyForQuery or the end."""
        chosen = {"user": "raw", "database": "schemalab", **parameters}
        body = b"".join(k.encode() + b"\0" + v.encode() + b"\0" for k, v in chosen.items()) + b"\0"
        self.send(struct.pack("!ii", len(body) + 8, version) + body)
        return self.until_ready()

    def until_ready(self) -> list[tuple[bytes, bytes]]:
        found = []
        while (message := self.message()) is not None:
            found.append(message)
            if message[0] == b"Z":
                break
        return found

    def message(self) -> tuple[bytes, bytes] | None:
        head = self.exactly(5)
        if len(head) < 5:
            return None
        return head[:1], self.exactly(struct.unpack("!i", head[1:])[0] - 4)

    def exactly(self, count: int) -> bytes:
        got = b""
        while len(got) < count:
            try:
                part = self.sock.recv(count - len(got))
            except ConnectionResetError:
                break
            if not part:
                break
            got += part
        return got


def ask(raw: Raw, *messages: bytes) -> list[tuple[bytes, bytes]]:
    """What these messages are answered with, up to ReadyForQuery."""
    raw.send(b"".join(messages))
    return raw.until_ready()


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def query(sql: str) -> bytes:
    return message(b"Q", sql.encode() + b"\0")


def parse(sql: str, name: str = "", oids: tuple[int, ...] = ()) -> bytes:
    types = b"".join(struct.pack("!i", oid) for oid in oids)
    return message(b"P", name.encode() + b"\0" + sql.encode() + b"\0" + struct.pack("!h", len(oids)) + types)


def bind(
    *values: bytes | None,
    name: str = "",
    portal: str = "",
    formats: tuple[int, ...] = (),
    results: tuple[int, ...] = (),
) -> bytes:
    body = portal.encode() + b"\0" + name.encode() + b"\0"
    body += struct.pack(f"!h{len(formats)}h", len(formats), *formats) + struct.pack("!h", len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return message(b"B", body + struct.pack(f"!h{len(results)}h", len(results), *results))


def describe(kind: bytes = b"P", name: str = "") -> bytes:
    return message(b"D", kind + name.encode() + b"\0")


def execute(rows_max: int = 0, portal: str = "") -> bytes:
    return message(b"E", portal.encode() + b"\0" + struct.pack("!i", rows_max))


SYNC = message(b"S")


def kinds(messages: list[tuple[bytes, bytes]]) -> str:
    """The kinds of messages, notices left out."""
    return "".join(kind.decode() for kind, _ in messages if kind not in (b"N", b"S"))


def fields(error: bytes) -> dict[str, str]:
    """The fields of an ErrorResponse or NoticeResponse."""
    return {part[:1].decode(): part[1:].decode() for part in error.split(b"\0") if part}


def rows(messages: list[tuple[bytes, bytes]]) -> list[tuple[bytes | None, ...]]:
    """The values of the DataRows."""
    found = []
    for kind, body in messages:
        if kind == b"D":
            values: list[bytes | None] = []
            offset = 2
            for _ in range(struct.unpack_from("!h", body)[0]):
                (length,) = struct.unpack_from("!i", body, offset)
                offset += 4
                values.append(None if length < 0 else body[offset : offset + length])
                offset += max(length, 0)
            found.append(tuple(values))
    return found
