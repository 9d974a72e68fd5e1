"""The engine plans a query once: of most queries that takes longer than to compute them."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa

from nodes.execution.engine.duckdb_engine import Engine, Feed

SCHEMA = pa.schema([("c1", pa.int32())])


class Asked(Feed):
    """A table that counts who asks for its columns: a plan, and the scan."""

    asked = 0

    def __arrow_c_schema__(self) -> Any:
        self.asked += 1
        return self.schema.__arrow_c_schema__()


async def pages() -> AsyncIterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_arrays([pa.array([1, 2], pa.int32())], schema=SCHEMA)


def test_a_query_is_planned_once() -> None:
    async def run() -> tuple[int, int]:
        engine, feed = Engine(), Asked(SCHEMA, pages, asyncio.get_running_loop())
        rows = sum([batch.num_rows async for batch in engine.run("SELECT r0.c1 FROM r0", {"r0": feed})])
        engine.close()
        return rows, feed.asked

    assert asyncio.run(run()) == (2, 2)
