"""A large result: its transaction lasts until the last row is read, and its session at the store is given back."""

from collections.abc import AsyncIterator

import pytest

from nodes.wire.results import Row
from tests.nodes.conftest import Cluster
from tests.nodes.within import Within, within

ROWS = 12_000


@pytest.fixture
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


async def streaming(node: Within, table: str) -> tuple[int, AsyncIterator[list[Row]]]:
    """How many rows of the table come at once, and the others."""
    (statement,) = await node.session.parse(f"SELECT * FROM {table}")
    prepared = await node.session.prepare("", statement, [])
    result = await node.session.execute(prepared, [], [], alone=True)
    assert result.more is not None
    return len(result.rows), result.more


def assert_free(node: Within) -> None:
    env = node.session.env
    assert (env.open_transactions, node.session.block.holds_something) == (0, False)
    assert env.pool._slots._value == env.pool.size_max, "a session at the store was not given back"
