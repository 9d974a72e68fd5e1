"""Grammars of designs and questions of predictions that packages above register at start, loaded when used."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lab.exercises.chapter import Design, Observed, Parameter, Predict, Start

if TYPE_CHECKING:
    from lab.exercises.item_run import ItemRun
    from lab.exercises.judgement import Judgement
    from lab.explorer.spaces.search import Budget, Watch


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of a builder. `is_work`: no server uses it as its version."""

    value: str
    text: str
    is_work: bool = False
    about: str = ""


@dataclass(frozen=True, slots=True)
class Grammar:
    """`check` raises `lab.exercises.designs.Malformed`, as `judge` does."""

    check: Callable[[Design, Sequence[str]], None]
    judge: Callable[[Design, Sequence[str], Budget, Watch | None], Judgement]
    reveal: Callable[[Design, Sequence[str], Judgement], Start | None]
    tiles: Callable[[Design], tuple[Tile, tuple[Tile, ...]]]
    """The ground, and the tiles in an order that says nothing."""

    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a prediction, as a pattern; `runs` are played when the answer is stored."""

    pattern: str
    answer: Callable[[re.Match[str], Start | None, Mapping[str, Parameter]], Observed]
    runs: Callable[[Predict, Start | None], tuple[ItemRun, ...]]


GRAMMARS: dict[str, Callable[[], Grammar]] = {}
QUESTIONS: dict[str, Callable[[], tuple[Question, ...]]] = {}


def add_grammar(name: str, load: Callable[[], Grammar]) -> None:
    GRAMMARS[name] = load
    grammar.cache_clear()


def add_questions(name: str, load: Callable[[], tuple[Question, ...]]) -> None:
    """They are loaded when a question is unknown."""
    QUESTIONS[name] = load
    _questions.cache_clear()


@cache
def grammar(name: str) -> Grammar | None:
    return GRAMMARS[name]() if name in GRAMMARS else None


@cache
def _questions() -> tuple[Question, ...]:
    return tuple(one for load in QUESTIONS.values() for one in load())


def question_for(asks: str) -> tuple[Question, re.Match[str]] | None:
    for one in _questions():
        if match := re.fullmatch(one.pattern, asks):
            return one, match
    return None
