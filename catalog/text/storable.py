"""Texts that can be stored: without NUL and half surrogate pairs."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

NO_CHARACTER = re.compile("[\0\ud800-\udfff]")


def is_storable(value: Any) -> bool:
    """True for a text, and for all texts within a value of JSON, that PostgreSQL can keep."""
    return not any(map(NO_CHARACTER.search, texts_in(value)))


def texts_in(value: Any) -> Iterator[str]:
    """The texts of a value of JSON, names of members among them, however deep it is."""
    left = [value]
    while left:
        match left.pop():
            case str() as text:
                yield text
            case Mapping() as members:
                left += [*members, *members.values()]
            case list() | tuple() as parts:
                left += parts
