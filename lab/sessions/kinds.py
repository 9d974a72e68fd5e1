"""Kinds of sessions that packages above the lab add: their set-ups, and what shows them.

A package registers its kind when Django starts (`rollouts.apps`); what it needs is imported with the first session.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from lab.sessions.places import ADDED

if TYPE_CHECKING:
    from lab.sessions.session import Session
    from lab.sessions.setup import Setup
    from lab.sessions.shown import Shown


class Show(Protocol):
    def __call__(self, setup: Setup, session: Session, at: int | None, *, single_steps: bool) -> Shown: ...


@dataclass(frozen=True, slots=True)
class AddedKind:
    """A kind of sessions: `show` shows a position of one, `setups` are those that it runs on."""

    show: Show
    setups: tuple[Setup, ...]


LOADERS: dict[str, Callable[[], AddedKind]] = {}


def add_kind(kind: str, load: Callable[[], AddedKind], *, places: tuple[str, ...]) -> None:
    """Take sessions of this kind along."""
    LOADERS[kind], ADDED[kind] = load, places
    added_kind.cache_clear()


@cache
def added_kind(kind: str) -> AddedKind:
    """The kind of this name. Raises `KeyError` for one that was not added."""
    return LOADERS[kind]()


def added_setups() -> dict[str, Setup]:
    """The set-ups of all added kinds by their names."""
    return {one.name: one for kind in LOADERS for one in added_kind(kind).setups}
