"""Queries that fit into a node's memory one by one are all answered, also when they come at once."""

import asyncio
import time
from collections.abc import AsyncIterator

import pyarrow as pa
import pytest

from expressions.errors import OUT_OF_MEMORY, SqlError
from nodes.execution.engine import shared_memory
from nodes.execution.engine.allotted_memory import allotted
from nodes.execution.engine.duckdb_engine import Engine, Feed, Gathered, Query
from nodes.execution.engine.shared_memory import SharedMemory, TooLarge

MANY = 8_000_000
SQL = f"SELECT len(list(g)) AS n FROM generate_series(1, {MANY}) t(g)"
"""Takes more than half of the memory, and less than all."""
TOO_MUCH = "SELECT len(list(g)) AS n FROM generate_series(1, 200000000) t(g)"
HELD = "SELECT g FROM generate_series(1, 5000000) t(g) ORDER BY g % 1000"


async def count(engine: Engine, sql: str) -> int:
    return sum([sum(batch.column(0).to_pylist()) async for batch in engine.run(sql, {})])


def test_they_take_turns() -> None:
    async def run() -> list[int]:
        engine = Engine()
        found = await asyncio.gather(*(count(engine, SQL) for _ in range(6)))
        engine.close()
        return found

    assert asyncio.run(run()) == [MANY] * 6


def test_what_fits_into_no_memory_is_refused_beside_others_and_alone() -> None:
    async def run() -> tuple[list[int | BaseException], str]:
        engine = Engine()
        queries = (TOO_MUCH, SQL, TOO_MUCH, SQL)
        found = await asyncio.gather(*(count(engine, sql) for sql in queries), return_exceptions=True)
        began = time.monotonic()
        with pytest.raises(SqlError) as refused:
            await count(engine, TOO_MUCH)
        assert time.monotonic() - began < shared_memory.WAIT_S_MAX, "nobody else has memory to wait for"
        engine.close()
        return found, refused.value.sqlstate

    (large, one, other, two), alone = asyncio.run(run())
    assert (one, two, alone) == (MANY, MANY, OUT_OF_MEMORY)
    assert [error.sqlstate for error in (large, other) if isinstance(error, SqlError)] == [OUT_OF_MEMORY] * 2


def test_who_never_reads_on_is_waited_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "WAIT_S_MAX", 0.5)

    async def run() -> None:
        engine = Engine()
        held = engine.run(HELD, {})
        await anext(held)
        with pytest.raises(SqlError) as refused:
            await count(engine, SQL)
        assert refused.value.sqlstate == OUT_OF_MEMORY
        monkeypatch.setattr(shared_memory, "WAIT_S_MAX", 60)
        waiting = asyncio.ensure_future(count(engine, SQL))
        await asyncio.sleep(0.2)
        await held.aclose()  # type: ignore[attr-defined]
        assert await waiting == MANY
        engine.close()

    asyncio.run(run())


@pytest.mark.parametrize("is_moving", [pytest.param(True, id="it moves"), pytest.param(False, id="it does not")])
def test_a_long_line_is_waited_in_for_as_long_as_it_moves(monkeypatch: pytest.MonkeyPatch, is_moving: bool) -> None:
    """Of many that came at once, on a busy machine, the last were refused though each of them fits."""
    monkeypatch.setattr(shared_memory, "WAIT_S_MAX", 1.0)
    is_taken = False

    async def begin() -> None:
        nonlocal is_taken
        if is_taken:
            raise SqlError(OUT_OF_MEMORY, "too little")
        is_taken = True

    async def one(memory: SharedMemory) -> None:
        nonlocal is_taken
        await memory.begun(begin)
        await asyncio.sleep(0.12 if is_moving else 3)
        is_taken = False
        memory.ended()

    async def run() -> int:
        memory = SharedMemory()
        found = await asyncio.gather(*(one(memory) for _ in range(12)), return_exceptions=True)
        assert {error.sqlstate for error in found if isinstance(error, SqlError)} <= {OUT_OF_MEMORY}
        return sum(error is None for error in found)

    assert asyncio.run(run()) == (12 if is_moving else 1)


class Taken:
    """A memory that has room for one query."""

    def __init__(self) -> None:
        self.memory, self.is_taken = SharedMemory(), False
        self.order: list[int] = []

    async def begin(self) -> None:
        if self.is_taken:
            raise SqlError(OUT_OF_MEMORY, "too little")
        self.is_taken = True

    async def one(self, number: int, until: asyncio.Event | None) -> None:
        await self.memory.begun(self.begin)
        self.order.append(number)
        if until is not None:
            await until.wait()
        else:
            await asyncio.sleep(0.2)
        self.is_taken = False
        self.memory.ended()


def test_who_waits_keeps_the_place_while_the_line_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """After `WAIT_S_MAX` whoever waited stood behind all that had come meanwhile, again and again."""
    monkeypatch.setattr(shared_memory, "WAIT_S_MAX", 1.0)

    async def run() -> list[int]:
        taken, first, others = Taken(), asyncio.Event(), asyncio.Event()
        came = [asyncio.ensure_future(taken.one(n, first if n == 0 else others)) for n in range(5)]
        await asyncio.sleep(0.7)
        first.set()
        await asyncio.sleep(0.15)
        came += [asyncio.ensure_future(taken.one(n, others)) for n in range(5, 11)]
        await asyncio.sleep(0.35)  # those that came first have waited for `WAIT_S_MAX`, and the line has moved since
        assert taken.order == [0, 1]
        others.set()
        await asyncio.gather(*came)
        return taken.order

    assert asyncio.run(run()) == list(range(11))


