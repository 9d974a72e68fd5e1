"""Why does it wait? One sentence, and six steps of the machine that end in damage."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from tests.web.layout import flat

pytestmark = pytest.mark.django_db


def test_six_steps_end_with_an_entry_without_a_row() -> None:
    shown = html.unescape(Client().get("/lab/why/waits/").content.decode())
    steps = re.findall(r"<li>(.*?)</li>", shown[shown.index('<ol class="steps">') :].split("</ol>")[0])
    assert len(steps) == 6
    assert steps[0].startswith("v2 is published")
    assert steps[-1] == (
        "by_a has an entry for row 1, which does not exist. No step removes it, so queries meet it once by_a is public"
    )
    assert "the first and the third of three versions can" in flat(shown)


def test_the_whole_of_it_is_one_click_further() -> None:
    shown = html.unescape(Client().get("/lab/why/waits/").content.decode())
    stage = re.search(r'href="(/lab/stage/\?s=[^"]+)"', shown)
    assert stage is not None
    assert Client().get(stage[1]).status_code == 200


def test_it_is_told_in_chinese_too() -> None:
    shown = Client(headers={"accept-language": "zh-hans"}).get("/lab/why/waits/").content.decode()
    assert "为什么" in shown
