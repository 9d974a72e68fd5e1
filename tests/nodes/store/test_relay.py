"""Rows of a user's statement, relayed: as many as its client takes, an error where they end, and no more memory."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

from nodes.store.pipeline import (
    BINARY,
    TEXT,
    Command,
    CopyCommand,
    CopyInCommand,
    StoreConnection,
    StoreConnectionLost,
    StoreError,
    UsersCommand,
    int4,
)
from nodes.store.relay import HELD_BYTES, Relay
from nodes.wire.messages import copy_data
from nodes.wire.results import CopyOut
from storage.postgres import session_options
from tests.nodes.conftest import Cluster

BEGIN, COMMIT = Command("BEGIN"), Command("COMMIT")
ONE = Command("SELECT 1")


def with_session(cluster: Cluster, work: Callable[[StoreConnection], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        session = await StoreConnection.connect(cluster.dsn, "schemalab test", session_options("")["options"])
        try:
            return await asyncio.wait_for(work(session), 20)
        finally:
            await session.close()

    return asyncio.run(run())


def begun(session: StoreConnection, sql: str, relay: Relay, **more: Any) -> None:
    users = UsersCommand(sql, relay=relay, **more)
    relay.begin(asyncio.get_running_loop().create_task(session.run([BEGIN, users, COMMIT])))


async def all_of(relay: Relay) -> list[Any]:
    rows: list[Any] = []
    while (some := await relay.next()) is not None:
        rows += some
    return rows


def test_rows_come_as_the_store_sends_them(cluster: Cluster) -> None:
    async def work(session: StoreConnection) -> None:
        for form, first in ((TEXT, b"1"), (BINARY, int4(1))):
            relay = Relay()
            begun(session, "SELECT n::int4, NULL, '%s' FROM generate_series(1, 100) AS n", relay, result_format=form)
            rows = await all_of(relay)
            await relay.finish()
            assert (len(rows), rows[0]) == (100, (first, None, b"%s"))
            assert [column.oid for column in relay.columns] == [23, 25, 25]

    with_session(cluster, work)


def test_a_client_that_takes_nothing_pauses_the_store(cluster: Cluster) -> None:
    async def work(session: StoreConnection) -> None:
        relay = Relay()
        begun(session, "SELECT repeat('x', 10000) FROM generate_series(1, 5000)", relay)
        assert not await relay.gathered(HELD_BYTES)
        await asyncio.sleep(0.3)
        assert relay.bytes_held < 2 * HELD_BYTES
        assert not relay.is_over
        assert len(await all_of(relay)) == 5000
        await relay.finish()

    with_session(cluster, work)


def test_an_error_behind_rows_is_where_they_end(cluster: Cluster) -> None:
    async def work(session: StoreConnection) -> None:
        relay = Relay()
        begun(session, "SELECT 1 / (500 - n) FROM generate_series(1, 1000) AS n", relay)
        rows = await all_of(relay)
        assert len(rows) < 500
        with pytest.raises(StoreError) as error:
            await relay.finish()
        assert (error.value.sqlstate, error.value.position) == ("22012", 1)
        await session.run([Command("ROLLBACK")])
        assert len(await session.run([ONE])) == 1

    with_session(cluster, work)


def test_the_store_says_where_a_mistake_is(cluster: Cluster) -> None:
    async def work(session: StoreConnection) -> None:
        with pytest.raises(StoreError) as error:
            await session.run([BEGIN, UsersCommand("SELECT nope")])
        assert (error.value.at, error.value.sqlstate) == (8, "42703")

    with_session(cluster, work)


def test_what_nobody_wants_any_more_is_stopped(cluster: Cluster) -> None:
    async def work(session: StoreConnection) -> None:
        relay = Relay()
        begun(session, "SELECT repeat('x', 1000), generate_series(1, 1000000000)", relay)
        await relay.next()
        await relay.drop()
        await session.run([Command("ROLLBACK")])
        assert len(await session.run([ONE])) == 1

    with_session(cluster, work)


def test_a_row_that_is_too_long_ends_its_session_alone(cluster: Cluster) -> None:
    async def work(session: StoreConnection) -> None:
        relay = Relay()
        begun(session, "SELECT repeat('x', 40000000) || n FROM generate_series(1, 3) AS n", relay)
        assert await all_of(relay) == []
        with pytest.raises(StoreConnectionLost) as error:
            await relay.finish()
        assert error.value.sqlstate == "54000"

    with_session(cluster, work)


def test_a_text_that_is_kept_means_what_its_settings_say(cluster: Cluster) -> None:
    """Its constants are read when it is prepared, so under other settings it is another statement."""

    async def answer(session: StoreConnection, style: str) -> Any:
        setting = Command("SELECT set_config('DateStyle', %b, true)", (style.encode(),), is_text=True)
        users = UsersCommand("SELECT '02/01/2020'::date::text", is_kept=True, style=(style,), result_format=TEXT)
        results = await session.run([BEGIN, setting, users, COMMIT])
        return results[2].get_value(0, 0)

    async def work(session: StoreConnection) -> None:
        for _ in range(2):
            assert await answer(session, "ISO, MDY") == b"2020-02-01"
            assert await answer(session, "ISO, DMY") == b"2020-01-02"

    with_session(cluster, work)


def test_a_batch_that_fails_before_the_rows_says_why(cluster: Cluster) -> None:
    async def work(session: StoreConnection) -> None:
        relay = Relay()
        commands = [BEGIN, Command("SELECT 1 / 0"), UsersCommand("SELECT 1", relay=relay), COMMIT]
        relay.begin(asyncio.get_running_loop().create_task(session.run(commands)))
        assert await all_of(relay) == []
        with pytest.raises(StoreError, match="division by zero"):
            await relay.finish()
        await session.run([Command("ROLLBACK")])
        assert len(await session.run([ONE])) == 1

    with_session(cluster, work)


# -- COPY TO, which stands outside of the pipeline


def copying(session: StoreConnection, sql: str, relay: Relay) -> None:
    commands = [BEGIN, CopyCommand(sql, relay=relay), ONE, COMMIT]
    relay.begin(asyncio.get_running_loop().create_task(session.run(commands, commit=True)))


def test_data_of_copy_come_amid_a_batch(cluster: Cluster) -> None:
    async def work(session: StoreConnection) -> None:
        relay = Relay()
        copying(session, "COPY (SELECT n, NULL FROM generate_series(1, 2) AS n) TO STDOUT (FORMAT csv)", relay)
        assert await all_of(relay) == [(copy_data(b"1,\n") + copy_data(b"2,\n"),)]
        await relay.finish()
        assert relay.copy == CopyOut(2, is_binary=False, tag="COPY 2")
        assert (await session.run([ONE]))[0].get_value(0, 0) == int4(1)

    with_session(cluster, work)


def test_a_client_that_takes_no_data_pauses_copy(cluster: Cluster) -> None:
    async def work(session: StoreConnection) -> None:
        relay = Relay()
        copying(session, "COPY (SELECT n, repeat('x', 10000) FROM generate_series(1, 5000) AS n) TO STDOUT", relay)
        assert not await relay.gathered(HELD_BYTES)
        await asyncio.sleep(0.3)
        assert relay.bytes_held < 2 * HELD_BYTES
        assert not relay.is_over
        assert sum(len(part) for (part,) in await all_of(relay)) > 50_000_000
        await relay.finish()
        assert relay.copy is not None
        assert relay.copy.tag == "COPY 5000"

    with_session(cluster, work)


@pytest.mark.parametrize("bad", ["1 / (500 - n)", "no_such_column"])
def test_an_error_of_copy_skips_what_comes_behind(cluster: Cluster, bad: str) -> None:
    async def work(session: StoreConnection) -> None:
        relay = Relay()
        copying(session, f"COPY (SELECT {bad} FROM generate_series(1, 1000) AS n) TO STDOUT", relay)
        await all_of(relay)
        with pytest.raises(StoreError) as caught:
            await relay.finish()
        assert (caught.value.sqlstate, caught.value.position) == ("22012" if "/" in bad else "42703", 1)
        await session.run([Command("ROLLBACK"), ONE])

    with_session(cluster, work)


@pytest.mark.parametrize("begins_s", [0.0, 0.3])
def test_nobody_wants_the_rest_of_copy(cluster: Cluster, begins_s: float) -> None:
    async def work(session: StoreConnection) -> None:
        relay = Relay()
        copying(session, "COPY (SELECT repeat('x', 100) FROM generate_series(1, 300000000)) TO STDOUT", relay)
        await asyncio.sleep(begins_s)
        await relay.drop()
        await session.run([Command("ROLLBACK"), ONE])

    with_session(cluster, work)


def test_short_rows_of_a_copy_let_others_have_their_turn(cluster: Cluster) -> None:
    """A few such clients kept the event loop until their node was ended."""

    class Counted(Relay):
        rows = 0

        def add_copied(self, data: bytes | memoryview) -> None:
            self.rows += 1
            super().add_copied(data)

    async def work(session: StoreConnection) -> None:
        relay, seen = Counted(), [0]
        copying(session, "COPY (SELECT n FROM generate_series(1, 1000000) AS n) TO STDOUT", relay)
        relay.let_go()  # so that nothing pauses the store
        while not relay.is_over:
            await asyncio.sleep(0)
            seen.append(relay.rows)
        await relay.finish()
        assert relay.rows == 1_000_000
        assert max(after - before for before, after in pairwise(seen)) < 20_000

    with_session(cluster, work)


def test_copy_of_a_lost_session_is_an_error(cluster: Cluster) -> None:
    async def work(session: StoreConnection) -> None:
        relay = Relay()
        copying(session, "COPY (SELECT pg_terminate_backend(pg_backend_pid())) TO STDOUT", relay)
        await all_of(relay)
        with pytest.raises(StoreConnectionLost):
            await relay.finish()

    with_session(cluster, work)


# -- COPY FROM, whose data its source gives


def reading(session: StoreConnection, source: Callable[[bool], AsyncGenerator[bytes]], relay: Relay) -> None:
    copy = CopyInCommand("COPY pg_temp.t FROM STDIN", data=source, notice=lambda text: None)
    read = UsersCommand("SELECT n FROM pg_temp.t ORDER BY n", relay=relay)
    commands = [BEGIN, UsersCommand("CREATE TABLE pg_temp.t (n int)"), copy, read, Command("ROLLBACK")]
    relay.begin(asyncio.get_running_loop().create_task(session.run(commands)))


def test_copy_from_reads_what_its_source_gives(cluster: Cluster) -> None:
    async def source(is_binary: bool) -> AsyncGenerator[bytes]:
        assert not is_binary
        for n in range(30_000):
            yield b"%d\n" % n
            if n % 10_000 == 0:
                await asyncio.sleep(0.05)

    async def work(session: StoreConnection) -> None:
        relay = Relay()
        reading(session, source, relay)
        assert len(await all_of(relay)) == 30_000
        await relay.finish()
        assert session.is_ready

    with_session(cluster, work)


@pytest.mark.parametrize("rest", ["an error", "a wrong line and many more", "silence"])
def test_copy_from_that_does_not_end_well_leaves_a_session_that_serves(cluster: Cluster, rest: str) -> None:
    """Its source fails, or goes on after an error, or is given up while it is waited for."""

    async def source(is_binary: bool) -> AsyncGenerator[bytes]:
        yield b"1\n"
        if rest == "an error":
            raise ZeroDivisionError
        if rest == "silence":
            await asyncio.sleep(60)
        for _ in range(500):
            yield b"x\n" * 10_000

    async def work(session: StoreConnection) -> None:
        relay = Relay()
        reading(session, source, relay)
        if rest == "silence":
            await asyncio.sleep(0.3)
            await relay.drop()
        else:
            await all_of(relay)
            with pytest.raises(ZeroDivisionError if rest == "an error" else StoreError):
                await relay.finish()
        assert not session.is_lost
        await session.run([Command("ROLLBACK"), ONE])

    with_session(cluster, work)
