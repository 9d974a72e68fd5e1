"""The clock that answers a question about time."""

from lab.exercises.chapter import Predict
from lab.exercises.clock_runs import clock_run
from lab.exercises.grading import right_answer
from lab.exercises.shelf import books


def test_the_clock_stops_at_the_right_answer() -> None:
    clocks = []
    for book in books():
        for screen in book.chapter.screens if book.chapter else ():
            if isinstance(screen.task, Predict) and (moments := clock_run(screen.task)):
                end = moments[-1].at_min
                assert f"{end // 60}:{end % 60:02d}" == right_answer(screen.task, screen.start)
                assert [one.at_min for one in moments] == sorted({one.at_min for one in moments})
                clocks.append(screen.id)
    assert clocks == ["next-edition"]
