"""Template tags for icons, states and times. A state is shown by glyph, word and pattern, and only then by colour."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from django import template
from django.conf import settings
from django.template.defaultfilters import capfirst, join
from django.templatetags.static import static
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, pgettext_lazy

from catalog.story import SENTENCES
from catalog.templatetags.glossary import term_link
from catalog.text.job_nodes import list_comma as comma_of
from catalog.text.job_nodes import node_in_words, nodes_in_other_words
from catalog.text.message import KINDS, named_element
from catalog.text.sentence import Sentence, in_other_words, sentence_of
from catalog.text.sentence import first_line as first_line_of
from catalog.text.sentence import listed as listed_sentence

register = template.Library()

GLYPHS = {
    "absent": "circle-dashed",
    "delete-only": "minus",
    "write-only": "arrow-up",
    "reorganising": "slashes",
    "public": "check",
}
STATE_WORDS = {
    "absent": pgettext_lazy("state", "absent"),
    "delete-only": pgettext_lazy("state", "delete-only"),
    "write-only": pgettext_lazy("state", "write-only"),
    "reorganising": pgettext_lazy("state", "reorganising"),
    "public": pgettext_lazy("state", "public"),
}
TERMS = {"reorganising": "reorganisation"}
"""The glossary's term of a state's look, where it is not the same word."""
STEP = re.compile(
    r"\b(absent|delete-only|write-only|reorganising|public) (?:->|→) "
    r"(?=(?:absent|delete-only|write-only|reorganising|public)\b)"
)
OUTCOMES = {
    "awaiting": ("lock", pgettext_lazy("change", "awaiting approval")),
    "queued": ("hourglass", pgettext_lazy("change", "queued")),
    "running": ("play", pgettext_lazy("change", "running")),
    "waiting": ("hourglass", pgettext_lazy("change", "waiting")),
    "paused": ("pause", pgettext_lazy("change", "paused")),
    "rolling_back": ("undo-2", pgettext_lazy("change", "rolling back")),
    "done": ("check", pgettext_lazy("change", "done")),
    "failed": ("octagon-alert", pgettext_lazy("change", "failed")),
    "cancelled": ("x", pgettext_lazy("change", "cancelled")),
}

GROUP_WORDS = {
    "changes": pgettext_lazy("story", "changes"),
    "versions": pgettext_lazy("story", "versions"),
    "reorganisations": pgettext_lazy("story", "reorganisations"),
    "nodes": pgettext_lazy("story", "nodes"),
    "leases": pgettext_lazy("story", "leases"),
    "processes": pgettext_lazy("story", "processes"),
    "storages": pgettext_lazy("story", "storages"),
    "traffic and data": pgettext_lazy("story", "traffic and data"),
    "lab": pgettext_lazy("story", "lab"),
    "administration": pgettext_lazy("story", "administration"),
}
"""The groups of `catalog.story.GROUPS`, and what the audit trail has besides."""


OCCASION_WORDS = {
    "waiting": pgettext_lazy("notification", "waits too long"),
    "failed": pgettext_lazy("notification", "failed"),
    "done": pgettext_lazy("notification", "done"),
    "cancelled": pgettext_lazy("notification", "cancelled"),
    "approval": pgettext_lazy("notification", "awaits approval, or was decided about"),
}


@register.filter
def occasion_word(name: str) -> Any:
    return OCCASION_WORDS[name]


@register.filter
def story_group(name: str) -> Any:
    return GROUP_WORDS[name]


@register.filter
def story_kind(name: str) -> str:
    """A kind of the story's events, in the reader's language; what an address calls so stays as it is."""
    return gettext(name) if name in SENTENCES else name


@register.filter
def first_line(text: str) -> str:
    """Of an error the sentence; what it names is below it."""
    return first_line_of(text)


@register.simple_tag
@functools.lru_cache(maxsize=256)
def icon(name: str) -> SafeString:
    """An icon that repeats what the words beside it say, so readers skip it."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', static("icons.svg"), name)


@register.simple_tag
def state(name: str, filling: bool = False) -> SafeString:
    """A state of an element; `filling`: a phase of it in which its data are reorganised."""
    word = gettext("{state}, reorganising").format(state=STATE_WORDS[name]) if filling else STATE_WORDS[name]
    return format_html(
        '<span class="state" data-state="{}">{} <span class="word">{}</span></span>', name, swatch(name), word
    )


