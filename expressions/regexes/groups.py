"""The groups of a match as PostgreSQL lays them out: its dissection of the match, from the left.

Of parts that follow each other the first takes as much as it can (or as little, where its first quantifier that counts
has a question mark) with what is left for the others; of alternatives the first that fits is taken; of repetitions the
last one counts. Parts without groups within are found whole.

    (a|aa)(a|aa)?   in aaa: {aa,a}
    (a|ab)(c|bcd)   in abcd: {a,bcd}
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Span = tuple[int, int]
Find = Callable[[str], Any]
"""The compiled expression of a part, by its text."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an expression. `takes_least`: it takes as little as it can beside what follows it."""

    text: str
    takes_least: bool = False


@dataclass(frozen=True, slots=True)
class Group(Part):
    number: int = 0
    inner: Part = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Sequence(Part):
    """Parts that follow each other; `rests` are the texts of what follows each."""

    parts: tuple[Part, ...] = ()
    rests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternatives(Part):
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Repeated(Part):
    """A part that comes not at all, or up to `most` times."""

    inner: Part = field(kw_only=True)
    most: int | None = None


def sequence(parts: list[Part], *, takes_least: bool) -> Part:
    if len(parts) == 1:
        return parts[0]
    texts = [part.text for part in parts]
    rests = tuple("".join(texts[place + 1 :]) for place in range(len(texts) - 1))
    return Sequence("".join(texts), takes_least, tuple(parts), rests)


@dataclass(slots=True)
class Layout:
    """The groups of a match in a text. `count` takes how many bytes are looked at, and may end the work."""

    text: bytes
    find: Find
    count: Callable[[int], None]
    spans: dict[int, Span] = field(default_factory=dict)

    def lay(self, part: Part, start: int, end: int) -> None:
        """Lay out a part that is known to match there."""
        match part:
            case Group():
                self.spans[part.number] = (start, end)
                self.lay(part.inner, start, end)
            case Sequence():
                for piece, rest in zip(part.parts[:-1], part.rests, strict=True):
                    middle = self._end(piece, rest, start, end)
                    self.lay(piece, start, middle)
                    start = middle
                self.lay(part.parts[-1], start, end)
            case Alternatives():
                fitting = (one for one in part.parts if self._fits(one.text, start, end))
                self.lay(next(fitting, part.parts[-1]), start, end)
            case Repeated():
                if start < end or self._fits(part.inner.text, start, end):
                    self.lay(part.inner, *self._last(part, start, end))

    def _fits(self, text: str, start: int, end: int) -> bool:
        self.count(end - start)
        return self.find(text).fullmatch(self.text, start, end) is not None

    def _longest(self, text: str, start: int, end: int) -> Iterator[int]:
        """Where a part that begins at `start` may end, the farthest place first."""
        while end >= start:
            self.count(end - start)
            found = self.find(text).match(self.text, start, end)
            if found is None:
                return
            end = found.end()
            yield end
            end -= 1

    def _shortest(self, text: str, rest: str, start: int, end: int) -> Iterator[int]:
        """Where a part may end and the rest may begin, the nearest place first."""
        place = start
        while place <= end:
            self.count(end - place)
            found = self.find(rest).search(self.text, place, end)
            if found is None:
                return
            place = found.start()
            if self._fits(text, start, place):
                yield place
            place += 1

    def _end(self, part: Part, rest: str, start: int, end: int) -> int:
        """Where a part ends that the rest follows up to the end of both."""
        least = part.takes_least
        ends = self._shortest(part.text, rest, start, end) if least else self._longest(part.text, start, end)
        return next((place for place in ends if self._fits(rest, place, end)), start)

    def _last(self, part: Repeated, start: int, end: int) -> Span:
        """The last of the repetitions that fill a place."""
        left = part.most
        while start < end and (left is None or left > 1):
            left = None if left is None else left - 1
            others = f"(?:{part.inner.text}){'*' if left is None else f'{{0,{left}}}'}"
            middle = self._end(part.inner, others, start, end)
            if middle in (start, end):
                break
            start = middle
        return start, end
