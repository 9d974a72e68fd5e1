"""The first minute: its page, its frames, and where it leads."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from lab.pages.first_minute import CLICKS, first_minute


def data(page: str) -> Any:
    found = re.search(r'<script id="first-minute-data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.parametrize("address", ["/", "/lab/stage/?setup=one-jump"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_two_clicks_and_what_they_leave(db: None, address: str, language: str) -> None:
    page = Client(headers={"accept-language": language}).get(address).content.decode()
    told = data(page)
    frames, start = told["frames"], told["start"]
    assert len(frames) - 1 - start == len(told["clicks"]) == len(CLICKS)
    assert [frames[start + at]["actor"] for at in (1, 2)] == [click["node"] for click in told["clicks"]] == ["n2", "n1"]
    assert (frames[start]["left"], frames[start]["right"]) == ([], [])
    assert (len(frames[start + 1]["left"]), len(frames[start + 1]["right"])) == (1, 1)
    assert (frames[-1]["left"], len(frames[-1]["right"])) == ([], 1)
    assert frames[-1]["marks"] == [["orphan", "1>1"]]
    assert 'href="/lab/chapters/01-one-jump/"' in page


def test_the_full_stage_is_one_link_away(db: None) -> None:
    page = Client().get("/lab/stage/?setup=one-jump").content.decode()
    assert 'id="stage"' not in page
    found = re.search(r'href="(/lab/stage/\?s=[^"]+)"', page)
    assert found is not None
    stage = Client().get(found[1]).content.decode()
    assert 'id="stage"' in stage
    assert "n2.acquire" in stage


def test_its_sentences_use_no_word_that_nothing_has_explained(db: None) -> None:
    said = first_minute()["sentences"]
    assert said[-2] == "n2 inserts row 1, a = 1. It knows by_a, so it puts the entry, too."


def test_it_leads_to_chapter_1_and_skips_none_unsaid(db: None) -> None:
    page = Client().get("/").content.decode()
    assert 'href="/lab/chapters/01-one-jump/"' in page
    assert 'href="/lab/chapters/00-new-messenger/">Begin with chapter 0' in page


def test_the_query_that_meets_the_orphan_is_named(db: None) -> None:
    assert first_minute()["query"].startswith("SELECT")
