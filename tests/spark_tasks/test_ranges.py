"""Ranges cover the key space without gap or overlap; pace and throttle are arithmetic."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_tasks.chunks import chunk
from spark_tasks.runs.pacing import (
    CHUNK_S_AIM,
    PAIRS_MAX,
    PAIRS_MIN,
    Pace,
    Quiet,
    Traffic,
    pairs_allowed,
    rest_s,
    share_of_time,
    wait_s,
)
from spark_tasks.runs.ranges import FILL_ROWS, rows_per_fill_range, shares_of, split

KEYS = st.binary(min_size=1, max_size=3)


@given(sample=st.lists(KEYS), rows=st.integers(0, 10**7), low=KEYS, high=KEYS)
def test_ranges_lie_side_by_side_from_low_to_high(sample: list[bytes], rows: int, low: bytes, high: bytes) -> None:
    low, high = min(low, high), max(low, high) + b"\xff"
    ranges = split(storage=1, low=low, high=high, sample=sorted(sample), rows=rows)
    assert [r.low for r in ranges] == [low, *(r.high for r in ranges[:-1])]
    assert ranges[-1].high == high
    assert all(r.low < r.high for r in ranges)


def test_rows_are_shared_out_equally_among_ranges() -> None:
    sample = [n.to_bytes(2) for n in range(1000)]
    ranges = split(storage=1, low=b"\x00", high=b"\xff", sample=sample, rows=100_000)
    assert [r.rows for r in ranges] == [20_000] * 5
    assert ranges[1].low == (200).to_bytes(2)


def test_each_range_is_with_one_worker_and_all_begin_at_the_start() -> None:
    assert shares_of(7, 3) == [[0, 3, 6], [1, 4], [2, 5]]
    assert shares_of(2, 8) == [[0], [1]]
    assert shares_of(0, 8) == []


@pytest.mark.parametrize(
    ("pairs", "seconds", "expected"),
    [
        pytest.param(1000, CHUNK_S_AIM, 1000, id="as long as it should"),
        pytest.param(1000, 10 * CHUNK_S_AIM, 100, id="too slow: smaller at once"),
        pytest.param(1000, CHUNK_S_AIM / 10, 2000, id="fast: twice as large, not ten times"),
        pytest.param(10, CHUNK_S_AIM / 10, 1000, id="a short last chunk says nothing"),
        pytest.param(1000, 1000.0, PAIRS_MIN, id="never less than some"),
    ],
)
def test_a_chunk_is_as_large_as_the_last_one_allows(pairs: int, seconds: float, expected: int) -> None:
    assert Pace(1000).after(pairs=pairs, seconds=seconds).pairs == expected
    assert Pace(PAIRS_MAX).after(pairs=PAIRS_MAX, seconds=1e-9).pairs == PAIRS_MAX


def test_a_chunk_that_gave_way_is_followed_by_a_smaller_one() -> None:
    assert Pace(1000).after_giving_way() == Pace(500)
    assert Pace(PAIRS_MIN).after_giving_way() == Pace(PAIRS_MIN)


def test_chunks_grow_only_where_nobody_has_looked_for_a_pair_for_a_while() -> None:
    quiet = Quiet()
    assert not quiet.lasts(100.0), "nothing was heard yet"
    for scans, at, lasts in [(5, 0.0, False), (5, 1.0, False), (5, 2.0, True), (6, 2.1, False), (6, 4.0, True)]:
        quiet.hear(scans, at)
        assert quiet.lasts(at) is lasts, at
    assert Pace(1000).after(pairs=1000, seconds=CHUNK_S_AIM).pairs == 1000
    assert Pace(1000).after(pairs=1000, seconds=CHUNK_S_AIM, is_quiet=True).pairs == 2000


@pytest.mark.parametrize(
    ("rows", "stored", "elements", "workers", "expected"),
    [
        pytest.param(300_000, 1 << 20, 1, 1, 300_000, id="all of a storage at once"),
        pytest.param(300_000, 1 << 20, 1, 2, 150_000, id="something for each worker"),
        pytest.param(10**7, 1 << 30, 1, 1, FILL_ROWS, id="no more than fit"),
        pytest.param(10**7, 1 << 30, 3, 1, FILL_ROWS // 3, id="three elements need more room"),
        pytest.param(10**6, 10 << 30, 1, 1, 25_000, id="wide rows: fewer"),
        pytest.param(40_000, 4 << 30, 1, 1, 2500, id="very wide rows: very few"),
        pytest.param(100, 100 << 30, 1, 1, 1, id="at least one"),
        pytest.param(300, 1 << 20, 1, 2, 20_000, id="a small table is not shared out"),
        pytest.param(0, 0, 1, 1, 1, id="an empty table"),
    ],
)
def test_a_fill_takes_as_many_rows_as_fit(rows: int, stored: int, elements: int, workers: int, expected: int) -> None:
    assert rows_per_fill_range(rows=rows, bytes_read=stored, elements=elements, workers=workers) == expected


def test_a_throttled_chunk_is_small_so_that_no_wait_is_long() -> None:
    assert pairs_allowed(5000, None) == 5000
    assert pairs_allowed(5000, 1000.0) == 500
    assert pairs_allowed(5000, 0.1) == 1
    assert pairs_allowed(50, 1e6) == 50


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(None, 0.0, id="no throttle"),
        pytest.param(1000.0, 0.9, id="waits out the rest of the second"),
        pytest.param(1e9, 0.0, id="slower than allowed anyway"),
    ],
)
def test_the_throttle_makes_up_for_what_went_too_fast(limit: float | None, expected: float) -> None:
    assert wait_s(rows=1000, seconds=0.1, rows_per_s_max=limit) == pytest.approx(expected)


def test_traffic_is_what_ran_at_a_time_of_late() -> None:
    traffic = Traffic()
    assert traffic.at_a_time == 0.0
    for number, running in enumerate([4, 4, 0, 1, 1]):
        traffic.hear(running, float(number))
    assert traffic.at_a_time == pytest.approx(2 / 3), "what was longer ago than two seconds does not count"


@pytest.mark.parametrize(
    ("works", "limit", "expected"),
    [
        pytest.param(1.0, None, 0.0, id="all of its time"),
        pytest.param(0.5, None, 0.1, id="half of it"),
        pytest.param(0.1, None, 0.9, id="a tenth"),
        pytest.param(0.0, None, 2.0, id="none, for as long as nothing else is heard"),
        pytest.param(0.1, 1000.0, 0.0, id="a person's throttle is kept as it is set"),
    ],
)
def test_work_rests_for_the_others(works: float, limit: float | None, expected: float) -> None:
    assert rest_s(seconds=0.1, works=works, rows_per_s_max=limit) == pytest.approx(expected)


def test_without_a_word_from_nodes_their_transactions_say_how_much_to_work() -> None:
    assert [round(share_of_time(traffic=traffic), 3) for traffic in (0.0, 0.1, 1.0, 9.0)] == [1.0, 0.588, 0.125, 0.125]


def test_no_rest_is_so_long_that_a_pause_or_a_cancel_seems_unheard() -> None:
    assert rest_s(seconds=60.0, works=0.1, rows_per_s_max=None) == 2.0


def test_attempts_are_spaced_wider_and_wider_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(chunk, "time", SimpleNamespace(sleep=slept.append))
    assert list(chunk.spaced(6, first_s=1.0, longest_s=5.0)) == [0, 1, 2, 3, 4, 5]
    assert slept == [1.0, 2.0, 4.0, 5.0, 5.0]
