"""Chapters through their URLs: what is shown, what is graded, and what is in no response before it is due."""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from lab.exercises import designs
from lab.exercises.chapter import Design, Explain, Form, Live, Predict, Reach, Screen, Survive
from lab.exercises.grading import reveal_of, right_answer
from lab.exercises.observations import session_of
from lab.exercises.replies import needed
from lab.exercises.shelf import OURS, Book, books
from lab.models import Attempt, Progress
from lab.pages.courses.chapters import chapter_after, teachable
from lab.sessions.short_steps import in_full
from lab.tasks import answer_next_question
from lab.templatetags.chapter_text import markdown
from tests.web.layout import flat
from tests.web.terms import without_terms

BOOKS = [book for book in books() if book.chapter is not None and book.chapter.screens]
SCREENS = [(book, screen) for book in BOOKS for screen in book.chapter.screens]  # type: ignore[union-attr]
TASKS = [(book, screen) for book, screen in SCREENS if screen.task is not None and not isinstance(screen.task, Live)]
OF_EACH_SORT = list(
    {(type(screen.task), getattr(screen.task, "form", "")): (book, screen) for book, screen in TASKS}.values()
)
"""A task of each kind and form."""

OF_A_SORT_SEEN = [one for one in TASKS if one not in OF_EACH_SORT]

PREDICTIONS = [(book, screen) for book, screen in TASKS if isinstance(screen.task, Predict)]
REST = [case for place, case in enumerate(PREDICTIONS) if place % 3]


NO_ANSWER = {"choice": "no such", "pairs": ["no such"], "number": "no such", "time": "no such"}


def named(cases: list[tuple[Book, Screen]], **how: Any) -> list[Any]:
    return [pytest.param(book, screen, id=f"{book.folder}/{screen.id}", **how) for book, screen in cases]


def url(name: str, book: Book, screen: Screen) -> str:
    return reverse(name, args=(book.folder, screen.id))


def open_all_before(browser: Client, book: Book, screen: Screen) -> None:
    """Every prediction before this screen was shown on demand."""
    assert book.chapter is not None
    before = book.chapter.screens[: book.chapter.screens.index(screen)]
    _show(browser, book, [one for one in before if isinstance(one.task, Predict)])


def show_all(browser: Client, book: Book) -> None:
    """The solution of every task was shown on demand."""
    assert book.chapter is not None
    _show(browser, book, book.chapter.tasks)


def _show(browser: Client, book: Book, screens: Iterable[Screen]) -> None:
    user_id, at = int(browser.session["_auth_user_id"]), now()
    Progress.objects.bulk_create(
        Progress(user_id=user_id, exercise=book.folder, task=one.id, begun_at=at, shown_at=at) for one in screens
    )


def fields(screen: Screen, *, right: bool = True) -> dict[str, Any]:
    """What a form would send: the right answer, or of a choice a wrong one."""
    match screen.task:
        case Predict() as task:
            return _predicted(task, right_answer(task, screen.start), right)
        case Reach() as task:
            assert screen.start is not None
            return {"steps": json.dumps([*screen.start.steps, *task.solution])}
        case Explain() as task:
            return {"clause": task.clause, "step": str(task.step), "rule": task.missing}
        case Design() as task:
            return {"lines": "\n".join(task.solution if right else task.wrong)}
        case Survive() as task:
            return {"moves": json.dumps(task.solution[:-1]), "move": task.solution[-1]}
    raise AssertionError(screen.id)


def _predicted(task: Predict, answer: Any, right: bool) -> dict[str, Any]:
    match task.form.value:
        case "order":
            return {"lines": "\n".join(answer if right else reversed(answer))}
        case "match":
            return {f"match-{item}": choice for item, choice in answer.items()}
        case "pairs":
            return {"pairs": sorted(answer)}
        case "choice" if not right:
            return {"choice": next(one for one in task.values if one != answer)}
    return {task.form.value: str(answer)}


