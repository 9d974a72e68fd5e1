"""Statements as lines of the trace, and the steps of "let it run"."""

from dataclasses import replace

import pytest

from lab.sessions.fold import folded
from lab.sessions.random_step import random_step
from lab.sessions.replay import new_session, show
from lab.sessions.session import Session
from lab.sessions.shown import SessionView

INSERT = ("n2.begin", "n2.read.1", "n2.write.insert.1.1", "n2.commit")


def of(*steps: str, at: int | None = None) -> SessionView:
    return show(Session("one-jump", {}, frozenset(), ("publish.2", "n2.acquire", *steps)), at)


@pytest.mark.parametrize(
    ("steps", "at", "positions"),
    [
        pytest.param(INSERT, None, [1, 2, 6], id="a statement is one line"),
        pytest.param(INSERT, 4, [1, 2, 3, 4, 5, 6], id="not one in the middle of which we stand"),
        pytest.param(INSERT, 2, [1, 2, 6], id="one that is ahead is"),
        pytest.param(INSERT[:3], None, [1, 2, 3, 4, 5], id="not one that has not ended"),
        pytest.param(
            (INSERT[0], "n1.acquire", *INSERT[1:]), None, [1, 2, 3, 4, 5, 6, 7], id="not one with others in it"
        ),
        pytest.param(("n1.begin", *INSERT), None, [1, 2, 3, 7], id="the beginning of another one stays apart"),
    ],
)
def test_positions_of_the_lines(steps: tuple[str, ...], at: int | None, positions: list[int]) -> None:
    shown = folded(of(*steps, at=at), single_steps=False)
    assert [line.until for line in shown.trace] == positions
    assert {len(row.cells) for row in shown.strip} == {len(positions) + 1}


def test_a_range_of_the_fill_is_one_line() -> None:
    begun = new_session("fill")
    filled = Session("fill", {}, frozenset(), (*begun.steps, "fill.read.1.1", "fill.put.1.1"))
    lines = folded(show(filled), single_steps=False).trace
    assert [line.id for line in lines[-2:]] == [begun.steps[-1], "fill.put.1.1"]


def test_single_steps_are_as_they_are() -> None:
    shown = of(*INSERT)
    again = folded(shown, single_steps=True)
    assert [line.id for line in again.trace] == [line.id for line in shown.trace]
    assert again.strip == shown.strip


def test_a_random_step_may_be_taken_and_changes_something() -> None:
    for seed in range(20):
        offer = random_step(of(), seed)
        assert offer is not None
        assert not offer.why_not
        assert not offer.changes_nothing
        assert random_step(of(), seed) == offer


def test_where_nothing_may_be_done_there_is_no_random_step() -> None:
    assert random_step(replace(of(), offers=()), 1) is None
