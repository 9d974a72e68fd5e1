"""What a first visit of a page loads, compressed as it is sent: at most 60 kB, without the editor."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from catalog.models import Table
from tests.web.test_chapters import BOOKS, show_all, url

BYTES_MAX = 60_000
GZIP_LEVEL = 6  # Django's
ROOT = Path(settings.BASE_DIR) / "static"
EXERCISES = Path(settings.BASE_DIR) / "lab" / "exercises" / "chapters"
EDITOR = "vendor/editor.js"
LATER = 'import "./later.js"; import * as part from "./part.js"; const other = import("./asked-for.js");'
PAGES = [
    *("/", "/processes/", "/traffic/", "/tables/", "/changes/", "/changes/new/", "/story/", "/incident/"),
    *(
        "/audit-trail/",
        "/notifications/",
        "/console/?panes=2",
        "/leases/",
        "/leases/history/",
        "/about/",
        "/help/",
        "/glossary/",
    ),
    *("/account/", "/sign-in/", "/lab/", "/lab/explorer/", "/lab/own/", "/lab/live/"),
    *("/lab/courses/", "/lab/polls/", "/lab/stage/", "/lab/stage/?setup=full-ladder", "/lab/stage/?setup=frozen-node"),
    *(f"/lab/chapters/{path.parent.name}/" for path in sorted(EXERCISES.glob("*/exercise.toml"))),
]


@pytest.fixture
def everybody(people: dict[str, User], flights: Table) -> Client:
    """Somebody who may see every page."""
    User.objects.filter(pk=people["olga"].pk).update(is_superuser=True)
    client = Client()
    client.force_login(User.objects.get(pk=people["olga"].pk))
    return client


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_no_page_weighs_more_than_60_kb(everybody: Client, flights: Table, language: str) -> None:
    everybody.cookies["django_language"] = language
    weights = {page: weight(everybody, page) for page in [*PAGES, f"/tables/{flights.pk}/"]}
    for book in BOOKS:
        assert book.chapter is not None
        show_all(everybody, book)
        last = url("chapter-screen", book, book.chapter.screens[-1])
        assert "ending-picture" in everybody.get(last).content.decode()
        weights[last] = weight(everybody, last)
    assert {page: total for page, parts in weights.items() if (total := sum(parts.values())) > BYTES_MAX} == {}


def test_the_builder_is_at_most_15_kb() -> None:
    assert (ROOT / "lab" / "ladder.js").stat().st_size <= 15_000


def test_what_a_module_fetches_later_is_not_of_the_first_visit() -> None:
    assert list(imports(LATER)) == ["./later.js", "./part.js"]
    assert {"lab/stage.js", "lab/state.js", "vendor/preact.js"} <= modules("lab/stage.js")
    assert "lab/questions.js" not in modules("lab/stage.js")


def weight(client: Client, page: str) -> dict[str, int]:
    """Compressed bytes by file; the page itself is `""`."""
    answer = client.get(page, follow=True)
    assert answer.status_code == 200, page
    text = answer.content.decode()
    files = {name for found in re.findall(r'(?:href|src)="/static/([^"#?]+)', text) for name in modules(found)}
    return {"": compressed(answer.content)} | {name: of_file(name) for name in sorted(files - {EDITOR})}


def modules(name: str) -> set[str]:
    """A file with all that it imports from the start."""
    found, looked_at = {name}, set[str]()
    while found - looked_at:
        one = (found - looked_at).pop()
        looked_at.add(one)
        if one.endswith(".js") and not one.startswith("vendor/"):
            there = (ROOT / one).parent
            found |= {str((there / other).resolve().relative_to(ROOT)) for other in imports((ROOT / one).read_text())}
    return found


def imports(script: str) -> Iterator[str]:
    return (found[1] for found in re.finditer(r'\bimport\s+(?:[^"();]*?\bfrom\s+)?"([^"]+)"', script))


@cache
def of_file(name: str) -> int:
    return compressed((ROOT / name).read_bytes())


def compressed(content: bytes) -> int:
    return len(gzip.compress(content, GZIP_LEVEL))
