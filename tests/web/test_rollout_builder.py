"""The builder of *Design a rollout*: deploys as tiles, an order of tiles as a file, and the run that plays."""

import json
import re
import tomllib
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from lab import tasks
from rollouts.checks import check
from rollouts.pages.links import TEXT_MAX
from rollouts.pages.tiles import NoTiles, split
from rollouts.templates import BY_NAME, NAIVE, SAFE, text_of

PAGE, ASK, TILES = "/lab/rollouts/", "/lab/rollouts/ask/", "/lab/rollouts/tiles/"
FILES = [text_of(name, form) for name in BY_NAME for form in (NAIVE, SAFE)]
FILES += [path.read_text() for path in sorted((Path(__file__).parents[2] / "docs" / "rollouts").glob("*.toml"))]
COMMENTED = """\
tables = "CREATE TABLE t (id bigint PRIMARY KEY, a text)"
[values]
a = ["x", "y"]
# first
[[deploy]]
title = "one"
schema = "ALTER TABLE t ADD COLUMN b text"

# second, with a table of its own
[[deploy]]
release = "2"
[deploy.does]
show = "SELECT a FROM t WHERE id = :id"
[[deploy]]
backfill = "UPDATE t SET b = a WHERE id = :id"
[before]
release = "1"
does.show = "SELECT a FROM t WHERE id = :id"
"""


def tiles(text: str, language: str = "en") -> dict[str, Any]:
    found: dict[str, Any] = Client().post(TILES, {"text": text}, headers={"accept-language": language}).json()
    return found


def data(page: str, name: str) -> Any:
    found = re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', page, re.DOTALL)
    return None if found is None else json.loads(found[1])


@pytest.mark.parametrize("text", FILES)
def test_the_blocks_of_a_file_are_the_file(text: str) -> None:
    head, blocks, tail = split(text)
    assert tomllib.loads(head + "".join(blocks) + tail) == tomllib.loads(text)
    assert (head + "".join(blocks) + tail).rstrip("\n") == text.rstrip("\n")


def test_every_order_of_blocks_is_that_order_of_deploys() -> None:
    head, blocks, tail = split(COMMENTED)
    deploys = tomllib.loads(COMMENTED)["deploy"]
    for order in permutations(range(len(blocks))):
        body = tomllib.loads(head + "".join(blocks[at] for at in order) + tail)
        assert body["deploy"] == [deploys[at] for at in order]
        assert body["before"] == {"release": "1", "does": {"show": "SELECT a FROM t WHERE id = :id"}}
    assert blocks[1].startswith("# second")
    assert check(head + blocks[0] + blocks[2] + tail).mistake is None


def test_a_block_inside_of_a_text_is_no_block() -> None:
    with pytest.raises(NoTiles):
        split(COMMENTED.replace('title = "one"', 'title = """\n[[deploy]]\n"""'))


def test_tiles_say_what_a_deploy_is_in_the_readers_language() -> None:
    found = tiles(COMMENTED)
    assert [one["text"] for one in found["tiles"]] == ["one", "release 2", "backfill"]
    assert [one["isWork"] for one in found["tiles"]] == [True, False, True]
    assert found["order"] == ["1", "2", "3"]
    assert found["ground"]["text"] == "release 1"
    assert tiles(COMMENTED, "zh-hans")["ground"]["text"] == "版本 1"
    assert tiles(text_of("rename", SAFE))["tiles"][0]["text"] == "ADD COLUMN full_name text"


@pytest.mark.parametrize(
    "text",
    [
        "tables = ",
        "deploy = 1",
        "[[deploy]]\n" * 50,
        "x" * (TEXT_MAX + 1),
        "deploy = [{}]",
        "rows = " + "[" * 3000,
        "rows = " + "9" * 5000,
        "[[deploy]]\ntitle." + "a." * 3000 + "b = 1",
    ],
)
def test_a_file_that_cannot_be_read_has_no_tiles(text: str) -> None:
    assert tiles(text)["problem"] == "The deploys become tiles once the file can be read."


@pytest.mark.django_db
def test_the_page_comes_with_tiles_and_the_answer_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.services._send", lambda: None)
    visitor = Client()
    page = visitor.get(PAGE, {"template": "split", "form": "naive"}).content.decode()
    assert len(data(page, "rollout-tiles")["tiles"]) == 4
    assert data(page, "rollout-run") is None
    where = visitor.post(ASK, {"text": BY_NAME["split"].naive})["Location"]
    tasks.answer_next_question()
    run = data(visitor.get(where).content.decode(), "rollout-run")
    assert run["gates"] == ["green", "green", "green", "red", "green"]
    assert run["title"] == "broken: 1 way"
    frames = run["played"]["frames"]
    assert len(frames) == 10
    assert frames[-1]["marks"][0][0] == "lost"
    assert "written last: Bob van Dyke" in frames[-1]["sentence"]
    chinese = data(visitor.get(where, headers={"accept-language": "zh-hans"}).content.decode(), "rollout-run")
    assert re.search("[\u4e00-\u9fff]", chinese["played"]["frames"][-1]["sentence"])
    assert chinese["played"]["stores"][0] == "行"


@pytest.mark.django_db
def test_a_safe_rollout_plays_a_quiet_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.services._send", lambda: None)
    visitor = Client()
    where = visitor.post(ASK, {"text": BY_NAME["rename"].safe})["Location"]
    tasks.answer_next_question()
    run = data(visitor.get(where).content.decode(), "rollout-run")
    assert run["verdict"] == "proved"
    assert not any(frame["marks"] for frame in run["played"]["frames"])
    assert "red" not in run["gates"]
