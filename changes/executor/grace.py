"""The time that a transaction may outlive every lease of its version before its session is ended (L8).

    trips      leased . . . . held ─────── 1 s ──┤ ended
    airports   held ── 1 s ──┤ ended
    stops      held ─────────────── LEASE_S, without leases ──┤ ended

How long it is, `leases.rules.grace_s` says. Each table has a clock of its own: it starts when nothing but a lock is
in the way there, and is put back when that is over, or a lease is in the way again. So whoever leases one table does
not protect who holds back another. Whoever drives a change asks here after each attempt; after one that succeeds
nobody is in the way of any table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Wait(NamedTuple):
    """Table `table` is held without a lease since `since`, and may be for `grace_s` seconds."""

    table: int
    since: float
    grace_s: float

    def left_s(self, at: float) -> float:
        return self.since + self.grace_s - at


@dataclass(frozen=True, slots=True)
class Grace:
    """The tables that are held without a lease, and since when; one look is `at` its moment, any steady clock's."""

    waits: tuple[Wait, ...] = ()

    def seen(self, held: Mapping[int, float], at: float) -> Grace:
        """The grace after a look that finds these tables held by transactions alone, each with its seconds of grace."""
        known = {wait.table: wait.since for wait in self.waits}
        return Grace(tuple(Wait(table, known.get(table, at), held[table]) for table in sorted(held)))

    def over(self, at: float) -> tuple[int, ...]:
        """The tables whose holders have had their time."""
        return tuple(wait.table for wait in self.waits if at - wait.since >= wait.grace_s)

    def anew(self, tables: Collection[int]) -> Grace:
        """The same when the sessions on these tables have been ended: their time begins again with the next look."""
        return Grace(tuple(wait for wait in self.waits if wait.table not in tables))

    def starts(self, before: Grace) -> bool:
        """True when a table is held that was not."""
        return not {wait.table for wait in self.waits} <= {wait.table for wait in before.waits}

    def left_s(self, at: float) -> Iterator[float]:
        """Seconds that each of them still has."""
        return (wait.left_s(at) for wait in self.waits)
