"""Replays recorded from a cluster by `manage.py lab record`, for readers who may not ask for one."""

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
    if name not in SESSIONS:
        raise KeyError(name)
    found: Mapping[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found
