"""A large result: its transaction lasts until the last row is read, and its session at the store is given back."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from nodes.clients.portals import Portal
from nodes.wire.results import Row
from tests.nodes.conftest import Cluster
from tests.nodes.within import Within, within

ROWS = 40_000


@pytest.fixture(scope="module")
def table(cluster: Cluster) -> str:
    made = cluster.table("id int primary key, code text")
    with cluster.connect() as client:
        client.execute(f"INSERT INTO {made} SELECT g, 'code ' || g FROM generate_series(1, {ROWS}) AS g")
    return made


def test_t1_a_large_select_keeps_its_version_until_its_last_row(cluster: Cluster, table: str) -> None:
    async def work(node: Within) -> None:
        session = node.session
        count, batches = await streaming(node, table)
        assert (session.env.open_transactions, session.block.holds_something) == (1, True)
        async for batch in batches:
            count += len(batch)
        assert count == ROWS
        assert_free(node)

    within(cluster, work)


def test_a_large_select_whose_rows_nobody_takes_ends_with_its_session(cluster: Cluster, table: str) -> None:
    async def work(node: Within) -> None:
        await streaming(node, table)
        await node.session.close()
        assert_free(node)

    within(cluster, work)


def test_a_client_that_leaves_amid_its_rows_leaves_a_session_that_serves_others(
    cluster: Cluster, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its connection forgets the rows and closes the session: two ways to the end of one transaction."""

    async def work(node: Within) -> None:
        _, batches = await streaming(node, table)
        await anext(batches)
        del batches  # the event loop closes it, in a task of its own
        await node.session.close()
        await until_free(node)
        assert_free(node)
        assert [connection.is_lost for connection in node.session.env.pool._idle] == [False]

    within(cluster, work)
    assert not caplog.records


async def streaming(node: Within, table: str) -> tuple[int, AsyncIterator[list[Row]]]:
    """How many rows of the table come at once, and the others."""
    (statement,) = await node.session.parse(f"SELECT * FROM {table}")
    prepared = await node.session.prepare("", statement, [])
    result = await node.session.execute(Portal(prepared), alone=True)
    assert result.more is not None
    return len(result.rows), result.more


async def until_free(node: Within) -> None:
    """Wait until the event loop has closed what nobody reads any more."""
    pool = node.session.env.pool
    for _ in range(500):
        if pool.free == pool.size_max:
            return
        await asyncio.sleep(0.01)


def assert_free(node: Within) -> None:
    env = node.session.env
    assert (env.open_transactions, node.session.block.holds_something) == (0, False)
    assert env.pool.free == env.pool.size_max, "a session at the store was not given back"
