"""Patterns of dates: what is refused, and what they cost (more: `tests/nodes/statements/date_patterns.sql`)."""

import time

import pytest

from catalog.values.intervals import Interval
from expressions.dates.reading_by_patterns import to_date, to_timestamp
from expressions.dates.writing_by_patterns import of_interval
from expressions.errors import SqlError


@pytest.mark.parametrize(
    ("text", "pattern", "sqlstate"),
    [
        pytest.param("1", "YYYY" * 10**6, "54000", id="a pattern of millions of characters"),
        pytest.param("1" * 10**6, "YYYY", "54000", id="a text of a million characters"),
        pytest.param("1" * 9_000, "YYYY", "22008", id="a number without an end"),
        pytest.param("2024 +02", "YYYY TZH", "0A000", id="a time zone"),
        pytest.param("12 BC", "YYYY BC", "22008", id="before Christ"),
        pytest.param("12-31", "MM-DD", "22008", id="no year"),
        pytest.param("2024 60", "YYYY MI", "22008", id="a minute too many"),
    ],
)
def test_what_is_no_moment_is_refused_at_once(text: str, pattern: str, sqlstate: str) -> None:
    began = time.process_time()
    with pytest.raises(SqlError) as caught:
        to_timestamp(text, pattern)
    assert caught.value.sqlstate == sqlstate
    assert time.process_time() - began < 1.0


def test_the_last_day_of_a_node() -> None:
    assert str(to_date("9999-12-31", "YYYY-MM-DD")) == "9999-12-31"
    with pytest.raises(SqlError, match="out of range"):
        to_date("10000-01-01", "YYYY-MM-DD")


def test_an_interval_has_no_weekday() -> None:
    assert of_interval(Interval(14, -3, 0), "YYYY MM DD") == "0001 02 -3"
    with pytest.raises(SqlError, match="invalid format specification for an interval value"):
        of_interval(Interval(14), "Day")
