"""The live part of a replay's page: its actions, which are done, and both verdicts."""

from __future__ import annotations

from typing import Any

from catalog.live import snapshot
from catalog.selectors import sandboxes
from lab.models import Replay
from lab.pages.replay_part import Kept, part


def _steps(pk: int) -> dict[str, Any]:
    one = Replay.objects.get(pk=pk)
    kept = Kept(
        one.link,
        one.times,
        one.done,
        one.outcome or {},
        one.attempt,
        one.table,
        is_begun=one.begun_at is not None,
        is_ended=one.ended_at is not None,
    )
    table = sandboxes().filter(name=one.table).first() if one.ended_at else None
    return part(kept) | {"sandbox": None if table is None else table.pk}


snapshot.register("replay", "steps", "lab/parts/replay.html", _steps)
snapshot.register_stream("replay", lambda pk: Replay.objects.filter(pk=pk).exists())
