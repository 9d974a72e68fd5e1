"""Repeats a statement as a heartbeat while work lasts."""

import logging
import threading
from collections.abc import Callable
from typing import Any

import psycopg

log = logging.getLogger(__name__)

BEAT_S = 0.25
END_S_MAX = 10.0

Connection = psycopg.Connection[Any]
Beat = Callable[[Connection], object]


class Heartbeat:
    """Calls `beat` from its own thread every `beat_s` seconds, and once at the end."""

    def __init__(self, owner: str, beat: Beat, *, dsn: str, beat_s: float = BEAT_S) -> None:
        self._owner, self._beat, self._dsn, self._beat_s = owner, beat, dsn, beat_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat of {owner}", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=END_S_MAX)

    def _run(self) -> None:
        connection: Connection | None = None
        is_last = False
        while True:
            try:
                if connection is None or connection.closed:
                    connection = psycopg.connect(self._dsn, autocommit=True, application_name="schemalab heartbeat")
                self._beat(connection)
            except psycopg.OperationalError as error:
                log.warning("heartbeat of %s missed: %s", self._owner, error)
                connection = None
            if is_last:
                break
            is_last = self._stop.wait(self._beat_s)
        if connection is not None:
            connection.close()
