"""One supervised process: run, stream its output, restart after a crash, obey the control channel. A process stopped
with SIGSTOP, by us or by hand, is left as it is. One killed through the channel stays down."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from schemalab.supervisor.children import Launch, is_stopped, kill_family, kill_group, signal_family
from schemalab.supervisor.refusals import why_not
from schemalab.supervisor.repeats import Repeats
from schemalab.supervisor.restarts import PAUSE_S_MAX, Backoff, describe_end
from schemalab.supervisor.shown import LineFilter

LINE_BYTES_MAX = 64 * 1024
STOP_S_MAX = 8.0
Say = Callable[[str, str], None]


class Report(Protocol):
    def __call__(self, kind: str, process: str, /, **facts: str) -> None: ...


def report_nothing(_kind: str, _process: str, /, **_facts: str) -> None:
    """A report that goes nowhere."""


class Refused(Exception):
    """A command does not fit the process's state."""


class Supervised:
    """A process that should be running. `say(name, line)` shows output, `keep` only logs it; `report` gets crashes and
    restarts. `before` runs before each start; `pause_s_max` bounds the pause after a crash."""

    def __init__(
        self,
        name: str,
        launch: Launch,
        say: Say,
        *,
        kind: str = "",
        keep: Say | None = None,
        restart: bool = True,
        report: Report = report_nothing,
        before: Callable[[], None] | None = None,
        pause_s_max: float = PAUSE_S_MAX,
    ) -> None:
        self.name = name
        self.launch = launch
        self.kind = kind
        self.restart = restart
        self.pid: int | None = None
        self.exit_code: int | None = None  # of the last run
        self._is_freeze_asked = False
        self._is_kill_asked = False
        self._ended_for = ""
        self._say = say
        self._keep = keep
        self._before = before
        self._pause_s_max = pause_s_max
        self._report = report
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def state(self) -> str:
        """See `refusals`. A process killed a moment ago is down already."""
        if not self._wanted.is_set():
            return "down"
        if self._task is not None and self._task.done():
            return "ended"
        if self.pid is None:
            return "starting"
        return "frozen" if self.is_frozen else "up"

    @property
    def is_frozen(self) -> bool:
        """True after a SIGSTOP, and right before one of ours."""
        if self.pid is not None and is_stopped(self.pid):
            self._is_freeze_asked = False
            return True
        return self._is_freeze_asked

    # --- life

    def begin(self) -> None:
        self._task = asyncio.create_task(self._live(), name=self.name)

    async def ended(self) -> None:
        if self._task is not None:
            await asyncio.shield(self._task)

    async def _live(self) -> None:
        backoff = Backoff(pause_s_max=self._pause_s_max)
        while not self._stopping.is_set():
            started = time.monotonic()
            code = self.exit_code = await self._run_once()
            end, self._ended_for = self._ended_for or describe_end(code), ""
            if self._stopping.is_set():
                return
            if self._is_kill_asked:
                self._is_kill_asked = False
                await self._first_of(self._wanted, self._stopping)
                backoff = Backoff(pause_s_max=self._pause_s_max)
                continue
            if not self.restart:
                if code:
                    self._say(self.name, f"{self.name} {end}")
                return
            backoff = backoff.after(ran_s=time.monotonic() - started, code=code)
            self._say(self.name, f"{self.name} {end}; starting it again in {backoff.pause_s:g} s")
            self._report("process crashed", self.name, why=end)
            await self._first_of(self._stopping, seconds_max=backoff.pause_s)
            if not self._stopping.is_set():
                self._report("process started", self.name)

    async def _run_once(self) -> int:
        if self._before is not None:
            await asyncio.to_thread(self._before)
        process = await asyncio.create_subprocess_exec(
            *self.launch.argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=LINE_BYTES_MAX,
            **self.launch.popen_options(),
        )
        self.pid, self._is_freeze_asked = process.pid, False
        assert process.stdout is not None
        streaming = asyncio.create_task(self._stream(process.stdout))
        try:
            return await process.wait()
        finally:
            kill_group(process.pid)  # what the process left behind
            self.pid = None
            await streaming

    async def _stream(self, output: asyncio.StreamReader) -> None:
        repeats, screen = Repeats(), LineFilter(self.kind)
        while True:
            try:
                line = await output.readline()
            except ValueError:  # longer than the limit: asyncio has dropped the piece
                line = b".. (a line too long to show)\n"
            for one in repeats.hear(line.decode(errors="replace").rstrip()) if line else repeats.end():
                say = self._say if self._keep is None or screen.hear(one) else self._keep
                say(self.name, one)
            if not line:
                return

    async def _first_of(self, *events: asyncio.Event, seconds_max: float | None = None) -> None:
        waits = [asyncio.create_task(event.wait()) for event in events]
        await asyncio.wait(waits, timeout=seconds_max, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def stop(self, *, seconds_max: float = STOP_S_MAX) -> None:
        """Asks it to end; ends its group after the limit."""
        self._stopping.set()
        if self._task is None:
            return
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, self.launch.signal_to_stop)
                signal_family(self.pid, signal.SIGCONT)
        await asyncio.wait([self._task], timeout=seconds_max)
        self.end_at_once()
        await self._task

    def forget(self) -> None:
        self._stopping.set()

    def end_at_once(self) -> None:
        if self.pid is not None:
            kill_family(self.pid)

    def end_bad(self, why: str) -> None:
        """Ends a process that serves nobody; it is started again."""
        if self.pid is not None:
            self._ended_for = why
            kill_family(self.pid)

    # --- the control channel

    def kill(self) -> str:
        pid = self._obeying("kill")
        self._wanted.clear()
        self._is_kill_asked = True
        kill_family(pid)
        return f"{self.name} was killed; it stays down until it is started"

    def freeze(self) -> str:
        signal_family(self._obeying("freeze"), signal.SIGSTOP)
        self._is_freeze_asked = True
        return f"{self.name} is frozen until it is thawed"

    def thaw(self) -> str:
        signal_family(self._obeying("thaw"), signal.SIGCONT)
        self._is_freeze_asked = False
        return f"{self.name} goes on"

    def start(self) -> str:
        self._check_fits("start")
        self._wanted.set()
        return f"{self.name} is starting"

    def _obeying(self, command: str) -> int:
        self._check_fits(command)
        assert self.pid is not None, f"{self.name} is {self.state} without a process"
        return self.pid

    def _check_fits(self, command: str) -> None:
        refusal = why_not(command, self.name, self.state)
        if refusal is not None:
            raise Refused(refusal)
