"""No query takes more memory than there is for all, nor goes on when it is cancelled, in one call of the engine's."""

import asyncio
import time

import duckdb
import pytest

from expressions.errors import OUT_OF_MEMORY, SqlError
from nodes.execution.engine import shared_memory
from nodes.execution.engine.allotted_memory import ALLOTTED, allotted
from nodes.execution.engine.duckdb_engine import Engine
from nodes.execution.engine.numeric_functions import refusing
from nodes.execution.engine.refusals import SMALLER, translated
from nodes.execution.engine.shared_memory import LITTLE_BYTES

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


def test_a_block_that_the_allocator_has_not_is_named() -> None:
    error = translated(duckdb.OutOfMemoryException("Out of Memory Error: Failed to allocate block (bad allocation)"))
    assert (error.sqlstate, ALLOTTED in error.message) == (OUT_OF_MEMORY, True)
