"""Errors as people read them: what went wrong in one line, without the name of a class of ours."""

import re

WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z]*|[a-z]+|\d+")


def in_words(error: BaseException) -> str:
    """The first line of what the error says; one that says nothing is called by its kind."""
    message = str(error).strip().partition("\n")[0].strip()
    if isinstance(error, KeyError) and error.args:
        return f"{error.args[0]} was not found"
    return message or kind_in_words(type(error))


def kind_in_words(kind: type) -> str:
    """ConnectionResetError: "connection reset error"."""
    return " ".join(WORDS.findall(kind.__name__)).lower()