def answered(browser: Client, book: Book, screen: Screen, form: dict[str, Any]) -> str:
    """The page to which an answer leads; a search is made here, as the worker makes it."""
    answer: Any = browser.post(url("chapter-answer", book, screen), form)
    for _ in range(2):
        assert answer.status_code == 302
        asked = re.search(r"[?]asked=(\d+)", answer["Location"])
        if asked is None:
            break
        answer_next_question()
        answer = browser.post(url("chapter-answer", book, screen), form | {"asked": asked[1]})
    page: Any = browser.get(answer["Location"].partition("#")[0])
    assert page.status_code == 200
    return without_terms(page)


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.services._send", lambda: None)


@pytest.fixture
def browser(people: dict[str, User], monkeypatch: pytest.MonkeyPatch) -> Client:
    """A browser in which lea has signed in, on a machine whose speed decides nothing."""
    monkeypatch.setattr(designs, "BUDGET", replace(designs.BUDGET, seconds=120.0))
    client = Client()
    client.force_login(people["lea"])
    return client


@pytest.mark.parametrize("book", BOOKS, ids=lambda book: book.folder)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_screen_is_shown_in_both_languages(browser: Client, book: Book, language: str) -> None:
    assert book.chapter is not None
    browser.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    open_all_before(browser, book, book.chapter.screens[-1])
    for screen in book.chapter.screens:
        answer = browser.get(url("chapter-screen", book, screen))
        assert answer.status_code == 200
        page = without_terms(answer)
        assert html.escape(book.text(language, f"{screen.id}.title")) in page
        assert markdown(book.text(language, screen.id)) in page
        task = page.partition('id="task"')[2].partition("</section>")[0]
        assert ("<select" in task) == (getattr(screen.task, "form", None) is Form.MATCH), "orders are built from tiles"


@pytest.mark.parametrize(("book", "screen"), [*named(OF_EACH_SORT), *named(OF_A_SORT_SEEN, marks=pytest.mark.soak)])
def test_every_task_can_be_passed(browser: Client, book: Book, screen: Screen) -> None:
    """A task of each kind and form in the suite, all of them in the soak: `tests.lab.exercises` grades them too."""
    open_all_before(browser, book, screen)
    page = answered(browser, book, screen, fields(screen))
    progress = Progress.objects.get(exercise=book.folder, task=screen.id)
    assert (progress.passed_at is None, progress.was_helped) == (False, False)
    assert markdown(book.text("en", f"{screen.id}.solution")) in page
    assert markdown(book.text("en", f"{screen.id}.why")) in page


@pytest.mark.parametrize(("book", "screen"), named(OF_EACH_SORT))
def test_hints_solution_and_why_are_in_no_response_before_they_are_due(
    browser: Client, book: Book, screen: Screen
) -> None:
    open_all_before(browser, book, screen)
    page = without_terms(browser.get(url("chapter-screen", book, screen)))
    hidden = [
        markdown(book.text("en", f"{screen.id}.{key}")) for key in ("hint-1", "hint-2", "hint-3", "solution", "why")
    ]
    told = [markdown(book.text("en", f"{screen.id}.{key}")) for key in needed(screen.task)]
    assert [text for text in (*hidden, *told) if text in page] == []
    for at in range(3):
        page = without_terms(browser.post(url("chapter-hint", book, screen), follow=True))
        assert [text in page for text in hidden] == [*[True] * (at + 1), *[False] * (4 - at)]


@pytest.mark.parametrize(("book", "screen"), [*named(PREDICTIONS[::3]), *named(REST, marks=pytest.mark.soak)])
def test_no_response_carries_a_state_whose_question_is_unanswered(browser: Client, book: Book, screen: Screen) -> None:
    """Every byte of every page that can be had before the answer: the session goes no further than the question."""
    open_all_before(browser, book, screen)
    assert book.chapter is not None
    pages = [without_terms(browser.get(url("chapter-screen", book, screen)))]
    pages.append(answered(browser, book, screen, NO_ANSWER))
    behind = book.chapter.screens[book.chapter.screens.index(screen) + 1 :]
    for one in behind[:2]:
        answer = browser.get(url("chapter-screen", book, one))
        assert (answer.status_code, answer["Location"]) == (302, url("chapter-screen", book, screen))
        assert browser.post(url("chapter-answer", book, one), {}).status_code == 404
        assert browser.post(url("chapter-solution", book, one)).status_code == 404
    assert isinstance(screen.task, Predict)
    for page in pages:
        assert _sessions_in(page) <= {_steps(screen)}
        assert '"changes_nothing": true' not in page
        words = [book.text("en", f"{screen.id}.{key}") for key in ("solution", "why")]
        words += [book.text("en", one.id) for one in behind]
        words += [book.text("en", f"{screen.id}.answer {choice}") for choice in screen.task.values]
        assert [text for text in words if text and markdown(text) in page] == []


