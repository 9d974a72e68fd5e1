"""The values of `catalog.text.message`, and patterns for sentences of the product's rules that are still text.

Where the product's own rules speak, in English, their sentences are read back by patterns.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from catalog.text.message import (
    NOTHING,
    Text,
    Values,
    added,
    beside,
    clauses,
    followed,
    from_json,
    joined,
    listed,
    names_listed,
    to_json,
)

__all__ = [
    "NOTHING",
    "Patterns",
    "Text",
    "Values",
    "added",
    "beside",
    "clauses",
    "followed",
    "from_json",
    "joined",
    "listed",
    "names_listed",
    "read_back",
    "text_of",
    "to_json",
]

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
