"""A pattern of to_char and to_number, read once: its parts, and how many columns it has."""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from expressions.errors import PROGRAM_LIMIT, SYNTAX_ERROR, SqlError

PATTERN_CHARS_MAX = 1000
PATTERNS_MAX = 256
_WORDS = (
    "EEEE", "FM", "MI", "PL", "PR", "RN", "SG", "SP", "TH", ",", ".", "0", "9", "B", "C", "D", "G", "L", "S", "V"
)  # fmt: skip
_TOKEN = re.compile("|".join(map(re.escape, _WORDS)) + "|" + "|".join(w.lower() for w in _WORDS if w.isalpha()))


def _mistake(message: str, detail: str | None = None) -> SqlError:
    return SqlError(SYNTAX_ERROR, message, detail=detail)


@dataclass(slots=True)
class Shape:
    """The columns that a pattern has, and its options."""

    before: int = 0
    after: int = 0
    shift: int = 0
    zero_start: int = 0
    zero_end: int = 0
    before_sign: int = 0
    sign: str = ""
    """Where S stands: first or last."""
    options: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Parts in turn: (True, word) or (False, text that is copied)."""

    parts: tuple[tuple[bool, str], ...]
    shape: Shape

    def copied(self) -> Shape:
        shape = self.shape
        return Shape(shape.before, shape.after, shape.shift, shape.zero_start, shape.zero_end, shape.before_sign,
            shape.sign, set(shape.options))  # fmt: skip


@lru_cache(PATTERNS_MAX)
def pattern_of(text: str) -> Pattern:
    """Raises 42601 for parts that do not go together, 54000 for a pattern that is too long."""
    if len(text) > PATTERN_CHARS_MAX:
        message = f"a pattern of numbers may have at most {PATTERN_CHARS_MAX} characters; this one has {len(text)}"
        raise SqlError(PROGRAM_LIMIT, message)
    parts: list[tuple[bool, str]] = []
    shape, place = Shape(), 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is not None:
            place = found.end()
            _prepare(shape, found[0].upper())
            parts.append((True, found[0]))
        elif text[place] == '"':
            place += 1
            while place < len(text) and text[place] != '"':
                place += text[place] == "\\" and place + 1 < len(text)
                parts.append((False, text[place]))
                place += 1
            place += 1
        else:
            place += text.startswith('\\"', place)
            parts.append((False, text[place]))
            place += 1
    return Pattern(tuple(parts), shape)


def _prepare(shape: Shape, word: str) -> None:
    """Count a part of a pattern. Raises 42601."""
    options = shape.options
    if "EEEE" in options and word != "EEEE":
        raise _mistake('"EEEE" must be the last pattern used')
    match word:
        case "9" | "0" if "PR" in options:
            raise _mistake(f'"{word}" must be ahead of "PR"')
        case "9":
            if "V" in options:
                shape.shift += 1
            elif "." in options:
                shape.after += 1
            else:
                shape.before += 1
        case "0":
            if not options & {"0", "."}:
                options.add("0")
                shape.zero_start = shape.before
            if "." in options:
                shape.after += 1
            else:
                shape.before += 1
            shape.zero_end = shape.before + shape.after
        case "D" | ".":
            if "." in options:
                raise _mistake("multiple decimal points")
            if "V" in options:
                raise _mistake('cannot use "V" and decimal point together')
            options.add(".")
        case "S":
            if "S" in options:
                raise _mistake('cannot use "S" twice')
            if options & {"PL", "MI", "PR"}:
                raise _mistake('cannot use "S" and "PL"/"MI"/"SG"/"PR" together')
            options.add("S")
            shape.sign = "last" if "." in options else "first"
            shape.before_sign = shape.before
        case "MI" | "PL" | "SG":
            if "S" in options:
                raise _mistake(f'cannot use "S" and "{word}" together')
            options |= {"MI", "PL"} if word == "SG" else {word}
        case "PR":
            if options & {"S", "PL", "MI"}:
                raise _mistake('cannot use "PR" and "S"/"PL"/"MI"/"SG" together')
            options.add("PR")
        case "RN":
            if "RN" in options:
                raise _mistake('cannot use "RN" twice')
            options.add("RN")
        case "V":
            if "." in options:
                raise _mistake('cannot use "V" and decimal point together')
            options.add("V")
        case "EEEE":
            if "EEEE" in options:
                raise _mistake('cannot use "EEEE" twice')
            if options & {"FM", "S", "PR", "MI", "PL", "RN", "V", "B"}:
                detail = '"EEEE" may only be used together with digit and decimal point patterns.'
                raise _mistake('"EEEE" is incompatible with other formats', detail)
            options.add("EEEE")
        case "FM":
            options.add("FM")
        case "B":
            if not (shape.before or shape.after or "0" in options):
                options.add("B")
    if "RN" in options and options - {"RN", "FM"}:
        raise _mistake('"RN" is incompatible with other formats', '"RN" may only be used together with "FM".')
