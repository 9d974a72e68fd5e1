"""The steps that the stage lists beside a chapter's first screens."""

import pytest

from lab.exercises.chapter import Chapter, Reach
from lab.exercises.observations import session_of
from lab.exercises.shelf import books
from lab.exercises.vocabulary import NUMBER_MAX, OTHERS, steps_needed
from lab.sessions.replay import show
from lab.sessions.short_steps import in_full, in_short

CHAPTERS = [book.chapter for book in books() if book.chapter is not None and book.chapter.screens]
FIRST = [chapter for chapter in CHAPTERS if chapter.number <= NUMBER_MAX]


@pytest.mark.parametrize("chapter", FIRST, ids=lambda one: one.id)
def test_everything_that_a_solution_takes_is_listed(chapter: Chapter) -> None:
    needed = set(steps_needed(chapter))
    for screen in chapter.screens:
        taken = (*screen.do, *(screen.task.solution if isinstance(screen.task, Reach) else ()))
        assert set(in_short(in_full(taken))) <= needed, screen.id


@pytest.mark.parametrize("chapter", FIRST, ids=lambda one: one.id)
def test_what_is_listed_is_no_screens_answer(chapter: Chapter) -> None:
    """Both nodes, or both people, may do everything that one of them does."""
    needed = set(steps_needed(chapter))
    assert {".".join(OTHERS.get(part, part) for part in step.split(".")) for step in needed} == needed


def test_the_list_is_shorter_than_all_that_may_be_done() -> None:
    chapter = next(one for one in FIRST if one.number == 1)
    start = chapter.screens[0].start
    assert start is not None
    offers = show(session_of(start), single_steps=False).offers
    shown = [one for one in offers if not one.why_not and one.id in steps_needed(chapter)]
    assert 0 < len(shown) < len([one for one in offers if not one.why_not]) < len(offers)


def test_later_chapters_list_everything() -> None:
    assert all(steps_needed(chapter) == () for chapter in CHAPTERS if chapter.number > NUMBER_MAX)