@pytest.mark.parametrize(("book", "screen"), [*named(PREDICTIONS[::3]), *named(REST, marks=pytest.mark.soak)])
def test_the_answer_is_stored_before_what_it_was_about_is_shown(browser: Client, book: Book, screen: Screen) -> None:
    open_all_before(browser, book, screen)
    assert isinstance(screen.task, Predict)
    page = answered(browser, book, screen, fields(screen, right=False))
    assert Attempt.objects.filter(progress__task=screen.id).count() == 1
    if screen.start is not None:
        at_the_end = {session_of(reveal_of(screen.task, screen.start)).steps}
        assert _sessions_in(page) == (set() if 'id="runs-data"' in page else at_the_end)
        assert _sessions_in(without_terms(browser.get(url("chapter-screen", book, screen)))) == _sessions_in(page)


def _steps(screen: Screen) -> tuple[str, ...]:
    return () if screen.start is None else session_of(screen.start).steps


def _sessions_in(page: str) -> set[tuple[str, ...]]:
    """The steps of every session in a page."""
    found = re.findall(r'<script id="stage-answer" type="application/json">(.*?)</script>', page, re.DOTALL)
    return {tuple(json.loads(text)["session"]["steps"]) for text in found}


# A learner's way


@pytest.fixture
def jump() -> Book:
    return next(book for book in BOOKS if book.folder == "01-one-jump")


DESIGNS = [(book, screen) for book, screen in TASKS if isinstance(screen.task, Design)]
ORDERS = [(book, screen) for book, screen in TASKS if getattr(screen.task, "form", None) is Form.ORDER]


def screen_of(book: Book, screen_id: str) -> Screen:
    assert book.chapter is not None
    found = book.chapter.screen(screen_id)
    assert found is not None
    return found


def test_a_chapter_opens_at_the_first_thing_left_to_do(browser: Client, jump: Book) -> None:
    chapter = reverse("chapter", args=(jump.folder,))
    assert browser.get(chapter)["Location"].endswith("/two-servers/")
    predict = screen_of(jump, "what-is-left")
    browser.post(url("chapter-answer", jump, predict), {"choice": "entry"})
    assert browser.get(chapter)["Location"].endswith("/from-the-start/")


def test_a_wrong_answer_says_why_and_a_later_right_one_is_with_help(browser: Client, jump: Book) -> None:
    predict = screen_of(jump, "what-is-left")
    page = answered(browser, jump, predict, {"choice": "nothing"})
    assert "Not quite" in page
    assert "n1 would have to know that there is an index" in page
    browser.post(url("chapter-answer", jump, predict), {"choice": "entry"})
    assert Progress.objects.get(task=predict.id).was_helped


def test_who_names_the_wrong_rule_is_told_about_that_rule(browser: Client, jump: Book) -> None:
    explain = screen_of(jump, "what-came-first")
    open_all_before(browser, jump, explain)
    page = answered(browser, jump, explain, {"clause": "C3", "step": "3", "rule": "two-versions"})
    assert markdown(jump.text("en", "what-came-first.answer two-versions")) in page
    assert markdown(jump.text("en", "what-came-first.answer lock")) not in page


def test_what_is_no_answer_is_refused_and_not_stored(browser: Client, jump: Book) -> None:
    page = answered(browser, jump, screen_of(jump, "what-is-left"), {"choice": "x"})
    assert "That is no answer yet: choose one of the answers." in page
    again = without_terms(browser.get(url("chapter-screen", jump, screen_of(jump, "what-is-left"))))
    assert "That is no answer yet" not in again
    assert not Attempt.objects.exists()


