"""First answers, counted as the grading reads them."""

from dataclasses import replace

import pytest

from lab.classroom.tally import BARS_MAX, Bar, tallies
from lab.exercises.chapter import Form, Item, Predict, Start

CHOICE = Predict("pairs", Form.CHOICE, "entry", values={"nothing": "", "entry": "entry 1→r1", "both": "x"})
NUMBER = Predict("seconds", Form.NUMBER, 7)
PAIRS = Predict("pairs", Form.PAIRS, frozenset({"a", "b"}), options=("a", "b", "c"))
ORDER = Predict("order of x", Form.ORDER, ("b", "a"), options=("a", "b"))
MATCH = Predict(
    "pairs",
    Form.MATCH,
    {"one": "yes", "two": "no"},
    values={"yes": "y", "no": "n"},
    items=(Item("one", Start("s"), "yes"), Item("two", Start("s"), "no")),
)


def test_every_choice_has_its_bar_in_the_order_of_the_task() -> None:
    [found] = tallies(CHOICE, [{"choice": "both"}, {"choice": "entry"}, {"choice": "both"}])
    assert found.bars == (Bar("nothing", 0, False), Bar("entry", 1, True), Bar("both", 2, False))


@pytest.mark.parametrize(
    ("task", "answers", "expected"),
    [
        pytest.param(
            NUMBER, [{"number": "07"}, {"number": 7}, {"number": "8"}], [("7", 2, True), ("8", 1, False)], id="07 is 7"
        ),
        pytest.param(
            PAIRS,
            [{"pairs": ["b", "a"]}, {"pairs": []}, {"pairs": ["a", "b"]}],
            [("a; b", 2, True), ("∅", 1, False)],
            id="a set has no order",
        ),
        pytest.param(
            ORDER,
            [{"order": ["a", "b"]}, {"order": ["b", "a"]}],
            [("a → b", 1, False), ("b → a", 1, True)],
            id="an order has one",
        ),
        pytest.param(NUMBER, [{"number": "many"}, {}], [], id="what is no answer any more does not count"),
        pytest.param(NUMBER, [], [], id="nobody has answered"),
    ],
)
def test_other_answers_speak_for_themselves(task: Predict, answers: list[dict], expected: list) -> None:
    [found] = tallies(task, answers)
    assert [(bar.answer, bar.count, bar.is_right) for bar in found.bars] == expected


def test_each_item_is_counted_by_itself() -> None:
    answers = [{"match": {"one": "yes", "two": "yes"}}, {"match": {"one": "yes", "two": "no"}}]
    one, two = tallies(MATCH, answers)
    assert (one.item, [(bar.answer, bar.count) for bar in one.bars]) == ("one", [("yes", 2), ("no", 0)])
    assert [(bar.count, bar.is_right) for bar in two.bars] == [(1, False), (1, True)]


def test_of_many_different_answers_the_rare_ones_are_only_counted() -> None:
    task = replace(NUMBER, answer=0)
    [found] = tallies(task, [{"number": str(n)} for n in range(BARS_MAX + 3)])
    assert (len(found.bars), found.more) == (BARS_MAX, 3)
