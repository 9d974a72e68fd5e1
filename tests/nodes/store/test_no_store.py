"""A store that has no session to give: what a client is told is no fault of the node."""

import asyncio

import pytest

from expressions.errors import CONNECTION_FAILURE, SqlError
from nodes.store.pipeline import Command, CopyInCommand, StorePool
from nodes.store.relay import Relay
from nodes.store.staging import staged
from tests.nodes.conftest import Cluster
from tests.nodes.within import Within, within

NOWHERE = "host=/nowhere"


def test_columns_that_are_asked_for(cluster: Cluster) -> None:
    table = cluster.table("id int PRIMARY KEY, n int")

    async def work(node: Within) -> None:
        pool = node.session.env.pool
        (known,) = await node.session.parse(f"SELECT n FROM {table} WHERE n > 1")
        await node.session.prepare("", known, [])
        while pool._idle:
            await pool._idle.pop().close()
        pool.dsn = NOWHERE
        (statement,) = await node.session.parse(f"SELECT n + 1 FROM {table} WHERE n > $1")
        with pytest.raises(SqlError, match="the store does not answer") as caught:
            await node.session.prepare("", statement, [])
        assert caught.value.sqlstate == CONNECTION_FAILURE

    within(cluster, work)


def test_data_for_copy() -> None:
    async def work() -> None:
        copy = CopyInCommand("COPY t FROM STDIN", data=lambda _: (_ for _ in ()), notice=print)  # type: ignore[arg-type]
        rows = staged(StorePool(NOWHERE, "n1", ""), "ann", Command(""), "", copy, "", Relay())
        with pytest.raises(SqlError, match="the store does not answer") as caught:
            await anext(rows)
        assert caught.value.sqlstate == CONNECTION_FAILURE

    asyncio.run(work())
