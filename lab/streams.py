"""The live part of a replay's page: its actions, which are done, and both verdicts."""

from __future__ import annotations

from typing import Any

from catalog.live import snapshot
from lab.live.replays import session_of
from lab.models import Replay
from lab.pages.words import say
from lab.replays.translation import NotReplayable, translated
from lab.sessions.session import BadLink, BadSession


def _steps(pk: int) -> dict[str, Any]:
    replay = Replay.objects.get(pk=pk)
    outcome, sentences = replay.outcome or {}, _sentences(replay)
    return {
        "is_busy": replay.ended_at is None,
        "is_waiting": replay.begun_at is None,
        "attempt": replay.attempt,
        "table": replay.table,
        "lines": [{"text": text, "is_done": replay.done >= number} for number, text in enumerate(sentences, 1)],
        "is_judging": replay.ended_at is None and 0 < len(sentences) == replay.done,
        "outcome": outcome,
        "model": ", ".join(outcome.get("model", [])),
        "cluster": ", ".join(outcome.get("cluster", [])),
    }


def _sentences(replay: Replay) -> list[str]:
    """Its actions in the reader's language; none where the rules have changed since."""
    try:
        return [say(narrated.text) for narrated in translated(session_of(replay)).actions]
    except (NotReplayable, BadSession, BadLink):
        return []


snapshot.register("replay", "steps", "lab/parts/replay.html", _steps)
snapshot.register_stream("replay", lambda pk: Replay.objects.filter(pk=pk).exists())
