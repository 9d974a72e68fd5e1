"""The screen up to which a class may go."""

import pytest

from lab.classroom.pace import CLOSED, Pace, last_open, moved
from lab.exercises.chapter import Chapter, Screen

FIRST = Chapter(0, "00-first", 1, 8, (Screen("a"), Screen("b")))
SECOND = Chapter(1, "01-second", 1, 8, (Screen("c"), Screen("d"), Screen("e")))
THIRD = Chapter(2, "02-third", 1, 8, (Screen("f"),))
FOLDERS = [one.id for one in (FIRST, SECOND, THIRD)]


@pytest.mark.parametrize(
    ("pace", "expected"),
    [
        pytest.param(None, (1, 2, 0), id="everybody goes on alone"),
        pytest.param(Pace("01-second", "c"), (1, 0, CLOSED), id="the first screen of a chapter"),
        pytest.param(Pace("01-second", "d"), (1, 1, CLOSED), id="one further on"),
        pytest.param(Pace("02-third", "f"), (1, 2, 0), id="the end of the course"),
        pytest.param(Pace("09-gone", "x"), (1, 2, 0), id="a chapter that is gone stops nobody"),
        pytest.param(Pace("01-second", "gone"), (1, 2, CLOSED), id="a screen that is gone opens its chapter"),
    ],
)
def test_chapters_are_open_up_to_the_pace(pace: Pace | None, expected: tuple[int, int, int]) -> None:
    assert tuple(last_open(pace, FOLDERS, one) for one in (FIRST, SECOND, THIRD)) == expected


@pytest.mark.parametrize(
    ("pace", "by", "expected"),
    [
        pytest.param(Pace("00-first", "a"), 1, Pace("00-first", "b"), id="on"),
        pytest.param(Pace("00-first", "b"), 1, Pace("01-second", "c"), id="on to the next chapter"),
        pytest.param(Pace("01-second", "c"), -1, Pace("00-first", "b"), id="back over a beginning"),
        pytest.param(Pace("00-first", "a"), -1, Pace("00-first", "a"), id="not before the start"),
        pytest.param(Pace("02-third", "f"), 1, Pace("02-third", "f"), id="not behind the end"),
    ],
)
def test_moving_on_goes_over_the_ends_of_chapters(pace: Pace, by: int, expected: Pace) -> None:
    assert moved(pace, [FIRST, SECOND, THIRD], by) == expected
