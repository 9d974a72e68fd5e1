"""Texts that chapters point to: linked, and in the reader's language."""

import re

import pytest
from django.template.loader import render_to_string
from django.utils import translation

from lab.exercises.chapter import Sources
from lab.exercises.readings import READINGS, reading_for
from lab.exercises.shelf import OURS, read_book

CHAPTERS = [book.chapter for path in sorted(OURS.iterdir()) if path.is_dir() and (book := read_book(path)).chapter]
CHINESE = re.compile(r"[\u4e00-\u9fff]")
NAMES = sorted(
    {
        name
        for chapter in CHAPTERS
        if chapter
        for sources in (chapter.sources, *(screen.sources for screen in chapter.screens))
        for name in sources.reading
    }
)


def test_every_reading_of_our_chapters_is_known_and_used() -> None:
    assert set(NAMES) == READINGS.keys()


@pytest.mark.parametrize("name", NAMES)
def test_an_english_reader_is_led_to_no_chinese_text(name: str) -> None:
    found = reading_for(name, "en")
    assert not CHINESE.search(found.title)
    assert found.url.startswith("https://")


def test_a_chinese_reader_has_the_chinese_text_where_there_is_one() -> None:
    assert reading_for("f1-idea", "zh-hans").title.endswith("算法思想")
    assert reading_for("locks-kleppmann", "zh-hans") == reading_for("locks-kleppmann", "en")


@pytest.mark.parametrize(("language", "links"), [("en", 1), ("zh-hans", 2)])
def test_readings_are_linked_each_once(language: str, links: int) -> None:
    with translation.override(language):
        page = render_to_string("lab/parts/sources.html", {"from": Sources(reading=("f1-idea", "f1-known", "Our own"))})
    assert len(re.findall(r'<a\s+href="https://', page)) == links
    assert "Our own" in page
