"""One supervised process of the cluster: run, stream its output, start again after a crash, obey the control channel.

wanted  running  frozen
  yes     yes      no     the normal case; a crash leads to a restart after a pause
  yes     yes      yes    stopped with SIGSTOP: left as it is
  no      no       -      killed through the control channel: stays down until started
"""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from schemalab.children import Launch, kill_group
from schemalab.restarts import PAUSE_S_MAX, Backoff, describe_end

LINE_BYTES_MAX = 64 * 1024
STOP_S_MAX = 8.0
Say = Callable[[str, str], None]
Report = Callable[[str, str, str], None]  # kind of event, process, why


class Refused(Exception):
    """A control command does not fit the process's state."""


class Supervised:
    """A process that should be running.

    `say(name, line)` gets its output and what happens to it, `report(kind, name, why)` crashes and restarts. `before`
    is done each time before it is started; `pause_s_max` bounds the pause after a crash.
    """

    def __init__(
        self,
        name: str,
        launch: Launch,
        say: Say,
        *,
        restart: bool = True,
        report: Report | None = None,
        before: Callable[[], None] | None = None,
        pause_s_max: float = PAUSE_S_MAX,
    ) -> None:
        self.name = name
        self.launch = launch
        self.restart = restart
        self.pid: int | None = None
        self.exit_code: int | None = None  # of the last run
        self.is_frozen = False
        self._say = say
        self._before = before
        self._pause_s_max = pause_s_max
        self._report = report or (lambda _kind, _name, _why: None)
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def state(self) -> str:
        if self.pid is None:
            return "starting" if self._wanted.is_set() else "down"
        return "frozen" if self.is_frozen else "up"

    # --- life

    def begin(self) -> None:
        self._task = asyncio.create_task(self._live(), name=self.name)

    async def ended(self) -> None:
        """Until the process has ended for good."""
        if self._task is not None:
            await self._task

    async def _live(self) -> None:
        backoff = Backoff(pause_s_max=self._pause_s_max)
        while not self._stopping.is_set():
            started = time.monotonic()
            code = self.exit_code = await self._run_once()
            if self._stopping.is_set():
                return
            if not self._wanted.is_set():
                await self._first_of(self._wanted, self._stopping)
                backoff = Backoff(pause_s_max=self._pause_s_max)
                continue
            if not self.restart:
                if code:
                    self._say(self.name, f"{self.name} {describe_end(code)}")
                return
            backoff = backoff.after(ran_s=time.monotonic() - started)
            self._say(self.name, f"{self.name} {describe_end(code)}; starting it again in {backoff.pause_s:g} s")
            self._report("process crashed", self.name, describe_end(code))
            await self._first_of(self._stopping, seconds_max=backoff.pause_s)
            if not self._stopping.is_set():
                self._report("process started", self.name, "")

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
        self.pid, self.is_frozen = process.pid, False
        assert process.stdout is not None
        streaming = asyncio.create_task(self._stream(process.stdout))
        try:
            return await process.wait()
        finally:
            kill_group(process.pid)  # what the process left behind
            self.pid = None
            await streaming

    async def _stream(self, output: asyncio.StreamReader) -> None:
        while True:
            try:
                line = await output.readline()
            except ValueError:  # longer than the limit: asyncio has dropped the piece
                line = b".. (a line too long to show)\n"
            if not line:
                return
            self._say(self.name, line.decode(errors="replace").rstrip())

    async def _first_of(self, *events: asyncio.Event, seconds_max: float | None = None) -> None:
        waits = [asyncio.create_task(event.wait()) for event in events]
        await asyncio.wait(waits, timeout=seconds_max, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def stop(self, *, seconds_max: float = STOP_S_MAX) -> None:
        """Ask it to end; end its whole group after the limit."""
        self._stopping.set()
        if self._task is None:
            return
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, self.launch.signal_to_stop)
                os.killpg(self.pid, signal.SIGCONT)
        await asyncio.wait([self._task], timeout=seconds_max)
        self.end_at_once()
        await self._task

    def end_at_once(self) -> None:
        if self.pid is not None:
            kill_group(self.pid)

    # --- the control channel

    def kill(self) -> str:
        pid = self._running()
        self._wanted.clear()
        kill_group(pid)
        return f"{self.name} was killed; it stays down until it is started"

    def freeze(self) -> str:
        os.killpg(self._running(), signal.SIGSTOP)
        self.is_frozen = True
        return f"{self.name} is frozen until it is thawed"

    def thaw(self) -> str:
        pid = self._running()
        if not self.is_frozen:
            raise Refused(f"{self.name} is not frozen")
        os.killpg(pid, signal.SIGCONT)
        self.is_frozen = False
        return f"{self.name} goes on"

    def start(self) -> str:
        if self._wanted.is_set():
            raise Refused(f"{self.name} is {self.state} already")
        self._wanted.set()
        return f"{self.name} is starting"

    def _running(self) -> int:
        if self.pid is None:
            raise Refused(f"{self.name} is {self.state}, not running")
        return self.pid
