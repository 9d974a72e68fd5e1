"""Adds the page, questions, sessions and exercises of rollouts to the lab. The command needs none of it."""

import time
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.utils.functional import Promise

    from lab.exercises.grammars import Grammar, Question
    from lab.explorer.spaces.search import Budget, Watch
    from lab.pages.ladder_words import StageWords
    from lab.sessions.kinds import AddedKind

ROLLOUT = "rollout"
"""The name of the kind of question, of session, of grammar, and of the stage's stores."""

PLACES = ("rollouts",)


class RolloutsConfig(AppConfig):
    name = "rollouts"

    def ready(self) -> None:
        from lab import answerers

        answerers.answered_by(ROLLOUT, _answer, places=PLACES)
        from lab.exercises import grammars
        from lab.pages import ladder_words, words
        from lab.sessions import kinds

        kinds.add_kind(ROLLOUT, _kind, places=PLACES)
        grammars.add_grammar(ROLLOUT, _grammar)
        grammars.add_questions(ROLLOUT, _questions)
        ladder_words.ADDED[ROLLOUT] = _words
        words.ADDED[ROLLOUT] = _session_words


def _kind() -> "AddedKind":
    from lab.sessions.kinds import AddedKind
    from rollouts.lessons import sessions

    return AddedKind(sessions.show, (sessions.SETUP,))


def _grammar() -> "Grammar":
    from lab.pages.words import say
    from rollouts.lessons.designs import grammar

    return grammar(places=PLACES, worded=say)


def _questions() -> "tuple[Question, ...]":
    from rollouts.lessons.questions import QUESTIONS

    return QUESTIONS


def _words() -> "StageWords":
    from rollouts.pages.lesson_words import WORDS

    return WORDS


def _session_words() -> "Mapping[str, str | Promise]":
    from rollouts.pages.lesson_words import SESSION

    return SESSION


def _answer(asked: Any, budget: "Budget", watch: "Watch") -> dict[str, Any]:
    from lab.explorer.spaces.search import Progress
    from rollouts.pages.answers import answer

    began = time.monotonic()

    def goes_on(worlds: int) -> bool:
        return watch(Progress(worlds, 0, 0, time.monotonic() - began))

    return answer(asked, worlds=budget.states, seconds=budget.seconds, watch=goes_on)
