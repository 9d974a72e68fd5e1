"""Words of lanes over time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils.translation import gettext, pgettext_lazy

from catalog.templatetags.look import OUTCOMES, STATE_WORDS
from catalog.text.job_nodes import is_job, node_in_words

register = template.Library()

MARKS = {
    "killed": pgettext_lazy("mark", "killed"),
    "crashed": pgettext_lazy("mark", "crashed"),
    "frozen": pgettext_lazy("mark", "frozen"),
    "thawed": pgettext_lazy("mark", "thawed"),
    "silent": pgettext_lazy("mark", "silent"),
    "back": pgettext_lazy("mark", "answers again"),
    "joined": pgettext_lazy("mark", "joined"),
    "left": pgettext_lazy("mark", "left"),
    "draining": pgettext_lazy("mark", "draining"),
    "undrained": pgettext_lazy("mark", "undrained"),
    "revoked": pgettext_lazy("mark", "lease revoked"),
}


@register.filter
def state_word(state: str) -> str:
    return str(STATE_WORDS[state])


@register.filter
def lanes_facts(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Facts for the browser, with the names of jobs in the reader's language."""
    tables = [
        one | {"names": {n: node_in_words(n, gettext) for n in one["nodes"] if is_job(n)}} for one in drawn["tables"]
    ]
    return {**drawn, "tables": tables}


@register.filter
def mark_word(kind: str) -> str:
    return str(MARKS[kind])


@register.filter
def outcome_word(status: str) -> str:
    return str(OUTCOMES[status][1])


@register.filter
def time_of_day(moment: str) -> str:
    return datetime.fromisoformat(moment).astimezone(UTC).isoformat(timespec="milliseconds")[11:23]


@register.filter
def to_second(moment: str) -> str:
    return time_of_day(moment)[:8]
