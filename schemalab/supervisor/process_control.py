"""Do to a process of the cluster what accidents do. The supervisor appends it to the story, with who did it."""

from typing import Any

from django.conf import settings

from schemalab.supervisor.control import send

PAGE_NEEDS = ("web", "postgres")


class OnlyByCommand(Exception):
    """The page cannot undo it."""


def control_process(command: str, name: str, *, who: str) -> str:
    """The supervisor's answer. Raises NotRunning or CommandRefused."""
    return str(send(settings.LOCATIONS.control_socket, command, name, who=who)["text"])


def control_from_page(command: str, name: str, *, who: str) -> str:
    """The same, but for what the page could not undo, since it would not answer any more."""
    if name in PAGE_NEEDS and command in ("kill", "freeze"):
        undo = "start" if command == "kill" else "thaw"
        raise OnlyByCommand(
            f"without {name} this page could not {undo} it again: in a terminal, manage.py processes {command} {name}"
        )
    return control_process(command, name, who=who)


def processes() -> list[dict[str, Any]]:
    """name, kind, state and pid of every process. Raises NotRunning."""
    return list(send(settings.LOCATIONS.control_socket, "status")["processes"])
