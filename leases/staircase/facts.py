"""A window of time as values, kept as JSON with its change. Times are seconds since 1970 on the database's clock."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any

Json = dict[str, Any]
LEAD_S, LEAD_S_MIN = 10.0, 2.0
"""A window is read so long before its first change and after its last, and shown so long at least."""
SECONDS_MAX = 600
"""So many seconds are kept of a window; a longer one keeps the mean of several as one."""


@dataclass(frozen=True, slots=True)
class Use:
    """`node` leased `version` from `began` to `ended` (None: still, until `until` at most)."""

    node: str
    version: int
    began: float
    ended: float | None
    until: float

    @property
    def ran_out(self) -> bool:
        return self.ended is not None and self.ended >= self.until

    def lasts(self, start: float) -> bool:
        return self.ended is None or self.ended > start


@dataclass(frozen=True, slots=True)
class Version:
    """`phase` is the drawn state; `moving` are elements neither public nor absent."""

    version: int
    published_at: float
    phase: str
    moving: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """Something happened to a node (`MARKS`), or with `table_id` to its lease on that table."""

    at: float
    kind: str
    node: str
    table_id: int | None = None

    def concerns(self, table_ids: Container[int]) -> bool:
        return self.table_id is None or self.table_id in table_ids


MARKS = {
    "process killed": "killed",
    "process crashed": "crashed",
    "process frozen": "frozen",
    "process thawed": "thawed",
    "node silent": "silent",
    "node silent without leases": "silent",
    "node back": "back",
    "node joined": "joined",
    "node left": "left",
    "node draining": "draining",
    "node undrained": "undrained",
    "lease revoked": "revoked",
}
"""Kinds of the story's events that are marked in a node's lane."""
FALLS = frozenset({"killed", "crashed", "frozen", "silent"})
RISES = frozenset({"thawed", "back", "joined"})


@dataclass(frozen=True, slots=True)
class Second:
    """The second that ended at `at`, of all nodes: p50 over their statements, p99 of the slowest node."""

    at: float
    statements_per_s: float
    p50_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class Work:
    """A change that moved tables of the picture. `ended` is None while under way."""

    change: int
    began: float
    ended: float | None
    status: str


@dataclass(frozen=True, slots=True)
class Walk:
    """A table's versions and uses in the window. Without leases the uses are unknown."""

    table_id: int
    name: str
    versions: tuple[Version, ...]
    uses: tuple[Use, ...]
    has_leases: bool = True

    def versions_since(self, start: float) -> tuple[Version, ...]:
        """Versions published after `start`, and those in force or used then."""
        used = {use.version for use in self.uses if use.lasts(start)}
        before = max((one.version for one in self.versions if one.published_at <= start), default=0)
        return tuple(
            one for one in self.versions if one.published_at > start or one.version in used or one.version == before
        )

    def followed_by(self, later: Walk, *, at: float) -> Walk:
        """The same and what came `later`, after `at`: lasting uses get their later end, unknown ones end there."""
        known = {one.version for one in self.versions}
        kept = (replace(use, ended=at) if use.ended is None else use for use in self.uses)
        uses = {(use.node, use.version, use.began): use for use in (*kept, *later.uses)}
        versions = (*self.versions, *(one for one in later.versions if one.version not in known))
        return replace(
            later,
            versions=tuple(sorted(versions, key=lambda one: one.version)),
            uses=tuple(sorted(uses.values(), key=lambda use: (use.began, use.node, use.version))),
        )


