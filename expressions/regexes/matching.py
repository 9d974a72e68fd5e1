"""Where a regular expression begins and ends in a text: leftmost, and then as long or as short as PostgreSQL takes it.

RE2 finds the longest match, whatever the quantifiers say. Where the shortest one is taken, the end is found anew: the
least place that a match may end at, by halves. The groups are laid out between the two ends (`groups`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from expressions.limits import look_at, pause
from expressions.regexes.flags import Flags
from expressions.regexes.groups import Layout, Span
from expressions.regexes.translation import CHARS_EACH, PATTERNS_MAX, Translated, invalid, translated

MEMORY_MAX = 2**20
"""Bytes of one compiled expression; RE2 keeps 128 of them."""
STEPS_EACH = 64
"""Instructions of a compiled expression, for one character, that cost as much as looking at the character."""
PARTS_MAX = 256
NO_SPAN: Span = (-1, -1)


Search = Callable[[bytes, int], list[Span] | None]


@dataclass(frozen=True, slots=True)
class Regex:
    """A compiled expression. Places are those of bytes."""

    longest: Any
    known: Translated
    groups: int = 0

    def is_in(self, text: bytes) -> bool:
        self._count(len(text))
        return self.longest.search(text) is not None

    def search(self, text: bytes, place: int = 0) -> list[Span] | None:
        """The first match from `place` on, and its groups; (-1, -1) for a group that takes no part."""
        found = self._place(text, place)
        if found is None or self.known.parts is None:
            return None if found is None else [found] + [NO_SPAN] * self.groups
        layout = Layout(text, self._part, self._count_part)
        layout.lay(self.known.parts, *found)
        return [found, *(layout.spans.get(number + 1, NO_SPAN) for number in range(self.groups))]

    def _place(self, text: bytes, place: int) -> Span | None:
        """Where the first match from `place` on begins and ends."""
        self._count(len(text) - place)
        found = self.longest.search(text, place)
        if found is None:
            return None
        start, end = found.span()
        return start, self._least_end(text, start, end) if self.known.is_shortest else end

    def _part(self, text: str) -> Any:
        return part_of(self.known.options + text)

    def _count_part(self, length: int) -> None:
        pause()
        self._count(length)

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
        """Each match from `place` on, and its groups."""
        return self._each(text, place, self.search)

    def places_in(self, text: bytes, place: int = 0) -> Iterator[list[Span]]:
        """The same without the groups, which take longer to lay out than a match to find."""

        def search(text: bytes, place: int) -> list[Span] | None:
            found = self._place(text, place)
            return None if found is None else [found]

        return self._each(text, place, search)

    @staticmethod
    def _each(text: bytes, place: int, search: Search) -> Iterator[list[Span]]:
        """Each match from `place` on; behind one that is empty the next character is passed over."""
        while place <= len(text):
            pause()
            found = search(text, place)
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
    return Regex(_compiled(known.text), known, known.groups)


@lru_cache(PATTERNS_MAX)
def regex_of_re2(text: str) -> Regex:
    """An expression that has been translated: for whether it is in a text."""
    return Regex(_compiled(text), Translated(text))


@lru_cache(PARTS_MAX)
def part_of(text: str) -> Any:
    """A part of an expression whose groups are laid out."""
    look_at(len(text) * CHARS_EACH)
    return _compiled(text)


def _compiled(text: str) -> Any:
    """Finds the longest match, and no groups, which RE2 has other rules for."""
    import re2  # with the first regular expression: a browser, where the lab runs too, does without

    options = re2.Options()
    options.longest_match, options.log_errors, options.max_mem = True, False, MEMORY_MAX
    options.never_capture = True
    try:
        return re2.compile(text.encode(), options)
    except re2.error:
        raise invalid("regular expression is too complex") from None


def checked(pattern: str, flags: Flags) -> str:
    """The expression as the query engine is given it. Raises as `regex_of` does."""
    regex_of(pattern, flags)
    return translated(pattern, flags).text
