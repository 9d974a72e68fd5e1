"""Starts and ends child processes, so that nothing is left behind.

A child gets a process group of its own (Ctrl-C reaches only us, a signal to the group reaches all its descendants, the
JVM of Spark included), and the kernel ends it when we die without a word.
"""

import ctypes
import os
import pwd
import resource
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

PR_SET_PDEATHSIG = 1
SUPERVISOR = "SCHEMALAB_SUPERVISOR"
"""Our process id, in the environment of each child."""
RESERVED_MB = 1536  # Arrow's allocator alone reserves 1 GB that it never touches, and the kernel counts it
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Launch:
    """A command with everything its process needs.

    `user`: drop to this user; `stop_signal` asks it to end; `death_signal` comes from the kernel when we die;
    `memory_mb`: the most it should have, enforced by the kernel (`MemoryError`) with room for what is only reserved.
    `data_mb`: the most that each of its processes may have, exactly, instead of that room.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    user: str | None = None
    stop_signal: str = "SIGTERM"
    death_signal: str = ""
    memory_mb: int | None = None
    data_mb: int | None = None

    @property
    def signal_to_stop(self) -> signal.Signals:
        return signal.Signals[self.stop_signal]

    @property
    def _data_mb_max(self) -> int | None:
        if self.data_mb is not None or self.memory_mb is None:
            return self.data_mb
        return self.memory_mb + RESERVED_MB

    def popen_options(self) -> dict[str, Any]:
        env = {**self.env, SUPERVISOR: str(os.getpid())}
        options: dict[str, Any] = {"env": env, "cwd": self.cwd, "start_new_session": True}
        died = signal.Signals[self.death_signal or self.stop_signal]
        options["preexec_fn"] = _prepare(os.getpid(), died, self._data_mb_max)
        if self.user:
            options |= {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}
        return options


def _prepare(parent: int, number: signal.Signals, data_mb_max: int | None) -> Callable[[], None]:
    def ask_the_kernel() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if data_mb_max is not None:
            bytes_max = data_mb_max * 1024 * 1024
            resource.setrlimit(resource.RLIMIT_DATA, (bytes_max, bytes_max))
        if os.getppid() != parent:  # the parent died before the kernel knew
            os.kill(os.getpid(), signal.SIGKILL)

    return ask_the_kernel


def run_to_end(launch: Launch) -> subprocess.CompletedProcess[str]:
    return subprocess.run(launch.argv, capture_output=True, text=True, check=False, **launch.popen_options())


def start(launch: Launch, *, output: Path) -> subprocess.Popen[bytes]:
    """Start a child that writes to a file (`up` streams the output of its children itself)."""
    with output.open("ab") as file:
        return subprocess.Popen(
            launch.argv, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, **launch.popen_options()
        )


def stop(child: subprocess.Popen[bytes], launch: Launch, *, seconds_max: float = 10.0) -> None:
    """Ask the child to end, then end its whole group."""
    if child.poll() is None:
        child.send_signal(launch.signal_to_stop)
        with suppress(subprocess.TimeoutExpired):
            child.wait(seconds_max)
    kill_group(child.pid)
    child.wait()


def kill_group(pid: int) -> None:
    """The group of a child that leads its own session; it may be gone already."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def kill_family(pid: int) -> None:
    """The child, its group, and its descendants in groups of their own (PostgreSQL's servers of one session each)."""
    signal_family(pid, signal.SIGKILL)
    kill_group(pid)


def signal_family(pid: int, number: signal.Signals) -> None:
    """Parents first: a parent that is frozen or dead starts no more children. Our own child keeps its number."""
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        for member in (parent, *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                member.send_signal(number)


def is_stopped(pid: int) -> bool:
    """True when a signal has stopped it (SIGSTOP), whoever sent that."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    return False
