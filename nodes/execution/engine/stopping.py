"""Ends the functions of ours that the engine calls: it looks up between two blocks of rows, and in a block they do.

A block has 2,048 rows, and a function that takes a tenth of a second for each would go on for minutes after the query
was cancelled. So before each value it looks whether its thread is to stop, which is rarely the case for any.
"""

from collections.abc import Callable
from threading import Lock, get_ident
from time import clock_gettime, pthread_getcpuclockid, thread_time
from typing import Any

from expressions.errors import QUERY_CANCELED, SqlError

to_stop: set[int] = set()
"""The threads whose work is to stop."""


class Stoppable:
    """Some work of a thread, which may be cancelled while it is under way, or just before."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work, self._lock = work, Lock()
        self._thread: int | None = None
        self._is_stopped = False
        self._began = 0.0

    def __call__(self) -> Any:
        with self._lock:
            if self._is_stopped:
                raise cancelled()
            self._thread, self._began = get_ident(), thread_time()
        try:
            return self._work()
        finally:
            with self._lock:
                to_stop.discard(get_ident())
                self._thread = None

    def spent_s(self) -> float:
        """Processor time that the work has had so far; none before and after it."""
        with self._lock:
            if self._thread is None:
                return 0.0
            return clock_gettime(pthread_getcpuclockid(self._thread)) - self._began

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            if self._thread is not None:
                to_stop.add(self._thread)


def stop_if_cancelled() -> None:
    """Raises 57014 where the query of this thread is cancelled."""
    if get_ident() in to_stop:
        raise cancelled()


def cancelled() -> SqlError:
    return SqlError(QUERY_CANCELED, "canceling statement due to user request")
