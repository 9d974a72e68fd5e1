"""Functions of text for one row, as PostgreSQL has them under the locale C: only ASCII letters have case.

What makes texts longer is refused before it does so beyond what a value may have.
"""

from collections.abc import Iterable
from itertools import takewhile

from expressions.errors import SqlError
from expressions.limits import look_at, pass_over, refuse_length
from expressions.values.patterns import pattern_of


def upper(text: str) -> str:
    pass_over(text)
    return text.encode().upper().decode()  # of bytes Python knows ASCII letters alone


def lower(text: str) -> str:
    pass_over(text)
    return text.encode().lower().decode()


def escaped_by(pattern: str, escape: str) -> str:
    """The pattern of LIKE .. ESCAPE in the words of one without: its own escape character is the backslash."""
    if len(escape) > 1:
        raise SqlError("22025", "invalid escape string", hint="an escape string is empty or one character")
    pass_over(pattern)
    if escape == "\\":
        return pattern
    written: list[str] = []
    is_escaped = False
    for char in pattern:
        if char == escape and not is_escaped:
            written.append("\\")
            is_escaped = True
            continue
        written.append("\\\\" if char == "\\" and not is_escaped else char)
        is_escaped = False
    return "".join(written)


def concatenated(a: str, b: str) -> str:
    refuse_length(len(a) + len(b))
    return a + b


def replaced(text: str, old: str, new: str) -> str:
    if not old:
        return text
    pass_over(text)
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
    if count < 0:
        raise SqlError("22011", "negative substring length not allowed")
    return text[first - 1 : first - 1 + max(start + count - first, 0)]


def trimmed(text: str, chars: str = " ") -> str:
    """The text without these characters at both ends."""
    return trimmed_right(trimmed_left(text, chars), chars)


def trimmed_left(text: str, chars: str = " ") -> str:
    pass_over(text)
    return text.lstrip(chars) if len(chars) == 1 else text[_end_of(text, chars) :]


def trimmed_right(text: str, chars: str = " ") -> str:
    pass_over(text)
    return text.rstrip(chars) if len(chars) == 1 else text[: len(text) - _end_of(reversed(text), chars)]


def _end_of(text: Iterable[str], chars: str) -> int:
    """The number of leading characters that are among `chars`. (`str.strip` searches `chars` for each of them.)"""
    pass_over(chars)
    wanted = frozenset(chars)
    count = sum(1 for _ in takewhile(wanted.__contains__, text))
    look_at(count)
    return count


def octet_length(text: str) -> int:
    pass_over(text)
    return len(text.encode())


def like(text: str, pattern: str) -> bool:
    return pattern_of(pattern).matches(text)


def not_like(text: str, pattern: str) -> bool:
    return not like(text, pattern)


def position(text: str, part: str) -> int:
    """Where the part begins, counted from 1; 0 when it is not there."""
    pass_over(text)
    return text.find(part) + 1
