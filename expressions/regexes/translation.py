"""PostgreSQL's regular expressions in the words of RE2, which finds them in time that grows with the text.

Both mean the same by most of what is written. Not by a dot (a newline is a character to PostgreSQL), `\\b` (a backspace
there), `\\s`, `\\m` and `\\M`, the options in front, and blanks of the expanded form: those are written anew. What a
linear search cannot do, back references and conditions on what stands around, is refused by name.

How long a match is: PostgreSQL takes the longest one, or the shortest where the first quantifier that counts is one
with a question mark behind it. `Translated` says which.

    a.c       (?s)a.c
    \\mfoo     (?s)\\bfoo
    x(a|b)*?  (?s)x(a|b)*?    the shortest
"""

from dataclasses import dataclass, replace
from functools import lru_cache

from expressions.errors import INVALID_REGULAR_EXPRESSION, PROGRAM_LIMIT, SqlError, unsupported
from expressions.limits import look_at
from expressions.regexes.flags import LETTERS, Flags
from expressions.regexes.groups import Alternatives, Group, Part
from expressions.regexes.pieces import MANY, Piece, least_of, parts_of, placed, repeated

PATTERN_CHARS_MAX = 10_000
PATTERNS_MAX = 256
COUNT_MAX = 255
"""Of {m,n}, as in PostgreSQL."""
DEPTH_MAX = 100
CHARS_EACH = 16
"""A character of a pattern costs as much as so many of a text."""
CLASSES = frozenset({"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit"})  # fmt: skip
_SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONTROLS = {"a": 7, "b": 8, "B": 92, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_SPACES = r"\t\n\v\f\r "
_IN_BRACKETS = {"d": "0-9", "s": _SPACES, "w": "0-9A-Za-z_", "D": r"\D", "W": r"\W"}
_ALONE = {"d": "[0-9]", "s": f"[{_SPACES}]", "w": "[0-9A-Za-z_]", "D": "[^0-9]", "S": f"[^{_SPACES}]",
    "W": "[^0-9A-Za-z_]"}  # fmt: skip
_AROUND = ("(?=", "(?!", "(?<=", "(?<!")


@dataclass(frozen=True, slots=True)
class Translated:
    """A regular expression of RE2. `groups`: how many it has; `parts`: how they are laid out, where it has some.

    `options` stand in front of the text, and of that of each part.
    """

    text: str
    is_shortest: bool = False
    parts: Part | None = None
    options: str = ""
    groups: int = 0
    least: int | None = None
    """The least characters of a match, where RE2's first match is the longest; None where that is not known."""


@lru_cache(PATTERNS_MAX)
def translated(pattern: str, flags: Flags) -> Translated:
    """Raises 2201B for what is no regular expression, 0A000 by name, 54000 for one that is too long."""
    if len(pattern) > PATTERN_CHARS_MAX:
        message = f"a regular expression may have at most {PATTERN_CHARS_MAX} characters; this one has {len(pattern)}"
        raise SqlError(PROGRAM_LIMIT, message)
    look_at(len(pattern) * CHARS_EACH)
    return _Reader(pattern, flags).whole()


def invalid(what: str) -> SqlError:
    return SqlError(INVALID_REGULAR_EXPRESSION, f"invalid regular expression: {what}")


NO_OPERAND = "quantifier operand invalid"
BAD_ESCAPE = "invalid escape \\ sequence"
BAD_COUNT = "invalid repetition count(s)"
UNBALANCED = "parentheses () not balanced"


class _Reader:
    def __init__(self, pattern: str, flags: Flags) -> None:
        self._pattern, self._flags, self._place = pattern, flags, 0
        self._depth = self._groups = 0

    def whole(self) -> Translated:
        self._options_in_front()
        if self._flags.is_literal:
            text = "".join(map(_char, self._pattern[self._place :]))
            return Translated(self._in_front() + text)
        piece = self._alternatives()
        if self._place < len(self._pattern):
            raise invalid(UNBALANCED)
        options = self._in_front()
        return Translated(options + piece.text, piece.lazy is True, piece.parts, options, self._groups, least_of(piece))

    def _in_front(self) -> str:
        flags = self._flags
        letters = "i" * flags.ignores_case + "m" * flags.anchors_lines + "s" * (not flags.dot_stops)
        return f"(?{letters})" if letters else ""

    def _options_in_front(self) -> None:
        if self._flags.is_literal:
            return
        if self._take("***"):
            if self._take("="):
                self._flags = self._flags.with_letter("q")
            elif not self._take(":"):
                raise invalid(NO_OPERAND)
        rest = self._pattern[self._place :]
        if rest.startswith("(?") and rest[2:3].isascii() and rest[2:3].isalpha():
            letters, closing, _ = rest[2:].partition(")")
            if not closing or "g" in letters or not set(letters) <= {*LETTERS, "b", "e"}:
                raise invalid("invalid embedded option")
            for letter in letters:
                self._flags = self._flags.with_letter(letter)
            self._place += len(letters) + 3

    def _take(self, word: str) -> bool:
        is_there = self._pattern.startswith(word, self._place)
        self._place += len(word) * is_there
        return is_there

    def _skip(self) -> None:
        """Comments, and in the expanded form blanks."""
        while True:
            if self._take("(?#"):
                end = self._pattern.find(")", self._place)
                self._place = len(self._pattern) if end < 0 else end + 1
            elif self._flags.is_expanded and self._pattern[self._place : self._place + 1] in tuple(" \t\n\v\f\r"):
                self._place += 1
            elif self._flags.is_expanded and self._take("#"):
                end = self._pattern.find("\n", self._place)
                self._place = len(self._pattern) if end < 0 else end
            else:
                return

    def _alternatives(self) -> Piece:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise invalid("regular expression is too complex")
        branches = [self._branch()]
        while self._take("|"):
            branches.append(self._branch())
        self._depth -= 1
        if len(branches) == 1:
            return branches[0]
        text = "|".join(branch.text for branch in branches)
        has_groups = any(branch.parts for branch in branches)
        return Piece(
            text,
            lazy=False,
            begins=all(branch.begins for branch in branches),
            ends=all(branch.ends for branch in branches),
            preferences=frozenset({False}).union(*(branch.preferences for branch in branches)),
            parts=Alternatives(text, parts=tuple(branch.part() for branch in branches)) if has_groups else None,
            repeats=MANY,
        )

    def _branch(self) -> Piece:
        pieces: list[Piece] = []
        while True:
            self._skip()
            if self._place >= len(self._pattern) or self._pattern[self._place] in "|)":
                break
            pieces.append(self._quantified())
        lazy = next((piece.lazy for piece in pieces if piece.lazy is not None), None)
        atoms = [piece for piece in pieces if not piece.is_condition]
        texts = placed(pieces)
        return Piece(
            "".join(texts),
            lazy=lazy,
            begins=bool(atoms) and atoms[0].begins,
            ends=bool(atoms) and atoms[-1].ends,
            repeats=sum(piece.repeats for piece in pieces),
            least=sum(piece.least for piece in pieces),
            preferences=frozenset[bool]().union(*(piece.preferences for piece in pieces)),
            parts=parts_of(pieces, texts, takes_least=lazy is True),
        )

    def _quantified(self) -> Piece:
        piece = self._atom()
        self._skip()
        found = self._quantifier()
        if found is None:
            return piece
        if piece.is_condition:
            raise invalid(NO_OPERAND)
        least, most, text = found
        is_lazy = self._take("?")
        self._skip()
        if self._quantifier() is not None:
            raise invalid(NO_OPERAND)
        is_fixed = text[0] == "{" and "," not in text
        lazy = None if most == 0 else piece.lazy if is_fixed else is_lazy
        begins, ends = piece.begins and least > 0, piece.ends and least > 0
        preferences = (
            frozenset[bool]() if most == 0 else piece.preferences if is_fixed else piece.preferences | {is_lazy}
        )
        return Piece(
            f"{piece.text}{text}{'?' * is_lazy}", lazy, begins, ends, preferences=preferences,
            repeats=MANY if is_lazy else piece.repeats + (not is_fixed), least=piece.least * least,
            parts=None if piece.parts is None or most == 0 else repeated(piece.parts, least, most, lazy),
        )  # fmt: skip

    def _quantifier(self) -> tuple[int, int | None, str] | None:
        """The least and the most repetitions, and how that is written."""
        for sign, range_ in _SIGNS.items():
            if self._take(sign):
                return *range_, sign
        if not (self._pattern.startswith("{", self._place) and _is_digit(self._at(1))):
            return None
        start = self._place
        self._place += 1
        least = self._count()
        most: int | None = least
        if self._take(","):
            most = self._count() if _is_digit(self._at(0)) else None
        if self._place >= len(self._pattern):
            raise invalid("braces {} not balanced")
        if not self._take("}") or (most is not None and most < least):
            raise invalid(BAD_COUNT)
        return least, most, self._pattern[start : self._place]

    def _at(self, ahead: int) -> str:
        return self._pattern[self._place + ahead : self._place + ahead + 1]

    def _count(self) -> int:
        start = self._place
        while _is_digit(self._at(0)):
            self._place += 1
        count = int(self._pattern[start : self._place][:9] or 0)
        if count > COUNT_MAX:
            raise invalid(BAD_COUNT)
        return count

    def _atom(self) -> Piece:
        for words in _AROUND:
            if self._pattern.startswith(words, self._place):
                raise unsupported(f"a condition {words}..) in a regular expression")
        char = self._at(0)
        self._place += 1
        match char:
            case "^" | "$":
                return Piece(char if self._flags.anchors_lines or char == "^" else r"\z", is_condition=True)
            case ".":
                return Piece(".", least=1)
            case "(":
                return self._group()
            case "[":
                return self._brackets()
            case "\\":
                return self._escape()
            case "*" | "+" | "?":
                raise invalid(NO_OPERAND)
            case "{" if _is_digit(self._at(0)):
                raise invalid(NO_OPERAND)
        return _literal(ord(char))

    def _group(self) -> Piece:
        opening = "(?:" if self._take("?:") else "("
        if opening == "(" and self._at(0) == "?":
            raise invalid(NO_OPERAND)
        self._groups += opening == "("
        number = self._groups
        inner = self._alternatives()
        if not self._take(")"):
            raise invalid(UNBALANCED)
        text, parts = f"{opening}{inner.text})", inner.parts
        if opening == "(":
            parts = Group(text, inner.lazy is True, number, inner=inner.part())
        elif parts is not None:
            parts = replace(parts, text=text, takes_least=inner.lazy is True)
        return Piece(
            text, inner.lazy, inner.begins, inner.ends, preferences=inner.preferences, parts=parts, repeats=MANY
        )

    # -- escapes -------------------------------------------------------------------------------------------------

    def _escape(self) -> Piece:
        letter = self._at(0)
        if letter in ("m", "M"):
            self._place += 1
            return Piece("", edge=letter, is_condition=True)
        if letter == "Y":  # RE2 finds one between the bytes of a character
            raise unsupported("\\Y in a regular expression")
        conditions = {"A": r"\A", "Z": r"\z", "y": r"\b"}
        if letter in conditions:
            self._place += 1
            return Piece(conditions[letter], is_condition=True)
        if letter in _ALONE and letter:
            self._place += 1
            return Piece(_ALONE[letter], begins=letter in "dw", ends=letter in "dw", least=1)
        return _literal(self._escaped_char())

    def _escaped_char(self) -> int:
        """The code of the character that an escape means."""
        letter = self._at(0)
        if not letter:
            raise invalid(BAD_ESCAPE)
        self._place += 1
        if not (letter.isascii() and letter.isalnum()):
            return ord(letter)
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter == "c" and self._at(0):
            self._place += 1
            return ord(self._pattern[self._place - 1]) & 31
        if letter in "uUx":
            length = {"u": 4, "U": 8, "x": PATTERN_CHARS_MAX}[letter]
            return self._number(16, 1 if letter == "x" else length, length)
        if letter in "123456789":
            if not _is_digit(self._at(0)):
                raise unsupported(f"a back reference (\\{letter}) in a regular expression")
            self._place -= 1
            return self._number(8, 1, 3)
        if letter == "0":
            self._place -= 1
            return self._number(8, 1, 3)
        raise invalid(BAD_ESCAPE)

    def _number(self, base: int, least: int, most: int) -> int:
        digits = "0123456789abcdef"[:base]
        start = self._place
        while self._place - start < most and self._at(0) and self._at(0).lower() in digits:
            self._place += 1
        if self._place - start < least:
            raise invalid(BAD_ESCAPE)
        text = self._pattern[start : self._place]
        code = int(text, base) if len(text.lstrip("0")) <= 8 else 0x110000
        if code > 0x10FFFF:
            raise invalid(BAD_ESCAPE)
        return code

    # -- brackets ------------------------------------------------------------------------------------------------

    def _brackets(self) -> Piece:
        for words, edge in (("[:<:]]", "m"), ("[:>:]]", "M")):
            if self._take(words):
                return Piece("", edge=edge, is_condition=True)
        is_negated = self._take("^")
        parts: list[str] = ["\\n"] if is_negated and self._flags.dot_stops else []
        is_first, is_of_words = True, not is_negated
        while is_first or self._at(0) != "]":
            if self._place >= len(self._pattern):
                raise invalid("brackets [] not balanced")
            is_first = False
            part, first = self._member()
            if first is not None and self._at(0) == "-" and self._at(1) not in ("]", ""):
                self._place += 1
                _, last = self._member()
                if last is None or last < first:
                    raise invalid("invalid character range")
                if self._at(0) == "-" and self._at(1) not in ("]", ""):
                    raise invalid("invalid character range")
                part = f"{_char(chr(first))}-{_char(chr(last))}"
                is_of_words &= _is_word_range(first, last)
            else:
                is_of_words &= part in ("0-9", _IN_BRACKETS["w"]) if first is None else _is_word(first)
            parts.append(part)
        self._place += 1
        return Piece(f"[{'^' * is_negated}{''.join(parts)}]", begins=is_of_words, ends=is_of_words, least=1)

    def _member(self) -> tuple[str, int | None]:
        """The next member in brackets, as RE2 writes it there, and its code if it is one character."""
        for opening, closing in (("[:", ":]"), ("[.", ".]"), ("[=", "=]")):
            if not self._take(opening):
                continue
            end = self._pattern.find(closing, self._place)
            if end < 0:
                raise invalid("brackets [] not balanced")
            name, self._place = self._pattern[self._place : end], end + 2
            if opening == "[:":
                if name not in CLASSES:
                    raise invalid("invalid character class")
                return f"[:{name}:]", None
            if len(name) != 1:
                raise invalid("invalid collating element")
            return _char(name), ord(name)
        char = self._at(0)
        if not char:
            raise invalid("brackets [] not balanced")
        self._place += 1
        if char != "\\":
            return _char(char), ord(char)
        letter = self._at(0)
        if letter in _IN_BRACKETS and letter:
            self._place += 1
            return _IN_BRACKETS[letter], None
        if letter == "S":
            raise unsupported("\\S within brackets of a regular expression")
        if letter in tuple("mMyYAZ"):
            raise invalid(BAD_ESCAPE)
        code = self._escaped_char()
        return _char(chr(code)), code


def _literal(code: int) -> Piece:
    return Piece(_char(chr(code)), begins=_is_word(code), ends=_is_word(code), least=1)


def _char(char: str) -> str:
    return char if char.isascii() and char.isalnum() else f"\\x{{{ord(char):x}}}"


def _is_word(code: int) -> bool:
    return code < 128 and (chr(code).isalnum() or code == 95)


def _is_word_range(first: int, last: int) -> bool:
    return all(_is_word(code) for code in range(first, min(last, 128) + 1))


def _is_digit(char: str) -> bool:
    return char != "" and char in "0123456789"
