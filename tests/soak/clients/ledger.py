"""The answers that one client got about rows that no other writes, held against what is found. A row is *certain* (the
last write was acknowledged or refused), or *in doubt*: its transaction's outcome is unknown. A doubt is one
transaction: all its rows as before, or all as after it; once seen after it, never before again (a commit on its way may
still arrive, so "before" proves nothing). A client never writes what is in doubt."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Row = tuple[Any, ...]
Image = dict[int, Row | None]
"""Rows by key; None: there is none."""


@dataclass(slots=True)
class Doubt:
    """One transaction of unknown outcome; `is_settled` once its effects were seen."""

    what: str
    before: Image
    after: Image
    is_settled: bool = False


@dataclass(slots=True)
class Ledger:
    """The rows of one client's range of keys."""

    name: str
    certain: dict[int, Row] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)

    @property
    def keys_in_doubt(self) -> set[int]:
        return {key for doubt in self.doubts for key in doubt.after}

    def acknowledge(self, after: Image) -> None:
        """The transaction took effect."""
        for key, row in after.items():
            if row is None:
                self.certain.pop(key, None)
            else:
                self.certain[key] = row

    def doubt(self, what: str, after: Image) -> None:
        """Nobody knows whether the transaction took effect: its rows are left alone from now on."""
        before = {key: self.certain.pop(key, None) for key in after}
        self.doubts.append(Doubt(what, before, dict(after)))

    def faults(self, found: Mapping[int, Row]) -> list[str]:
        """All that contradicts the ledger in all rows of the range, found at one moment."""
        in_doubt = self.keys_in_doubt
        faults = [
            f"{self.name}: row {key} was acknowledged as {row}, found {found.get(key)}"
            for key, row in self.certain.items()
            if found.get(key) != row
        ]
        strangers = sorted(key for key in found if key not in self.certain and key not in in_doubt)
        faults += [f"{self.name}: row {key} was refused or deleted, found {found[key]}" for key in strangers]
        return faults + [fault for doubt in self.doubts for fault in self._faults_of(doubt, found)]

    def _faults_of(self, doubt: Doubt, found: Mapping[int, Row]) -> list[str]:
        now = {key: found.get(key) for key in doubt.after}
        if now == doubt.after:
            doubt.is_settled = doubt.is_settled or doubt.before != doubt.after
            return []
        if now == doubt.before and not doubt.is_settled:
            return []
        vanished = "its effects were seen and are gone" if doubt.is_settled else "neither before nor after"
        return [
            f"{self.name}: transaction of unknown outcome ({doubt.what}), {vanished}:"
            f" before {doubt.before}, after {doubt.after}, found {now}"
        ]
