"""Places on the axis of time."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from leases.staircase.axis import MOMENTS_MAX, axis

MOMENTS = st.lists(st.floats(min_value=-10, max_value=5000, allow_nan=False), max_size=40)


@given(MOMENTS, st.floats(min_value=0.5, max_value=4000))
def test_what_is_later_is_never_further_left(moments: list[float], end: float) -> None:
    scale = axis(moments, start=0.0, end=end)
    places = [scale.place(time) for time in sorted([*moments, 0.0, end])]
    assert all(left <= right for left, right in pairwise(places))
    assert (scale.place(0.0), scale.place(end)) == (0.0, 100.0)
    assert (scale.place(-99.0), scale.place(end + 99)) == (0.0, 100.0)


def test_milliseconds_are_seen_beside_half_a_minute() -> None:
    scale = axis([10.0, 10.005, 10.010, 40.0], start=0.0, end=50.0)
    steps = [right - left for left, right in pairwise(scale.place(time) for time in (10.0, 10.005, 10.010))]
    assert all(step > 2.5 for step in steps)
    assert [fold.seconds for fold in scale.folds()] == [10.0, 30.0, 10.0]


def test_within_a_stretch_time_is_even() -> None:
    scale = axis([], start=0.0, end=10.0)
    assert [scale.place(time) for time in (2.5, 5.0, 7.5)] == [25.0, 50.0, 75.0]


def test_the_axis_of_very_many_moments_is_bounded() -> None:
    scale = axis([number / 7 for number in range(7000)], start=0.0, end=1000.0)
    assert len(scale.times) <= MOMENTS_MAX + 2
