"""However large values are, the engine has only some of them on their way from a page to a result."""

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace

import duckdb
import pyarrow as pa
import pytest

from catalog.elements import Column, ColumnId
from catalog.values.types import SqlType
from nodes.execution.engine.duckdb_engine import (
    ASKED_BYTES_MAX,
    BATCH_BYTES_MAX,
    BATCH_ROWS,
    UNGATHERED,
    Engine,
    Feed,
    Gathered,
    translated,
)
from nodes.execution.scans import arrow_schema

SCHEMA = pa.schema([("c1", pa.int32()), ("c2", pa.string())])
PAGE_ROWS, LENGTH, PAGES = 8, 100_000, 60
PAGE_BYTES = PAGE_ROWS * LENGTH


class Counted:
    """A table of large values: what the engine was fed, and what has come of it."""

    def __init__(self) -> None:
        self.fed = self.taken = self.ahead = self.largest = 0

    async def pages(self) -> AsyncIterator[pa.RecordBatch]:
        values = pa.array(["x" * LENGTH] * PAGE_ROWS)
        for number in range(PAGES):
            self.fed += PAGE_BYTES
            self.ahead = max(self.ahead, self.fed - self.taken)
            keys = pa.array(range(number * PAGE_ROWS, (number + 1) * PAGE_ROWS), pa.int32())
            yield pa.RecordBatch.from_arrays([keys, values], schema=SCHEMA)


@pytest.mark.parametrize(
    ("sql_type", "texts"), [(SqlType.TEXT, {"c1"}), (SqlType.UUID, set()), (SqlType.BIGINT, set())]
)
def test_a_column_whose_values_are_short_is_not_taken_row_by_row(sql_type: SqlType, texts: set[str]) -> None:
    schema = arrow_schema([Column(ColumnId(1), "c", sql_type)])
    feed = Feed(schema, keys, SimpleNamespace())  # type: ignore[arg-type]
    assert feed.texts == texts
    assert (UNGATHERED in feed.schema) == bool(texts)


async def keys() -> AsyncIterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_arrays([pa.array(range(PAGES * PAGE_ROWS), pa.int32())], names=["c1"])


@pytest.mark.parametrize("sql", [
    pytest.param("SELECT r0.c1, r0.c2 FROM r0", id="all rows"),
    pytest.param("SELECT r0.c2 FROM r0 WHERE r0.c1 + 0 = r0.c1", id="those that a filter finds"),
    pytest.param("SELECT r0.c2 FROM r0 WHERE r0.c1 + 0 >= 0 AND r0.c2 LIKE '%x%'", id="those that a text is in"),
    pytest.param("SELECT r0.c1, r0.c2 || 'y' FROM r0 WHERE r0.c1 + 0 <> 5", id="texts that are computed"),
    pytest.param("SELECT r0.c2 FROM r0 JOIN r1 ON r0.c1 = r1.c1 WHERE r0.c1 + 0 >= 0", id="those that a join finds"),
])  # fmt: skip
def test_a_result_is_made_as_it_is_taken(sql: str) -> None:
    table = Counted()

    async def run() -> int:
        engine, loop, rows = Engine(), asyncio.get_running_loop(), 0
        feeds = {"r0": Feed(SCHEMA, table.pages, loop), "r1": Feed(pa.schema([("c1", pa.int32())]), keys, loop)}
        async for batch in engine.run(sql, feeds):
            rows += batch.num_rows
            table.largest = max(table.largest, batch.nbytes)
            table.taken += batch.num_rows * LENGTH
        engine.close()
        return rows

    rows = asyncio.run(run())
    assert rows >= PAGES * PAGE_ROWS - 1
    assert table.largest <= BATCH_BYTES_MAX + PAGE_BYTES
    assert table.ahead <= 4 * BATCH_BYTES_MAX, "of all that the table has"
    assert 4 * BATCH_BYTES_MAX < PAGES * PAGE_BYTES


def test_small_rows_come_thousands_at_a_time() -> None:
    async def run() -> list[int]:
        engine = Engine()
        found = [batch.num_rows async for batch in engine.run("SELECT g FROM generate_series(1, 10000) t(g)", {})]
        engine.close()
        return found

    assert asyncio.run(run()) == [BATCH_ROWS, BATCH_ROWS, 10_000 - 2 * BATCH_ROWS]


LARGE = ASKED_BYTES_MAX // 10


@pytest.mark.parametrize(("sql", "is_few"), [
    pytest.param("SELECT g AS k0 FROM generate_series(1, 20) t(g)", True, id="few"),
    pytest.param("SELECT g AS k0 FROM generate_series(1, 20) t(g) WHERE g > 20", True, id="none"),
    pytest.param("SELECT g AS k0 FROM generate_series(1, 21) t(g)", False, id="many"),
    pytest.param(f"SELECT repeat('x', {LARGE}) || g AS k0 FROM generate_series(1, 20) t(g)", False, id="large"),
    pytest.param("SELECT list(g) AS k0 FROM generate_series(1, 100000000) t(g)", False, id="more than there is memory"),
    pytest.param("SELECT g AS k0 FROM generate_series(7, 7) t(g)", False, id="of no use"),
])  # fmt: skip
def test_rows_kept_before_a_query_are_few_and_small_or_forgotten(sql: str, is_few: bool) -> None:
    """Kept beside the query that reads all rows, they took its memory, and keys of 100 MB held the event loop."""

    def query(found: pa.Table | None) -> str | None:
        return None if found is None or found.column(0).to_pylist() == [7] else "SELECT 'few', count(*) FROM g"

    async def run() -> list[tuple[str, int]]:
        engine, before = Engine(), Gathered("g", sql, "SELECT DISTINCT k0 FROM g", 20, query)
        tables = "SELECT 'all', count(*) FROM duckdb_tables() WHERE table_name = 'g'"
        found = [tuple(row.values()) async for b in engine.run(tables, {}, before=before) for row in b.to_pylist()]
        engine.close()
        return found

    [(way, count)] = asyncio.run(run())
    assert way == ("few" if is_few else "all")
    assert count == (0 if not is_few or "> 20" in sql else 20)


@pytest.mark.parametrize("error", [
    pytest.param(duckdb.OutOfMemoryException("Out of Memory Error: could not allocate block"), id="of the engine"),
    pytest.param(duckdb.Error("Out of Memory Error: ArrowBuffer: failed to allocate 4194304 bytes"), id="of a result"),
])  # fmt: skip
def test_memory_that_is_not_there_is_named_wherever_the_engine_lacks_it(error: duckdb.Error) -> None:
    """A result of large values was refused as something that the engine cannot do."""
    assert translated(error).sqlstate == "53200"
