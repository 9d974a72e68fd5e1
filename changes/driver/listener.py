"""A wait that ends on a notification, on the thread's own connection: each transaction that ends a driver's wait
notifies. Listen first, then look, then wait: the connection keeps notifications that come in between."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any

import psycopg
from django.db import connection


class Listener:
    """Listens on channels until closed. Not for use in a transaction, where the server delays notifications."""

    def __init__(self, *channels: str) -> None:
        self._channels = channels
        self._listening: psycopg.Connection[Any] | None = None
        self._listen()

    def _listen(self) -> None:
        connection.ensure_connection()
        self._listening = connection.connection
        for channel in self._channels:
            self._listening.execute(f"LISTEN {channel}")

    def wait(self, wanted: Collection[tuple[str, str]], timeout_s: float) -> bool:
        """True when another session notified one of `wanted` (channel, payload) within `timeout_s`; also after a
        reconnect, since notifications may have been missed."""
        if self._listening is not connection.connection or self._listening is None:
            self._listen()
            return True
        own, end = self._listening.info.backend_pid, time.monotonic() + timeout_s
        while (left_s := end - time.monotonic()) > 0:
            notes = list(self._listening.notifies(timeout=left_s, stop_after=1))
            if any((note.channel, note.payload) in wanted and note.pid != own for note in notes):
                list(self._listening.notifies(timeout=0))  # who wakes looks at all that has come until then
                return True
        return False

    def close(self) -> None:
        if self._listening is not None and self._listening is connection.connection:
            with suppress(psycopg.Error):
                for channel in self._channels:
                    self._listening.execute(f"UNLISTEN {channel}")
        self._listening = None
