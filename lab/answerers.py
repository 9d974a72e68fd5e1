"""Questions that packages above the lab put into its queue: who answers each kind, and by which code.

A package registers its kind when Django starts (`rollouts.apps`), so this module imports nothing that explores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.explorer.spaces.search import Budget, Watch

Answerer = Callable[[Any, "Budget", "Watch"], dict[str, Any]]
"""Searches for the answer; what was asked is what `lab.services.ask_kind` was given."""

ANSWERERS: dict[str, tuple[Answerer, tuple[str, ...]]] = {}


def answered_by(kind: str, answerer: Answerer, *, places: tuple[str, ...]) -> None:
    """Take questions of this kind into the queue; `places` are its rules (`lab.explorer.fingerprint`)."""
    ANSWERERS[kind] = (answerer, places)
