"""Events and effects of a node's lease machine. Each request (Acquire, Renew, Release) has exactly one answer. `Grant`
and `Refuse` answer a caller's `Pin`. `now` is the node's monotonic clock; `expires_at` is the database's, carried to
`enter` and never compared."""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum

from catalog.elements import TableId
from leases.gossip import News

RequestId = Hashable
"""Names one caller's use of one table, from `Pin` to `Unpin`; the shell never uses one twice."""


# Events: from callers


@dataclass(frozen=True, slots=True)
class Pin:
    """A transaction wants `table`. `fresh`: by a lease that begins after this call (L3); `at_most`: its snapshot's
    newest version, which an older leased one serves (T3)."""

    request: RequestId
    table: TableId
    fresh: bool = False
    at_most: int | None = None


@dataclass(frozen=True, slots=True)
class Unpin:
    """The caller is done, or stopped waiting. An unknown request was ended."""

    request: RequestId
    table: TableId


@dataclass(frozen=True, slots=True)
class Drain:
    """Take no new leases; release others once idle (L10)."""


@dataclass(frozen=True, slots=True)
class Undrain:
    """Serve again."""


# Events: answers of the database


@dataclass(frozen=True, slots=True)
class Acquired:
    """The database granted `version` until `expires_at`, `remaining_s` from its answer. Without a lease (`coordination
    = 'hash'`) the span is that of a transaction."""

    table: TableId
    version: int
    expires_at: float
    remaining_s: float
    name: str
    is_leased: bool = True


@dataclass(frozen=True, slots=True)
class AcquireFailed:
    """No lease: the table is `gone` (absent or dropped), or the database did not answer."""

    table: TableId
    reason: str
    gone: bool = False


class Renewal(Enum):
    """The outcome of a renewal for one table's lease (L5)."""

    RENEWED = "renewed"
    SKIPPED = "skipped"
    """The table's row was locked: ask again within 50 ms."""
    LOST = "lost"
    """This node has no live lease on the newest version: it was taken away, or there is a newer version."""


@dataclass(frozen=True, slots=True)
class RenewOutcome:
    """One table's outcome. `version` is the newest (0: none), also news. The rest counts if renewed."""

    table: TableId
    version: int
    outcome: Renewal
    expires_at: float = 0.0
    remaining_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Renewed:
    outcomes: tuple[RenewOutcome, ...]


@dataclass(frozen=True, slots=True)
class RenewFailed:
    reason: str


@dataclass(frozen=True, slots=True)
class Released:
    table: TableId
    version: int


@dataclass(frozen=True, slots=True)
class ReleaseFailed:
    """The row could not be removed; retried a few times, then it expires."""

    table: TableId
    version: int
    reason: str


# Events: others


@dataclass(frozen=True, slots=True)
class Revoked:
    table: TableId
    version: int


@dataclass(frozen=True, slots=True)
class Recheck:
    """Something was done to this node's leases: renew now."""


@dataclass(frozen=True, slots=True)
class Tick:
    """`WakeAt` is due."""


Event = (
    Pin
    | Unpin
    | Acquired
    | AcquireFailed
    | News
    | Renewed
    | RenewFailed
    | Released
    | ReleaseFailed
    | Revoked
    | Recheck
    | Tick
    | Drain
    | Undrain
)


# Effects


@dataclass(frozen=True, slots=True)
class Acquire:
    table: TableId


@dataclass(frozen=True, slots=True)
class Release:
    table: TableId
    version: int


@dataclass(frozen=True, slots=True)
class Renew:
    tables: tuple[TableId, ...]


@dataclass(frozen=True, slots=True)
class Grant:
    """The caller may use `version`, and must send `Unpin`."""

    request: RequestId
    table: TableId
    version: int


class Why(Enum):
    GONE = "there is no such table"
    UNREACHABLE = "the lease could not be acquired"
    DRAINING = "the node is draining"
    STOPPED = "the node has stopped serving"


@dataclass(frozen=True, slots=True)
class Refuse:
    request: RequestId
    table: TableId
    why: Why
    reason: str


@dataclass(frozen=True, slots=True)
class EndTransactions:
    """End all that use `version`: their work may not be acknowledged."""

    table: TableId
    version: int
    requests: frozenset[RequestId]
    reason: str


@dataclass(frozen=True, slots=True)
class Exit:
    """Stop the process with the exit code of a lost lease (L10)."""

    reason: str


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send `Tick` at this time (None: never); replaces earlier ones."""

    at: float | None


@dataclass(frozen=True, slots=True)
class DrainDone:
    """Nothing is leased any more."""


Effect = Acquire | Release | Renew | Grant | Refuse | EndTransactions | Exit | WakeAt | DrainDone
