"""One connection to a database for single statements: to open another takes fifty times as long as to ask."""

import threading
from typing import Any

import psycopg

_kept: dict[str, "psycopg.Connection[Any]"] = {}


def kept(dsn: str) -> "psycopg.Connection[Any]":
    """In autocommit, for the main thread, which uses it for one thing at a time."""
    assert threading.current_thread() is threading.main_thread()
    if dsn not in _kept or _kept[dsn].closed:
        _kept[dsn] = psycopg.connect(dsn, autocommit=True, prepare_threshold=None)
    return _kept[dsn]


def close_kept() -> None:
    for connection in _kept.values():
        connection.close()
    _kept.clear()
