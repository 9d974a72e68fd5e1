"""Lowers the priority of Spark's processes and of sessions that read for them, as far as permitted. Sessions that write
keep theirs, since writers may wait for them, and so does Spark itself, with its heartbeats. With autogroups each
session of PostgreSQL has its own niceness."""

import logging
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg

log = logging.getLogger(__name__)

NICENESS = 5
"""A third of the share of others. Of much more nothing would be left where the processors are never idle."""
PEER = struct.Struct("3i")


def lowered(work: Callable[[], Iterator[str]]) -> Iterator[str]:
    """The results of `work`, done by a thread with lower priority: niceness only goes down, and belongs to the
    thread."""
    with ThreadPoolExecutor(1, "polite", initializer=_lower_thread) as polite:
        yield from polite.submit(lambda: list(work())).result()


def _lower_thread() -> None:
    _lower(threading.get_native_id())


def _lower(pid: int) -> None:
    try:
        if os.getpriority(os.PRIO_PROCESS, pid) < NICENESS:
            os.setpriority(os.PRIO_PROCESS, pid, NICENESS)
    except OSError as error:
        log.debug("the priority of process %s stays: %s", pid, error)


def lower_server(connection: psycopg.Connection[Any]) -> None:
    """Lowers a connection's server process, if on this machine."""
    pid = connection.info.backend_pid
    if not _is_child_of_peer(connection, pid):
        return
    _lower(pid)
    try:
        Path(f"/proc/{pid}/autogroup").write_text(str(NICENESS))
    except OSError as error:
        log.debug("the priority of the group of process %s stays: %s", pid, error)


def _is_child_of_peer(connection: psycopg.Connection[Any], pid: int) -> bool:
    """True for a child of the process at the other end of a local socket."""
    if not connection.info.host.startswith("/"):
        return False
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as end:
            listening, _, _ = PEER.unpack(end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size))
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return parent == listening > 0  # 0 is whoever lives in another container: then so does the session
    except (OSError, AttributeError, ValueError, IndexError) as error:
        log.debug("the server process %s is not known here: %s", pid, error)
        return False