@dataclass(frozen=True, slots=True)
class Facts:
    """A window of time. `is_live`: it grows. `is_partial`: it was read late. `calm_since`: no earlier change moved from
    then on."""

    start: float
    end: float
    is_live: bool
    walks: tuple[Walk, ...]
    marks: tuple[Mark, ...] = ()
    seconds: tuple[Second, ...] = ()
    works: tuple[Work, ...] = ()
    is_partial: bool = False
    calm_since: float = 0.0

    def of_table(self, table_id: int) -> Facts:
        walks = tuple(walk for walk in self.walks if walk.table_id == table_id)
        return replace(self, walks=walks, marks=tuple(mark for mark in self.marks if mark.concerns({table_id})))

    def since(self, start: float) -> Facts:
        """The part after `start`, with earlier marks: nodes may be down then."""
        if start <= self.start:
            return self
        walks = tuple(
            replace(walk, versions=walk.versions_since(start), uses=tuple(use for use in walk.uses if use.lasts(start)))
            for walk in self.walks
        )
        return replace(
            self,
            start=start,
            end=max(self.end, start),
            walks=walks,
            seconds=tuple(one for one in self.seconds if one.at >= start),
            works=tuple(one for one in self.works if one.ended is None or one.ended >= start),
        )

    def near_changes(self) -> Facts:
        """The lanes of its changes, with a quarter of their time before and after; seconds stay whole."""
        if not self.works:
            return self
        began = min(self.end, *(work.began for work in self.works))
        ended = self.end if self.is_live else self.end - LEAD_S
        lead = max(LEAD_S_MIN, min(LEAD_S, (ended - began) / 4))
        near = self.since(began - lead) if self.is_live else self.since(began - lead).until(ended + lead)
        return replace(near, seconds=self.seconds)

    def followed_by(self, later: Facts) -> Facts:
        """This window and a later one of the same tables, which begins where it ends."""
        after = {walk.table_id: walk for walk in later.walks}
        seen = {one.at for one in self.seconds}
        return replace(
            self,
            end=later.end,
            is_live=later.is_live,
            walks=tuple(
                walk.followed_by(after[walk.table_id], at=self.end) if walk.table_id in after else walk
                for walk in self.walks
            ),
            marks=tuple(sorted({*self.marks, *later.marks}, key=lambda mark: (mark.at, mark.node, mark.kind))),
            seconds=self.seconds + tuple(one for one in later.seconds if one.at not in seen),
        )

    def until(self, end: float) -> Facts:
        """The part before `end`, as it was then."""
        if end >= self.end:
            return self
        walks = tuple(
            replace(
                walk,
                versions=tuple(one for one in walk.versions if one.published_at <= end),
                uses=tuple(
                    replace(use, ended=None) if use.ended is not None and use.ended > end else use
                    for use in walk.uses
                    if use.began <= end
                ),
            )
            for walk in self.walks
        )
        marks = tuple(mark for mark in self.marks if mark.at <= end)
        seconds = tuple(one for one in self.seconds if one.at <= end)
        return replace(self, end=end, is_live=False, walks=walks, marks=marks, seconds=seconds)


def to_json(facts: Facts) -> Json:
    return asdict(replace(facts, seconds=thinned(facts.seconds)))


def from_json(kept: Mapping[str, Any]) -> Facts:
    walks = tuple(
        Walk(
            one["table_id"],
            one["name"],
            tuple(Version(**version | {"moving": tuple(version["moving"])}) for version in one["versions"]),
            tuple(Use(**use) for use in one["uses"]),
            one.get("has_leases", True),
        )
        for one in kept["walks"]
    )
    return Facts(
        kept["start"],
        kept["end"],
        kept["is_live"],
        walks,
        tuple(Mark(**one) for one in kept["marks"]),
        tuple(Second(**one) for one in kept["seconds"]),
        tuple(Work(**one) for one in kept["works"]),
        kept.get("is_partial", False),
        kept.get("calm_since", 0.0),
    )


def thinned(seconds: Sequence[Second], most: int = SECONDS_MAX) -> tuple[Second, ...]:
    each = -(-len(seconds) // most) or 1
    return tuple(together(seconds[at : at + each]) for at in range(0, len(seconds), each))


def together(seconds: Sequence[Second]) -> Second:
    known = [value for value in (one.p50_ms for one in seconds) if value is not None]
    return Second(
        seconds[-1].at,
        round(fmean(one.statements_per_s for one in seconds), 1),
        round(fmean(known), 3) if known else None,
        max((one.p99_ms for one in seconds if one.p99_ms is not None), default=None),
    )
