"""Queries that take long keep nobody from a node's threads, and nobody waits for one that does not stop."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from expressions.errors import SqlError
from nodes.execution.engine import query_threads, thread_line
from nodes.execution.engine.duckdb_engine import UTC, Engine, Feed, Query
from nodes.execution.engine.numeric_functions import refusing
from nodes.execution.engine.query_threads import QueryThreads, Running
from nodes.execution.engine.shared_memory import SharedMemory
from nodes.execution.engine.thread_line import (
    LONG_MAX,
    LONG_OF_USER_MAX,
    SHORT_S,
    THREADS,
    THREADS_MAX,
    TRIES_MAX,
    Call,
)

ROWS = 600
SCHEMA = pa.schema([("n", pa.int64())])
LATE_S = 20.0
"""For a machine that is busy: what is asked for comes at all."""


@pytest.fixture(autouse=True)
def naps_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much as what takes a processor's time."""
    monkeypatch.setattr(query_threads, "WAITS_MAX", 1)


@dataclass(frozen=True, eq=False)
class Session:
    user: str

    def label(self) -> tuple[int, str, str, str, bool]:
        return 1, self.user, "", "", True


def within(engine: Engine, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """The value of some work with an engine that has functions which take long for each row."""
    with engine._database.cursor() as connection:
        nap = refusing(lambda number: time.sleep(0.005) or number, 1)
        connection.create_function("nap", nap, ["BIGINT"], "BIGINT", side_effects=True)
        deaf = lambda number: time.sleep(0.002) or number  # noqa: E731  as the engine's own: it looks at no flag
        connection.create_function("deaf", deaf, ["BIGINT"], "BIGINT", side_effects=True)
    try:
        return asyncio.run(work())
    finally:
        engine.close()


async def answer(engine: Engine, sql: str, user: str = "ann", **feeds: Feed) -> int:
    batches = engine.run(sql, feeds, by=Session(user))
    return sum([sum(batch.column(0).to_pylist()) async for batch in batches])


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LATE_S):
        while not is_so():
            await asyncio.sleep(0.01)


def napping(rows: int) -> str:
    return f"SELECT sum(nap(g)) AS n FROM generate_series(1, {rows}) t(g)"


FOREVER = napping(1_000_000)


