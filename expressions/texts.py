"""Functions of text for one row, character by character as the query engine has them.

Case is Unicode's simple mapping, one character for one: neither of a longer spelling (ŉ) nor of where it
stands (the final sigma). LIKE knows % and _, and \\ before either.
"""

import re
from functools import lru_cache

from expressions.errors import SqlError

PATTERNS_MAX = 256
UPPER_SPECIAL = {"ß": "ẞ"}
LOWER_SPECIAL = {"İ": "i"}


def upper(text: str) -> str:
    return text.upper() if text.isascii() else "".join(map(_upper, text))


def lower(text: str) -> str:
    return text.lower() if text.isascii() else "".join(map(_lower, text))


def _upper(char: str) -> str:
    return next((form for form in (char.upper(), char.title()) if len(form) == 1), UPPER_SPECIAL.get(char, char))


def _lower(char: str) -> str:
    form = char.lower()
    return form if len(form) == 1 else LOWER_SPECIAL.get(char, char)


def replaced(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def left(text: str, count: int) -> str:
    """The first characters; of a negative count, all but the last ones."""
    return text[:count]


def right(text: str, count: int) -> str:
    """The last characters; of a negative count, all but the first ones."""
    return text[-count:] if count else ""


def substring(text: str, start: int, count: int | None = None) -> str:
    """From the character `start` on, counted from 1; places before the first count, too."""
    first = max(start, 1)
    if count is None:
        return text[first - 1 :]
    return text[first - 1 : first - 1 + max(start + count - first, 0)]


def like(text: str, pattern: str) -> bool:
    return _expression(pattern).fullmatch(text) is not None


def not_like(text: str, pattern: str) -> bool:
    return not like(text, pattern)


@lru_cache(PATTERNS_MAX)
def _expression(pattern: str) -> re.Pattern[str]:
    pieces, chars = [], iter(pattern)
    for char in chars:
        if char == "\\":
            char = next(chars, "")
            if not char:
                raise SqlError("22025", "LIKE pattern must not end with escape character")
            pieces.append(re.escape(char))
        else:
            pieces.append({"%": ".*", "_": "."}.get(char, re.escape(char)))
    return re.compile("".join(pieces), re.DOTALL)
