"""A browser's site and a cluster's answer every request of the chapters alike: without an answer, wrong, and right. The
suite does a screen of each kind of task, another one in each language; the soak does all."""

import base64
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest
from django.test import Client

from lab.exercises.chapter import Live, Screen, Survive, Task
from lab.exercises.shelf import books
from lab.tasks import answer_next_question
from schemalab.anywhere.walk import Request, Response, fields, walk, wrong_fields

OUTCOME = re.compile(r'<div class="note (ok|danger|warn)\s*[^>]*?id="outcome"')
ROOT = Path(__file__).parents[2]
VARIES = (
    (r'name="csrfmiddlewaretoken" value="\w+"', "a token"),
    (r'data-csrf="\w+"', "a token"),
    (r"X-CSRFToken[^}]+", "a token"),
    (r'data-server-time="[^"]+"', "a time"),
    (r"(<span class=\"num\"\s+data-clock>)[0-9:]+", r"\1"),
    (r"asked=\d+", "asked"),
    (r'name="asked" value="\d+"', "asked"),
    (r"(questions|answers)/\d+/", r"\1/"),
    (r"[\d,.]+ (ms|毫秒|s|秒|seconds)\b", "a duration"),
    (r'data-nonce="[^"]*"', "a nonce"),
    (r'data-question="\d+"', "a question"),
)
"""Tokens, times and numbers of rows: different between two answers of the same site."""


PLACE = re.compile(r"<(\w+)\s+data-(?:cluster|anywhere)\b.*?</\1>", re.DOTALL)
"""Ways to a cluster, and the sentences that stand instead where there is none."""
EMPTY_LINES = re.compile(r"\n\s*\n")
"""They are left where such a way was, or where a template has none."""


DATA = re.compile(r'(<script [^>]*type="application/json">)(.*?)(</script>)', re.DOTALL)
"""PostgreSQL sorts the keys of what is stored as JSON, SQLite does not."""


AWAY = re.compile(r'href="[^"]*/(?:sign-in|about|help|source)/')
"""Links to pages that only a cluster has."""

LINK = re.compile(r"\beN[\w-]{30,}")
"""A session or a rollout as a link, compressed."""


def regular(text: str) -> str:
    text = EMPTY_LINES.sub("\n", PLACE.sub("", text))
    for pattern, instead in VARIES:  # first: a token may look like a link
        text = re.sub(pattern, instead, text)
    text = LINK.sub(lambda found: json.dumps(linked(found[0]), sort_keys=True).replace('"', "'"), text)
    return DATA.sub(lambda found: found[1] + json.dumps(json.loads(found[2]), sort_keys=True) + found[3], text)


def linked(link: str) -> object:
    """A session; of a rollout, the words of its file."""
    content = zlib.decompress(base64.urlsafe_b64decode(link + "=" * (-len(link) % 4))).decode()
    try:
        return json.loads(content)
    except json.JSONDecodeError:
        return " ".join(re.findall(r"\w+", content))


def difference(expected: object, found: object) -> str:
    """The place where two answers begin to differ; "" when they are alike."""
    wanted, got = regular(str(expected)), regular(str(found))
    if wanted == got:
        return ""
    at = next((n for n, (one, other) in enumerate(zip(wanted, got, strict=False)) if one != other), 0)
    return f"{wanted[max(0, at - 60) : at + 90]!r} is {got[max(0, at - 60) : at + 90]!r}"


def tasks() -> list[tuple[str, Screen]]:
    """Every screen with an answer that is graded, by its place below lab/chapters/."""
    chapters = [(book.folder, book.chapter) for book in books() if book.chapter is not None]
    screens = [(f"{folder}/{screen.id}", screen) for folder, chapter in chapters for screen in chapter.screens]
    return [(place, one) for place, one in screens if one.task is not None and not isinstance(one.task, Live)]


def kind_of(task: Task) -> tuple[object, ...]:
    """Type, form of the answer, and grammar: they have views and templates of their own."""
    return type(task), getattr(task, "form", None), getattr(task, "grammar", None)


def one_of_each(screens: Iterable[tuple[str, Screen]]) -> dict[str, Task]:
    """The last screen of each kind of task."""
    last = {kind_of(screen.task): (place, screen.task) for place, screen in screens if screen.task is not None}
    return dict(last.values())


ALL = {place: screen.task for place, screen in tasks() if screen.task is not None}


@pytest.mark.parametrize(
    ("language", "screens"),
    [
        pytest.param("en", one_of_each(reversed(tasks())), id="the first of each kind in English"),
        pytest.param("zh-hans", one_of_each(tasks()), id="the last of each kind in Chinese"),
        pytest.param("en", ALL, id="every screen in English", marks=pytest.mark.soak),
        pytest.param("zh-hans", ALL, id="every screen in Chinese", marks=pytest.mark.soak),
    ],
)
def test_a_browser_answers_as_a_cluster_does(
    db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str, screens: dict[str, Task]
) -> None:
    monkeypatch.setattr("lab.services._send", lambda: None)
    client = Client(headers={"accept-language": language})

    def visit(request: Request) -> Response:
        path = f"/{request.address}"
        answer = client.get(path) if request.form is None else client.post(path, request.form)
        return Response(
            answer.status_code, answer.headers.get("Location", "").removeprefix("/"), answer.content.decode()
        )

    walked = () if screens is ALL else screens
    command = [sys.executable, "-m", "tests.anywhere.visits", language, *walked]
    printed = tmp_path / "browser"
    with printed.open("w") as output, subprocess.Popen(command, cwd=ROOT, stdout=output) as browser_site:
        walked_here = list(walk(visit, answer_next_question, walked))
    assert browser_site.returncode == 0
    here = [[at.address, got.status, got.location, got.body] for at, got in walked_here]
    there = [json.loads(line) for line in printed.read_text(encoding="utf-8").splitlines()]
    outcomes: dict[str, set[str]] = {"ok": set(), "wrong": set()}
    differences = list[str]()
    for cluster, browser in zip(here, there, strict=True):
        differences += [f"{cluster[0]}: {difference(*pair)}" for pair in zip(cluster, browser, strict=True)]
        differences += [f"{browser[0]}: leads to a cluster"] if AWAY.search(browser[3]) else []
        for sort in OUTCOME.findall(cluster[3]):
            outcomes["ok" if sort == "ok" else "wrong"].add(cluster[0].partition("?")[0])
    assert [one for one in differences if not one.endswith(": ")] == []
    graded = {f"lab/chapters/{place}/": task for place, task in screens.items()}
    assert outcomes["ok"] >= set(graded)
    assert outcomes["wrong"] >= {here for here, task in graded.items() if not isinstance(task, Survive)}


def test_the_walk_has_wrong_answers() -> None:
    assert all(wrong_fields(screen) != fields(screen) for _, screen in tasks())
