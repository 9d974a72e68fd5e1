"""A replay as its page shows it, under way, ended or recorded: its actions, both verdicts, both stores, the lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from catalog.text.message import Text
from lab.pages.words import named_clause, say
from lab.replays.actions import PUBLIC, ROLLED_BACK
from lab.replays.drawn import picture, store
from lab.replays.trace import NotReplayable
from lab.replays.translation import translated
from lab.sessions.session import BadLink, BadSession, decode
from leases.templatetags.over_time import MARKS

TEXTS_KEPT = 64
FAILED = "failed"
ENDS = {
    PUBLIC: Text("the index is public"),
    ROLLED_BACK: Text("rows violate the index, and it is rolled back"),
    "cancelled": Text("it was cancelled"),
    FAILED: Text("it has failed for another reason"),
}


@dataclass(frozen=True, slots=True)
class Kept:
    link: str
    times: Sequence[float]
    done: int
    outcome: Mapping[str, Any]
    attempt: int = 1
    table: str = ""
    is_begun: bool = True
    is_ended: bool = True


def part(kept: Kept) -> dict[str, Any]:
    outcome, sentences = kept.outcome, [say(text) for text in _texts(kept.link)]
    return {
        "is_busy": not kept.is_ended,
        "is_waiting": not kept.is_begun,
        "attempt": kept.attempt,
        "table": kept.table,
        "lines": _lines(sentences, kept),
        "longest": max(_lengths(kept), default=0),
        "is_judging": not kept.is_ended and 0 < len(sentences) == kept.done,
        "outcome": outcome,
        "model": ", ".join(str(named_clause(one)) for one in outcome.get("model", [])),
        "cluster": ", ".join(str(named_clause(one)) for one in outcome.get("cluster", [])),
        "ends": {side: say(ENDS.get(end, ENDS[FAILED])) for side, end in outcome.get("ends", {}).items()},
    } | _drawn(outcome)


def _drawn(outcome: Mapping[str, Any]) -> dict[str, Any]:
    drawn = outcome.get("drawn")
    if not drawn:
        return {"stores": None, "lanes": None}
    stores = drawn["stores"] and {side: store(names, outcome[side]) for side, names in drawn["stores"].items()}
    lanes = picture(drawn["lanes"])
    for mark in (mark for row in lanes["rows"] for mark in row["marks"]):
        mark["word"] = str(MARKS[mark["kind"]])
    return {"stores": stores, "lanes": lanes}


def _lines(sentences: Sequence[str], kept: Kept) -> list[dict[str, Any]]:
    lengths, ends = dict(enumerate(_lengths(kept), 1)), dict(enumerate(kept.times, 1))
    return [
        {"text": text, "is_done": kept.done >= number, "seconds": lengths.get(number), "at": ends.get(number)}
        for number, text in enumerate(sentences, 1)
    ]


def _lengths(kept: Kept) -> list[float]:
    return [round(end - begin, 1) for begin, end in pairwise([0.0, *kept.times])]


@lru_cache(maxsize=TEXTS_KEPT)
def _texts(link: str) -> tuple[Text, ...]:
    """The actions of a link's session, the same for each push; none where the rules have changed since."""
    try:
        return tuple(narrated.text for narrated in translated(decode(link).session).actions)
    except (NotReplayable, BadSession, BadLink):
        return ()
