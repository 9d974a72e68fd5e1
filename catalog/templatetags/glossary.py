"""Template tags that link words of the glossary to their meanings, where they first stand; `but` excludes users' names.

{% explained %}<p>..</p>{% endexplained %}    every word of the glossary
{% explained "lease" %}..{% endexplained %}   this one only
{% explained "fill" but=names %}..
{{ text|markdown|explained_words }}
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, pgettext

from catalog.text.glossary import FORMS, definitions, finder, linked
from catalog.text.job_nodes import is_job, node_in_words

register = template.Library()

PAGE = settings.BASE_DIR / "docs" / "reference" / "glossary.md"


@functools.cache
def _definitions() -> dict[str, str]:
    return definitions(PAGE.read_text(encoding="utf-8"))


@functools.cache
def _forms(language: str) -> dict[str, str]:
    """The forms in the reader's language, and the English ones: some sentences of the product have no other."""
    here = {term: pgettext("glossary", forms) for term, forms in FORMS.items()}
    return {term: forms if forms == FORMS[term] else f"{forms}|{FORMS[term]}" for term, forms in here.items()}


def meaning_of(term: str) -> str:
    return pgettext("glossary", _definitions()[term])


def name_of(term: str) -> str:
    return pgettext("glossary", FORMS[term]).partition("|")[0]


def glossary_words() -> list[dict[str, str]]:
    """Every word that pages explain, for the page that lists them."""
    return [{"term": term, "name": name_of(term), "meaning": meaning_of(term)} for term in FORMS]


def term_link(term: str, shown: str | SafeString) -> SafeString:
    """A word, or what shows it, as a link to its meaning."""
    text = '<a class="term" href="{}#{}" data-meaning="{}">{}</a>'
    return format_html(text, reverse("glossary"), term, meaning_of(term), shown)


@register.filter
def node_link(node: str) -> str | SafeString:
    """The name of a node; of one that is a job, in words that say what it is."""
    return term_link("loader", node_in_words(node, gettext)) if is_job(node) else node


@register.filter
def explained_words(html: str) -> SafeString:
    """HTML whose words of the glossary are links where they stand first."""
    return _explained(html)


def _explained(html: str, only: tuple[str, ...] = (), names: Iterable[str] = ()) -> SafeString:
    forms = _forms(get_language() or "")
    taken = {term for term, text in forms.items() if any(finder({term: text}).search(name) for name in names)}
    forms = {term: text for term, text in forms.items() if term not in taken}
    # What stands between tags is escaped already: `linked` hands over words of it as they are.
    found = linked(html, forms, lambda term, shown: term_link(term, SafeString(shown)), only)
    return SafeString(found)


class Explained(template.Node):
    def __init__(self, content: template.NodeList, only: tuple[str, ...], names: Any = None) -> None:
        self.content, self.only, self.names = content, only, names

    def render(self, context: Any) -> SafeString:
        names = self.names.resolve(context, ignore_failures=True) if self.names is not None else None
        return _explained(self.content.render(context), self.only, names or ())


@register.tag
def explained(parser: Any, token: Any) -> Explained:
    """`{% explained %}` or `{% explained "lease" "pair" %}`; an unknown word is a mistake of the template."""
    words = token.split_contents()[1:]
    names = [parser.compile_filter(word.removeprefix("but=")) for word in words if word.startswith("but=")]
    only = tuple(word.strip('"') for word in words if not word.startswith("but="))
    unknown = [word for word in only if word not in FORMS]
    if unknown:
        raise template.TemplateSyntaxError(f"the glossary's words do not explain {', '.join(unknown)}")
    content = parser.parse(("endexplained",))
    parser.delete_first_token()
    return Explained(content, only, *names)
