"""Kills, freezes, thaws and starts processes for operators; the supervisor appends it to the story."""

import threading
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings

from schemalab.supervisor.control import ANSWER_S_MAX, CommandRefused, NotRunning, send
from schemalab.supervisor.refusals import why_not_from_page

ANSWER_S_OF_A_PAGE = 2.0
PATIENCE_S = 0.3
"""How long a page waits for news of what it knows already."""
SHARED_S = 0.5
LEFT_ALONE_S = 5.0
NOT_RUNNING = "no `manage.py up` that this page can reach runs it: it is started and ended where it was started"
AWAY = "the supervisor does not answer: `manage.py up` is stopped, or very busy; it is asked again every few seconds"


class OnlyByCommand(Exception):
    """The page could not undo it."""


def control_process(command: str, name: str, *, who: str) -> str:
    """The supervisor's answer. Raises NotRunning or CommandRefused."""
    try:
        return str(send(settings.LOCATIONS.control_socket, command, name, who=who)["text"])
    finally:
        known.forget()


def control_from_page(command: str, name: str, *, who: str) -> str:
    """The same, without commands that would end the page itself."""
    refusal = why_not_from_page(command, name)
    if refusal is not None:
        raise OnlyByCommand(refusal)
    return control_process(command, name, who=who)


def processes(*, seconds_max: float = ANSWER_S_MAX) -> list[dict[str, Any]]:
    """Name, kind, state and pid of every process. Raises NotRunning."""
    return list(send(settings.LOCATIONS.control_socket, "status", seconds_max=seconds_max)["processes"])


def processes_for_a_page() -> list[dict[str, Any]]:
    """The same, about half a second old; empty when no supervisor answers."""
    return known.ask()


def is_supervisor_away() -> bool:
    return known.is_away


def why_none_for_a_page() -> str:
    """Why `processes_for_a_page` is empty, as the end of a sentence."""
    return AWAY if is_supervisor_away() else NOT_RUNNING


class KnownProcesses:
    """One answer of the supervisor for all pages at about the same time, asked by a thread. A page waits while nothing
    is known, and for a moment when that is old; not for a supervisor that does not answer."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, patience_s: float = PATIENCE_S) -> None:
        self._clock = clock
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._answer: list[dict[str, Any]] | None = None
        self._good_until = 0.0
        self._question: object | None = None
        self.is_away = False

    def ask(self) -> list[dict[str, Any]]:
        with self._changed:
            if self._clock() >= self._good_until:
                if self._question is None:
                    self._question = object()
                    threading.Thread(target=self._read, args=(self._question,), name="supervisor", daemon=True).start()
                if not self.is_away:
                    patience_s = ANSWER_S_OF_A_PAGE if self._answer is None else self._patience_s
                    self._changed.wait_for(lambda: self._question is None, patience_s)
            return self._answer or []

    def forget(self) -> None:
        """After a command: the next page asks again."""
        with self._changed:
            self._answer, self._good_until, self._question = None, 0.0, None

    def _read(self, question: object) -> None:
        answer, good_s, is_away = self._read_once()
        with self._changed:
            if self._question is question:
                self._answer, self.is_away, self._question = answer, is_away, None
                self._good_until = self._clock() + good_s
                self._changed.notify_all()

    def _read_once(self) -> tuple[list[dict[str, Any]], float, bool]:
        try:
            return processes(seconds_max=ANSWER_S_OF_A_PAGE), SHARED_S, False
        except TimeoutError:
            return [], LEFT_ALONE_S, True
        except (NotRunning, CommandRefused, OSError, ValueError):  # no supervisor, or no answer that can be read
            return [], SHARED_S, False


known = KnownProcesses()
