"""Events and effects of a node's lease machine.

Events go in, effects come out (`leases.node.machine.step`). The shell gives the machine one
answer for every request it was told to make, whatever happens to the connection:

    effect            answered by
    Acquire           Acquired | AcquireFailed
    Renew             Renewed | RenewFailed
    Release           Released | ReleaseFailed

`Grant` and `Refuse` answer a caller's `Pin`. `now` is always the node's monotonic
clock; `expires_at` is the database's and is only carried (to `enter`), never compared.
"""

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
    """A transaction wants to use `table`; `fresh` when a lease of before this call is not good enough (L3).

    `at_most` is the newest version in its snapshot, if it has one: an older one that is still leased serves it (T3).
    """

    request: RequestId
    table: TableId
    fresh: bool = False
    at_most: int | None = None


@dataclass(frozen=True, slots=True)
class Unpin:
    """The caller is done with the table, or stopped waiting for it. An unknown request is no mistake: it was ended."""

    request: RequestId
    table: TableId


@dataclass(frozen=True, slots=True)
class Drain:
    """Take no new leases, release idle ones at once and used ones on last release (L10)."""


@dataclass(frozen=True, slots=True)
class Undrain:
    """Serve again."""


# Events: answers of the database


@dataclass(frozen=True, slots=True)
class Acquired:
    """The database granted `version` until `expires_at`, which is `remaining_s` from when it answered.

    `name` is what the table is called in this version. Without a lease (`coordination = 'hash'`) the version may be
    used until a storage refuses it, and the span is that of a transaction which begins now.
    """

    table: TableId
    version: int
    expires_at: float
    remaining_s: float
    name: str
    is_leased: bool = True


@dataclass(frozen=True, slots=True)
class AcquireFailed:
    """No lease: the table is `gone` (absent, dropped: no retry helps), or the database could not be asked."""

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
    """One table's outcome. `version` is the newest there is (0: none): also news. The rest counts if renewed."""

    table: TableId
    version: int
    outcome: Renewal
    expires_at: float = 0.0
    remaining_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Renewed:
    """The answer to `Renew`: one outcome for each table asked for."""

    outcomes: tuple[RenewOutcome, ...]


@dataclass(frozen=True, slots=True)
class RenewFailed:
    """The database could not be asked."""

    reason: str


@dataclass(frozen=True, slots=True)
class Released:
    """The row has been deleted."""

    table: TableId
    version: int


@dataclass(frozen=True, slots=True)
class ReleaseFailed:
    """The row could not be removed; it is tried again a few times and else runs out."""

    table: TableId
    version: int
    reason: str


# Events: others


@dataclass(frozen=True, slots=True)
class Revoked:
    """An operator took the lease away."""

    table: TableId
    version: int


@dataclass(frozen=True, slots=True)
class Recheck:
    """Something was done to this node's leases: renew now and see what is left."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: `WakeAt` is due."""


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
    """Ask the database for a lease on the newest version."""

    table: TableId


@dataclass(frozen=True, slots=True)
class Release:
    """Give the lease back."""

    table: TableId
    version: int


@dataclass(frozen=True, slots=True)
class Renew:
    """Extend the leases on these tables, in one statement."""

    tables: tuple[TableId, ...]


@dataclass(frozen=True, slots=True)
class Grant:
    """The caller may use `version`; whoever leaves meanwhile still sends `Unpin`."""

    request: RequestId
    table: TableId
    version: int


class Why(Enum):
    """The kinds of refusal."""

    GONE = "there is no such table"
    UNREACHABLE = "the lease could not be acquired"
    DRAINING = "the node is draining"
    STOPPED = "the node has stopped serving"


@dataclass(frozen=True, slots=True)
class Refuse:
    """The caller gets no lease, and the reason."""

    request: RequestId
    table: TableId
    why: Why
    reason: str


@dataclass(frozen=True, slots=True)
class EndTransactions:
    """End all that still use `version`: nothing they do may be acknowledged any more."""

    table: TableId
    version: int
    requests: frozenset[RequestId]
    reason: str


@dataclass(frozen=True, slots=True)
class Exit:
    """Stop the process with the code that tells the supervisor "my lease ran out" (L10)."""

    reason: str


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send `Tick` at this time; replaces every earlier one. None: no need."""

    at: float | None


@dataclass(frozen=True, slots=True)
class DrainDone:
    """Nothing is leased any more."""


Effect = Acquire | Release | Renew | Grant | Refuse | EndTransactions | Exit | WakeAt | DrainDone
