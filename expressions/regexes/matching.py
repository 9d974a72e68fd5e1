"""Where a regular expression begins and ends in a text: leftmost, and then as long or as short as PostgreSQL takes it.

RE2 finds the longest match, whatever the quantifiers say. Where one of them has a question mark, the end is found anew:
the least place that a match may end at, by halves, where the shortest one is taken; and the groups are laid out between
the two ends as the quantifiers ask.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import re2

from expressions.limits import look_at, pause
from expressions.regexes.flags import Flags
from expressions.regexes.translation import PATTERNS_MAX, invalid, translated

MEMORY_MAX = 2**20
"""Bytes of one compiled expression; RE2 keeps 128 of them."""
STEPS_EACH = 64
"""Instructions of a compiled expression, for one character, that cost as much as looking at the character."""
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Regex:
    """A compiled expression. Places are those of bytes."""

    longest: Any
    as_written: Any = None
    is_shortest: bool = False
    groups: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", self.longest.groups)

    def is_in(self, text: bytes) -> bool:
        self._count(len(text))
        return self.longest.search(text) is not None

    def search(self, text: bytes, place: int = 0) -> list[Span] | None:
        """The first match from `place` on, and its groups; (-1, -1) for a group that takes no part."""
        self._count(len(text) - place)
        found = self.longest.search(text, place)
        if found is None:
            return None
        if self.as_written is not None:
            start, end = found.span()
            if self.is_shortest:
                end = self._least_end(text, start, end)
            found = self.as_written.fullmatch(text, start, end) or found
        return [found.span(group) for group in range(self.groups + 1)]

    def _least_end(self, text: bytes, start: int, end: int) -> int:
        low, high = start, end
        while low < high:
            middle = (low + high) // 2
            self._count(middle - start)
            if self.longest.match(text, start, middle) is not None:
                high = middle
            else:
                low = middle + 1
        return high

    def _count(self, length: int) -> None:
        look_at(length // 32 + length * self.longest.programsize // STEPS_EACH)

    def all_in(self, text: bytes, place: int = 0) -> Iterator[list[Span]]:
        """Each match from `place` on; behind one that is empty the next character is passed over."""
        while place <= len(text):
            pause()
            found = self.search(text, place)
            if found is None:
                return
            yield found
            start, place = found[0]
            if start == place:
                place = next_char(text, place)


def next_char(text: bytes, place: int) -> int:
    """The place behind the character that begins at `place`."""
    place += 1
    while place < len(text) and text[place] & 0xC0 == 0x80:
        place += 1
    return place


@lru_cache(PATTERNS_MAX)
def regex_of(pattern: str, flags: Flags) -> Regex:
    """Raises 2201B, 0A000, 54000."""
    known = translated(pattern, flags)
    longest = _compiled(known.text, is_longest=True)
    if not known.has_lazy:
        return Regex(longest)
    return Regex(longest, _compiled(known.text, is_longest=False), known.is_shortest)


@lru_cache(PATTERNS_MAX)
def regex_of_re2(text: str) -> Regex:
    """An expression that has been translated: for whether it is in a text."""
    return Regex(_compiled(text, is_longest=True))


def _compiled(text: str, *, is_longest: bool) -> Any:
    options = re2.Options()
    options.longest_match, options.log_errors, options.max_mem = is_longest, False, MEMORY_MAX
    try:
        return re2.compile(text.encode(), options)
    except re2.error:
        raise invalid("regular expression is too complex") from None


def checked(pattern: str, flags: Flags) -> str:
    """The expression as the query engine is given it. Raises as `regex_of` does."""
    regex_of(pattern, flags)
    return translated(pattern, flags).text
