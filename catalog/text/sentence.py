"""A line of a script, log or SQL error: an English string that keeps its template and values for translation."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from catalog.text.job_nodes import nodes_in_other_words
from catalog.text.message import Text

FOLLOWED = "{first}\n{rest}"
OF_WORDS = frozenset({"before", "after", "state", "status"})
"""Values whose words are ours."""
STATES = ("absent", "delete-only", "write-only", "reorganising", "public")
KINDS = ("table", "column", "index", "unique index", "constraint", "foreign key", "placement")
REQUESTS = ("cancel", "pause", "resume")
STATUSES = ("queued", "running", "waiting", "paused", "rolling back", "awaiting", "done", "failed", "cancelled")
WORDS = frozenset((*STATES, *KINDS, *REQUESTS, *STATUSES))
"""States and kinds of elements, requests and statuses of changes."""


class Sentence(str):
    """A sentence by its template and its values, which may be lines themselves: `Sentence("{node} leases v{version}",
    node="n1", version=2)` equals "n1 leases v2"."""

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        values = {name: one if isinstance(one, str | int | float) else str(one) for name, one in values.items()}
        sentence = super().__new__(cls, template.format_map(values))
        sentence.template, sentence.values = template, values
        return sentence

    def __str__(self) -> str:
        """Itself, so that an exception's message stays a sentence."""
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _sentence, (self.template, self.values)


def sentence_of(text: Text) -> Sentence:
    values = {name: sentence_of(one) if isinstance(one, Text) else one for name, one in text.values.items()}
    return Sentence(text.template, **values)


def listed(lines: Sequence[str], template: str = "{first}, {rest}") -> str:
    """Lines with commas, or the template's separator; "" of none."""
    return (
        functools.reduce(lambda rest, first: Sentence(template, first=first, rest=rest), reversed(lines))
        if lines
        else ""
    )


def joined(lines: Sequence[str]) -> str:
    return listed(lines, "{first} and {rest}")


def in_other_words(line: object, translate: Callable[[str], str]) -> str:
    """A line by `translate`, with the lines in it; of other strings only `WORDS`."""
    if not isinstance(line, Sentence):
        return translate(str(line)) if line in WORDS else str(line)
    values = {name: _value(name, one, translate) for name, one in line.values.items()}
    return translate(line.template).format_map(values)


def _value(name: str, value: object, translate: Callable[[str], str]) -> object:
    """Names of users stay, even one called `absent`; nodes are listed by use."""
    if name == "nodes":
        return nodes_in_other_words(str(value), translate)
    return in_other_words(value, translate) if isinstance(value, Sentence) or name in OF_WORDS else value


def first_line(line: str) -> str:
    first = line.values["first"] if isinstance(line, Sentence) and line.template == FOLLOWED else None
    return first if isinstance(first, str) else line.partition("\n")[0]


def to_json(line: str) -> Any:
    if not isinstance(line, Sentence):
        return line
    return [line.template, {name: to_json(one) if isinstance(one, str) else one for name, one in line.values.items()}]


def from_json(body: Any) -> str:
    if isinstance(body, str):
        return body
    template, values = body
    return Sentence(
        template, **{name: from_json(one) if isinstance(one, list) else one for name, one in values.items()}
    )


def _sentence(template: str, values: Mapping[str, object]) -> Sentence:
    return Sentence(template, **values)