@register.simple_tag
@functools.lru_cache(maxsize=256)
def swatch(name: str) -> SafeString:
    return format_html('<span class="swatch pattern" data-state="{}">{}</span>', name, icon(GLYPHS[name]))


@register.simple_tag
def glyph(name: str) -> SafeString:
    return icon(GLYPHS[name])


@register.simple_tag
def state_word(name: str) -> Any:
    return STATE_WORDS[name]


@register.simple_tag
def state_key() -> SafeString:
    """The meaning of the five looks, each with its definition."""
    shown = [term_link(TERMS.get(name, name), state(name)) for name in GLYPHS]
    return format_html('<div class="key">{}{}{}{}{}</div>', *shown)


@register.simple_tag
def outcome(status: str) -> SafeString:
    glyph, word = OUTCOMES[status]
    return format_html('<span class="outcome" data-outcome="{}">{} {}</span>', status, icon(glyph), word)


@register.filter
def outcome_word(status: str) -> Any:
    return OUTCOMES[status][1]


@register.simple_tag
def until(moment: Any) -> SafeString:
    """A moment to come: the time, and a ring and words that count down on the server's clock."""
    at = _moment(moment)
    if at is None:
        return SafeString("")
    return format_html(
        '<time class="until" datetime="{}" data-until="{}" data-of="{}">'
        '<svg class="ring" viewBox="0 0 36 36" aria-hidden="true"><circle class="track" cx="18" cy="18" r="15"/>'
        '<circle class="left" cx="18" cy="18" r="15" pathLength="100" stroke-dasharray="{} 100"/></svg>'
        '<span>{}</span> <span class="muted-left" data-left aria-hidden="true"></span></time>',
        at.isoformat(),
        at.isoformat(),
        int(settings.LEASE_S),
        _share(at),
        at.strftime("%H:%M:%S"),
    )


@register.simple_tag
def clock(moment: Any) -> SafeString:
    """A moment of today as a time, an older one with its date; always UTC, the full moment in the tooltip."""
    at = _moment(moment)
    if at is None:
        return SafeString("")
    form = "%H:%M:%S" if at.date() == datetime.now(UTC).date() else "%Y-%m-%d %H:%M:%S"
    return format_html(
        '<time class="num nowrap" datetime="{}" title="{}">{}</time>',
        at.isoformat(),
        at.strftime("%Y-%m-%d %H:%M:%S UTC"),
        at.strftime(form),
    )


@register.simple_tag
def ago(moment: Any) -> SafeString:
    """The time since, counted in the browser."""
    at = _moment(moment)
    return SafeString("") if at is None else format_html('<span data-ago="{}"></span>', at.isoformat())


@register.filter
def seconds(value: Any) -> str:
    """A span in words that fit a table."""
    if value is None:
        return ""
    number = float(value)
    if number < 1:
        return gettext("%(ms)s ms") % {"ms": round(number * 1000)}
    if number < 90:
        return gettext("%(s)s s") % {"s": f"{number:.1f}" if number < 10 else round(number)}
    return gettext("%(m)s min") % {"m": round(number / 60)}


@register.filter
def lasted(value: float) -> str:
    """A span that was measured, whose parts are shown beside it: with its seconds, below an hour."""
    minutes, rest = divmod(round(value), 60)
    if value < 90 or minutes >= 60 or not rest:
        return seconds(value)
    return gettext("%(m)s min %(s)s s") % {"m": minutes, "s": rest}


@register.filter
def latency(ms: float) -> str:
    """Milliseconds with two figures that count: 0.38 ms, 4.2 ms, 38 ms, 1.2 s."""
    if ms >= 1000:
        return gettext("%(s)s s") % {"s": f"{ms / 1000:.1f}"}
    return gettext("%(ms)s ms") % {"ms": f"{ms:.2f}" if ms < 1 else f"{ms:.1f}" if ms < 10 else f"{ms:.0f}"}


