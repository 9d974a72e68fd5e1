"""A browser's site and a cluster's answer every request of the chapters alike: without an answer, wrong, and right."""

import base64
import json
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest
from django.test import Client

from lab.exercises.chapter import Live, Screen, Survive
from lab.exercises.shelf import Book, books
from lab.tasks import answer_next_question
from schemalab.anywhere.walk import Request, Response, fields, walk, wrong_fields

OUTCOME = re.compile(r'<div class="note (ok|danger|warn)\s*[^>]*?id="outcome"')
ROOT = Path(__file__).parents[2]
EVERY_CHAPTER = tuple(book.folder for book in books())
VARIES = (
    (r'name="csrfmiddlewaretoken" value="\w+"', "a token"),
    (r'data-csrf="\w+"', "a token"),
    (r"X-CSRFToken[^}]+", "a token"),
    (r'data-server-time="[^"]+"', "a time"),
    (r"(<span class=\"num\"\s+data-clock>)[0-9:]+", r"\1"),
    (r"asked=\d+", "asked"),
    (r'name="asked" value="\d+"', "asked"),
    (r"questions/\d+/", "questions/"),
    (r'data-nonce="[^"]*"', "a nonce"),
    (r'data-question="\d+"', "a question"),
)
"""Tokens, times and numbers of rows: different between two answers of the same site."""


PLACE = re.compile(r"<(\w+)\s+data-(?:cluster|anywhere)\b.*?</\1>", re.DOTALL)
"""Ways to a cluster, and the sentences that stand instead where there is none."""


DATA = re.compile(r'(<script [^>]*type="application/json">)(.*?)(</script>)', re.DOTALL)
"""PostgreSQL sorts the keys of what is stored as JSON, SQLite does not."""


AWAY = re.compile(r'href="[^"]*/(?:sign-in|about|help|source)/')
"""Links to pages that only a cluster has."""

LINK = re.compile(r"\beN[\w-]{30,}")
"""A session as a link: JSON, compressed."""


def regular(text: str) -> str:
    text = PLACE.sub("", text)
    for pattern, instead in VARIES:  # first: a token may look like a link
        text = re.sub(pattern, instead, text)
    text = LINK.sub(lambda found: json.dumps(linked(found[0]), sort_keys=True).replace('"', "'"), text)
    return DATA.sub(lambda found: found[1] + json.dumps(json.loads(found[2]), sort_keys=True) + found[3], text)


def linked(link: str) -> object:
    return json.loads(zlib.decompress(base64.urlsafe_b64decode(link + "=" * (-len(link) % 4))))


def difference(expected: object, found: object) -> str:
    """The place where two answers begin to differ; "" when they are alike."""
    wanted, got = regular(str(expected)), regular(str(found))
    if wanted == got:
        return ""
    at = next((n for n, (one, other) in enumerate(zip(wanted, got, strict=False)) if one != other), 0)
    return f"{wanted[max(0, at - 60) : at + 90]!r} is {got[max(0, at - 60) : at + 90]!r}"


@pytest.mark.parametrize(
    ("language", "folders"),
    [
        pytest.param("en", EVERY_CHAPTER, id="every chapter in English"),
        pytest.param("zh-hans", EVERY_CHAPTER, id="every chapter in Chinese"),
    ],
)
def test_a_browser_answers_as_a_cluster_does(
    db: None, monkeypatch: pytest.MonkeyPatch, language: str, folders: tuple[str, ...]
) -> None:
    monkeypatch.setattr("lab.services._send", lambda: None)
    client = Client(headers={"accept-language": language})

    def visit(request: Request) -> Response:
        path = f"/{request.address}"
        answer = client.get(path) if request.form is None else client.post(path, request.form)
        return Response(
            answer.status_code, answer.headers.get("Location", "").removeprefix("/"), answer.content.decode()
        )

    def answered_there() -> list[list[str]]:
        command = [sys.executable, "-m", "tests.anywhere.visits", language, *folders]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr[-3000:]
        return [json.loads(line) for line in ended.stdout.splitlines()]

    here = ([at.address, got.status, got.location, got.body] for at, got in walk(visit, answer_next_question, folders))
    outcomes: dict[str, set[str]] = {"ok": set(), "wrong": set()}
    differences = list[str]()
    for cluster, browser in zip_longest(here, answered_there()):
        assert cluster is not None
        assert browser is not None
        differences += [f"{cluster[0]}: {difference(*pair)}" for pair in zip(cluster, browser, strict=True)]
        differences += [f"{browser[0]}: leads to a cluster"] if AWAY.search(browser[3]) else []
        for sort in OUTCOME.findall(cluster[3]):
            outcomes["ok" if sort == "ok" else "wrong"].add(cluster[0].partition("?")[0])
    assert [one for one in differences if not one.endswith(": ")] == []
    graded = {f"lab/chapters/{book.folder}/{screen.id}/": screen.task for book, screen in tasks()}
    assert outcomes["ok"] == set(graded)
    assert outcomes["wrong"] == {here for here, task in graded.items() if not isinstance(task, Survive)}


def tasks() -> Iterator[tuple[Book, Screen]]:
    """Every screen with an answer that is graded."""
    for book in books():
        for screen in book.chapter.screens if book.chapter is not None else ():
            if screen.task is not None and not isinstance(screen.task, Live):
                yield book, screen


def test_the_walk_has_wrong_answers() -> None:
    assert all(wrong_fields(screen) != fields(screen) for _, screen in tasks())
