"""Whatever may be wrong with a learner's lines has a text: solutions of all chapters, spoilt in every small way."""

from collections.abc import Iterator, Sequence

import pytest

from catalog.text.message import Text
from changes.review.check import find_faults
from changes.review.defect import Fault
from lab.exercises import designs
from lab.exercises.chapter import Design
from lab.exercises.shelf import books

DESIGNS = {
    f"{book.folder}/{screen.id}": screen.task
    for book in books()
    for screen in (book.chapter.screens if book.chapter else ())
    if isinstance(screen.task, Design) and screen.task.grammar != "handbooks"
}
STATES = ("public", "write-only", "absent")
WORDS = (*(f"publish {state}" for state in STATES), "drain", "delete", "fill", "verify", "close", "purge")


@pytest.mark.parametrize("task", DESIGNS.values(), ids=DESIGNS)
def test_whatever_is_wrong_has_a_text(task: Design) -> None:
    said = []
    for lines in [*spoilt(task.solution), *spoilt(task.wrong)]:
        try:
            if task.grammar == "states":
                designs.model_of_states(task, lines)
                continue
            plan = designs.written_plan(task, designs.written_lines(task, lines))
            said += [fault.text for fault in find_faults(plan)]
        except designs.Malformed as mistake:
            said.append(mistake.why)
    assert said
    assert [str(text) for text in said if is_english(text)] == []


def spoilt(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines without one, with one twice, with two exchanged, and with a word that is none of theirs."""
    yield []
    for at, line in enumerate(lines):
        yield [*lines[:at], *lines[at + 1 :]]
        yield [*lines[:at], *lines[at + 1 : at + 2], line, *lines[at + 2 :]]
        yield [*lines[:at], line, *lines[at:]]
        yield [*lines[:at], "nonsense", *lines[at:]]
        yield [*lines[:at], "publish nonsense", *lines[at:]]
        yield from ([*lines[:at], word, *lines[at:]] for word in WORDS)


def is_english(text: Text) -> bool:
    """True if a part of it is a sentence without a template."""
    return text.template == "{why}" or any(is_english(one) for one in text.values.values() if isinstance(one, Text))


def test_a_fault_names_its_step_and_its_clauses() -> None:
    fault = Fault(1, ("C3", "C4"), Text("the order must be {order}", {"order": "close, verify"}))
    assert str(fault) == "step 2 (C3 and C4): the order must be close, verify"


def test_a_constraint_cannot_move_when_its_column_is_gone() -> None:
    """The column first is the mistake that the task is about: it is answered, in words."""
    task = DESIGNS["08-other-elements/drop-it-with-its-not-null"]
    lines = ["publish t_a_not_null write-only", "drain", "publish a absent", "drain", "publish t_a_not_null absent"]
    with pytest.raises(designs.Malformed) as refused:
        designs.judge_design(task, lines)
    assert str(refused.value) == "step 5: constraint t_a_not_null is about a column that is already absent"
