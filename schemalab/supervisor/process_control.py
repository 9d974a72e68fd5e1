"""Do to a process of the cluster what accidents do. The supervisor appends it to the story, with who did it."""

from typing import Any

from django.conf import settings

from schemalab.supervisor.control import ANSWER_S_MAX, NotRunning, send
from schemalab.supervisor.refusals import why_not_from_page

ANSWER_S_OF_A_PAGE = 2.0
NOT_RUNNING = "no `manage.py up` that this page can reach runs it: it is started and ended where it was started"


class OnlyByCommand(Exception):
    """The page cannot undo it."""


def control_process(command: str, name: str, *, who: str) -> str:
    """The supervisor's answer. Raises NotRunning or CommandRefused."""
    return str(send(settings.LOCATIONS.control_socket, command, name, who=who)["text"])


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
    """The same, but nothing where no supervisor answers at once: a page shows what it knows without it."""
    try:
        return processes(seconds_max=ANSWER_S_OF_A_PAGE)
    except (NotRunning, OSError):
        return []