def test_a_query_that_waits_for_its_rows_is_not_a_long_one_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor on a machine that is busy with others."""
    monkeypatch.setattr(query_threads, "WAITS_MAX", 1000)
    engine = Engine()

    async def pages() -> AsyncIterator[pa.RecordBatch]:
        await asyncio.sleep(3 * SHORT_S)
        yield pa.record_batch([pa.array([1], pa.int64())], schema=SCHEMA)

    async def run() -> list[int]:
        feeds = [Feed(SCHEMA, pages, asyncio.get_running_loop()) for _ in range(THREADS)]
        queries = [asyncio.ensure_future(answer(engine, "SELECT sum(n) AS n FROM r", r=feed)) for feed in feeds]
        line = engine._threads.line
        await asyncio.sleep(2 * SHORT_S)
        assert not any(call.is_long or call.tries or call.is_put_back for call in [*line.running, *line.waiting])
        return await asyncio.gather(*queries)

    assert within(engine, run) == [1] * THREADS


def test_a_result_that_is_interrupted_while_it_is_read_is_cancelled_and_no_mistake() -> None:
    """Arrow tells of it in words of its own; what was put back was refused."""
    engine = Engine()

    async def run() -> None:
        forever = "SELECT sum(hash(range)) AS n FROM range(100000000000)"
        queries = [asyncio.ensure_future(answer(engine, forever)) for _ in range(THREADS)]
        line = engine._threads.line
        await until(lambda: any(call.tries for call in [*line.running, *line.waiting]))
        assert not any(query.done() for query in queries)
        for query in queries:
            query.cancel()
        await asyncio.wait(queries)

    within(engine, run)


@pytest.mark.parametrize("users", [("ann",), ("ann", "bob", "cleo", "dan")])
def test_others_are_answered_while_many_take_long(users: tuple[str, ...]) -> None:
    engine = Engine()

    async def run() -> None:
        many = [answer(engine, FOREVER, users[n % len(users)]) for n in range(2 * THREADS)]
        longs = [asyncio.ensure_future(query) for query in many]
        for user in ("ann", "eve"):
            for _ in range(20):
                assert await asyncio.wait_for(answer(engine, "SELECT 1 AS n", user), LATE_S) == 1
        line = engine._threads.line
        longs_max = LONG_OF_USER_MAX if len(users) == 1 else LONG_MAX
        await until(lambda: sum(call.is_long for call in line.running) == longs_max)
        assert not any(query.done() for query in longs)
        for query in longs:
            query.cancel()
        await asyncio.wait_for(asyncio.wait(longs), LATE_S)
        assert (line.running, line.waiting, line.stopping) == ({}, {}, 0)

    within(engine, run)


def test_what_is_put_back_is_answered_all_the_same_and_reads_its_tables_anew() -> None:
    engine, opened = Engine(), 0

    async def pages() -> AsyncIterator[pa.RecordBatch]:
        nonlocal opened
        opened += 1
        for start in range(0, 100, 10):
            yield pa.record_batch([pa.array(range(start, start + 10), pa.int64())], schema=SCHEMA)

    async def run() -> list[int]:
        def feed() -> Feed:
            return Feed(SCHEMA, pages, asyncio.get_running_loop())

        return await asyncio.gather(*(answer(engine, "SELECT sum(nap(n)) AS n FROM r", r=feed()) for _ in range(12)))

    assert within(engine, run) == [sum(range(100))] * 12
    assert opened > 12


def test_a_query_that_has_answered_cannot_begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, have_answered = Engine(), []
    run_in_thread = engine._threads.run

    async def run(call: Call, work: Callable[[], Any], at: Running) -> Any:
        assert not call.is_long
        have_answered.append(call.has_answered)
        return await run_in_thread(call, work, at)

    monkeypatch.setattr(engine._threads, "run", run)
    few, many = (f"SELECT g AS n FROM generate_series(1, {rows}) t(g)" for rows in (10, 10_000))
    assert within(engine, lambda: answer(engine, few)) == 55
    assert have_answered == [False]
    engine = Engine()
    run_in_thread = engine._threads.run
    monkeypatch.setattr(engine._threads, "run", run)
    assert within(engine, lambda: answer(engine, many)) == 50_005_000
    assert have_answered == [False, False, True, True]


def test_a_large_result_is_answered_while_as_many_long_ones_run_as_may() -> None:
    """It waited for one of them to end, after its first rows."""
    engine = Engine()

    async def run() -> None:
        users = ["ann"] * LONG_OF_USER_MAX + ["bob"] * (LONG_MAX - LONG_OF_USER_MAX)
        longs = [asyncio.ensure_future(answer(engine, FOREVER, user)) for user in users]
        await asyncio.sleep(2 * SHORT_S)
        many = [answer(engine, "SELECT g AS n FROM generate_series(1, 20000) t(g)", user) for user in ("cleo", "ann")]
        assert await asyncio.wait_for(asyncio.gather(*many), LATE_S) == [200_010_000] * 2
        assert not any(query.done() for query in longs)
        assert sum(call.is_long for call in engine._threads.line.running) == LONG_MAX
        for query in longs:
            query.cancel()
        await asyncio.wait(longs)

    within(engine, run)


def test_a_query_that_was_put_back_as_often_as_may_be_is_not_put_back_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It began as a short one where few ran, and the client was given a mistake of ours."""
    monkeypatch.setattr(thread_line, "SHORT_S", 0.002)
    engine = Engine()
    work = "SELECT sum(nap(g)) AS n FROM generate_series(1, 60) t(g)"

    async def run() -> None:
        threads, tried = engine._threads, Query(engine._database.cursor(), {}, None, engine._memory, TRIES_MAX + 1)
        query = asyncio.ensure_future(engine._tried(tried, work, UTC, None))
        await until(lambda: bool(threads.line.running))
        others = [asyncio.ensure_future(answer(engine, FOREVER, user)) for user in ("ann", "bob") * LONG_MAX]
        _, _, taken = await asyncio.wait_for(query, LATE_S)
        assert taken.batch["n"].to_pylist() == [1830]
        for other in others:
            other.cancel()
        await asyncio.wait(others)
        await engine._end(tried)

    within(engine, run)


def test_how_often_it_was_put_back_matters_until_it_has_answered() -> None:
    query = Query(None, {}, None, SharedMemory(), tries=2)
    assert (query.call().tries, query.call().has_answered) == (2, False)
    query.has_answered = True
    assert (query.call().tries, query.call().has_answered) == (0, True)


