"""Kinds of questions that packages above register for the lab's queue at start. Imports no explorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.explorer.spaces.search import Budget, Watch

Answerer = Callable[[Any, "Budget", "Watch"], dict[str, Any]]
"""Searches for the answer to what `lab.services.ask_kind` was given."""

ANSWERERS: dict[str, tuple[Answerer, tuple[str, ...]]] = {}


def answered_by(kind: str, answerer: Answerer, *, places: tuple[str, ...]) -> None:
    """`places` are its rules (`lab.explorer.fingerprint`)."""
    ANSWERERS[kind] = (answerer, places)
