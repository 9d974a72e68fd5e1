"""The state of `leases.node.machine`, as frozen values. Times are the node's monotonic clock, except `expires_at`."""

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf
from operator import itemgetter

from catalog.elements import NodeId, TableId
from leases import rules
from leases.gossip import is_news
from leases.node.vocabulary import Effect, EndTransactions, RequestId

RETRY_S = 0.2
"""A failed acquisition for news, renewal or release is tried again after this long."""

TRIES_MAX = 5
"""An acquisition for news and a release are tried so often; then the older lease expires."""


class Phase(Enum):
    SERVING = "serving"
    DRAINING = "draining"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Holding:
    """A lease on `version` of table `name`, used by the requests in `pins`. Or the version without a lease, which never
    expires: its times are those of a transaction that begins at `asked_at`."""

    name: str
    version: int
    expires_at: float
    renew_at: float
    stop_at: float
    deadline: float
    asked_at: float = 0.0
    is_leased: bool = True
    pins: frozenset[RequestId] = frozenset()

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def references(self) -> int:
        return len(self.pins)

    @property
    def is_idle(self) -> bool:
        return not self.pins

    def span_at(self, now: float) -> tuple[float, float]:
        """The end of a transaction that begins now, by the database's clock and the node's."""
        later_s = 0.0 if self.is_leased else now - self.asked_at
        return self.expires_at + later_s, self.deadline + later_s


@dataclass(frozen=True, slots=True)
class Waiter:
    """A caller without a version. `needs_next`: it wants the freshest, and came after the acquisition began."""

    request: RequestId
    needs_next: bool


@dataclass(frozen=True, slots=True)
class Acquisition:
    """An acquisition of `asked_at`, when `heard` was the highest version known."""

    asked_at: float
    heard: int


@dataclass(frozen=True, slots=True)
class Leaving:
    """A version being released: asked `tries` times, again at `again_at` (None: unanswered)."""

    version: int
    tries: int = 1
    again_at: float | None = None


@dataclass(frozen=True, slots=True)
class TableLeases:
    """One table. `heard` is the highest version known; after `failures` in a row it looks again at `look_at`."""

    held: tuple[Holding, ...] = ()
    heard: int = 0
    waiters: tuple[Waiter, ...] = ()
    acquisition: Acquisition | None = None
    leaving: tuple[Leaving, ...] = ()
    failures: int = 0
    look_at: float = 0.0
    quiet_until: float = field(init=False, repr=False, compare=False)
    """The end of the one lease, before which a serving node has no upkeep here; -inf: it may have."""
    renew_at: float = field(init=False, repr=False, compare=False)
    """When the newest version is to be renewed; inf: it is not."""

    def __post_init__(self) -> None:
        newest, is_behind = self.newest, self.is_behind
        is_quiet = len(self.held) == 1 and not (is_behind or self.waiters or self.acquisition or self.leaving)
        renewed = newest if newest is not None and newest.is_leased and not is_behind else None
        object.__setattr__(self, "quiet_until", self.held[0].stop_at if is_quiet else -inf)
        object.__setattr__(self, "renew_at", inf if renewed is None else renewed.renew_at)

    @property
    def newest(self) -> Holding | None:
        return self.held[-1] if self.held else None

    @property
    def newest_version(self) -> int:
        return self.held[-1].version if self.held else 0

    @property
    def is_behind(self) -> bool:
        return bool(self.held) and is_news(self.newest_version, self.heard)

    @property
    def looks_for_news(self) -> bool:
        return self.is_behind and self.acquisition is None and self.failures < TRIES_MAX

    @property
    def has_given_up(self) -> bool:
        """Behind for good: the table is dropped, or the database does not answer."""
        return self.is_behind and self.acquisition is None and self.failures >= TRIES_MAX

    @property
    def is_releasing_newest(self) -> bool:
        return any(one.version > self.newest_version for one in self.leaving)

    @property
    def is_forgotten(self) -> bool:
        return not (self.held or self.waiters or self.acquisition or self.leaving)

    def version(self, number: int) -> Holding | None:
        return next((held for held in self.held if held.version == number), None)


@dataclass(frozen=True, slots=True)
class NodeLeases:
    """The whole state, tables sorted by id. `renewing`: the newest versions of a running renewal."""

    node: NodeId
    incarnation: int = 1
    phase: Phase = Phase.SERVING
    tables: tuple[tuple[TableId, TableLeases], ...] = ()
    renewing: tuple[tuple[TableId, int], ...] = ()
    renew_asked_at: float = 0.0
    renew_again_at: float | None = None
    wake_at: float | None = None

    def table(self, table: TableId) -> TableLeases:
        place = _place(self, table)
        return self.tables[place][1] if _is_at(self, place, table) else TableLeases()

    @property
    def is_drained(self) -> bool:
        return self.phase is Phase.DRAINING and not self.tables


Step = tuple[NodeLeases, tuple[Effect, ...]]
TableStep = tuple[TableLeases, tuple[Effect, ...]]


def edit(state: NodeLeases, table: TableId, change: TableStep) -> Step:
    leases, effects = change
    place = _place(state, table)
    before, after = state.tables[:place], state.tables[place + _is_at(state, place, table) :]
    edited = () if leases.is_forgotten else ((table, leases),)
    return replace(state, tables=(*before, *edited, *after)), effects


def _place(state: NodeLeases, table: TableId) -> int:
    return bisect_left(state.tables, table, key=itemgetter(0))


def _is_at(state: NodeLeases, place: int, table: TableId) -> bool:
    return place < len(state.tables) and state.tables[place][0] == table


def hold(
    leases: TableLeases,
    *,
    name: str,
    version: int,
    asked_at: float,
    expires_at: float,
    remaining_s: float,
    is_leased: bool = True,
) -> TableLeases:
    """With a lease on `version` for at least as long as this answer says."""
    deadline = rules.local_deadline(asked_at=asked_at, remaining_s=remaining_s)
    new = Holding(
        name=name,
        version=version,
        expires_at=expires_at,
        renew_at=rules.renew_at(asked_at=asked_at, deadline=deadline) if is_leased else inf,
        stop_at=rules.stop_at(asked_at=asked_at, deadline=deadline) if is_leased else inf,
        deadline=deadline,
        asked_at=asked_at,
        is_leased=is_leased,
    )
    old = leases.version(version)
    if old is not None:
        new = replace(new if new.deadline >= old.deadline else old, pins=old.pins)
    others = (one for one in leases.held if one.version != version)
    return replace(leases, held=tuple(sorted((*others, new), key=lambda one: one.version)))


def end(leases: TableLeases, version: int, table: TableId, reason: str) -> TableStep:
    """Forgets a lease; its users must end."""
    held = leases.version(version)
    if held is None:
        return leases, ()
    without = replace(leases, held=tuple(one for one in leases.held if one is not held))
    return without, () if held.is_idle else (EndTransactions(table, version, held.pins, reason),)


def describe(leases: TableLeases) -> str:
    held = ", ".join(f"version {one.version} ({one.references} references)" for one in leases.held) or "nothing"
    leaving = ", ".join(f"version {one.version}" for one in leases.leaving) or "nothing"
    asked = "an acquisition is" if leases.acquisition else "no acquisition is"
    return f"held: {held}; being released: {leaving}; {asked} under way"
