"""Sentences that a page can put into another language: a template in English, and what stands in it.

    Text("{node} leases {version}", {"node": "n1", "version": "v2"})

Templates are literals: a test finds each in the syntax tree and holds that it has a message in `locale/`.
Where the product's own rules speak, in English, their sentences are read back by patterns.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Values = dict[str, "str | int | Text"]
"""The values of a text's names."""


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence: `template` in English with `{names}`, and what they stand for: words, numbers, or texts themselves.

    >>> str(Text("{node} leases {version}", {"node": "n1", "version": "v2"}))
    'n1 leases v2'
    """

    template: str
    values: Mapping[str, "str | int | Text"] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.template)

    def __str__(self) -> str:
        return self.template.format_map({name: str(value) for name, value in self.values.items()})


NOTHING = Text("")

Patterns = Sequence[tuple[str, Text]]
"""English sentences as regular expressions, each with its text; named groups are the values of the text's names."""


def read_back(sentence: str, patterns: Patterns) -> Text | None:
    """The text of a sentence in English, by the first pattern that fits all of it; None where none does."""
    for pattern, text in patterns:
        found = re.fullmatch(pattern, sentence)
        if found is not None:
            return Text(text.template, {**text.values, **found.groupdict()})
    return None


def text_of(sentence: str, patterns: Patterns, inner: Mapping[str, Callable[[str], Text]] | None = None) -> Text:
    """The same, in English where no pattern fits. `inner`: the names whose words are sentences themselves."""
    text = read_back(sentence, patterns)
    if text is None:
        return Text("{why}", {"why": sentence})
    if inner is None:
        return text
    read = {name: inner[name](str(value)) if name in inner else value for name, value in text.values.items()}
    return Text(text.template, read)


def to_json(text: Text) -> list[Any]:
    """The text as JSON: its template, and its values by name."""
    return [text.template, {name: to_json(one) if isinstance(one, Text) else one for name, one in text.values.items()}]


def from_json(body: Any) -> Text:
    """The text that `to_json` wrote."""
    template, values = body
    inner = {name: from_json(one) if isinstance(one, list) else one for name, one in values.items()}
    return replace(NOTHING, template=template, values=inner)  # the template was a literal where it was written


def listed(parts: Sequence[Text]) -> Text:
    """Texts with commas between them."""
    return _chained(parts, lambda two: Text("{first}, {rest}", two))


def names_listed(words: Iterable[object]) -> Text:
    """Words that are the same in every language, with its commas of a list between them."""
    parts = [Text("{name}", {"name": str(word)}) for word in words]
    return _chained(parts, lambda two: Text("{first}, {names}", {"first": two["first"], "names": two["rest"]}))


def joined(parts: Sequence[Text]) -> Text:
    """Texts with "and" between them."""
    return _chained(parts, lambda two: Text("{first} and {rest}", two))


def clauses(parts: Sequence[Text]) -> Text:
    """Texts with semicolons between them."""
    return _chained(parts, lambda two: Text("{first}; {rest}", two))


def added(parts: Sequence[Text]) -> Text:
    """Texts with a plus between them."""
    return _chained(parts, lambda two: Text("{first} + {rest}", two))


def followed(parts: Sequence[Text]) -> Text:
    """States, each of which becomes the next one."""
    return _chained(parts, lambda two: Text("{first} -> {rest}", two))


def beside(parts: Sequence[Text]) -> Text:
    """States that are held beside each other."""
    return _chained(parts, lambda two: Text("{first} beside {rest}", two))


def _chained(parts: Sequence[Text], link: Callable[[Values], Text]) -> Text:
    if not parts:
        return NOTHING
    first, *rest = parts
    return link({"first": first, "rest": _chained(rest, link)}) if rest else first