@register.filter
def as_json(part: Any) -> SafeString:
    """The part as JSON that can stand in a page: it has no character that HTML reads as its own, and no space."""
    text = json.dumps(part, default=str, ensure_ascii=False, separators=(",", ":"))
    return SafeString(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


@register.filter
def in_script(part: Any, name: str) -> SafeString:
    """The part as JSON in a script element: Django's `json_script`, a sixth smaller in Chinese."""
    return format_html('<script id="{}" type="application/json">{}</script>', name, as_json(part))


@register.filter
def thousands(value: Any) -> str:
    return "" if value is None else f"{int(value):,}"


@register.filter
def at_least(count: Mapping[str, Any]) -> str:
    """The `total` of what was counted; with words when only some was looked at (`is_least`)."""
    shown = thousands(count["total"])
    return gettext("at least %(n)s") % {"n": shown} if count["is_least"] else shown


@register.filter
def arrows(text: str) -> str:
    """A phrase of the core in the reader's language; a state's change has an arrow that no line ends at (the terminal's
    is `->`)."""
    return STEP.sub("\\1\u00a0\u2192\u00a0", phrase(text))


@register.filter
def with_its_change(text: str, change: int) -> SafeString:
    """A sentence of a change, with a link where it names it first, or behind it when it does not."""
    named = re.search(rf"(?:\b[Cc]hange |变更 ?){change}(?!\w)", text)
    before, name, after = (
        (text[: named.start()], named[0], text[named.end() :])
        if named
        else (f"{text} ", gettext("change %(n)s") % {"n": change}, "")
    )
    link = format_html('<a class="nowrap" href="{}">{}</a>', reverse("change", args=[change]), name)
    return format_html("{}{}{}", before, link, after)


@register.filter
def begins(text: str) -> str:
    """The text with a capital letter, but not in Chinese: there only a name can be changed by it."""
    return text if (get_language() or "").startswith("zh") else capfirst(text)


@register.filter
def phrase(text: str) -> str:
    """A phrase of the core, such as a step or a warning, in the reader's language."""
    language = get_language() or "en"
    return str(text) if language.startswith("en") else in_other_words(text, gettext)


@register.filter
def called(kind: str, name: str) -> str:
    return phrase(sentence_of(named_element(kind, name))) if kind in KINDS else f"{kind} {name}"


@register.filter(name="capfirst")
def capital(text: str) -> str:
    """The text with a capital letter; a phrase of the core in the reader's language, where `begins` says how."""
    return begins(phrase(text)) if isinstance(text, Sentence) else capfirst(text)


@register.filter(name="join")
def joined(lines: Iterable[str], between: str) -> str:
    """Texts with this between them; of phrases of the core the list."""
    found = list(lines)
    return listed_sentence(found) if any(isinstance(one, Sentence) for one in found) else join(found, between)


def _moment(value: Any) -> datetime | None:
    at = parse_datetime(value) if isinstance(value, str) else value
    return at.astimezone(UTC) if at else None


def _share(at: datetime) -> int:
    """The rest of a lease, in percent: what the ring shows until the browser counts."""
    left = (at - datetime.now(UTC)).total_seconds()
    return int(max(0.0, min(100.0, 100 * left / max(float(settings.LEASE_S), 0.001))) // 100 * 100)


@register.filter
def by_use(whom: str) -> str:
    return nodes_in_other_words(str(whom), gettext)


@register.filter
def node_words(node: str) -> str:
    """The name of a node; of one that is a job, in words."""
    return node_in_words(node, gettext)


@register.simple_tag
def list_comma() -> str:
    return comma_of(gettext)


@register.simple_tag
def full_stop() -> str:
    """The end of a sentence that is put together, with the space behind it: Chinese has another one, and no space."""
    return gettext("{first}. {rest}").format(first="", rest="")


@register.simple_tag
def sentence_space() -> str:
    """The space between two sentences: in Chinese there is none."""
    return full_stop()[1:]


@register.simple_tag
def clause_semicolon() -> str:
    return gettext("{first}; {rest}").format(first="", rest="")


@register.simple_tag
def clause_comma() -> str:
    return gettext("{first}, {rest}").format(first="", rest="")


@register.filter
def nodes_listed(nodes: Iterable[str]) -> str:
    return listed(map(node_words, nodes))


@register.filter
def listed(names: Iterable[Any]) -> str:
    return list_comma().join(map(str, names))
