"""The pieces of a regular expression that is translated, and the parts that its groups are laid out by (`groups`)."""

from dataclasses import dataclass

from expressions.errors import unsupported
from expressions.regexes.groups import Part, Repeated, sequence

_WORD_EDGE = "use \\y, which is either edge of a word"


@dataclass(slots=True)
class Piece:
    """A part of a branch. `lazy`: how its first quantifier that counts is, None where none does.

    `preferences`: what the quantifiers in it say, of those that count: True of the lazy ones.
    `parts`: its groups. `begins`, `ends`: it begins or ends with a character of a word, whatever it matches.
    """

    text: str
    lazy: bool | None = None
    begins: bool = False
    ends: bool = False
    edge: str = ""
    """m or M: the beginning or the end of a word."""
    is_condition: bool = False
    preferences: frozenset[bool] = frozenset()
    parts: Part | None = None
    repeats: int = 0
    """Single characters or sets of them that are repeated; `MANY` of whatever else may match in several ways."""
    least: int = 0
    """Characters of its shortest match, where it is of single ones."""

    def part(self) -> Part:
        return self.parts or Part(self.text, self.lazy is True)


MANY = 2


def least_of(piece: Piece) -> int | None:
    """The least characters of a match of single ones in a row, of which one at most is repeated; None for others.

    There the first match that is found, with as many repetitions as there are, is the longest.
    """
    return piece.least if piece.repeats < MANY else None


def placed(pieces: list[Piece]) -> list[str]:
    """The texts of a branch, with each edge of a word as RE2 can find it: where a character of a word must stand."""
    texts: list[str] = []
    for place, piece in enumerate(pieces):
        text = piece.text
        if piece.edge:
            beside = pieces[place + 1 : place + 2] if piece.edge == "m" else pieces[max(place - 1, 0) : place]
            if not any(one.begins if piece.edge == "m" else one.ends for one in beside):
                what = f"\\{piece.edge} of a regular expression where no character of a word is certain beside it"
                raise unsupported(what, hint=_WORD_EDGE)
            text = r"\b"
        texts.append(text)
    return texts


def parts_of(pieces: list[Piece], texts: list[str], *, takes_least: bool) -> Part | None:
    """The parts of a branch with groups: neighbours without groups and with the same preferences are one."""
    if not any(piece.parts for piece in pieces):
        return None
    parts: list[Part] = []
    plain, preferences = "", frozenset[bool]()
    for piece, text in zip(pieces, texts, strict=True):
        if piece.parts is None and len(preferences | piece.preferences) < 2:
            plain, preferences = plain + text, preferences | piece.preferences
            continue
        if plain:
            parts.append(Part(plain, True in preferences))
        plain, preferences = "", frozenset()
        parts.append(piece.part())
    if plain:
        parts.append(Part(plain, True in preferences))
    return sequence(parts, takes_least=takes_least)


def repeated(inner: Part, least: int, most: int | None, lazy: bool | None) -> Part:
    """A part with groups under a quantifier: its last repetition is the one that counts."""
    if least == 0:
        written = "*" if most is None else f"{{0,{most}}}"
        return Repeated(f"(?:{inner.text}){written}", lazy is True, inner=inner, most=most)
    if least == most == 1 and inner.takes_least is (lazy is True):
        return inner
    before = "" if most == 1 else f"(?:{inner.text}){{{least - 1},{'' if most is None else most - 1}}}"
    return sequence([Part(before, lazy is True), inner], takes_least=lazy is True)
