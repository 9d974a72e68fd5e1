"""Texts that can be stored and sent: without NUL, which PostgreSQL refuses, and without half of a surrogate pair."""

from collections.abc import Mapping
from typing import Any


def is_storable(value: Any) -> bool:
    """True if every text in a value of JSON can be stored and sent."""
    if isinstance(value, str):
        return "\0" not in value and value.encode(errors="ignore").decode() == value
    if isinstance(value, Mapping):
        return all(is_storable(one) for pair in value.items() for one in pair)
    return not isinstance(value, list | tuple) or all(map(is_storable, value))
