"""Do to a process of the cluster what accidents do. The supervisor appends it to the story, with who did it."""

import threading
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings

from schemalab.supervisor.control import ANSWER_S_MAX, NotRunning, send
from schemalab.supervisor.refusals import why_not_from_page

ANSWER_S_OF_A_PAGE = 2.0
SHARED_S = 0.5
LEFT_ALONE_S = 5.0
NOT_RUNNING = "no `manage.py up` that this page can reach runs it: it is started and ended where it was started"


class OnlyByCommand(Exception):
    """The page cannot undo it."""


def control_process(command: str, name: str, *, who: str) -> str:
    """The supervisor's answer. Raises NotRunning or CommandRefused."""
    try:
        return str(send(settings.LOCATIONS.control_socket, command, name, who=who)["text"])
    finally:
        known.forget()


def control_from_page(command: str, name: str, *, who: str) -> str:
    """The same, but for what the page could not undo, since it would not answer any more."""
    refusal = why_not_from_page(command, name)
    if refusal is not None:
        raise OnlyByCommand(refusal)
    return control_process(command, name, who=who)


def processes(*, seconds_max: float = ANSWER_S_MAX) -> list[dict[str, Any]]:
    """name, kind, state and pid of every process. Raises NotRunning."""
    return list(send(settings.LOCATIONS.control_socket, "status", seconds_max=seconds_max)["processes"])


def processes_for_a_page() -> list[dict[str, Any]]:
    """The same, half a second old at most, but nothing where no supervisor answers at once.

    A page shows what it knows without it.
    """
    return known.ask()


class KnownProcesses:
    """One answer of the supervisor for all pages, streams and languages that look at nearly the same time.

    A supervisor that is stopped lets each question wait: it is asked again only after `LEFT_ALONE_S`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._answer: list[dict[str, Any]] = []
        self._good_until = 0.0

    def ask(self) -> list[dict[str, Any]]:
        with self._lock:
            if self._clock() >= self._good_until:
                self._answer, good_s = self._read()
                self._good_until = self._clock() + good_s
            return self._answer

    def forget(self) -> None:
        """Something was done to a process: the next page asks."""
        with self._lock:
            self._good_until = 0.0

    def _read(self) -> tuple[list[dict[str, Any]], float]:
        """The processes, and for how many seconds they are good."""
        try:
            return processes(seconds_max=ANSWER_S_OF_A_PAGE), SHARED_S
        except TimeoutError:
            return [], LEFT_ALONE_S
        except (NotRunning, OSError):
            return [], SHARED_S


known = KnownProcesses()
