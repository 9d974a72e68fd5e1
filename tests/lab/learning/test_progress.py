"""Answers are kept, hints counted, and what a visitor did is theirs after sign-in."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils.timezone import now

from lab.exercises.chapter import Chapter, Screen
from lab.exercises.grading import BadAnswer, Outcome
from lab.exercises.shelf import books
from lab.learning import selectors, services
from lab.learning.learner import VISITOR, Learner, learner_of
from lab.models import Attempt, Progress

VISITOR_1 = Learner(visitor="a" * 32)
RIGHT, WRONG = {"choice": "entry"}, {"choice": "nothing"}


@pytest.fixture
def chapter() -> Chapter:
    found = next(book.chapter for book in books() if book.folder == "01-one-jump")
    assert found is not None
    return found


@pytest.fixture
def predict(chapter: Chapter) -> Screen:
    found = chapter.screen("what-is-left")
    assert found is not None
    return found


@pytest.fixture
def lea(db: None) -> User:
    return User.objects.create(username="lea")


def row() -> Progress:
    return Progress.objects.get()


def test_an_answer_is_stored_with_its_outcome(db: None, chapter: Chapter, predict: Screen) -> None:
    _, graded = services.answer(VISITOR_1, chapter, predict, WRONG | {"csrf": "x"})
    assert graded.outcome is Outcome.WRONG
    attempt = Attempt.objects.get()
    assert (attempt.answer, attempt.outcome, attempt.hints) == (WRONG, "wrong", 0)
    assert (row().passed_at, row().answered_at is None) == (None, False)


def test_what_is_no_answer_is_not_stored(db: None, chapter: Chapter, predict: Screen) -> None:
    with pytest.raises(BadAnswer):
        services.answer(VISITOR_1, chapter, predict, {"choice": "maybe"})
    assert not Progress.objects.exists()


def test_passed_once_is_passed(db: None, chapter: Chapter, predict: Screen) -> None:
    services.answer(VISITOR_1, chapter, predict, RIGHT)
    passed_at = row().passed_at
    services.answer(VISITOR_1, chapter, predict, WRONG)
    assert (row().passed_at, row().was_helped) == (passed_at, False)
    assert Attempt.objects.count() == 2


@pytest.mark.parametrize("help_", ["hint", "solution"])
def test_help_before_success_is_marked(db: None, chapter: Chapter, predict: Screen, help_: str) -> None:
    give = services.take_hint if help_ == "hint" else services.show_solution
    give(VISITOR_1, chapter, predict)
    services.answer(VISITOR_1, chapter, predict, RIGHT)
    assert row().was_helped


def test_hints_after_success_cost_nothing_and_there_are_three(db: None, chapter: Chapter, predict: Screen) -> None:
    services.answer(VISITOR_1, chapter, predict, RIGHT)
    for _ in range(5):
        services.take_hint(VISITOR_1, chapter, predict)
    assert (row().hints, row().was_helped) == (3, False)


def test_of_many_attempts_the_first_and_the_newest_are_kept(
    db: None, chapter: Chapter, predict: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "ATTEMPTS_MAX", 3)
    services.answer(VISITOR_1, chapter, predict, WRONG)
    for _ in range(6):
        services.answer(VISITOR_1, chapter, predict, RIGHT)
    assert list(Attempt.objects.order_by("pk").values_list("outcome", flat=True)) == ["wrong", "right", "right"]


def visitors() -> list[str]:
    return sorted(Progress.objects.values_list("visitor", flat=True))


def test_a_flood_of_visitors_displaces_itself(
    db: None, chapter: Chapter, predict: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "VISITORS_ROWS_MAX", 4)
    monkeypatch.setattr(services, "LOOKED_AT_EVERY", 1)
    reach = chapter.screen("from-the-start")
    assert reach is not None
    services.answer(Learner(visitor="a"), chapter, predict, WRONG)
    services.take_hint(Learner(visitor="a"), chapter, reach)
    services.answer(Learner(visitor="b"), chapter, predict, WRONG)
    for name in "wxyz":
        services.take_hint(Learner(visitor=name), chapter, predict)
    assert visitors()[:3] == ["a", "a", "b"]
    assert len(visitors()) == 4


def test_visitors_whose_session_is_over_are_forgotten_first(
    db: None, chapter: Chapter, predict: Screen, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(services, "VISITORS_ROWS_MAX", 2)
    monkeypatch.setattr(services, "LOOKED_AT_EVERY", 1)
    services.answer(Learner(visitor="a"), chapter, predict, WRONG)
    Progress.objects.update(answered_at=now() - timedelta(seconds=settings.SESSION_COOKIE_AGE + 1))
    for name in "bc":
        services.take_hint(Learner(visitor=name), chapter, predict)
    assert visitors() == ["b", "c"]


def test_the_rows_of_one_visitor_are_bounded(
    db: None, chapter: Chapter, predict: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "VISITOR_ROWS_MAX", 2)
    for screen in [one for one in chapter.screens if one.task is not None][:4]:
        services.take_hint(VISITOR_1, chapter, screen)
    assert Progress.objects.count() == 2


def test_screens_behind_an_open_prediction_are_closed(db: None, chapter: Chapter, predict: Screen) -> None:
    assert selectors.first_closed(chapter, {}) == 1
    services.show_solution(VISITOR_1, chapter, predict)
    assert selectors.first_closed(chapter, selectors.progress_in(VISITOR_1, chapter)) == len(chapter.screens)


def test_done_counts_what_is_passed_and_what_can_be(db: None, chapter: Chapter, predict: Screen) -> None:
    services.answer(VISITOR_1, chapter, predict, RIGHT)
    assert selectors.done_of(chapter, selectors.progress_in(VISITOR_1, chapter)) == (1, 5)
    assert selectors.progress_in(Learner(), chapter) == {}


# Visitors who sign in


def test_a_visitor_gets_a_name_when_something_is_kept() -> None:
    session: dict[str, Any] = {}
    assert learner_of(None, session).is_nobody
    assert session == {}
    named = learner_of(None, session, named=True)
    assert named.visitor == session[VISITOR]
    assert learner_of(None, session) == named
    assert learner_of(7, session) == Learner(7)


def test_at_sign_in_a_visitors_progress_is_taken_over(lea: User, chapter: Chapter, predict: Screen) -> None:
    browser = Client()
    session = browser.session
    session[VISITOR] = VISITOR_1.visitor
    session.save()
    services.answer(VISITOR_1, chapter, predict, RIGHT)
    browser.force_login(lea)
    assert (row().user, row().visitor, row().passed_at is None) == (lea, "", False)
    assert VISITOR not in browser.session


def test_what_both_did_is_put_together(lea: User, chapter: Chapter, predict: Screen) -> None:
    services.answer(Learner(lea.pk), chapter, predict, WRONG)
    services.take_hint(Learner(lea.pk), chapter, predict)
    services.answer(VISITOR_1, chapter, predict, RIGHT)
    assert services.take_over(lea.pk, {VISITOR: VISITOR_1.visitor}) == 1
    assert (row().user, row().hints, row().was_helped, row().passed_at is None) == (lea, 1, False, False)
    assert Attempt.objects.filter(progress=row()).count() == 2


def test_two_browsers_may_sign_in_at_once(
    lea: User, chapter: Chapter, predict: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one's row comes between the look and the write."""
    services.answer(Learner(lea.pk), chapter, predict, WRONG)
    services.answer(VISITOR_1, chapter, predict, RIGHT)
    look, is_late = services._own, iter([False, True])
    monkeypatch.setattr(services, "_own", lambda *place: look(*place) if next(is_late) else None)
    assert services.take_over(lea.pk, {VISITOR: VISITOR_1.visitor}) == 1
    assert (row().user, row().passed_at is None) == (lea, False)


def test_who_has_passed_keeps_their_own_time(lea: User, chapter: Chapter, predict: Screen) -> None:
    services.answer(Learner(lea.pk), chapter, predict, RIGHT)
    earlier = now() - timedelta(days=1)
    Progress.objects.update(passed_at=earlier)
    services.answer(VISITOR_1, chapter, predict, RIGHT)
    services.take_over(lea.pk, {VISITOR: VISITOR_1.visitor})
    assert row().passed_at == earlier


def test_an_account_that_is_removed_takes_its_answers_along(lea: User, chapter: Chapter, predict: Screen) -> None:
    services.answer(Learner(lea.pk), chapter, predict, RIGHT)
    lea.delete()
    assert not Attempt.objects.exists()


@pytest.mark.parametrize("visitor", ["", "x"])
def test_a_row_is_of_one_learner(lea: User, visitor: str) -> None:
    user = lea if visitor else None
    with pytest.raises(IntegrityError), transaction.atomic():
        Progress.objects.create(user=user, visitor=visitor, exercise="e", task="t", begun_at=now())
