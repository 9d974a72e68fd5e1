"""Nodes that a replay kills, freezes or drains, by the product's own commands, and how they come back.

What brings a node back is stored before it goes: a worker that dies leaves it to the timetable (`replays.end_lost`).
"""

from __future__ import annotations

import logging

from lab.live import supervisor
from lab.live.supervisor import NotControlled
from lab.models import Replay
from leases.services import drain_node, undrain_node

log = logging.getLogger(__name__)

DRAIN, UNDRAIN = "drain", "undrain"
BACK = {"kill": "start", "freeze": "thaw", DRAIN: UNDRAIN}


def do(replay: Replay, command: str, node: str) -> None:
    """One command to a node. Raises `NotControlled`."""
    if command in BACK:
        replay.away = [*replay.away, [BACK[command], node]]
        replay.save(update_fields=["away"])
    _send(replay, command, node)
    if command in BACK.values():
        replay.away = [one for one in replay.away if one != [command, node]]
        replay.save(update_fields=["away"])


def bring_back(replay: Replay) -> None:
    """Undo what is not undone yet, the last first."""
    for command, node in reversed(replay.away):
        try:
            _send(replay, command, node)
        except NotControlled as refused:
            log.warning("replay %s: %s %s: %s", replay.pk, command, node, refused)
    replay.away = []
    replay.save(update_fields=["away"])


def _send(replay: Replay, command: str, node: str) -> None:
    who = f"{replay.owner} (replay {replay.pk})"
    if command == DRAIN:
        drain_node(node, who=who)
    elif command == UNDRAIN:
        undrain_node(node, who=who)
    else:
        supervisor.send(command, node, who=who)
