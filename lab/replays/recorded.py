"""Replays that were recorded from a cluster, for those who may not ask for one.

`manage.py lab record` carries each of these sessions out on a running cluster and writes what it kept to `recorded/`.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lab.replays.feats import FEATS
from lab.sessions.session import Session

FOLDER = Path(__file__).parent / "recorded"


def _of_feats(*names: str) -> dict[str, Session]:
    return {name: session for name in names if (session := FEATS[name].replay) is not None}


SESSIONS: Mapping[str, Session] = _of_feats(
    "missing-entry", "orphan", "missing-entry-delete-only", "correct-run", "violated", "lost-news"
) | {
    "killed": Session("leases", steps=("n1: crash", "step", "tick 18 s", "step", "step")),
    "thawed": Session("frozen-node", steps=("n1: freeze", "step", "tick 10 s", "step", "step")),
}

OF_FEATS: Mapping[str, str] = {name: name for name in SESSIONS} | {
    "full-ladder": "correct-run",
    "filled": "correct-run",
    "held-back": "correct-run",
    "rolled-back": "violated",
}
"""The recording that shows a feat of a chapter, or what comes nearest to it."""


@cache
def recording(name: str) -> Mapping[str, Any]:
    """The recording of a session. Raises `KeyError` for a name that is not known."""
    if name not in SESSIONS:
        raise KeyError(name)
    found: Mapping[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found
