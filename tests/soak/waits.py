"""Waits for answers and their beginnings. A client that got none within its limit is a violation, and is cut off."""

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import psycopg

from tests.soak.chronicle import Chronicle

ANSWER_S_MAX = 60.0
LOOK_S = 1.0


@dataclass(slots=True)
class Wait:
    who: str
    what: str
    limit_s: float
    since: float
    connection: "psycopg.Connection | None"
    is_reported: bool = False


class Waits:
    """All waits of all clients; `longest_s` is of those that had the usual limit."""

    def __init__(self, chronicle: Chronicle) -> None:
        self._chronicle = chronicle
        self._open: dict[int, Wait] = {}
        self._numbers = itertools.count()
        self._over = threading.Event()
        self.longest_s, self.longest = 0.0, ""
        self._thread = threading.Thread(target=self._look, daemon=True, name="waits")
        self._thread.start()

    @contextlib.contextmanager
    def wait(
        self, who: str, what: str, connection: "psycopg.Connection | None" = None, *, limit_s: float = ANSWER_S_MAX
    ) -> Iterator[None]:
        number, one = next(self._numbers), Wait(who, what, limit_s, time.monotonic(), connection)
        self._open[number] = one
        try:
            yield
        finally:
            del self._open[number]
            took_s = time.monotonic() - one.since
            if limit_s == ANSWER_S_MAX and took_s > self.longest_s:
                self.longest_s, self.longest = took_s, f"{who}: {what}"

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            for one in list(self._open.values()):
                if time.monotonic() - one.since > one.limit_s and not one.is_reported:
                    one.is_reported = True
                    self._chronicle.violation(one.who, f"no answer within {one.limit_s:g} s: {one.what}")
                    cut_off(one.connection)

    def close(self) -> None:
        self._over.set()
        self._thread.join()


def cut_off(connection: "psycopg.Connection | None") -> None:
    """End the socket under a connection: whoever reads from it hears of it."""
    if connection is None or connection.closed:
        return
    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=connection.fileno()) as one:
        try:
            one.shutdown(socket.SHUT_RDWR)
        finally:
            one.detach()
