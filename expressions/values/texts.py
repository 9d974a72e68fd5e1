"""Functions of text for one row, as PostgreSQL has them under the locale C: only ASCII letters have case."""

from expressions.errors import PROGRAM_LIMIT, SqlError
from expressions.limits import TOO_LONG, VALUE_BYTES_MAX, pass_chars
from expressions.values.patterns import pattern_of


def upper(text: str) -> str:
    pass_chars(len(text))
    return text.encode().upper().decode()  # of bytes Python knows ASCII letters alone


def lower(text: str) -> str:
    pass_chars(len(text))
    return text.encode().lower().decode()


def escaped_by(pattern: str, escape: str) -> str:
    """The pattern of LIKE .. ESCAPE in the words of one without: its own escape character is the backslash."""
    if len(escape) > 1:
        raise SqlError("22025", "invalid escape string", hint="an escape string is empty or one character")
    pass_chars(len(pattern))
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
    if len(a) + len(b) > VALUE_BYTES_MAX:
        raise SqlError(PROGRAM_LIMIT, TOO_LONG)
    return a + b


def like(text: str, pattern: str) -> bool:
    return pattern_of(pattern).matches(text)


def not_like(text: str, pattern: str) -> bool:
    return not like(text, pattern)
