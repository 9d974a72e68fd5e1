"""Words and icons of lanes over time."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils.translation import pgettext_lazy

from catalog.templatetags.look import FILLING_WORD, GLYPHS, OUTCOMES, STATE_WORDS

register = template.Library()

MARKS = {
    "killed": ("skull", pgettext_lazy("mark", "killed")),
    "crashed": ("skull", pgettext_lazy("mark", "crashed")),
    "frozen": ("snowflake", pgettext_lazy("mark", "frozen")),
    "thawed": ("sun", pgettext_lazy("mark", "thawed")),
    "silent": ("eye-off", pgettext_lazy("mark", "silent")),
    "back": ("play", pgettext_lazy("mark", "answers again")),
    "joined": ("log-in", pgettext_lazy("mark", "joined")),
    "left": ("log-out", pgettext_lazy("mark", "left")),
    "draining": ("pause", pgettext_lazy("mark", "draining")),
    "undrained": ("play", pgettext_lazy("mark", "undrained")),
    "revoked": ("unlink", pgettext_lazy("mark", "lease revoked")),
}


@register.filter
def state_word(state: str) -> str:
    return str(STATE_WORDS[state])


@register.filter
def phase_word(phase: str) -> str:
    """The state of a version in words."""
    return str(FILLING_WORD if phase == "reorganising" else STATE_WORDS[phase])


@register.filter
def state_glyph(state: str) -> str:
    return GLYPHS[state]


@register.filter
def mark_word(kind: str) -> str:
    return str(MARKS[kind][1])


@register.filter
def mark_icon(kind: str) -> str:
    return MARKS[kind][0]


@register.filter
def outcome_word(status: str) -> str:
    return str(OUTCOMES[status][1])


@register.filter
def time_of_day(moment: str) -> str:
    """A moment to the millisecond, UTC."""
    return datetime.fromisoformat(moment).astimezone(UTC).isoformat(timespec="milliseconds")[11:23]


@register.filter
def to_second(moment: str) -> str:
    return time_of_day(moment)[:8]
