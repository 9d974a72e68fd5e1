"""The order of leases for people: those that changes wait for, then older versions; of each the last to end is
first."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol, TypeVar

from leases.rules import is_in_the_way

Place = tuple[int, float, str, int, str, int]


class LiveLease(Protocol):
    @property
    def table_id(self) -> int: ...
    @property
    def table(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def newest(self) -> int: ...
    @property
    def node(self) -> str: ...
    @property
    def incarnation(self) -> int: ...
    @property
    def remaining_s(self) -> float: ...


Some = TypeVar("Some", bound=LiveLease)
LeaseKey = tuple[int, int, str]
"""What a change waits for: the table's id, the version, the node."""


def key(lease: LiveLease) -> LeaseKey:
    return lease.table_id, lease.version, lease.node


def deciding_first(leases: Iterable[Some], waited_for: Collection[LeaseKey] = ()) -> list[Some]:
    return sorted(leases, key=lambda lease: place(lease, is_waited_for=key(lease) in waited_for))


def place(lease: LiveLease, *, is_waited_for: bool = False) -> Place:
    is_old = is_in_the_way(lease.version, newest=lease.newest)
    rank = 0 if is_waited_for else 1 if is_old else 2
    return rank, -lease.remaining_s if rank < 2 else 0.0, lease.table, lease.version, lease.node, lease.incarnation