def test_nobody_waits_without_limit_in_a_line_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "WAIT_S_MAX", 0.4)
    count, limit = 12, 0.4 * shared_memory.LINE_WAITS_MAX

    async def run() -> None:
        taken = Taken()
        came = time.monotonic()
        waits: list[float] = []

        async def timed(number: int) -> None:
            try:
                await taken.one(number, None)
            finally:
                waits.append(time.monotonic() - came)

        found = await asyncio.gather(*(timed(n) for n in range(count)), return_exceptions=True)
        refused = [error.sqlstate for error in found if isinstance(error, SqlError)]
        assert refused == [OUT_OF_MEMORY] * (count - len(taken.order))
        assert 1 < len(taken.order) < count
        assert taken.order == sorted(taken.order)
        assert max(waits) < limit + 0.5
        taken.is_taken = False
        await taken.one(count, None)  # nobody who was refused keeps the head of the line

    asyncio.run(run())


def test_who_is_cancelled_in_the_line_leaves_it() -> None:
    async def run() -> list[int]:
        taken, first = Taken(), asyncio.Event()
        came = [asyncio.ensure_future(taken.one(n, first)) for n in range(5)]
        await asyncio.sleep(0.01)
        came[1].cancel()  # the head
        came[2].cancel()  # which is next
        came[4].cancel()
        first.set()
        await asyncio.gather(*came, return_exceptions=True)
        return taken.order

    assert asyncio.run(run()) == [0, 3]


@pytest.mark.parametrize(("refusal", "tries"), [
    pytest.param(SqlError, 4, id="others had much, until the fourth time"),
    pytest.param(TooLarge, 2, id="others had little"),
])  # fmt: skip
def test_what_is_refused_though_others_have_little_is_not_tried_again_and_again(
    refusal: type[SqlError], tries: int
) -> None:
    """Somebody always asks for something: what fits into no memory was tried for half a minute."""
    count = 0

    async def begin() -> int:
        nonlocal count
        count += 1
        await asyncio.sleep(0.01)
        if count < 4:
            raise refusal(OUT_OF_MEMORY, "too little")
        return count

    async def run() -> int | str:
        memory = SharedMemory()

        async def others() -> None:
            while True:
                await memory.begun(lambda: asyncio.sleep(0.001))
                await asyncio.sleep(0.001)
                memory.ended()

        running = [asyncio.ensure_future(others()) for _ in range(3)]
        await asyncio.sleep(0.01)
        try:
            return await memory.begun(begin)
        except SqlError as error:
            return error.sqlstate
        finally:
            for one in running:
                one.cancel()

    assert asyncio.run(run()) == (4 if refusal is SqlError else OUT_OF_MEMORY)
    assert count == tries


@pytest.mark.skipif(allotted() is None, reason="the engine has no allocator of its own here")
@pytest.mark.parametrize("kept_by_itself", [True, False])
def test_what_a_query_keeps_itself_is_not_the_memory_of_others(kept_by_itself: bool) -> None:
    """It waited half a minute for others to give back what it held."""

    async def run() -> SqlError:
        engine = Engine()
        query, other = (Query(engine._database.cursor(), {}, None, engine._memory) for _ in range(2))
        keeps = query if kept_by_itself else other
        await engine._in_thread(keeps, lambda: keeps.connection.execute(KEPT).fetchall())
        with pytest.raises(SqlError) as refused:
            await engine._in_thread(query, lambda: query.connection.execute(TOO_MUCH).fetchall())
        for one in (query, other):
            await engine._end(one)
        engine.close()
        return refused.value

    error = asyncio.run(run())
    assert (error.sqlstate, isinstance(error, TooLarge)) == (OUT_OF_MEMORY, kept_by_itself)


KEPT = "CREATE TEMP TABLE kept AS SELECT hash(g) AS h FROM generate_series(1, 8000000) t(g)"


def test_a_query_that_begins_anew_reads_its_tables_from_the_start() -> None:
    """Also what is kept before it, and what is read of that."""
    rows = 1000
    schema = pa.schema([("c1", pa.int32())])

    async def pages() -> AsyncIterator[pa.RecordBatch]:
        for start in range(0, rows, 100):
            yield pa.RecordBatch.from_arrays([pa.array(range(start, start + 100), pa.int32())], schema=schema)

    def query(found: pa.Table | None) -> str:
        assert found is not None
        assert found.num_rows == rows
        return f"SELECT count(*) + len(({SQL})::VARCHAR) FROM kept, r0"

    async def one(engine: Engine) -> int:
        feeds = {"r0": Feed(schema, pages, asyncio.get_running_loop())}
        before = Gathered("kept", "SELECT c1 FROM r0", "SELECT c1 FROM kept", rows, query)
        return sum([sum(b.column(0).to_pylist()) async for b in engine.run("SELECT 1", feeds, before=before)])

    async def run() -> list[int]:
        engine = Engine()
        found = await asyncio.gather(*(one(engine) for _ in range(4)))
        engine.close()
        return found

    assert asyncio.run(run()) == [rows * rows + len(str(MANY))] * 4
