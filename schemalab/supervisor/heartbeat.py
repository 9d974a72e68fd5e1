"""The heartbeat of a process without a port: its main loop touches a file."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

VARIABLE = "SCHEMALAB_HEARTBEAT"
EVERY_S = 1.0

conditions: list[Callable[[], bool]] = []
"""What must hold for the process to be of use: while one does not, it gives no sign of life."""


def beat() -> None:
    """Called at least every `EVERY_S`; does nothing without a supervisor."""
    path = os.environ.get(VARIABLE)
    if path and all(holds() for holds in conditions):
        with suppress(OSError):
            Path(path).touch()


def last_beat(path: Path) -> float:
    """When the file was touched; 0 before the first time."""
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0
