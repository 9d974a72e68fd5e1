"""Texts that can be stored: without NUL and half surrogate pairs."""

from collections.abc import Mapping
from typing import Any


def is_storable(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" not in value and value.encode(errors="ignore").decode() == value
    if isinstance(value, Mapping):
        return all(is_storable(one) for pair in value.items() for one in pair)
    return not isinstance(value, list | tuple) or all(map(is_storable, value))
