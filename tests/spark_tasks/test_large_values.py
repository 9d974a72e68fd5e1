"""What a fill's worker holds is bounded in bytes, however large, compressible or unequal values are."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from spark_tasks.chunks import scan
from spark_tasks.chunks.chunk import RunToken
from spark_tasks.jobs.phases import prepare_fill
from spark_tasks.models import Kind, ReorgRange, ReorgRun
from spark_tasks.reorganise import backfill, delete
from spark_tasks.runs import ranges
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.run_elements import Elements
from storage import encoding, page_sizes
from storage.arrow.encoding import Pairs
from storage.arrow.rows import StoredRows
from tests.spark_tasks.runs import Runs
from tests.storage.stage import AGE, Stage, user

BY_AGE = Index(IndexId(1), "by_age", (IndexColumn(AGE),), where="\"#2\" <> ''", state=State.DELETE_ONLY)
BY_AGE_SAID = {"kind": "index", "id": BY_AGE.id, "name": BY_AGE.name}
NOTE = Column(
    ColumnId(4),
    "note",
    SqlType.TEXT,
    State.DELETE_ONLY,
    not_null=True,
    default="'..'",
    fill_value=encoding.encode(SqlType.TEXT, "n" * 100_000),
)
NOTE_SAID = {"kind": "required column", "id": NOTE.id, "name": NOTE.name}
KB = 1000


@pytest.fixture
def runs(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    """Here a worker may hold some hundred kilobytes, where it may hold some hundred megabytes otherwise."""
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
    monkeypatch.setattr(ranges, "FILL_BYTES", 1000 * KB)
    monkeypatch.setattr(scan, "AT_ONCE_BYTES", 500 * KB)
    monkeypatch.setattr(page_sizes, "PAGE_BYTES", 250 * KB)
    yield Runs(stage, change_id=stage.table_id)
    ReorgRun.objects.filter(table_id=stage.table_id).delete()


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of all parts in which rows are looked at."""
    seen: list[int] = []
    look = backfill.Fill._look

    def noted(fill: backfill.Fill, rows: StoredRows, storage: int, lacking: backfill.Lacking) -> None:
        seen.append(rows.keys.nbytes + sum(values.nbytes for values in rows.columns.values()))
        look(fill, rows, storage, lacking)

    monkeypatch.setattr(backfill.Fill, "_look", noted)
    return seen


def filling_index(stage: Stage) -> None:
    stage.publish(stage.now.with_index(BY_AGE))
    stage.publish(stage.now.with_index_state(BY_AGE.id, State.WRITE_ONLY, filling=True))


def ranges_of(runs: Runs) -> list[ReorgRange]:
    return list(ReorgRange.objects.filter(run=runs.of(Kind.FILL)))