@pytest.mark.parametrize("steps", ["", "{", "[1]", "[[]]", '["' + "x" * 500 + '"]', "[" * 10_000, '["n1.commit"]'])
def test_steps_that_are_none_break_nothing(browser: Client, jump: Book, steps: str) -> None:
    reach = screen_of(jump, "found-by-table")
    open_all_before(browser, jump, reach)
    assert answered(browser, jump, reach, {"steps": steps})
    assert browser.get(url("chapter-screen", jump, reach)).status_code == 200


def test_ones_own_steps_are_on_the_stage_again(browser: Client, jump: Book) -> None:
    reach = screen_of(jump, "found-by-table")
    open_all_before(browser, jump, reach)
    played = [*in_full(["publish.2", "n2.acquire", "n2.insert.1.1"])]
    page = answered(browser, jump, reach, {"steps": json.dumps(played)})
    assert "not yet there: missing entry (C4) under v2: a row without its entry" in html.unescape(page)
    assert _sessions_in(page) == {tuple(played)}
    assert _sessions_in(without_terms(browser.get(url("chapter-screen", jump, reach)))) == {tuple(played)}


def test_a_game_is_played_move_by_move_and_stored_when_it_is_over(browser: Client) -> None:
    book = next(book for book in BOOKS if book.folder == "05-two-versions")
    game = screen_of(book, "be-the-publisher")
    open_all_before(browser, book, game)
    page = answered(browser, book, game, {"moves": "[]", "move": "publish.2"})
    assert "1 move of 25" in page
    assert not Attempt.objects.filter(progress__task=game.id).exists()
    page = answered(browser, book, game, {"moves": '["publish.2"]', "move": "publish.9"})
    assert "That move cannot be made now" in page
    assert "1 move of 25" in page
    hasty = {"moves": json.dumps(["publish.2", "publish.3", "wait"]), "move": "wait"}
    page = answered(browser, book, game, hasty)
    assert "Not quite" in page
    assert Attempt.objects.get(progress__task=game.id).outcome == "wrong"


def test_after_a_wrong_prediction_the_explanation_is_open_and_one_answers_again(browser: Client, jump: Book) -> None:
    predict = screen_of(jump, "what-is-left")
    page = answered(browser, jump, predict, {"choice": "nothing"})
    assert '<details class="after" open>' in page
    assert "Answer again" in page
    assert '<details class="after" open>' in answered(browser, jump, predict, {"choice": "entry"})


def posted_steps(screen: Screen, *more: str) -> dict[str, str]:
    assert screen.start is not None
    return {"steps": json.dumps([*screen.start.steps, *more])}


def test_damage_that_no_query_meets_is_not_yet_the_goal(browser: Client, jump: Book) -> None:
    """v2 is published after the insert, and no node uses it: nobody can see table and index disagree."""
    reach = screen_of(jump, "found-by-table")
    open_all_before(browser, jump, reach)
    unmet, met = (
        posted_steps(reach, "n1.insert.1.1", "publish.2"),
        posted_steps(reach, "n1.insert.1.1", "publish.2", "n2.acquire"),
    )
    why = "No node uses v2 yet, so no query meets the damage. Let a node lease v2."
    assert browser.post(url("chapter-reached", jump, reach), unmet).json() == {"is_goal": False, "made": why}
    page = answered(browser, jump, reach, unmet)
    assert "Not quite" in page
    assert why in page
    assert browser.post(url("chapter-reached", jump, reach), met).json()["is_goal"]
    assert "Not quite" not in answered(browser, jump, reach, met)


def test_the_steps_that_one_took_are_told_before_another_way(browser: Client, jump: Book) -> None:
    reach = screen_of(jump, "found-by-table")
    open_all_before(browser, jump, reach)
    own = answered(browser, jump, reach, posted_steps(reach, "n1.insert.1.1", "publish.2", "n2.acquire"))
    assert re.search(
        r"<h2>Your steps</h2> *<ol class=.steps.><li>n1 inserts row 1.*</li><li>.*v2.*</li><li>.*n2.*</li></ol> *"
        r"<h2>Another way</h2>",
        flat(own),
    )
    same = answered(browser, jump, reach, posted_steps(reach, "publish.2", "n2.acquire", "n1.insert.1.1"))
    assert "Your steps" not in same
    assert "<h2>Solution</h2>" in same


