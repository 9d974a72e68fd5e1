"""Sentences that a page can put into another language: a template in English, and what stands in it.

    Text("{node} leases {version}", {"node": "n1", "version": "v2"})

Templates are literals: a test finds each in the syntax tree and holds that it has a message in `locale/`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

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


def listed(parts: Sequence[Text]) -> Text:
    """Texts with commas between them."""
    return _chained(parts, lambda two: Text("{first}, {rest}", two))


def joined(parts: Sequence[Text]) -> Text:
    """Texts with "and" between them."""
    return _chained(parts, lambda two: Text("{first} and {rest}", two))


def clauses(parts: Sequence[Text]) -> Text:
    """Texts with semicolons between them."""
    return _chained(parts, lambda two: Text("{first}; {rest}", two))


def _chained(parts: Sequence[Text], link: Callable[[Values], Text]) -> Text:
    if not parts:
        return NOTHING
    first, *rest = parts
    return link({"first": first, "rest": _chained(rest, link)}) if rest else first
