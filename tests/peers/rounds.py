"""A change timed: alone, and beside one client that updates the indexed column at a steady pace."""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import Manager

from tests.peers.rows import TABLE
from tests.peers.tools import Tool

PACED_PER_S = 130.0
ALONE_S = 10.0
SETTLE_S = 1.0
"""The first second of the client is not counted: it connects."""


@dataclass(frozen=True, slots=True)
class Beside:
    """A change beside the client: its seconds, and what the client felt before and meanwhile."""

    seconds: float
    worst_ms: float
    alone_worst_ms: float
    p99_ms: float
    alone_p99_ms: float
    per_s: float
    alone_per_s: float
    errors: int


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's rounds at one change."""

    name: str
    task: str
    how: str
    checks: str
    idle_s: tuple[float, ...]
    beside: tuple[Beside, ...]


def result_of(tool: Tool, rows: int, rounds: int) -> Result:
    idle, beside = [], []
    for _ in range(rounds):
        idle.append(seconds_of(tool))
        tool.undo()
        beside.append(beside_paced(tool, rows))
        tool.undo()
    return Result(tool.name, tool.task, tool.how, tool.checks, tuple(idle), tuple(beside))


def seconds_of(tool: Tool) -> float:
    began = time.perf_counter()
    tool.change()
    return time.perf_counter() - began


def beside_paced(tool: Tool, rows: int) -> Beside:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as others, Manager() as manager:
        stop = manager.Event()
        writing = others.submit(tool.write, tool.address, TABLE, rows, PACED_PER_S, stop)
        time.sleep(SETTLE_S + ALONE_S)
        began = time.time()
        try:
            seconds = seconds_of(tool)
            ended = time.time()
        finally:
            stop.set()
        seen = writing.result()
    alone, during = seen.within([(began - ALONE_S, began)]), seen.within([(began, ended)])
    return Beside(
        seconds, during.worst_ms, alone.worst_ms, during.p99_ms, alone.p99_ms, during.per_s, alone.per_s, during.errors
    )
