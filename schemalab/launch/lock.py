"""One `manage.py up` per home: a file lock, which the kernel releases."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK_FILE = "up.lock"


class AlreadyRunning(Exception):
    """Another process holds this home."""


@contextmanager
def hold(home: Path) -> Iterator[None]:
    with (home / LOCK_FILE).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise AlreadyRunning(
                f"the cluster of {home} is already running (process {holder}): "
                "./manage.py signin-link prints a link to it, Ctrl-C where it was started stops it"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