def text(size: int) -> str:
    return random.Random(size).randbytes(size // 2).hex()


@pytest.mark.parametrize("letters", [text(50 * KB), "x" * 50 * KB], ids=["hard to compress", "compressed to nothing"])
def test_ranges_of_large_values_are_small(stage: Stage, runs: Runs, parts: list[int], letters: str) -> None:
    for first in range(0, 100, 20):
        stage.insert([user(stage.now, n, letters, n) for n in range(first, first + 20)])
    filling_index(stage)
    assert runs.do("fill", BY_AGE_SAID).state == "done"
    assert len(ranges_of(runs)) >= 5, "5 MB, at most 1 MB for each"
    assert max(parts) <= 600 * KB
    assert stage.violations() == []


def test_values_that_are_not_read_cut_no_range(stage: Stage, runs: Runs) -> None:
    """Each range is a walk through the whole table, so there are no more than what is read of it asks for."""
    for first in range(0, 100, 20):
        stage.insert([user(stage.now, n, text(50 * KB), n) for n in range(first, first + 20)])
    by_age = replace(BY_AGE, where=None)
    stage.publish(stage.now.with_index(by_age))
    stage.publish(stage.now.with_index_state(by_age.id, State.WRITE_ONLY, filling=True))
    assert runs.do("fill", BY_AGE_SAID).state == "done"
    assert len(ranges_of(runs)) == 2, "one for each storage"


def test_a_range_that_holds_all_the_large_values_is_read_in_pages(stage: Stage, runs: Runs, parts: list[int]) -> None:
    """Most rows are small, so that a range of their number may hold all the others."""
    stage.insert([user(stage.now, n, "small", n) for n in range(400)])
    for first in range(400, 480, 20):
        stage.insert([user(stage.now, n, text(50 * KB), n) for n in range(first, first + 20)])
    filling_index(stage)
    run = ReorgRun.objects.get(id=runs.start("fill", BY_AGE_SAID))
    prepare_fill(run)
    fill = backfill.Fill(RunToken(stage.dsn, run.id, 0), stage.now, Elements(indexes=(BY_AGE.id,)), 2, 3000)
    whole = KeyRange(1, ranges_of(runs)[0].low, ranges_of(runs)[-1].high, 480)
    with psycopg.connect(stage.dsn, autocommit=True) as connection:
        fill.find(connection, whole)  # what is loaded once is loaded
        tracemalloc.start()
        found = fill.find(connection, whole)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert found.rows > 200
    assert max(parts) <= 600 * KB
    assert most < 1500 * KB, "of some 2 MB that the storage holds at least, two parts are held at a time"


@pytest.mark.parametrize("indexes", [(), (BY_AGE,)], ids=["no index", "an index"])
def test_rows_of_large_values_are_removed_a_few_at_a_time(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch, indexes: tuple[Index, ...]
) -> None:
    """The first chunk may have a thousand pairs: of a megabyte each, nobody gets through them in time."""
    read, removed = [0], [0]
    unpack, doomed = delete.unpack, delete.DeleteRows._doomed

    def unpacked(table_id: int, count: int, ks: bytes, cs: bytes, values: bytes, *sizes: bytes) -> Pairs:
        read.append(len(values))
        return unpack(table_id, count, ks, cs, values, *sizes)

    def noted(rows: delete.DeleteRows, connection: psycopg.Connection, storage: int, keys: list[bytes]) -> Any:
        removed.append(len(keys))
        return doomed(rows, connection, storage, keys)

    monkeypatch.setattr(page_sizes, "PAGE_BYTES", 300 * KB)
    monkeypatch.setattr(delete, "unpack", unpacked)
    monkeypatch.setattr(delete.DeleteRows, "_doomed", noted)
    for index in indexes:
        stage.publish(stage.now.with_index(index))
        stage.publish(stage.now.with_index_state(index.id, State.PUBLIC))
    for first in range(0, 60, 20):
        stage.insert([user(stage.now, n, text(50 * KB), n) for n in range(first, first + 20)])
    stage.insert([user(stage.now, 60, text(400 * KB), 60)])
    stage.publish(stage.now.with_state(State.DELETE_ONLY))
    assert runs.do("delete", {"kind": "table", "id": stage.table_id, "name": "users"}).state == "done"
    assert stage.contents() == [{}, {}]
    assert (max(removed), sum(removed)) == (5 * 3, 61 * 3), "five rows of three pairs"
    assert max(read) == (400 * KB + 2 + 9 if indexes else 0), "the largest row: a text, and an integer"


def test_values_that_a_fill_adds_count_as_well(stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long default for many short rows: neither a range nor a chunk grows with it."""
    chunks: list[int] = []
    put = backfill.put_where_free

    def noted(connection: object, table: str, pairs: Pairs, payload: bytes) -> None:
        chunks.append(len(payload))
        put(connection, table, pairs, payload)  # type: ignore[arg-type]

    monkeypatch.setattr(backfill, "put_where_free", noted)
    monkeypatch.setattr(backfill, "CHUNK_BYTES_MAX", 400 * KB)
    stage.insert([user(stage.now, n, "small", n) for n in range(60)])
    for column in (NOTE, replace(NOTE, state=State.WRITE_ONLY, filling=True)):
        columns = (*stage.now.columns[:3], column)
        stage.publish(stage.now.next_version(columns=columns, next_column_id=ColumnId(5)))
    assert runs.do("fill", NOTE_SAID).state == "done"
    assert len(ranges_of(runs)) >= 4, "6 MB, at most 1 MB for each, and at least four rows seen in each"
    assert sum(chunks) > 60 * 100 * KB
    assert max(chunks) <= 500 * KB
