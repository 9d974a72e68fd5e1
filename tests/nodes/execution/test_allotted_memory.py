"""No query takes more memory than there is for all, nor goes on when it is cancelled, in one call of the engine's."""

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from expressions.errors import OUT_OF_MEMORY, QUERY_CANCELED, SqlError
from nodes.execution.engine import duckdb_engine, shared_memory
from nodes.execution.engine.allotted_memory import ALLOTTED, Arena, allotted
from nodes.execution.engine.duckdb_engine import Engine, Feed, Query
from nodes.execution.engine.numeric_functions import refusing
from nodes.execution.engine.refusals import SMALLER, translated
from nodes.execution.engine.shared_memory import LITTLE_BYTES
from nodes.execution.engine.stopping import Stoppable, to_stop

ROWS, PARTS = 600, 130_000
SPLIT = f"SELECT sum(len(string_split(repeat(',', {PARTS}) || g, ','))) AS n FROM generate_series(1, {ROWS}) t(g)"
"""The parts of one block of rows, 16 bytes each, which the engine does not count."""
RESIZED = "SELECT sum(len(list_resize([g], 200000))) AS n FROM generate_series(1, 600) t(g)"
HALF = 8_000_000
ONE_LIST = f"SELECT len(list(g)) AS n FROM generate_series(1, {HALF}) t(g)"

has_arena = pytest.mark.skipif(allotted() is None, reason="the engine has no allocator of its own here")


async def answer(engine: Engine, sql: str) -> int:
    return sum([sum(batch.column(0).to_pylist()) async for batch in engine.run(sql, {})])


@has_arena
@pytest.mark.parametrize("sql", [
    pytest.param(SPLIT, id="parts of texts"),
    pytest.param(RESIZED, id="one large block"),
])  # fmt: skip
def test_what_one_block_of_rows_needs_is_bounded(sql: str) -> None:
    arena = allotted()
    assert arena is not None

    async def run() -> tuple[SqlError, int]:
        engine = Engine()
        with pytest.raises(SqlError) as refused:
            await answer(engine, sql)
        left = arena.used_bytes()
        assert await answer(engine, ONE_LIST) == HALF, "the memory is there again, in one piece"
        engine.close()
        return refused.value, left

    error, left = asyncio.run(run())
    assert (error.sqlstate, error.hint) == (OUT_OF_MEMORY, SMALLER)
    assert ALLOTTED in error.message
    assert left < LITTLE_BYTES


@has_arena
def test_others_are_answered_meanwhile_and_whoever_needs_too_much_is_not_kept_waiting_for_them() -> None:
    """There was always somebody beside it whose end was waited for: it was tried for half a minute."""

    async def run() -> tuple[float, int]:
        engine, count = Engine(), 0
        began = time.monotonic()
        large = asyncio.ensure_future(answer(engine, SPLIT))
        while not large.done():
            assert await answer(engine, "SELECT 1 AS n") == 1
            count += 1
        with pytest.raises(SqlError) as refused:
            await large
        assert refused.value.sqlstate == OUT_OF_MEMORY
        engine.close()
        return time.monotonic() - began, count

    took, count = asyncio.run(run())
    assert took < shared_memory.WAIT_S_MAX
    assert count > 1


def test_a_function_of_ours_ends_between_two_values_of_a_block() -> None:
    value_s, rows = 0.05, 2000

    async def run() -> float:
        engine = Engine()
        slow = refusing(lambda number: time.sleep(value_s) or number, 1)
        with engine._database.cursor() as connection:
            connection.create_function("slow", slow, ["BIGINT"], "BIGINT")
        query = asyncio.ensure_future(answer(engine, f"SELECT sum(slow(g)) AS n FROM generate_series(1, {rows}) t(g)"))
        await asyncio.sleep(5 * value_s)
        began = time.monotonic()
        query.cancel()
        with pytest.raises(asyncio.CancelledError):
            await query
        took = time.monotonic() - began
        assert await answer(engine, "SELECT sum(slow(g)) AS n FROM generate_series(1, 3) t(g)") == 6
        engine.close()
        return took

    assert asyncio.run(run()) < value_s * rows / 2


def test_what_is_cancelled_as_it_begins_does_not_begin() -> None:
    done: list[int] = []
    work = Stoppable(lambda: done.append(1))
    work.stop()
    with pytest.raises(SqlError) as refused:
        work()
    assert (refused.value.sqlstate, done, to_stop) == (QUERY_CANCELED, [], set())


def test_a_cancel_that_comes_before_the_statement_ends_it_all_the_same() -> None:
    """The engine forgets an interrupt once a statement begins: the session waited for the whole of it."""
    has_begun, may_go_on = threading.Event(), threading.Event()
    outcome: list[str] = []

    async def run() -> None:
        engine = Engine()
        connection = engine._database.cursor()

        def work() -> None:
            has_begun.set()
            may_go_on.wait(10)
            try:
                connection.execute("SELECT sum(hash(range)) FROM range(1000000000)").fetchall()
                outcome.append("answered")
            except duckdb.InterruptException:
                outcome.append("interrupted")

        query = asyncio.ensure_future(engine._in_thread(Query(connection, {}, None, engine._memory), work))
        await asyncio.to_thread(has_begun.wait, 10)
        query.cancel()
        await asyncio.sleep(0.02)
        may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await query
        connection.close()
        engine.close()

    asyncio.run(run())
    assert outcome == ["interrupted"]


@has_arena
def test_a_query_that_outlives_its_engine_gives_back_what_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_engine, "LONG_S", -1.0)
    schema, closed = pa.schema([("c1", pa.int32())]), asyncio.Event()

    async def pages() -> AsyncIterator[pa.RecordBatch]:
        try:
            while True:
                yield pa.RecordBatch.from_arrays([pa.array(range(5000), pa.int32())], schema=schema)
        finally:
            closed.set()

    async def run() -> None:
        engine = Engine()
        result: Any = engine.run("SELECT c1 FROM r0", {"r0": Feed(schema, pages, asyncio.get_running_loop())})
        await anext(result)
        engine.close()
        await result.aclose()

    asyncio.run(run())
    assert closed.is_set()


LACKING = """
import logging, resource
import _duckdb, duckdb
from nodes.execution.engine.allotted_memory import ALLOTTED_BYTES, allotted

logging.basicConfig(format="%(message)s")
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + ALLOTTED_BYTES // 2
resource.setrlimit(resource.RLIMIT_AS, (most, most))
print([allotted() for _ in range(3)])
"""


@has_arena
def test_who_has_too_few_addresses_for_it_goes_without_and_says_so_once() -> None:
    run = subprocess.run([sys.executable, "-c", LACKING], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stdout) == (0, "[None, None, None]\n"), run.stderr
    assert run.stderr.count("bounded by its own limit only") == 1
    assert ALLOTTED in run.stderr


@has_arena
@pytest.mark.parametrize("error", [MemoryError, OSError, AttributeError])
def test_an_arena_that_cannot_be_had_is_none(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def refuse(arena: Arena) -> None:
        raise error("no hooks")

    monkeypatch.setattr(Arena, "_close", refuse)
    assert allotted.__wrapped__() is None


def test_a_block_that_the_allocator_has_not_is_named() -> None:
    error = translated(duckdb.OutOfMemoryException("Out of Memory Error: Failed to allocate block (bad allocation)"))
    assert (error.sqlstate, ALLOTTED in error.message) == (OUT_OF_MEMORY, True)
