"""Reads of the database beside an event loop, in threads of their own that keep their connections."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from channels.db import DatabaseSyncToAsync

from catalog.database import keep_connections

THREADS = 2


def _done(work: Callable[..., Any], *arguments: Any) -> Any:
    return work(*arguments)


threads = ThreadPoolExecutor(THREADS, "live reads", initializer=keep_connections)
read = DatabaseSyncToAsync(_done, thread_sensitive=False, executor=threads)
"""`await read(work, *arguments)`: what `work` returns."""
