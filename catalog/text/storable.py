"""Texts that can be stored: without NUL and half surrogate pairs."""

from collections.abc import Mapping
from typing import Any


def is_storable(value: Any) -> bool:
    """True for a text, and for all texts within a value of JSON, however deep."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and ("\0" in one or one.encode(errors="ignore").decode() != one):
            return False
        if isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            waiting += one
    return True
