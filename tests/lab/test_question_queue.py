"""The queue of questions: fair among people, answered once, stopped at once, never lost with a process."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils.timezone import now
from kombu.transport import redis

from changes import proofs
from lab import services, tasks
from lab.exercises.chapter import Design, Outcome
from lab.exercises.designs import Malformed, judge_design
from lab.explorer.spaces.search import Budget, Progress
from lab.models import Question
from lab.questions import search
from lab.questions.goal import Goal
from lab.questions.search import Question as Asked
from lab.sessions.replay import new_session
from tests.lab.exercises.chapters import DESIGN, screen_of

PROGRESS = Progress(states=100, waiting=10, depth=3, seconds=0.5)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that were sent; none runs by itself."""
    names: list[str] = []
    monkeypatch.setattr("schemalab.celery.app.send_task", lambda name, **_: names.append(name))
    return names


def question(setup: str = "one-jump", *clauses: str) -> Asked:
    return Asked(new_session(setup), goal=Goal(frozenset(clauses)))


def test_a_question_is_answered_by_the_worker(sent: list[str]) -> None:
    made = services.ask("ann", question("one-jump", "C5"))
    assert sent == [services.TASK]
    assert services.shown(made)["state"] == "waiting"
    tasks.answer_next_question()
    made.refresh_from_db()
    shown = services.shown(made)
    assert (shown["state"], shown["verdict"]) == ("done", "violated")
    assert "publish.2" in shown["steps"]
    assert shown["broken"][0]["clause"] == "C5"


