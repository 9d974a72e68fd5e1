"""Pages are as many pairs as have some megabytes, whatever their values are."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from storage.arrow.encoding import unpack
from storage.arrow.packed_scan import PackedScan
from storage.page_sizes import PAGE_BYTES, PAIRS_MIN, Lengths, Pages, runs
from storage.pairs import PREFIX, after
from storage.postgres import drop_table, kv, take_spare_table
from storage.statements import bounded_scan_sql, bounds, packed_scan_sql
from tests.storage import pairs_sql

MB = 2**20


@pytest.mark.parametrize(("pairs", "size", "then"), [
    pytest.param(10_000, 10_000 * 40, 20_000, id="small ones: as many as there may be"),
    pytest.param(10_000, 10_000 * 1024, PAGE_BYTES // 1024, id="larger ones: as many as have 8 MB"),
    pytest.param(8, 8 * MB, PAIRS_MIN, id="the largest: some rows' worth"),
])  # fmt: skip
def test_a_page_is_as_large_as_the_one_before_suggests(pairs: int, size: int, then: int) -> None:
    pages = Pages(b"a", 10_000, 20_000)
    pages.learn(pairs, size, b"k")
    assert (pages.pairs, pages.low, pages.is_done) == (then, b"k\0", False)


@pytest.mark.parametrize(("pairs", "size", "is_done"), [
    pytest.param(0, 0, True, id="nothing is left"),
    pytest.param(9_999, 40, True, id="fewer than were asked for"),
    pytest.param(10_000, 40, False, id="as many as were asked for"),
    pytest.param(1, PAGE_BYTES, False, id="fewer, as they are large"),
])  # fmt: skip
def test_a_scan_is_done_when_a_page_had_room_for_more(pairs: int, size: int, is_done: bool) -> None:
    pages = Pages(b"a", 10_000, 20_000)
    pages.learn(pairs, size, b"k")
    assert pages.is_done is is_done


LENGTHS = st.lists(st.integers(0, 400) | st.sampled_from([0, 3000, 100_000]), max_size=80)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LENGTHS, st.integers(1, 60))
@example([0, 0, 0, 100, 400, 428, 0], 7)  # some bytes below the bound, which ended a scan too early
def test_pages_are_prefixes_of_some_bytes(
    pair_table: "tuple[psycopg.Connection[Any], int]", lengths: list[int], most: int
) -> None:
    """Of all pairs, in key order, each once; a page ends with the pair that fills it."""
    opened, table_id = pair_table
    start = PREFIX.pack(table_id, 1, 1)
    stored = {start + number.to_bytes(2): b"v" * length for number, length in enumerate(lengths)}
    opened.execute(f"TRUNCATE {kv(1, table_id)}")
    for key, value in stored.items():
        opened.execute(*pairs_sql.insert(1, table_id, key, value))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storage.page_sizes.PAGE_BYTES", 1000)
        found = list(read(opened, table_id, most))
    assert [pair for page in found for pair in page] == list(stored.items())
    for page in found:
        *others, _ = [len(key) + len(value) for key, value in page]
        assert sum(others) < 1000
        assert len(page) <= most + PAIRS_MIN


def read(opened: "psycopg.Connection[Any]", table_id: int, most: int) -> Iterator[list[tuple[bytes, bytes]]]:
    """The pages of a table, packed and not packed, which are the same."""
    start = PREFIX.pack(table_id, 1, 1)
    pages = Pages(start, most, most + PAIRS_MIN)
    plain, packed = bounded_scan_sql(1, table_id), packed_scan_sql(1, table_id, bounded=True)
    while not pages.is_done:
        cursor, params = opened.cursor(binary=True), (*bounds(pages.low, after(start)), pages.pairs, pages.bytes_max)
        page = cursor.execute(plain, params).fetchall()
        row = cursor.execute(packed, params).fetchone()
        assert row is not None
        unpacked = unpack(table_id, *row)
        assert list(zip(unpacked.keys.to_pylist(), unpacked.values.to_pylist(), strict=True)) == page
        pages.learn(len(page), sum(len(k) + len(v) for k, v in page), page[-1][0] if page else b"")
        if page:
            yield page


@pytest.fixture
def pair_table(dsn: str) -> "Iterator[tuple[psycopg.Connection[Any], int]]":
    with psycopg.connect(dsn, autocommit=True) as opened:
        made = take_spare_table(opened.cursor())
        yield opened, made
        drop_table(opened.cursor(), 2, made)


def test_a_long_value_is_met_once_by_the_scans_of_a_table() -> None:
    """Each page that is thrown away was read, packed and sent."""
    lengths = Lengths()
    first, second = (PackedScan(storage, 7, b"a", b"b", [0, 2], lengths) for storage in (1, 2))
    short, others = first.question()[0], PackedScan(2, 7, b"a", b"b", [0, 2])
    assert not len(first.take(1, b"", b"", b"", b"", b"", 10 * MB))
    assert not first.is_done
    assert first.question()[0] != short
    assert second.question()[0] == first.question()[0].replace("storage_1", "storage_2")
    assert others.question()[0] == short.replace("storage_1", "storage_2")


@pytest.mark.parametrize(("sizes", "cut"), [
    pytest.param([], [], id="nothing"),
    pytest.param([100, 200], [2], id="a page that is not too large"),
    pytest.param([MB] * 20, [8, 8, 4], id="even ones"),
    pytest.param([10, 20 * MB, 10, 10], [1, 1, 2], id="one that is too large by itself"),
    pytest.param([5 * MB, 5 * MB, 1], [1, 2], id="as many as fit"),
])  # fmt: skip
def test_a_page_that_is_too_large_is_cut_into_runs(sizes: list[int], cut: list[int]) -> None:
    found = list(runs(sizes))
    assert [run.stop - run.start for run in found] == cut
    assert [size for run in found for size in sizes[run]] == sizes