def test_what_does_not_stop_is_given_up_and_reads_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine looks up between two blocks of rows: `statement_timeout` took as long as a block did."""
    monkeypatch.setattr(query_threads, "STOP_S_MAX", 0.2)
    engine, fed, is_closed = Engine(), 0, False

    async def pages() -> AsyncIterator[pa.RecordBatch]:
        nonlocal fed, is_closed
        try:
            while True:
                fed += 1
                yield pa.record_batch([pa.array(range(ROWS), pa.int64())], schema=SCHEMA)
        finally:
            is_closed = True

    async def run() -> None:
        feed, line = Feed(SCHEMA, pages, asyncio.get_running_loop()), engine._threads.line
        query = asyncio.ensure_future(answer(engine, "SELECT sum(deaf(n)) AS n FROM r", r=feed))
        await until(lambda: fed > 0)
        await asyncio.sleep(SHORT_S)
        query.cancel()
        with pytest.raises(asyncio.CancelledError):
            await query
        assert is_closed
        assert (len(line.running), line.stopping) == (1, 1), "its thread has not stopped"
        assert engine._memory._begins - engine._memory._ends == 1, "nor given its memory back"
        before = fed
        assert await answer(engine, "SELECT 1 AS n") == 1
        await until(lambda: not line.running)
        assert (fed, line.stopping) == (before, 0)
        assert engine._memory._begins == engine._memory._ends

    within(engine, run)


def test_those_given_up_leave_threads_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_threads, "STOP_S_MAX", 0.05)
    engine = Engine()

    async def run() -> None:
        line, stubborn = engine._threads.line, "SELECT sum(deaf(g)) AS n FROM generate_series(1, 600) t(g)"
        for _ in range(3):
            queries = [asyncio.ensure_future(answer(engine, stubborn)) for _ in range(3 * THREADS)]
            await asyncio.sleep(SHORT_S / 2)
            for query in queries:
                query.cancel()
            await asyncio.wait(queries)
        assert line.stopping
        assert await asyncio.wait_for(answer(engine, "SELECT 1 AS n", "eve"), LATE_S) == 1
        await until(lambda: not line.running)

    within(engine, run)


def test_a_mistake_in_what_is_put_back_is_reported_as_any_other() -> None:
    engine = Engine()

    async def run() -> list[Any]:
        sql = f"SELECT sum(nap(g)) + sum(CAST(CASE WHEN g = 60 THEN 'x' ELSE '1' END AS INTEGER)) AS n {FROM}"
        return await asyncio.gather(*(answer(engine, sql) for _ in range(12)), return_exceptions=True)

    found = within(engine, run)
    assert {error.sqlstate for error in found if isinstance(error, SqlError)} == {"22P02"}
    assert len(found) == 12


class Deaf:
    """A query that does not stop before it may."""

    is_reading = is_given_up = False

    def __init__(self, fails: str = "") -> None:
        self.may_end, self._fails = threading.Event(), fails

    def interrupt(self) -> None: ...

    def give_up(self) -> None:
        self.is_given_up = True

    def ended_late(self) -> None:
        if self._fails:
            raise RuntimeError(self._fails)


async def given_up(threads: QueryThreads, *queries: Deaf) -> None:
    """Run them until they are given up."""
    tasks = [asyncio.ensure_future(threads.run(Call(), query.may_end.wait, query)) for query in queries]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.wait_for(asyncio.wait(tasks), LATE_S)
    assert all(query.is_given_up for query in queries)


def test_what_fails_after_it_was_given_up_keeps_no_thread_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(query_threads, "STOP_S_MAX", 0)

    async def run() -> None:
        threads, query = QueryThreads(None), Deaf("is not closed")
        await given_up(threads, query)
        assert len(threads.line.running) == 1
        query.may_end.set()
        await until(lambda: not threads.line.running)
        threads.pool.shutdown()

    asyncio.run(run())
    (record,) = caplog.records
    assert (record.levelname, str(record.exc_info and record.exc_info[1])) == ("ERROR", "is not closed")


def test_a_query_gives_its_memory_back_also_when_it_cannot_be_closed() -> None:
    memory = SharedMemory()
    closed = SimpleNamespace(close=Deaf("is not closed").ended_late)
    query = Query(closed, {}, None, memory)
    query.give_up()
    with pytest.raises(RuntimeError, match="is not closed"):
        query.ended_late()
    assert (memory._begins, memory._ends) == (1, 1)


def test_when_all_threads_are_held_by_what_was_given_up_the_log_has_it_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(query_threads, "STOP_S_MAX", 0)

    async def run() -> None:
        threads, queries = QueryThreads(None), [Deaf() for _ in range(THREADS_MAX + 1)]
        for query in queries[: THREADS_MAX - 1]:
            await given_up(threads, query)
        assert not caplog.records
        await given_up(threads, queries[-2])
        queries[0].may_end.set()
        await until(lambda: len(threads.line.running) < THREADS_MAX)
        await given_up(threads, queries[-1])
        for query in queries:
            query.may_end.set()
        await until(lambda: not threads.line.running)
        threads.pool.shutdown()

    asyncio.run(run())
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert (
        record.getMessage() == f"all {THREADS_MAX} threads compute for queries that were given up: others wait for one"
    )


FROM = "FROM generate_series(1, 100) t(g)"