def test_a_proof_that_a_change_waits_for_is_taken_before_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis has a list for each priority, and gives the lowest number first; a message without one has 0."""
    priorities: dict[str, int] = {}
    monkeypatch.setattr(
        "schemalab.celery.app.send_task", lambda name, *_, **how: priorities.update({name: how.get("priority", 0)})
    )
    services.ask("ann", question())
    proofs.ask(tasks.usual_plans()[0])
    assert priorities[proofs.TASK] < priorities[services.TASK]
    assert priorities[services.TASK] in redis.Channel.priority_steps


def test_the_same_question_is_answered_at_once_whoever_asks(sent: list[str]) -> None:
    services.ask("ann", question())
    tasks.answer_next_question()
    sent.clear()
    assert services.shown(services.ask("bo", question()))["verdict"] == "violated"
    assert sent == []


def test_an_unknown_answer_is_searched_for_again(monkeypatch: pytest.MonkeyPatch, sent: list[str]) -> None:
    monkeypatch.setattr(tasks, "QUESTION_BUDGET", Budget(states=10))
    services.ask("ann", question("placement"))
    tasks.answer_next_question()
    again = services.ask("ann", question("placement"))
    assert services.shown(again)["state"] == "waiting"


def test_who_was_served_longest_ago_is_next() -> None:
    """Ann asks three times before Bo and Cy ask once; each of them waits for one question of hers at most."""
    first = services.ask("ann", question("one-jump", "C4"))
    assert services.begin_next() == first
    services.finish(first, {"verdict": "proved"})
    second = services.ask("ann", question("one-jump", "C5"))
    bo, cy = services.ask("bo", question("delete-only")), services.ask("cy", question("write-only"))
    assert [services.shown(one)["before"] for one in (bo, cy, second)] == [0, 1, 2]
    assert [services.begin_next() for _ in range(4)] == [bo, cy, second, None]


def test_all_visitors_have_one_turn() -> None:
    """Anybody can be as many visitors as they like: a class does not wait for them."""
    for number in range(3):
        services.ask(f"visitor:{number}", question("one-jump", f"C{number + 1}"))
    served = [services.begin_next()]
    services.ask("member:1", question("one-jump", "C5"))
    served += [services.begin_next() for _ in range(3)]
    assert [one and one.owner for one in served] == ["visitor:0", "member:1", "visitor:1", "visitor:2"]


def test_a_person_has_one_open_question() -> None:
    before = services.ask("ann", question("delete-only"))
    after = services.ask("ann", question("write-only"))
    before.refresh_from_db()
    assert services.shown(before)["state"] == "stopped"
    assert services.begin_next() == after


def test_a_search_hears_that_it_is_stopped_by_its_owner_only() -> None:
    made = services.ask("ann", question())
    running = services.begin_next()
    assert running == made
    services.stop("bo", made.pk)
    assert services.report(made, PROGRESS)
    made.refresh_from_db()
    assert services.shown(made) == {
        "id": made.pk, "state": "running", "again_s": services.again_s(0), "states": 100, "depth": 3, "seconds": 0.5,
    }  # fmt: skip
    services.stop("ann", made.pk)
    assert not services.report(made, PROGRESS)


def test_a_question_whose_process_ended_waits_again() -> None:
    made = services.ask("ann", question())
    services.begin_next()
    assert services.begin_next() is None
    long_ago = now() - timedelta(seconds=services.LOST_S + 1)
    Question.objects.filter(pk=made.pk).update(looked_at=long_ago)
    made.refresh_from_db()
    assert services.shown(made)["state"] == "waiting"
    assert services.begin_next() == made


def test_a_question_that_joined_a_search_as_it_ended_has_its_answer() -> None:
    """It was stored after the search had given its answer to all that were there, and was said to run with it."""
    first = services.ask("ann", question())
    searched = services.begin_next()
    assert searched is not None
    late = services.ask("bo", question())
    services.stop("bo", late.pk)  # so that it is not among those that get the answer
    services.finish(searched, {"verdict": "proved"})
    Question.objects.filter(pk=late.pk).update(is_stopped=False)
    late.refresh_from_db()
    assert services.shown(late) == {"id": late.pk, "state": "done", "verdict": "proved"}
    first.refresh_from_db()
    assert services.shown(first)["verdict"] == "proved"


def test_a_class_that_asks_one_question_has_one_search(sent: list[str]) -> None:
    class_ = [services.ask(f"learner {n}", question()) for n in range(10)]
    assert sent == [services.TASK]
    tasks.answer_next_question()
    late = services.ask("late", question())
    for made in (*class_, late):
        made.refresh_from_db()
        assert services.shown(made)["verdict"] == "violated"
    assert services.begin_next() is None
    assert sent == [services.TASK]


def test_who_asks_while_it_is_searched_for_shares_the_search(sent: list[str]) -> None:
    first = services.ask("ann", question())
    running = services.begin_next()
    assert running is not None
    second = services.ask("bo", question())
    assert services.shown(second)["state"] == "running"
    assert services.begin_next() is None
    services.stop("ann", first.pk)
    assert services.report(running, PROGRESS)
    services.finish(running, {"verdict": "unknown", "why": "the budget is spent"})
    second.refresh_from_db()
    assert services.shown(second)["why"] == "the budget is spent"
    assert sent == [services.TASK]


def test_who_asks_the_same_again_keeps_the_search_that_runs() -> None:
    services.ask("ann", question())
    running = services.begin_next()
    assert running is not None
    again = services.ask("ann", question())
    assert services.shown(again)["state"] == "running"
    assert services.report(running, PROGRESS)


def test_a_stopped_search_answers_nobody_who_asked_later() -> None:
    made = services.ask("ann", question())
    running = services.begin_next()
    assert running is not None
    services.stop("ann", made.pk)
    assert not services.report(running, PROGRESS)
    later = services.ask("bo", question())
    services.finish(running, {"verdict": "unknown", "why": "stopped"})
    later.refresh_from_db()
    assert services.shown(later)["state"] == "waiting"


def test_a_question_whose_message_was_lost_is_sent_again_once_however_many_look(sent: list[str]) -> None:
    asked = [services.ask("ann", question()), services.ask("bo", question("delete-only"))]
    sent.clear()
    services.shown(asked[0])
    assert sent == [], "the message has just been sent"
    long_ago = now() - timedelta(seconds=services.SEND_EVERY_S + 1)
    Question.objects.update(sent_at=long_ago)
    for _ in range(20):
        for made in asked:
            services.shown(made)
    assert sent == [services.TASK]


def test_a_question_that_comes_or_begins_while_the_queue_is_looked_at_is_no_fault() -> None:
    made = services.ask("ann", question())
    looks = []

    def in_between(execute: Any, *arguments: Any) -> Any:
        looks.append(arguments)
        if len(looks) == 2:
            bo = services.ask("bo", question("delete-only"))
            Question.objects.filter(pk__in=(made.pk, bo.pk)).update(begun_at=now())
        return execute(*arguments)

    with connection.execute_wrapper(in_between):
        assert services._in_order() == [made.pk]
    assert len(looks) > 2


def test_who_waits_behind_many_looks_less_often() -> None:
    assert services.again_s(0) < services.again_s(5) < services.again_s(20) < services.again_s(29)
    assert services.again_s(10_000) == services.AGAIN_S_MAX


def test_a_search_that_raises_is_unknown(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("no witness")

    monkeypatch.setattr(search, "ask", broken)
    made = services.ask("ann", question())
    tasks.answer_next_question()
    made.refresh_from_db()
    assert services.shown(made)["verdict"] == "unknown"
    assert "no witness" in caplog.text


def test_a_question_that_ends_its_process_again_and_again_is_unknown() -> None:
    made = services.ask("ann", question())
    for _ in range(proofs.BEGINNINGS_MAX):
        assert services.begin_next() == made
        Question.objects.update(looked_at=now() - timedelta(seconds=services.LOST_S + 1))
    assert services.begin_next() is None
    made.refresh_from_db()
    assert services.shown(made)["why"] == ["it gave up after {n} attempts", {"n": 3}]


def test_a_design_is_judged_by_the_worker(sent: list[str]) -> None:
    task = screen_of(DESIGN).task
    assert isinstance(task, Design)
    lines = ["publish delete-only", "drain", "publish absent", "drain"]
    made = services.ask_design("ann", task, ["", *lines])
    assert services.judgement_of(made, task, lines) is None
    assert services.shown(made)["state"] == "waiting"
    tasks.answer_next_question()
    made.refresh_from_db()
    assert services.shown(made)["state"] == "done"
    assert not {"asked", "task", "solution"} & set(services.shown(made))
    assert services.judgement_of(made, task, lines) == judge_design(task, lines)
    again = services.ask_design("bo", task, lines)
    assert services.judgement_of(again, task, lines) == judge_design(task, lines)
    assert services.asked_design("bo", again.pk, task, lines) == again
    assert services.asked_design("bo", made.pk, task, lines) is None
    assert services.asked_design("bo", again.pk, task, lines[:-1]) is None
    assert sent == [services.TASK]


def test_a_search_for_a_judgement_that_fails_is_neither_right_nor_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    task = screen_of(DESIGN).task
    assert isinstance(task, Design)
    monkeypatch.setattr(tasks, "QUESTION_BUDGET", Budget(states=1))
    gave_up = services.ask_design("ann", task, task.solution)
    tasks.answer_next_question()
    failed = services.ask_design("bo", task, task.solution)
    services.finish(failed, tasks.FAILED)
    for made in (gave_up, failed):
        made.refresh_from_db()
        judgement = services.judgement_of(made, task, task.solution)
        assert judgement is not None
        assert judgement.verdict is Outcome.UNKNOWN
        assert judgement.why


def test_lines_that_are_no_sequence_are_refused_at_once(sent: list[str]) -> None:
    task = screen_of(DESIGN).task
    assert isinstance(task, Design)
    with pytest.raises(Malformed):
        services.ask_design("ann", task, ["publish sideways"])
    assert sent == []
    assert not Question.objects.exists()


def test_an_open_question_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "KEPT_MAX", 2)
    waiting = services.ask("ann", question("delete-only"))
    for _ in range(5):
        services.ask("bo", question())
    assert services.shown(Question.objects.get(pk=waiting.pk))["state"] == "waiting"
    assert Question.objects.count() == 3


def test_old_questions_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "KEPT_MAX", 2)
    for name in ("ann", "bo", "cy"):
        services.ask(name, question())
        tasks.answer_next_question()
    assert sorted(Question.objects.values_list("owner", flat=True)) == ["bo", "cy"]
