"""What a learner is told while they play: the goal, or the other damage; and of a lost game the move."""

import pytest

from lab.exercises.chapter import Screen, Survive
from lab.exercises.goals import made_instead
from lab.exercises.grading import grade
from lab.exercises.reached import reached
from lab.exercises.shelf import books
from lab.sessions.short_steps import in_full
from tests.lab.exercises.chapters import REACH, screen_of

AHEAD = ("publish.2", "n2.acquire")


def of_chapter(folder: str, screen: str) -> Screen:
    chapter = next(book.chapter for book in books() if book.folder == folder)
    assert chapter is not None
    found = chapter.screen(screen)
    assert found is not None
    return found


def test_success_is_noticed_at_its_step_and_not_before() -> None:
    screen = screen_of(REACH)
    assert not reached(screen, AHEAD).is_goal
    assert reached(screen, (*AHEAD, *in_full(["n1.insert.1.1"]))).is_goal


def test_other_damage_is_named_with_the_wanted_one() -> None:
    orphan = of_chapter("01-one-jump", "from-the-start")
    assert orphan.start is not None
    found = reached(orphan, (*AHEAD, *in_full(["n1.insert.1.1"])))
    assert not found.is_goal
    assert str(found.made) == "You made: missing entry (C4). Wanted: orphan entry (C5)."
    remarks = grade(orphan, {"steps": [*AHEAD, *in_full(["n1.insert.1.1"])]}).remarks
    assert remarks[0] == found.made


def test_steps_that_cannot_be_taken_reach_nothing() -> None:
    screen = screen_of(REACH)
    for steps in ((*AHEAD, "publish.3"), ("no such step",), ()):
        assert reached(screen, steps) == reached(of_chapter("01-one-jump", "what-is-left"), AHEAD)


@pytest.mark.parametrize(
    ("wanted", "damage", "words"),
    [
        (("C5@v2",), ("C4",), "You made: missing entry (C4). Wanted: orphan entry (C5)."),
        (("C4@v2", "C5@v2"), ("C4",), ""),
        (("C5@v2",), (), ""),
        (("v3",), ("C4",), ""),
        (("public",), ("C4",), ""),
    ],
)
def test_damage_is_named_where_none_of_it_is_wanted(
    wanted: tuple[str, ...], damage: tuple[str, ...], words: str
) -> None:
    assert str(made_instead(wanted, damage)) == words


def test_a_lost_game_names_the_move_and_the_rule() -> None:
    screen = of_chapter("05-two-versions", "be-the-publisher")
    assert isinstance(screen.task, Survive)
    moves = ["publish.2", "publish.3", *["wait"] * (screen.task.moves_max - 2)]
    lost = grade(screen, {"moves": moves})
    assert str(lost.remarks[0]).startswith("Move 2 lost: publish v3")
    assert "still leases v1" in str(lost.remarks[0])
