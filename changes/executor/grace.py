"""The time that a transaction may outlive the leases of its version before its session is ended (L8;
`leases.rules.grace_s`). Each table has its own clock, which starts when only a lock blocks and is reset when that ends
or a lease blocks again: a lease on one table does not protect transactions on another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Wait(NamedTuple):
    """Table `table` is held without a lease since `since`, for at most `grace_s` seconds."""

    table: int
    since: float
    grace_s: float

    def left_s(self, at: float) -> float:
        return self.since + self.grace_s - at


@dataclass(frozen=True, slots=True)
class Grace:
    """Tables held without a lease, and since when, on any steady clock."""

    waits: tuple[Wait, ...] = ()

    def seen(self, held: Mapping[int, float], at: float) -> Grace:
        """The grace after a look that finds these tables held, each with its seconds."""
        known = {wait.table: wait.since for wait in self.waits}
        return Grace(tuple(Wait(table, known.get(table, at), held[table]) for table in sorted(held)))

    def over(self, at: float) -> tuple[int, ...]:
        return tuple(wait.table for wait in self.waits if at - wait.since >= wait.grace_s)

    def anew(self, tables: Collection[int]) -> Grace:
        return Grace(tuple(wait for wait in self.waits if wait.table not in tables))

    def starts(self, before: Grace) -> bool:
        return not {wait.table for wait in self.waits} <= {wait.table for wait in before.waits}

    def left_s(self, at: float) -> Iterator[float]:
        return (wait.left_s(at) for wait in self.waits)
