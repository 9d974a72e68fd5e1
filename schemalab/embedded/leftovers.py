"""Ends processes of an earlier PostgreSQL of this home, which would keep a new one from starting: a postmaster that was
frozen when `up` was killed, or a frozen child, which keeps the shared memory.

A process is ours when it runs `postgres` with our data folder as working directory. It is checked and signalled through
one pidfd_open(2), so that a reused number is never signalled. The caller holds the home's lock.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psutil

from schemalab.embedded.locations import Locations

QUIT_S_MAX = 10.0  # a postmaster gives its children five seconds, then kills them
KILL_S_MAX = 5.0
PAUSE_S = 0.05
PID_FILE = "postmaster.pid"


def end_leftovers(locations: Locations, say: Callable[[str], None]) -> None:
    """SIGQUIT (immediate shutdown) to the old postmaster, then to its children; at last SIGKILL."""
    old = postmaster(locations)
    if old is not None:
        say(f"ending PostgreSQL's old postmaster (process {old}), left by a run that was killed")
        _end([old], locations, say)
    children = ours(locations)
    if children:
        say(f"ending {len(children)} processes that an old postmaster has left: {', '.join(map(str, children))}")
        _end(children, locations, say)


def postmaster(locations: Locations) -> int | None:
    """The process of the data folder's lock file, if it is PostgreSQL on this folder."""
    named = named_postmaster(locations)
    return named if named is not None and _is_ours(named, locations) else None


def named_postmaster(locations: Locations) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        return abs(int((locations.data / PID_FILE).read_text().splitlines()[0]))
    return None


def ours(locations: Locations) -> list[int]:
    return [pid for pid in psutil.pids() if _is_ours(pid, locations)]


def _is_ours(pid: int, locations: Locations) -> bool:
    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process = psutil.Process(pid)
        return os.path.basename(process.exe()) == "postgres" and process.cwd() == str(locations.data.resolve())
    return False


def _end(pids: list[int], locations: Locations, say: Callable[[str], None]) -> None:
    for number, seconds_max in ((signal.SIGQUIT, QUIT_S_MAX), (signal.SIGKILL, KILL_S_MAX)):
        for pid in pids:
            with _held(pid) as handle:
                if handle is not None and _is_ours(pid, locations):
                    with suppress(ProcessLookupError):
                        signal.pidfd_send_signal(handle, number)
                        signal.pidfd_send_signal(handle, signal.SIGCONT)  # a frozen one hears nothing else
        deadline = time.monotonic() + seconds_max
        while any(_is_ours(pid, locations) for pid in pids):
            if time.monotonic() > deadline:
                break
            time.sleep(PAUSE_S)
        else:
            return
    say(f"PostgreSQL processes do not end: {', '.join(map(str, pids))}; end them by hand (kill -KILL)")


@contextmanager
def _held(pid: int) -> Iterator[int | None]:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)