def test_a_hint_leaves_the_last_outcome_on_the_page(browser: Client, jump: Book) -> None:
    reach = screen_of(jump, "found-by-table")
    open_all_before(browser, jump, reach)
    before = answered(browser, jump, reach, {"steps": "[]"})
    remarks = re.search(r'id="outcome".*?</div>', before, re.DOTALL)
    assert remarks is not None
    assert "<li>" in remarks[0]
    hinted = without_terms(browser.post(url("chapter-hint", jump, reach), follow=True))
    assert remarks[0] in hinted
    assert markdown(jump.text("en", f"{reach.id}.hint-1")) in hinted


def test_who_asks_to_be_shown_sees_it_played(browser: Client, jump: Book) -> None:
    reach = screen_of(jump, "found-by-table")
    assert isinstance(reach.task, Reach)
    open_all_before(browser, jump, reach)
    page = without_terms(browser.post(url("chapter-solution", jump, reach), follow=True))
    assert _sessions_in(page) == {in_full(reach.task.solution)}
    assert "data-play" in page
    played = ["publish.2"]
    assert "data-play" not in answered(browser, jump, reach, {"steps": json.dumps(played)})


def test_an_answer_whose_session_cannot_be_shown_leaves_the_screen_open(browser: Client, jump: Book) -> None:
    """Whatever was stored, by this version or another one."""
    reach = screen_of(jump, "found-by-table")
    open_all_before(browser, jump, reach)
    answered(browser, jump, reach, {"steps": "[]"})
    long = [f"n1.{'x' * 150}{n:03}" for n in range(100)]
    for stored in ({"steps": long * 3}, {"steps": long}, {"steps": ["n1.insert.1.1"] * 190}, {}):
        Attempt.objects.update(answer=stored, found={})
        assert browser.get(url("chapter-screen", jump, reach)).status_code == 200


def test_short_statements_that_are_too_many_are_no_answer(browser: Client, jump: Book) -> None:
    reach = screen_of(jump, "found-by-table")
    open_all_before(browser, jump, reach)
    assert "That is no answer yet" in answered(browser, jump, reach, {"steps": json.dumps(["n1.insert.1.1"] * 60)})


def test_a_design_is_searched_for_by_the_worker(browser: Client) -> None:
    book, screen = next((b, s) for b, s in TASKS if isinstance(s.task, Design) and s.task.grammar != "handbooks")
    open_all_before(browser, book, screen)
    answer = browser.post(url("chapter-answer", book, screen), fields(screen))
    page = without_terms(browser.get(answer["Location"].partition("#")[0]))
    assert "data-asked" in page
    assert html.escape(fields(screen)["lines"].splitlines()[0]) in page
    assert not Attempt.objects.exists()


