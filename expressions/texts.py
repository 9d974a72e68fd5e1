"""Functions of text for one row, character by character as the query engine has them.

Case is Unicode's simple mapping, one character for one: neither of a longer spelling (ŉ) nor of where it
stands (the final sigma). What makes texts longer is refused before it does so beyond what a value may have.
"""

from expressions.limits import refuse_length
from expressions.patterns import pattern_of

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


def concatenated(a: str, b: str) -> str:
    refuse_length(len(a) + len(b))
    return a + b


def replaced(text: str, old: str, new: str) -> str:
    if not old:
        return text
    if len(new) > len(old):
        refuse_length(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


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
    return pattern_of(pattern).matches(text)


def not_like(text: str, pattern: str) -> bool:
    return not like(text, pattern)
