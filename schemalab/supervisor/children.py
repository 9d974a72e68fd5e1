"""Starts and ends child processes, so that nothing is left behind. A child has its own process group, which Ctrl-C does
not reach and a signal to the group does, Spark's JVM included. The kernel ends it when we die."""

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
    """A command with all that its process needs. `user`: drop to this user; `death_signal` comes from the kernel when
    we die; `memory_mb`: its limit with room for what is only reserved, `data_mb`: the exact limit of each of its
    processes."""

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
    with output.open("ab") as file:
        return subprocess.Popen(
            launch.argv, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, **launch.popen_options()
        )


def stop(child: subprocess.Popen[bytes], launch: Launch, *, seconds_max: float = 10.0) -> None:
    if child.poll() is None:
        child.send_signal(launch.signal_to_stop)
        with suppress(subprocess.TimeoutExpired):
            child.wait(seconds_max)
    kill_group(child.pid)
    child.wait()


def kill_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def kill_family(pid: int) -> None:
    """Kills the child, its group, and descendants in other groups, such as PostgreSQL's servers."""
    signal_family(pid, signal.SIGKILL)
    kill_group(pid)


def signal_family(pid: int, number: signal.Signals) -> None:
    """Parents first: a frozen or dead parent starts no more children."""
    with suppress(psutil.NoSuchProcess):
        parent = psutil.Process(pid)
        for member in (parent, *parent.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                member.send_signal(number)


def is_stopped(pid: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    return False
