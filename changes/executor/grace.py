"""The time that a transaction may outlive every lease of its version before its session is ended (L8).

    trips      leased . . . . held ─────── 1 s ──┤ ended
    airports   held ── 1 s ──┤ ended

Each table has a clock of its own: it starts when nothing but a lock is in the way there, and is put back when that is
over, or a lease is in the way again. So whoever leases one table does not protect who holds back another. Whoever
drives a change asks here after each attempt; after one that succeeds nobody is in the way of any table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

GRACE_S = 1.0


@dataclass(frozen=True, slots=True)
class Grace:
    """The tables that are held without a lease, and since when; one look is `at` its moment, any steady clock's."""

    since: tuple[tuple[int, float], ...] = ()

    def seen(self, held: Collection[int], at: float) -> Grace:
        """The grace after a look that finds these tables `held` by transactions alone."""
        known = dict(self.since)
        return Grace(tuple((table, known.get(table, at)) for table in sorted(held)))

    def over(self, at: float) -> tuple[int, ...]:
        """The tables whose holders have had their time."""
        return tuple(table for table, since in self.since if at - since >= GRACE_S)

    def anew(self, tables: Collection[int]) -> Grace:
        """The same when the sessions on these tables have been ended: their time begins again with the next look."""
        return Grace(tuple((table, since) for table, since in self.since if table not in tables))

    def starts(self, before: Grace) -> bool:
        """True when a table is held that was not."""
        return not {table for table, _ in self.since} <= {table for table, _ in before.since}

    def left_s(self, at: float) -> Iterator[float]:
        """Seconds that each of them still has."""
        return (since + GRACE_S - at for _, since in self.since)
