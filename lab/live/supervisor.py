"""Commands to the processes of nodes, for replays; a package above the lab, with the supervisor, registers itself."""

from collections.abc import Callable

Control = Callable[[str, str, str], object]
"""Sends a command to a process: command, name, who. Raises `NotControlled`, `NotReached`."""

_controls: list[Control] = []


class NotControlled(Exception):
    """The process was left alone: its supervisor refused, or there is none."""


class NotReached(Exception):
    """The supervisor is away now, or gave no answer: the command was carried out or not, and may be sent again."""


def controlled_by(control: Control) -> None:
    _controls[:] = [control]


def send(command: str, name: str, *, who: str) -> None:
    if not _controls:
        raise NotControlled("the processes of this cluster have no supervisor")
    _controls[0](command, name, who)
