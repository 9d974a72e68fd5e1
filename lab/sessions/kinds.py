"""Kinds of sessions that packages above the lab register when Django starts; each is imported when used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from lab.sessions.places import ADDED

if TYPE_CHECKING:
    from lab.sessions.session import Session
    from lab.sessions.setup import Setup
    from lab.sessions.shown import SessionView


class Show(Protocol):
    def __call__(self, setup: Setup, session: Session, at: int | None, *, single_steps: bool) -> SessionView: ...


@dataclass(frozen=True, slots=True)
class AddedKind:
    show: Show
    setups: tuple[Setup, ...]


LOADERS: dict[str, Callable[[], AddedKind]] = {}


def add_kind(kind: str, load: Callable[[], AddedKind], *, places: tuple[str, ...]) -> None:
    LOADERS[kind], ADDED[kind] = load, places
    added_kind.cache_clear()


@cache
def added_kind(kind: str) -> AddedKind:
    return LOADERS[kind]()


def added_setups() -> dict[str, Setup]:
    return {one.name: one for kind in LOADERS for one in added_kind(kind).setups}
