"""A pattern of to_date, to_timestamp and to_char, cut into its parts as PostgreSQL cuts it."""

import re
from dataclasses import dataclass
from functools import lru_cache

from expressions.errors import PROGRAM_LIMIT, SqlError

PATTERN_CHARS_MAX = 1000
PATTERNS_MAX = 256
GREGORIAN = frozenset({"DDD", "DD", "D", "MM", "MONTH", "MON", "RM", "WW", "W", "Y,YYY", "YYYY", "YYY", "YY", "Y"})
ISO_WEEKS = frozenset({"IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I"})
_NAMES = ("A.D.", "B.C.", "A.M.", "P.M.", "AD", "BC", "AM", "PM", "MONTH", "MON", "DAY", "DY", "RM", "TZ", "TZH", "TZM",
    "OF", "FX")  # fmt: skip
NUMBERS = frozenset({"CC", "HH24", "HH12", "HH", "MI", "SSSSS", "SSSS", "SS", "MS", "US", "Q", "J", "FF1", "FF2", "FF3",
    "FF4", "FF5", "FF6"} | GREGORIAN | ISO_WEEKS) - {"MONTH", "MON", "RM"}  # fmt: skip
"""Fields that are digits."""
_PADDED = ("MONTH", "MON", "DAY", "DY")
"""Names, which the prefix TM leaves without blanks behind them."""
_CAPITALIZED = ("Month", "Mon", "Day", "Dy")
_ALL = {*_NAMES, *NUMBERS}
_SPELLED = sorted({*_ALL, *(word.lower() for word in _ALL), *_CAPITALIZED}, key=len, reverse=True)
_PREFIX = re.compile("FM|TM|fm|tm")
_TOKEN = re.compile(f"({'|'.join(map(re.escape, _SPELLED))})(TH|SP|th|sp)?")


@dataclass(frozen=True, slots=True)
class Part:
    """A field, or one character: a blank, a separator, or any other."""

    kind: str
    text: str
    fills: bool = False
    ending: str = ""

    @property
    def field(self) -> str:
        return self.text.upper()


def is_separator(char: str) -> bool:
    return " " < char < "\x7f" and not char.isalnum()


@lru_cache(PATTERNS_MAX)
def parts_of(pattern: str) -> tuple[Part, ...]:
    """Raises 54000 for a pattern that is too long."""
    if len(pattern) > PATTERN_CHARS_MAX:
        message = f"a pattern of dates may have at most {PATTERN_CHARS_MAX} characters; this one has {len(pattern)}"
        raise SqlError(PROGRAM_LIMIT, message)
    parts: list[Part] = []
    place = 0
    while place < len(pattern):
        prefix = _PREFIX.match(pattern, place)
        place = place if prefix is None else prefix.end()
        found = _TOKEN.match(pattern, place)
        if found is not None:
            before = "" if prefix is None else prefix[0].upper()
            fills = before == "FM" or (before == "TM" and found[1].upper() in _PADDED)
            parts.append(Part("field", found[1], fills, found[2] or ""))
            place = found.end()
        elif place == len(pattern):
            break
        elif pattern[place] == '"':
            place += 1
            while place < len(pattern) and pattern[place] != '"':
                place += pattern[place] == "\\" and place + 1 < len(pattern)
                parts.append(Part("char", pattern[place]))
                place += 1
            place += 1
        else:
            place += pattern.startswith('\\"', place)
            char = pattern[place]
            kind = "space" if char in " \t\n\v\f\r" else "separator" if is_separator(char) else "char"
            parts.append(Part(kind, char))
            place += 1
    return tuple(parts)
