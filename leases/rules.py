"""Rules of leases: a node may use a version of a table until a moment, and at most two versions are leased (L2).

So publishing v4 waits for the leases on v2. A lease ends when its node releases it, or at `expires_at` by the
database's clock. A node counts the same span on its own monotonic clock from before it asked (L1), so it never believes
in a lease longer than the database does.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from math import inf

from catalog.elements import Coordination, NodeId, State, TableId

RENEW_AFTER_SHARE = 0.5
"""A lease is renewed when this share of it is over: well before expiry (L5)."""

STOP_BEFORE_SHARE = 0.05
STOP_BEFORE_S_MAX = 1.0
"""A node stops serving this long before its lease ends (L10): a share of the lease, or this many seconds."""


class LeaseError(Exception):
    """A table cannot be leased, or a lease is of no use."""


class NotLeasable(LeaseError):
    """No statement may use a table in this state (L13)."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Node `node` may use `version` of `table` until `expires_at` (seconds, database clock)."""

    table: TableId
    version: int
    node: NodeId
    incarnation: int
    expires_at: float

    def is_live(self, now: float) -> bool:
        return self.expires_at > now


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why a publish or a drain must wait: live `leases`, and versions whose lock is `locked` (L7, L9)."""

    leases: tuple[Lease, ...]
    locked: tuple[int, ...] = ()

    @property
    def until(self) -> float | None:
        return max((lease.expires_at for lease in self.leases), default=None)

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        return tuple(sorted({lease.node for lease in self.leases}))


class Refusal(Enum):
    BELOW_FENCE = "it is older than the oldest version accepted"
    NOT_VISIBLE = "it is not in the transaction's snapshot"
    OTHER_SCHEMA = "its hash is not the one the storage knows"
    LEASE_OVER = "its lease ends in less than a millisecond"


ENTER_S_MIN = 0.001
"""A lease that ends sooner lets nothing begin (T4)."""


def live_leases(leases: Iterable[Lease], *, table: TableId, now: float) -> list[Lease]:
    live = (lease for lease in leases if lease.table == table and lease.is_live(now))
    return sorted(live, key=lambda lease: (lease.version, lease.node, lease.incarnation))


def versions_in_use(leases: Iterable[Lease], *, table: TableId, now: float) -> tuple[int, ...]:
    return tuple(sorted({lease.version for lease in live_leases(leases, table=table, now=now)}))


def outside_two_versions(leases: Iterable[Lease], *, table: TableId, newest: int, now: float) -> list[Lease]:
    """Live leases on neither of the two newest versions, which breaks L2."""
    live = live_leases(leases, table=table, now=now)
    return [lease for lease in live if lease.version not in (newest, newest - 1)]


def is_in_the_way(version: int, *, newest: int) -> bool:
    """True if leases on `version` block publishing after `newest`, or draining at it."""
    return version < newest


def blockers(leases: Iterable[Lease], *, table: TableId, next_version: int, now: float) -> list[Lease]:
    """The live leases that forbid publishing `next_version`: all older than its predecessor."""
    live = live_leases(leases, table=table, now=now)
    return [lease for lease in live if is_in_the_way(lease.version, newest=next_version - 1)]


def publish_hindrance(
    leases: Iterable[Lease], *, table: TableId, next_version: int, now: float, locked: Collection[int] = ()
) -> Hindrance | None:
    """The hindrance to publishing `next_version` (L7): leases and locks below its predecessor. `locked` are versions
    whose advisory lock running transactions hold."""
    leased = tuple(blockers(leases, table=table, next_version=next_version, now=now))
    held = tuple(sorted(version for version in locked if version == next_version - 2))
    return Hindrance(leased, held) if leased or held else None


def drain_hindrance(
    leases: Iterable[Lease], *, table: TableId, version: int, now: float, locked: Collection[int] = ()
) -> Hindrance | None:
    """The hindrance to draining at `version` (L9): leases and locks of any older version."""
    live = live_leases(leases, table=table, now=now)
    leased = tuple(lease for lease in live if is_in_the_way(lease.version, newest=version))
    held = tuple(sorted(older for older in locked if older < version))
    return Hindrance(leased, held) if leased or held else None


def all_hindrances(found: Iterable[Hindrance | None]) -> Hindrance | None:
    """The hindrance of several tables: one blocks all (L11); None: nothing."""
    hindrances = [one for one in found if one is not None]
    if not hindrances:
        return None
    leases = tuple(lease for one in hindrances for lease in one.leases)
    return Hindrance(leases, tuple(sorted({version for one in hindrances for version in one.locked})))


def is_drained(
    leases: Iterable[Lease], *, table: TableId, version: int, now: float, locked: Collection[int] = ()
) -> bool:
    """True if no older version than `version` can be in use (L9)."""
    return drain_hindrance(leases, table=table, version=version, now=now, locked=locked) is None


def accepted_from(newest: int, coordination: Coordination) -> int:
    """The oldest version that storages accept once `newest` is published: the fence. With leases alone the two live
    versions. By hashes the newest: older requests are refused before they write, reload and retry; those in flight
    finish."""
    return newest if coordination.is_strict else max(newest - 1, 1)


GRACE_S = 1.0


def grace_s(coordination: Coordination, lease_s: float) -> float:
    """Seconds that a transaction may block a change without a live lease on its version (L8). With hashes alone it has
    the span of a lease, from its pin on."""
    return GRACE_S if coordination.has_leases else lease_s


def why_not_enter(
    version: int, *, fence: int | None, newest_visible: int, is_same_schema: bool = True, left_s: float = inf
) -> Refusal | None:
    """Why a transaction may not use `version` of a table now (T2, T3); None: it may. `fence` is the oldest accepted
    version, None without a storage; `newest_visible` the newest in its snapshot, 0: none."""
    if fence is not None and version < fence:
        return Refusal.BELOW_FENCE
    if fence is None or not 1 <= version <= newest_visible:
        return Refusal.NOT_VISIBLE
    if not is_same_schema:
        return Refusal.OTHER_SCHEMA
    return Refusal.LEASE_OVER if left_s < ENTER_S_MIN else None


def check_leasable(name: str, state: State, *, internal: bool = False) -> None:
    """A public table may be leased, a delete-only one for internal deletes (L13); raises `NotLeasable`."""
    if may_acquire(state, internal=internal):
        return
    if state is State.DELETE_ONLY:
        raise NotLeasable(
            f"table {name} is delete-only: it is being added or dropped, only its rows' removal may use it"
        )
    raise NotLeasable(f"table {name} is {state.value}: only a public table can be used")


def may_acquire(state: State, *, internal: bool = False) -> bool:
    return state is State.PUBLIC or (state is State.DELETE_ONLY and internal)


def local_deadline(*, asked_at: float, remaining_s: float) -> float:
    """A lease's end on the node's clock, counted from before it asked (L1)."""
    return asked_at + remaining_s


def renew_at(*, asked_at: float, deadline: float) -> float:
    return asked_at + (deadline - asked_at) * RENEW_AFTER_SHARE


def stop_at(*, asked_at: float, deadline: float) -> float:
    """When the node stops serving under an unrenewed lease (L10)."""
    return deadline - min((deadline - asked_at) * STOP_BEFORE_SHARE, STOP_BEFORE_S_MAX)
