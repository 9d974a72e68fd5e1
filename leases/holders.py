"""Holders of a version: sessions whose transactions use it, reported once a second; no transaction reads it (T6)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

REPORTED_MAX = 50
"""Of one node: the oldest, for which a change may wait."""
STATEMENT_MAX = 200
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Holder:
    """Session `session` had used `version` of a table for `for_s` seconds when reported."""

    table_id: int
    version: int
    session: int
    user: str
    application: str
    statement: str
    is_running: bool
    for_s: float

    def __str__(self) -> str:
        who = f"{self.user} ({self.application})" if self.application else self.user
        what = "runs" if self.is_running else "is idle after"
        return f"session {self.session} of {who} {what} {self.statement}" if self.statement else f"{who} is idle"


class MalformedHolders(ValueError):
    """A text that names no holders."""


def shown(statement: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in statement[: 2 * STATEMENT_MAX]).split())
    return line if len(line) <= STATEMENT_MAX else f"{line[:STATEMENT_MAX]} .."


def to_text(incarnation: int, holders: Iterable[Holder]) -> str:
    oldest = sorted(holders, key=lambda one: -one.for_s)[:REPORTED_MAX]
    return json.dumps({"incarnation": incarnation, "holders": [asdict(one) for one in oldest]})


def from_text(text: str) -> tuple[int, tuple[Holder, ...]]:
    """The reporting incarnation, and its holders, oldest first. Raises `MalformedHolders`."""
    try:
        body = json.loads(text)
        found = tuple(Holder(**one) for one in body["holders"])
        return int(body["incarnation"]), tuple(replace(one, statement=shown(one.statement)) for one in found)
    except (ValueError, TypeError, KeyError) as error:
        raise MalformedHolders(f"no holders: {text[:80]!r}") from error


def of_lease(
    reported: Mapping[str, tuple[int, Sequence[Holder]]], *, node: str, incarnation: int, table_id: int, version: int
) -> tuple[Holder, ...]:
    known, holders = reported.get(node, (0, ()))
    if known != incarnation:
        return ()
    return tuple(one for one in holders if (one.table_id, one.version) == (table_id, version))


def to_json(holder: Holder) -> Json:
    return {
        "session": holder.session,
        "user": holder.user,
        "application": holder.application,
        "statement": holder.statement,
        "is_running": holder.is_running,
        "for_s": round(holder.for_s, 1),
    }
