"""A webhook: one signed POST of JSON (docs/how-to/be-notified.md), within a time, without redirects and proxies of the
environment, so that only the operator decides which machine gets the request."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

SECONDS_MAX = 10.0
ANSWER_BYTES_MAX = 2048
ANSWER_SHOWN = 200


class NotDelivered(Exception):
    """The other side did not take the message; it may later."""


def post(address: str, message: dict[str, Any], *, delivery: str, secret: str) -> str:
    """Sends the message; returns the status line. Raises `NotDelivered`."""
    body = json.dumps(message | {"delivery": delivery}, ensure_ascii=False).encode()
    timestamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": "SchemaLab",
        "X-Schemalab-Delivery": delivery,
        "X-Schemalab-Timestamp": timestamp,
        "X-Schemalab-Signature": f"sha256={signature(secret, timestamp, body)}",
    }
    parts = urlsplit(address)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        with closing(_connection(parts.scheme, parts.hostname or "", parts.port)) as connection, _in_time(connection):
            connection.request("POST", target, body, headers)
            answer = connection.getresponse()
            text = answer.read(ANSWER_BYTES_MAX).decode("utf-8", "replace")
    except (OSError, HTTPException, ValueError) as error:
        raise NotDelivered(f"{type(error).__name__}: {error}"[:ANSWER_SHOWN]) from error
    line = f"{answer.status} {answer.reason}".strip()
    if not 200 <= answer.status < 300:
        raise NotDelivered(f"{line}: {text}"[:ANSWER_SHOWN])
    return line


def signature(secret: str, timestamp: str, body: bytes) -> str:
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def _connection(scheme: str, host: str, port: int | None) -> HTTPConnection:
    if scheme == "https":
        return HTTPSConnection(host, port, timeout=SECONDS_MAX, context=ssl.create_default_context())
    return HTTPConnection(host, port, timeout=SECONDS_MAX)


@contextmanager
def _in_time(connection: HTTPConnection) -> Iterator[None]:
    """Cuts off a server that answers a byte at a time."""
    connection.connect()
    timer = Timer(SECONDS_MAX, cut, [connection.sock])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def cut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it was closed by itself
