"""Ends processes that hang for as long as a lease lasts, or have more memory than their kind may, and reports it. A
process stopped by a signal is left frozen. Time in which we slept ourselves does not count."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from schemalab.supervisor.process import Supervised
from schemalab.supervisor.questions import Question

log = logging.getLogger(__name__)

LOOK_S = 3.0
"""A look reads something of every process of the machine."""
OURSELVES_LATE_S = 10.0
SILENCE_S_MIN = 30.0
"""On a busy machine everybody is late; nobody is killed for less, however short leases are."""
START_S_MAX = 300.0
"""What a process may need before its first answer."""
MB = 1024 * 1024


def silence_s_max(lease_s: float) -> float:
    return max(lease_s, SILENCE_S_MIN)


@dataclass(slots=True)
class Watched:
    process: Supervised
    question: Question | None
    memory_mb: int | None
    pid: int | None = None
    heard_at: float = 0.0
    has_answered: bool = False
    asking: "asyncio.Task[bool] | None" = None

    def begin(self, now: float) -> None:
        if self.pid != self.process.pid:
            self.has_answered = False
        self.pid, self.heard_at = self.process.pid, now

    def silent_s(self, now: float) -> float:
        return now - self.heard_at


class Watch:
    """Looks at every process every few seconds during its `async with`."""

    def __init__(self, lease_s: float) -> None:
        self._silence_s_max = silence_s_max(lease_s)
        self._watched: list[Watched] = []
        self._task: asyncio.Task[None] | None = None

    def add(self, process: Supervised, question: Question | None, memory_mb: int | None) -> None:
        self._watched.append(Watched(process, question, memory_mb))

    def forget(self, name: str) -> None:
        self._watched = [one for one in self._watched if one.process.name != name]

    async def __aenter__(self) -> "Watch":
        self._task = asyncio.create_task(self._look_again_and_again())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _look_again_and_again(self) -> None:
        looked_at = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_S)
            now = time.monotonic()
            is_excused = now - looked_at > OURSELVES_LATE_S
            looked_at = now
            try:
                weights = await asyncio.to_thread(weigh, [one.process.pid for one in self._watched if one.memory_mb])
                for one in self._watched:
                    self._look(one, weights, now, is_excused=is_excused)
            except Exception:
                log.exception("the watch over processes failed, it looks again in %g s", LOOK_S)

    def _look(self, one: Watched, weights: dict[int, int], now: float, *, is_excused: bool) -> None:
        process = one.process
        if process.pid is None or process.state == "frozen" or one.pid != process.pid or is_excused:
            one.begin(now)
        if process.pid is None:
            return
        if one.memory_mb and weights.get(process.pid, 0) > one.memory_mb * MB:
            process.end_bad(f"had more memory than its kind may have ({one.memory_mb} MB) and was ended")
        elif one.question is not None and process.state == "up":
            self._ask(one, now)

    def _ask(self, one: Watched, now: float) -> None:
        assert one.question is not None
        if one.asking is None:
            one.asking = asyncio.ensure_future(one.question())
        elif one.asking.done():
            if not one.asking.cancelled() and one.asking.exception() is None and one.asking.result():
                one.heard_at, one.has_answered = now, True
            one.asking = None
        limit = self._silence_s_max if one.has_answered else max(self._silence_s_max, START_S_MAX)
        if one.silent_s(now) > limit:
            one.begin(now)
            one.process.end_bad(f"had not answered for {limit:g} s and was ended")


def weigh(pids: Iterable[int | None]) -> dict[int, int]:
    """Bytes of memory of each process with its descendants, without files; 0 for processes that have ended."""
    processes: dict[int, psutil.Process] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            children[process.ppid()].append(process.pid)
            processes[process.pid] = process

    def total(pid: int) -> int:
        return own(pid) + sum(map(total, children[pid]))

    def own(pid: int) -> int:
        with suppress(psutil.Error, KeyError):
            used = processes[pid].memory_info()
            return int(used.rss - used.shared)
        return 0

    return {pid: total(pid) for pid in pids if pid is not None}
