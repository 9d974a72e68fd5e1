"""What the kernel tells about processes (proc(5)): whose child one is, what it runs, how much memory it has.

A process may end while it is looked at; then it has none of these.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
STATE, PARENT = 0, 1  # in stat, behind the name
DELETED = " (deleted)"


def pids() -> Iterator[int]:
    return (int(entry) for entry in os.listdir(PROC) if entry.isdigit())


def program(pid: int) -> Path | None:
    """The file it runs, also when that has been replaced since."""
    with suppress(OSError):
        return Path(os.readlink(PROC / str(pid) / "exe").removesuffix(DELETED))
    return None


def folder(pid: int) -> Path | None:
    """Its working directory."""
    with suppress(OSError):
        return Path(os.readlink(PROC / str(pid) / "cwd"))
    return None


def is_stopped(pid: int) -> bool:
    """Whether a signal has stopped it (SIGSTOP), whoever sent that."""
    return _stat(pid)[STATE : STATE + 1] in (["T"], ["t"])


def children() -> dict[int, list[int]]:
    """Whose children are whose, of all processes, now."""
    found = defaultdict(list)
    for pid in pids():
        for parent in _stat(pid)[PARENT : PARENT + 1]:
            found[int(parent)].append(pid)
    return found


def family(pid: int, children_of: Mapping[int, list[int]] | None = None) -> list[int]:
    """The process and all its descendants, parents first. Those whose parent has died are not among them."""
    known = children() if children_of is None else children_of
    found = [pid]
    for member in found:
        found.extend(known.get(member, ()))
    return found


def memory_bytes(pid: int) -> int:
    """What it has for itself alone: memory that was allocated and touched, neither files nor shared memory."""
    with suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1024
    return 0


def _stat(pid: int) -> list[str]:
    """The fields of stat behind the name, which may hold spaces and brackets; none when it has ended."""
    with suppress(OSError):
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return []
