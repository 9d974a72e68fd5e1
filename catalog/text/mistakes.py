"""Exceptions as one line for people."""

import re

VALUE_CHARS_MAX = 60
"""The characters of a value in an error: values may have megabytes, and errors are stored and sent to pages."""
QUOTED = re.compile(rf'(?<=")(.{{{VALUE_CHARS_MAX}}}).+(?=")', re.DOTALL)
UNBROKEN = re.compile(rf"(\S{{{VALUE_CHARS_MAX + 2}}})\S{{3,}}")
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|\d+")


def in_words(error: BaseException) -> str:
    """The first line of the error, or else its kind."""
    message = str(error).strip().partition("\n")[0].strip()
    if isinstance(error, KeyError) and error.args:
        return f"{error.args[0]} was not found"
    return with_short_values(message) or kind_in_words(type(error))


def cut(value: str) -> str:
    return value if len(value) <= VALUE_CHARS_MAX else f"{value[:VALUE_CHARS_MAX]}.."


def with_short_values(message: str) -> str:
    """An error of PostgreSQL's kind with the beginning of its value, which may have quotes itself."""
    return UNBROKEN.sub(r"\1..", QUOTED.sub(r"\1..", message, count=1))


def kind_in_words(kind: type) -> str:
    """ConnectionResetError: "connection reset error"."""
    return " ".join(WORDS.findall(kind.__name__)).lower()
