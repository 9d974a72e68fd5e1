"""Texts of chapters: Markdown as HTML. HTML in a text is shown as it is written, and pictures are links."""

import re
from collections.abc import Sequence
from html import unescape

from django import template
from django.utils.html import strip_tags
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from markdown_it import MarkdownIt

from lab.exercises.readings import Reading, reading_for

register = template.Library()

MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
AFTER_EMPHASIS = re.compile(r"([。！？；，：]</(?:em|strong)>) (?=[^\x00-\x7f])")


@register.filter
def markdown(text: str) -> SafeString:
    """Behind emphasis Markdown wants a space, Chinese has none."""
    rendered = MARKDOWN.render(text)  # html is off: every character of the text is escaped
    return SafeString(AFTER_EMPHASIS.sub(r"\1", rendered))


@register.filter
def inline(text: str) -> SafeString:
    return SafeString(MARKDOWN.renderInline(text))  # as above


def plain(text: str) -> str:
    """A single line without its marks, for what shows no HTML."""
    return unescape(strip_tags(MARKDOWN.renderInline(text)))


@register.filter
def readings(names: Sequence[str]) -> list[Reading]:
    return list(dict.fromkeys(reading_for(name, get_language() or "") for name in names))


RULE_SECTIONS = {"C": 2, "L": 5, "T": 6, "R": 7, "X": 8}


@register.filter
def rule_section(rule: str) -> str:
    return f"section-{RULE_SECTIONS.get(rule[:1], 1)}"
