"""Every answer is played: no task reveals what is right by text alone, whatever was answered, in both languages."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from lab.exercises.chapter import Explain, Predict, Reach, Screen, Survive
from lab.exercises.grading import right_answer
from lab.exercises.shelf import Book
from lab.models import Progress
from tests.web.test_chapters import OF_EACH_SORT, TASKS, answered, browser, fields, named, no_worker, open_all_before

__all__ = ["browser", "no_worker"]


def wrong(screen: Screen) -> dict[str, Any]:
    """A wrong answer, as a form would send it."""
    match screen.task:
        case Predict(form=form) as task:
            answer = right_answer(task, screen.start)
            match form.value:
                case "match":
                    assert isinstance(answer, dict)
                    other = {item: next(one for one in task.values if one != right) for item, right in answer.items()}
                    return {f"match-{item}": choice for item, choice in other.items()}
                case "pairs":
                    return {"pairs": [one for one in task.options if one not in answer]}  # type: ignore[operator]
                case "number":
                    return {"number": str(int(str(answer)) + 7)}
                case "time":
                    return {"time": "12:30"}
        case Reach():
            assert screen.start is not None
            return {"steps": json.dumps(screen.start.steps)}
        case Explain() as task:
            return fields(screen) | {"rule": next(one for one in task.rules if one != task.missing)}
        case Survive():
            most = screen.task.moves_max
            return {"moves": json.dumps(["publish.2", "publish.3", *["wait"] * (most - 3)]), "move": "wait"}
    return fields(screen, right=False)


def data(page: str, name: str) -> Any:
    found = re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', page, re.DOTALL)
    return None if found is None else json.loads(found[1])


def played(page: str) -> list[str]:
    """The runs that a page plays, as what plays them; each has something to play."""
    found = []
    stage = data(page, "stage-answer")
    if stage is not None and re.search(r'<div id="stage"[^>]*\sdata-play\b', page):
        assert len(stage["shown"]["trace"]) > 0
        assert stage["shown"]["at"] < len(stage["session"]["steps"])
        found.append("stage")
    for run in (data(page, "runs-data") or {"runs": []})["runs"]:
        assert len(run["played"]["frames"]) > 1
        found.append("runs")
    ladder = data(page, "ladder-data")
    if ladder is not None and ladder.get("answer"):
        assert len(ladder["answer"]["played"]["frames"]) > 1
        found.append("ladder")
    if data(page, "clock-data"):
        found.append("clock")
    return found


REST = [one for one in TASKS if one not in OF_EACH_SORT]


@pytest.mark.parametrize("is_right", [True, False], ids=["right", "wrong"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize(("book", "screen"), [*named(OF_EACH_SORT), *named(REST, marks=pytest.mark.soak)])
def test_every_answer_is_played(browser: Client, book: Book, screen: Screen, language: str, is_right: bool) -> None:
    open_all_before(browser, book, screen)
    browser.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    page = answered(browser, book, screen, fields(screen) if is_right else wrong(screen))
    is_mended = is_right and isinstance(screen.task, Explain)
    assert bool(re.search("with what was missing|补上了缺少的部分", page)) == is_mended, "another run is on the stage"
    if isinstance(screen.task, Reach):  # played by the learner: it stands where they left it
        assert data(page, "stage-answer") is not None
        assert "data-play" not in page
    else:
        assert played(page), "an answer in words alone"


def test_a_ghost_stays_beside_every_played_prediction(browser: Client) -> None:
    for book, screen in [one for one in TASKS if isinstance(one[1].task, Predict)]:
        Progress.objects.all().delete()
        open_all_before(browser, book, screen)
        page = answered(browser, book, screen, wrong(screen))
        guessed = [run["predicted"] for run in (data(page, "runs-data") or {"runs": []})["runs"]]
        guessed += [clock["guess"]] if (clock := data(page, "clock-data")) else []
        assert all(guessed), screen.id
        assert guessed or 'class="ghost"' in page, screen.id