ANSWERED = [
    pytest.param(True, "en", id="right-en"),
    pytest.param(False, "zh-hans", id="wrong-zh-hans"),
    pytest.param(True, "zh-hans", id="right-zh-hans", marks=pytest.mark.soak),
    pytest.param(False, "en", id="wrong-en", marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("right", "language"), ANSWERED)
@pytest.mark.parametrize(("book", "screen"), DESIGNS, ids=lambda one: getattr(one, "id", getattr(one, "folder", "")))
def test_every_order_is_played(browser: Client, book: Book, screen: Screen, right: bool, language: str) -> None:
    """Built from tiles, no select box; right or wrong, a run answers it."""
    browser.cookies["django_language"] = language
    open_all_before(browser, book, screen)
    task = browser.get(url("chapter-screen", book, screen)).content.decode().partition('id="task"')[2]
    assert "<select" not in task.partition("</section>")[0]
    assert "data-ladder" in task
    page = answered(browser, book, screen, fields(screen, right=right))
    assert Attempt.objects.get(progress__task=screen.id).outcome == ("right" if right else "wrong")
    given = re.search(r'<script id="ladder-data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert given is not None
    found = json.loads(given[1])["answer"]
    if found is None:  # people with handbooks, on their own stage
        assert "data-play" in page
        return
    assert len(found["played"]["frames"]) > 1
    assert found["verdict"] == ("proved" if right else "violated") or found["played"]["frames"][-1]["sentence"]
    assert bool(found["played"]["frames"][-1]["marks"]) == (found["verdict"] == "violated")


@pytest.mark.parametrize(("book", "screen"), ORDERS, ids=lambda one: getattr(one, "id", getattr(one, "folder", "")))
def test_an_order_that_is_predicted_is_built_from_silent_tiles(browser: Client, book: Book, screen: Screen) -> None:
    open_all_before(browser, book, screen)
    page = browser.get(url("chapter-screen", book, screen)).content.decode()
    given = re.search(r'<script id="ladder-data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert given is not None
    built = json.loads(given[1])
    assert (built["pairs"], built["isSilent"]) == ({}, True)
    assert "<select" not in page.partition('id="task"')[2].partition("</section>")[0]
    answered(browser, book, screen, fields(screen))
    assert Attempt.objects.get(progress__task=screen.id).outcome == "right"


PREDICTED = [(book, screen) for book, screen in TASKS if isinstance(screen.task, Predict) and screen.start is not None]


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
@pytest.mark.parametrize(("book", "screen"), PREDICTED, ids=lambda one: getattr(one, "id", getattr(one, "folder", "")))
def test_every_prediction_about_a_session_is_played(browser: Client, book: Book, screen: Screen, right: bool) -> None:
    """From where the screen stands, with what was predicted beside it."""
    open_all_before(browser, book, screen)
    assert "data-play" not in browser.get(url("chapter-screen", book, screen)).content.decode()
    page = answered(browser, book, screen, fields(screen, right=right))
    assert isinstance(screen.task, Predict)
    if screen.task.asks.startswith("explorer"):
        assert len(runs_in(page)) == 1
        return
    assert "data-play" in page
    assert 'class="ghost"' in page


def runs_in(page: str) -> list[dict[str, Any]]:
    found = re.search(r'<script id="runs-data" type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])["runs"] if found else []


MATCHES = [
    (book, screen)
    for book, screen in TASKS
    if getattr(screen.task, "form", None) is Form.MATCH and book.folder != "12-a-frozen-node"
]
"""Those of chapter 12 are about the lab's cluster, which has a stage of its own."""


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize(("book", "screen"), MATCHES, ids=lambda one: getattr(one, "id", getattr(one, "folder", "")))
def test_every_item_that_is_matched_has_a_run(browser: Client, book: Book, screen: Screen, language: str) -> None:
    """Each plays what the machine did, with what was predicted of it; nothing of it is there before."""
    browser.cookies["django_language"] = language
    open_all_before(browser, book, screen)
    assert "runs-data" not in browser.get(url("chapter-screen", book, screen)).content.decode()
    runs = runs_in(answered(browser, book, screen, fields(screen)))
    assert isinstance(screen.task, Predict)
    assert len(runs) == len(screen.task.items)
    for run, item in zip(runs, screen.task.items, strict=True):
        assert run["title"]
        assert run["predicted"]
        assert len(run["played"]["frames"]) > 1
        if screen.task.asks.startswith("explorer"):
            assert run["verdict"] == item.answer
            assert str(run["states"]) in run["tried_words"].replace(",", "")


def test_pages_that_are_not_there(browser: Client, jump: Book) -> None:
    assert browser.get("/lab/chapters/99-nothing/").status_code == 404
    assert browser.get(f"/lab/chapters/{jump.folder}/nothing/").status_code == 404
    first = screen_of(jump, "two-servers")
    assert browser.post(url("chapter-hint", jump, first)).status_code == 404
    assert browser.get(url("chapter-hint", jump, first)).status_code == 405


def test_a_teachers_own_chapter_is_a_chapter_like_ours(browser: Client, tmp_path: Path, settings: Any) -> None:
    shutil.copytree(OURS / "01-one-jump", tmp_path / "21-my-own")
    text = (tmp_path / "21-my-own" / "en.md").read_text(encoding="utf-8")
    (tmp_path / "21-my-own" / "en.md").write_text(text.replace("## two-servers: ", "## two-servers: My "))
    settings.EXERCISES_DIR = tmp_path
    page = without_terms(browser.get("/lab/chapters/21-my-own/two-servers/"))
    assert "My Two servers, one table" in page


def test_html_in_a_text_is_shown_as_it_is_written() -> None:
    text = '<script>alert(1)</script> [x](javascript:alert(1)) ![y](z.png) <b onclick="x">'
    shown = markdown(text)
    assert "<script" not in shown
    assert re.findall(r'href="([^"]*)', shown) == ["z.png"]
    assert "<img" not in shown
    assert "<b" not in shown


def test_a_chapter_that_waits_for_something_says_so(browser: Client, tmp_path: Path, settings: Any) -> None:
    folder = tmp_path / "22-later"
    folder.mkdir()
    (folder / "exercise.toml").write_text('act = 3\nminutes = 10\nwaits_for = "requests"\n')
    for name in ("en.md", "zh-hans.md"):
        (folder / name).write_text("# Later\n\nA lede.\n\n## picture\n\nA picture.\n")
    settings.EXERCISES_DIR = tmp_path
    assert "It comes with: requests" in without_terms(browser.get("/lab/chapters/22-later/"))
    (tmp_path / "23-own").mkdir()
    shutil.copytree(OURS / "01-one-jump", tmp_path / "23-own", dirs_exist_ok=True)
    assert "/lab/chapters/23-own/" in without_terms(browser.get("/lab/chapters/22-later/"))


def test_the_next_chapter_is_one_that_can_be_done() -> None:
    waits = {book.folder for book in BOOKS if book.chapter and book.chapter.waits_for}
    on_the_way, at = [], BOOKS[0].folder
    while at:
        on_the_way.append(at)
        at = chapter_after(at, None)
    assert on_the_way == [book.folder for book in teachable()]
    assert not waits & set(on_the_way)


def test_the_front_page_lists_the_chapters_with_what_is_done(browser: Client, jump: Book) -> None:
    predict = screen_of(jump, "what-is-left")
    browser.post(url("chapter-answer", jump, predict), {"choice": "entry"})
    page = without_terms(browser.get("/lab/"))
    assert [book.folder for book in BOOKS if reverse("chapter", args=(book.folder,)) not in page] == []
    assert "1 of 5 tasks done" in page


def test_the_stage_is_given_its_set_up_and_the_form_its_first_steps(browser: Client, jump: Book) -> None:
    reach = screen_of(jump, "found-by-table")
    open_all_before(browser, jump, reach)
    page = without_terms(browser.get(url("chapter-screen", jump, reach)))
    found = re.search(r'<script id="stage-setups" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert [setup["name"] for setup in json.loads(found[1])] == ["one-jump"]
    assert 'name="steps" data-steps value="[]"' in page


def test_a_visitor_reads_what_the_real_cluster_needs(db: None) -> None:
    """No button that leads to a wall: a recording, and what a replay of one's own needs."""
    book = next(one for one in BOOKS if one.folder == "01-one-jump")
    assert book.chapter is not None
    visitor = Client()
    for screen in book.chapter.screens:
        if screen.task is not None and not isinstance(screen.task, Live):
            visitor.post(url("chapter-answer", book, screen), fields(screen))
    page = flat(visitor.get(url("chapter-screen", book, book.chapter.screens[-1])).content.decode())
    assert "Replay on the live cluster" not in page
    assert "Watch a recorded replay" in page
    assert "needs an account that may submit changes. The chapter does not count it until you have done it." in page


def test_the_first_tile_is_not_the_answer(browser: Client) -> None:
    designs = [(book, screen) for book, screen in TASKS if isinstance(screen.task, Design) and screen.task.lines]
    for book, screen in designs:
        Progress.objects.all().delete()
        open_all_before(browser, book, screen)
        page = browser.get(url("chapter-screen", book, screen)).content.decode()
        found = re.search(r'<script id="ladder-data" type="application/json">(.*?)</script>', page, re.DOTALL)
        assert found is not None
        ladder = json.loads(found[1])
        assert isinstance(screen.task, Design)
        assert ladder["tiles"][0]["value"] not in screen.task.solution, screen.id
        assert not ladder.get("predicted"), "nobody was asked for a prediction"
