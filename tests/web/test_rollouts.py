"""The page *Design a rollout*: from a template to an answer with gates and traces; what it refuses, and how."""

import re
from html import unescape

import pytest
from django.test import Client

from lab import services, tasks
from lab.explorer.spaces.search import Budget, Progress
from lab.models import Question
from rollouts.pages.links import TEXT_MAX, BadLink, linked, on_another_database, text_in
from rollouts.templates import BY_NAME

PAGE, ASK = "/lab/rollouts/", "/lab/rollouts/ask/"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def unsent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions wait until a test answers them."""
    monkeypatch.setattr("lab.services._send", lambda: None)


def answer_to(text: str, client: Client | None = None) -> str:
    """The page with the answer to a file."""
    visitor = client or Client()
    sent = visitor.post(ASK, {"text": text})
    assert sent.status_code == 302
    assert "Waiting for the explorer" in visitor.get(sent["Location"]).content.decode()
    tasks.answer_next_question()
    return visitor.get(sent["Location"]).content.decode()


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_the_first_page_has_a_rollout_to_explore() -> None:
    page = unescape(Client().get(PAGE).content.decode())
    assert BY_NAME["split"].naive.splitlines()[0] in page
    assert "template=rename&form=safe" in page
    assert "data-rollout" not in page


def test_a_naive_rename_breaks_and_its_trace_is_drawn() -> None:
    page = answer_to(BY_NAME["rename"].naive)
    assert 'data-rollout="broken"' in page
    assert 'data-gate="red"' in page
    assert page.count("data-frame=") >= 3
    assert "What users gave last" in words(page)


def test_a_safe_rename_is_proved() -> None:
    page = answer_to(BY_NAME["rename"].safe)
    assert 'data-rollout="proved"' in page
    assert 'data-gate="red"' not in page
    assert "In the words of Alembic and Django" in words(page)


def test_a_mistake_names_its_line() -> None:
    page = words(answer_to(BY_NAME["rename"].naive.replace("[[deploy]]", "[[deploys]]", 1)))
    assert re.search(r"line \d+", page)
    assert "deploys" in page


@pytest.mark.parametrize("text", ["", "  \n", "x" * (TEXT_MAX + 1)])
def test_what_is_no_file_is_refused_and_not_stored(text: str) -> None:
    for headers in ({}, {"HX-Request": "true"}):
        refused = Client().post(ASK, {"text": text}, headers=headers)
        assert refused.status_code == 422
        assert 'role="alert"' in refused.content.decode()


def test_a_search_that_fails_says_so() -> None:
    visitor = Client()
    address = visitor.post(ASK, {"text": BY_NAME["rename"].safe})["Location"]
    services.finish(Question.objects.get(), tasks.FAILED)
    for language, says, why in (("en", "the search did not end", "the search failed"), ("zh-hans", "未知", "搜索失败")):
        page = visitor.get(address, headers={"Accept-Language": language}).content.decode()
        assert 'data-rollout="unknown"' in page
        assert says in words(page)
        assert why in words(page)


def test_a_page_that_waits_looks_when_the_queue_says() -> None:
    for owner in range(8):
        services.ask_kind(str(owner), "rollout", BY_NAME["rename"].safe + f"# {owner}\n")
    visitor = Client()
    part = visitor.post(ASK, {"text": BY_NAME["rename"].naive}, headers={"HX-Request": "true"}).content.decode()
    assert "8 questions before yours" in words(part)
    assert 'hx-trigger="load delay:1.2s' in part


def test_a_search_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each part of it, also while it looks for a repair: a search that says nothing is taken for lost."""
    told: list[int] = []

    def report(question: Question, progress: Progress) -> bool:
        told.append(progress.states)
        return services_report(question, progress)

    services_report = services.report
    monkeypatch.setattr(services, "report", report)
    monkeypatch.setattr(tasks, "LOOK_EVERY_S", 0.0)
    answer_to(BY_NAME["split"].naive)
    worlds = Question.objects.get().answer["worlds"]
    assert len(told) > worlds / 300
    assert told == sorted(told)
    assert told[0] <= 300
    assert told[-1] > worlds


def test_a_search_that_nobody_waits_for_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = Client()
    address = visitor.post(ASK, {"text": BY_NAME["split"].naive})["Location"]
    made = Question.objects.get()
    told: list[int] = []

    def report(question: Question, progress: Progress) -> bool:
        told.append(progress.states)
        services.stop(made.owner, made.pk)
        return services_report(question, progress)

    services_report = services.report
    monkeypatch.setattr(services, "report", report)
    monkeypatch.setattr(tasks, "LOOK_EVERY_S", 0.0)
    tasks.answer_next_question()
    assert len(told) == 1
    made.refresh_from_db()
    assert made.answer == {"verdict": "unknown", "why": ["it was stopped after {n} states", {"n": told[0]}]}
    assert f"it was stopped after {told[0]} states" in words(visitor.get(address).content.decode())


def test_the_queue_s_bounds_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "QUESTION_BUDGET", Budget(states=20))
    assert 'data-rollout="unknown"' in answer_to(BY_NAME["split"].safe)


def test_another_persons_answer_is_not_there() -> None:
    visitor = Client()
    address = visitor.post(ASK, {"text": BY_NAME["rename"].safe})["Location"]
    assert Client().get(address).status_code == 404


def test_a_link_carries_the_file() -> None:
    text = BY_NAME["move-column"].safe
    assert text_in(linked(text)) == text
    assert text.splitlines()[0] in unescape(Client().get(PAGE, {"file": linked(text)}).content.decode())
    for damaged in ("?", linked(text)[:-9], linked("x" * 30_000), "A" * 7_000):
        with pytest.raises(BadLink):
            text_in(damaged)
        assert Client().get(PAGE, {"file": damaged}).status_code == 400


def test_the_answer_is_in_the_readers_language() -> None:
    visitor = Client()
    address = visitor.post(ASK, {"text": BY_NAME["rename"].naive})["Location"]
    tasks.answer_next_question()
    english, chinese = (
        words(visitor.get(address, headers={"Accept-Language": language}).content.decode())
        for language in ("en", "zh-hans")
    )
    assert "deploy" in english
    assert re.search("[\u4e00-\u9fff]", chinese)
    assert "What users gave last" not in chinese


@pytest.mark.parametrize("text", [BY_NAME["rename"].safe, 'database = "postgresql 18"\n' + BY_NAME["rename"].safe])
def test_the_same_file_on_the_other_database_and_back(text: str) -> None:
    there = on_another_database(text)
    assert there.startswith('database = "schema-lab"\n')
    assert on_another_database(there) == BY_NAME["rename"].safe
    visitor = Client()
    page = answer_to(text, visitor)
    assert "The same on Schema Lab" in words(page)
    assert f"?file={linked(there)}" in unescape(page)
    assert "The same on PostgreSQL" in words(answer_to(there, visitor))
