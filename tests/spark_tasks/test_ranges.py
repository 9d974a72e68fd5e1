"""Ranges cover the key space without gap or overlap; pace and throttle are arithmetic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_tasks.pace import CHUNK_S_AIM, PAIRS_MAX, PAIRS_MIN, Pace, wait_s
from spark_tasks.ranges import hands, split

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


def test_each_piece_is_in_one_hand_and_all_begin_at_the_start() -> None:
    assert hands(7, 3) == [[0, 3, 6], [1, 4], [2, 5]]
    assert hands(2, 8) == [[0], [1]]
    assert hands(0, 8) == []


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
