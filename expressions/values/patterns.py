"""LIKE in time that grows with the text: `%` cuts a pattern into pieces, and each is matched at its first place, since
a later one only leaves less.

    %ab_%c%  ->  '' | ab_ | c | ''

`str.find` finds a plain piece. A piece with `_` is matched by an integer whose bit i says that the last i + 1
characters begin the piece. An escape character at the end raises 22025 once the text gets that far, as in PostgreSQL.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from expressions.errors import PROGRAM_LIMIT, SqlError
from expressions.limits import look_at, pass_chars

PATTERNS_MAX = 256
PATTERN_CHARS_MAX = 10_000
MASK_CHARS = 1000
"""A piece with `_` that is so long takes twice the time for each character of the text."""
BLOCK_CHARS = 8192
"""Characters that are looked at before they are counted."""
ESCAPE = "\\"


@dataclass(frozen=True, slots=True)
class Piece:
    """The part between two %: characters, None for one that may be any."""

    chars: tuple[str | None, ...]
    plain: str | None
    masks: dict[str, int] = field(default_factory=dict)
    any_mask: int = 0

    def __len__(self) -> int:
        return len(self.chars)

    def stands_at(self, text: str, place: int) -> bool:
        if self.plain is not None:
            return text.startswith(self.plain, place)
        there = text[place : place + len(self)]
        return len(there) == len(self) and all(c is None or c == t for c, t in zip(self.chars, there, strict=True))

    def first_end(self, text: str, place: int) -> int:
        """Where its first occurrence from `place` on ends; -1 when there is none."""
        if self.plain is not None:
            found = text.find(self.plain, place)
            end = found if found < 0 else found + len(self)
            pass_chars((end if end >= 0 else len(text)) - place)
            return end
        weight = 1 + len(self) // MASK_CHARS
        begun, whole = 0, 1 << (len(self) - 1)
        for start in range(place, len(text), BLOCK_CHARS):
            for end, char in enumerate(text[start : start + BLOCK_CHARS], start + 1):
                begun = (begun << 1 | 1) & self.masks.get(char, self.any_mask)
                if begun & whole:
                    look_at((end - start) * weight)
                    return end
            look_at(min(BLOCK_CHARS, len(text) - start) * weight)
        return -1


@dataclass(frozen=True, slots=True)
class Pattern:
    """The pieces of a pattern. `is_cut_short`: it ends with its escape character, behind the last piece."""

    pieces: tuple[Piece, ...]
    is_cut_short: bool = False

    def matches(self, text: str) -> bool:
        """Raises 22025 when the text gets as far as an escape character with nothing behind it."""
        first, *others = self.pieces
        if not first.stands_at(text, 0):
            return False
        place = len(first)
        if not others:
            return self._ends(text, place)
        *middle, last = others
        is_left = place < len(text)  # where the first of the last % without a character stands
        for piece in middle:
            place = piece.first_end(text, place) if len(piece) else place
            if place < 0:
                return False
            is_left = place < len(text) or (is_left and all(c is None for c in piece.chars))
        if self.is_cut_short:
            place = last.first_end(text, place) if len(last) else place
            return place >= 0 and self._ends(text, place, always=is_left and all(c is None for c in last.chars))
        return len(text) - len(last) >= place and last.stands_at(text, len(text) - len(last))

    def _ends(self, text: str, place: int, *, always: bool = False) -> bool:
        if self.is_cut_short and (place < len(text) or always):
            raise SqlError("22025", "LIKE pattern must not end with escape character")
        return place == len(text) and not self.is_cut_short


@lru_cache(PATTERNS_MAX)
def pattern_of(text: str) -> Pattern:
    """The pattern that a text of LIKE means. Raises 54000 for one that is too long."""
    if len(text) > PATTERN_CHARS_MAX:
        message = f"a LIKE pattern may have at most {PATTERN_CHARS_MAX} characters; this one has {len(text)}"
        raise SqlError(PROGRAM_LIMIT, message)
    pieces: list[list[str | None]] = [[]]
    chars = iter(text)
    for char in chars:
        if char == "%":
            pieces.append([])
        elif char == ESCAPE:
            escaped = next(chars, None)
            if escaped is None:
                return Pattern(tuple(_piece(p) for p in pieces), is_cut_short=True)
            pieces[-1].append(escaped)
        else:
            pieces[-1].append(None if char == "_" else char)
    return Pattern(tuple(_piece(p) for p in pieces))


def _piece(chars: list[str | None]) -> Piece:
    plain = [c for c in chars if c is not None]
    if len(plain) == len(chars):
        return Piece(tuple(chars), "".join(plain))
    any_mask = sum(1 << i for i, c in enumerate(chars) if c is None)
    masks = dict.fromkeys(plain, any_mask)
    for place, char in enumerate(chars):
        if char is not None:
            masks[char] |= 1 << place
    return Piece(tuple(chars), None, masks, any_mask)
