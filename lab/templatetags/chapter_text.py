"""Texts of chapters: Markdown as HTML. HTML that stands in a text is shown as it is written, and pictures are links."""

from django import template
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

register = template.Library()

MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@register.filter
def markdown(text: str) -> SafeString:
    """Paragraphs, lists, tables, code."""
    return SafeString(MARKDOWN.render(text))  # html is off: every character of the text is escaped


@register.filter
def inline(text: str) -> SafeString:
    """A single line, such as a choice, without a paragraph around it."""
    return SafeString(MARKDOWN.renderInline(text))  # as above
