"""The live part of a replay's page: its actions, which are done, and both verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from catalog.live import snapshot
from lab.models import Replay
from lab.pages.words import named_clause, say
from lab.replays.actions import PUBLIC, ROLLED_BACK
from lab.replays.trace import NotReplayable
from lab.replays.translation import translated
from lab.sessions.session import BadLink, BadSession, decode
from lab.texts import Text

TEXTS_KEPT = 64
FAILED = "failed"
ENDS = {
    PUBLIC: Text("the index is public"),
    ROLLED_BACK: Text("rows violate the index, and it is rolled back"),
    "cancelled": Text("somebody has cancelled it"),
    FAILED: Text("it has failed for another reason"),
}
"""The ends of a real change, in words."""


def _steps(pk: int) -> dict[str, Any]:
    replay = Replay.objects.get(pk=pk)
    outcome, sentences = replay.outcome or {}, [say(text) for text in _texts(replay.link)]
    return {
        "is_busy": replay.ended_at is None,
        "is_waiting": replay.begun_at is None,
        "attempt": replay.attempt,
        "table": replay.table,
        "lines": _lines(sentences, replay),
        "longest": max(_lengths(replay), default=0),
        "is_judging": replay.ended_at is None and 0 < len(sentences) == replay.done,
        "outcome": outcome,
        "model": ", ".join(str(named_clause(one)) for one in outcome.get("model", [])),
        "cluster": ", ".join(str(named_clause(one)) for one in outcome.get("cluster", [])),
        "ends": {side: say(ENDS.get(end, ENDS[FAILED])) for side, end in outcome.get("ends", {}).items()},
    }


def _lines(sentences: Sequence[str], replay: Replay) -> list[dict[str, Any]]:
    """Each action, and how long it took once it is done: most of it is waiting."""
    lengths = dict(enumerate(_lengths(replay), 1))
    return [
        {"text": text, "is_done": replay.done >= number, "seconds": lengths.get(number)}
        for number, text in enumerate(sentences, 1)
    ]


def _lengths(replay: Replay) -> list[float]:
    """The seconds that each action took."""
    return [round(end - begin, 1) for begin, end in pairwise([0.0, *replay.times])]


@lru_cache(maxsize=TEXTS_KEPT)
def _texts(link: str) -> tuple[Text, ...]:
    """The actions of a link's session; none where the rules have changed since. The same for each push of a replay."""
    try:
        return tuple(narrated.text for narrated in translated(decode(link).session).actions)
    except (NotReplayable, BadSession, BadLink):
        return ()


snapshot.register("replay", "steps", "lab/parts/replay.html", _steps)
snapshot.register_stream("replay", lambda pk: Replay.objects.filter(pk=pk).exists())
