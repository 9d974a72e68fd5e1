"""Nodes that a replay kills, freezes or drains, by the product's own commands, and how they come back. The command that
brings a node back is stored before it leaves, and forgotten once done or refused, so a node that an operator took away
stays as it is. Those that could not be reached are tried again by the timetable (`replays.end_lost`)."""

from __future__ import annotations

import logging

from django.db import DatabaseError

from lab.live import supervisor
from lab.live.supervisor import NotControlled, NotReached
from lab.models import Replay
from leases.models import Node
from leases.services import CannotBeDone, drain_node, undrain_node

log = logging.getLogger(__name__)

DRAIN, UNDRAIN = "drain", "undrain"
BACK = {"kill": "start", "freeze": "thaw", DRAIN: UNDRAIN}


def do(replay: Replay, command: str, node: str) -> None:
    """One command to a node. Raises `NotControlled`, after which nothing is undone, and `NotReached`."""
    undo = [BACK[command], node] if command in BACK else None
    if undo is not None and undo not in replay.away:
        _check_not_drained(command, node)
        _keep(replay, [*replay.away, undo])
        try:
            _send(replay, command, node)
        except NotControlled:
            _keep(replay, [one for one in replay.away if one != undo])
            raise
    else:
        _send(replay, command, node)
    if command in BACK.values():
        _keep(replay, [one for one in replay.away if one != [command, node]])


def bring_back(replay: Replay) -> None:
    """Undo what is not undone yet, the last first; what cannot be reached now is kept."""
    kept: list[list[str]] = []
    for command, node in reversed(replay.away):
        try:
            _send(replay, command, node)
        except NotControlled as refused:
            log.warning("replay %s: %s %s: %s", replay.pk, command, node, refused)
        except (NotReached, DatabaseError) as error:
            log.warning("replay %s: %s %s is tried again: %s", replay.pk, command, node, error)
            kept.insert(0, [command, node])
    _keep(replay, kept)


def _keep(replay: Replay, away: list[list[str]]) -> None:
    replay.away = away
    replay.save(update_fields=["away"])


def _check_not_drained(command: str, node: str) -> None:
    """Raises `NotControlled` for a node that an operator has drained: the end of the replay would undo that."""
    if command == DRAIN and Node.objects.filter(name=node, is_drain_asked=True).exists():
        raise NotControlled(f"{node} is drained already")


def _send(replay: Replay, command: str, node: str) -> None:
    who = f"{replay.owner} (replay {replay.pk})"
    if command not in (DRAIN, UNDRAIN):
        supervisor.send(command, node, who=who)
        return
    ask = drain_node if command == DRAIN else undrain_node
    try:
        ask(node, who=who)
    except CannotBeDone as refused:
        raise NotControlled(str(refused)) from refused
