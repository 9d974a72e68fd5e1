"""The sessions that learners played can be opened on the stage."""

import pytest

from lab.classroom.traces import trace_of
from lab.exercises.chapter import Live, Predict, Screen
from lab.exercises.shelf import books
from lab.sessions.replay import show
from lab.sessions.session import encode

CHAPTERS = {book.folder: book.chapter for book in books()}
INSERT = ["n2.begin", "n2.read.1", "n2.write.insert.1.1", "n2.commit"]


def screen(chapter: str, task: str) -> Screen:
    found = CHAPTERS[chapter]
    assert found is not None
    of_chapter = found.screen(task)
    assert of_chapter is not None
    return of_chapter


def test_a_prediction_opens_with_what_was_hidden() -> None:
    trace = trace_of(screen("01-one-jump", "what-is-left"), {"choice": "nothing"})
    assert trace is not None
    assert trace.steps[-1] == "n1.commit"
    assert show(trace).refused is None


def test_a_learners_own_steps_are_what_they_took() -> None:
    steps = ["publish.2", "n2.acquire", "n2.insert.1.1"]
    trace = trace_of(screen("01-one-jump", "from-the-start"), {"steps": steps})
    assert trace is not None
    assert trace.steps == ("publish.2", "n2.acquire", *INSERT)


@pytest.mark.parametrize("steps", [None, "publish.2", [1, {}], [["publish.2"]]])
def test_steps_that_are_none_are_left_out(steps: object) -> None:
    trace = trace_of(screen("01-one-jump", "from-the-start"), {"steps": steps})
    assert trace is not None
    assert trace.steps == ()


ALL = [
    pytest.param(chapter.id, one, id=f"{chapter.id} {one.id}")
    for chapter in CHAPTERS.values()
    if chapter is not None
    for one in chapter.tasks
    if not isinstance(one.task, Live)
]


@pytest.mark.parametrize(("chapter", "task"), ALL)
def test_every_task_has_a_trace_that_can_be_shown(chapter: str, task: Screen) -> None:
    trace = trace_of(task, {"lines": ["both/both"], "steps": []})
    if trace is not None:
        may_be_refused = isinstance(task.task, Predict) and task.task.asks == "taken"
        assert show(trace).refused is None or may_be_refused
        assert encode(trace, len(trace.steps))
