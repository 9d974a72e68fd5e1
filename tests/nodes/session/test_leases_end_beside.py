"""What a client is told when its node may not use a table, or loses the store, in the middle of something."""

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pyarrow as pa
import pytest

from expressions.errors import CONNECTION_FAILURE, SqlError
from nodes.execution.engine.duckdb_engine import Engine, Feed
from tests.nodes.conftest import Cluster


@pytest.mark.soak
def test_a_parameterised_statement_on_a_draining_node_names_the_reason(cluster: Cluster) -> None:
    """Its types are asked for first, in the open block: that said "internal error" where a plain statement did not."""
    held, other = cluster.table("id bigint PRIMARY KEY"), cluster.table("id bigint PRIMARY KEY")
    cluster.start("n3")
    try:
        with cluster.connect("n3") as client, cluster.store() as store:
            client.execute("BEGIN")
            client.execute(f"SELECT * FROM {held}")
            store.execute("SELECT node_drain('n3', true)")
            with pytest.raises(psycopg.errors.CannotConnectNow, match="draining"):
                ask_in_blocks(client, f"SELECT * FROM {other} WHERE id = %s")
    finally:
        cluster.stop("n3")


def ask_in_blocks(client: "psycopg.Connection", query: str) -> None:
    """Often enough for the node to have heard that it drains."""
    for _ in range(100):
        client.execute(query, (1,))
        client.execute("ROLLBACK")
        client.execute("BEGIN")


def test_a_store_lost_between_two_pages_of_a_scan_is_named() -> None:
    """The engine has begun to answer by then: Arrow tells of the second page's trouble, not DuckDB."""
    schema = pa.schema([("n", pa.int64())])
    lost = SqlError(CONNECTION_FAILURE, "the session at the store was lost")

    async def pages() -> AsyncIterator[pa.RecordBatch]:
        for first in range(0, 400_000, 4096):
            yield pa.record_batch([pa.array(range(first, first + 4096))], schema=schema)
        raise lost

    async def read() -> int:
        engine = Engine()
        try:
            feed = Feed(schema, pages, asyncio.get_running_loop())
            return sum([batch.num_rows async for batch in engine.run("SELECT n FROM t", {"t": feed})])
        finally:
            engine.close()

    with pytest.raises(SqlError) as raised:
        asyncio.run(read())
    assert raised.value is lost
