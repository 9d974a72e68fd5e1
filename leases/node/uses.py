"""Uses of versions within this process: the cheap half of a pin.

The machine counts references, and a step of it copies what it knows. Statements come a thousand times
as often as news, so all users of one version share one reference of the machine's:

    pin, unpin, pin, ..  -->  Use of users v7  -- one Pin, one Unpin -->  machine

A use that is idle keeps its reference only until the machine is to hear anything else. Then it is given
back first, so that the machine decides on true references (L4). An older version's goes with its last
user. Unlike the machine's state, uses change in place: that is what makes them cheap.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from catalog.descriptor import Descriptor
from catalog.elements import TableId
from leases.node.holdings import Held, NodeLeases, Phase
from leases.node.vocabulary import RequestId


@dataclass(frozen=True, slots=True)
class Schema:
    """One version of a table as the database keeps it."""

    descriptor: Descriptor
    schema_hash: str
    sharding_hash: str


@dataclass(slots=True, eq=False)
class Pin:
    """One transaction's use of one version, from `pin` to `unpin`.

    `expires_at` (database time) and `deadline` (monotonic) are those of the moment it was pinned; a renewal moves
    them on, see `expires_at_now`, and without a lease nothing does. `ended_because` is set when nothing it does may be
    acknowledged any more.
    """

    use: "Use"
    expires_at: datetime
    deadline: float
    ended_because: str | None = None

    @property
    def table_id(self) -> TableId:
        return self.use.table

    @property
    def version(self) -> int:
        return self.use.version

    @property
    def descriptor(self) -> Descriptor:
        return self.use.schema.descriptor

    @property
    def schema_hash(self) -> str:
        return self.use.schema.schema_hash

    @property
    def sharding_hash(self) -> str:
        return self.use.schema.sharding_hash

    @property
    def expires_at_now(self) -> datetime:
        """Until when it may run, renewals included (database time)."""
        return self.use.expires_at if self.use.held.is_leased else self.expires_at

    @property
    def is_leased(self) -> bool:
        """False: nothing but a storage's check says whether the version is still accepted."""
        return self.use.held.is_leased


@dataclass(slots=True, eq=False)
class Use:
    """The machine's reference `request`, shared by `pins`."""

    request: RequestId
    table: TableId
    version: int
    schema: Schema
    held: Held
    expires_at: datetime
    pins: set[Pin] = field(default_factory=set)

    def pin(self, now: float) -> Pin:
        if self.held.is_leased:
            pin = Pin(self, self.expires_at, self.held.deadline)
        else:
            expires_at, deadline = self.held.span_at(now)
            pin = Pin(self, moment(expires_at), deadline)
        self.pins.add(pin)
        return pin

    def learn(self, held: Held) -> None:
        """The lease as the machine knows it now."""
        if held is not self.held:
            self.held, self.expires_at = held, moment(held.expires_at)


class Uses:
    """All uses of a node; of each table the newest version's is current: the one that new users join."""

    def __init__(self) -> None:
        self._by_request: dict[RequestId, Use] = {}
        self._current: dict[TableId, Use] = {}

    def join(self, table: TableId, now: float) -> Pin | None:
        """A pin on the table's current version; None: the machine has to be asked."""
        use = self._current.get(table)
        return use.pin(now) if use is not None and now < use.held.stop_at else None

    def begin(self, request: RequestId, table: TableId, held: Held, schema: Schema, now: float) -> Pin:
        """The first pin of a version that the machine granted to `request`."""
        use = Use(request, table, held.version, schema, held, moment(held.expires_at))
        self._by_request[request] = use
        self._current[table] = use
        return use.pin(now)

    def of_version(self, table: TableId, version: int) -> Use | None:
        return next((u for u in self._by_request.values() if u.table == table and u.version == version), None)

    def leave(self, pin: Pin) -> RequestId | None:
        """The transaction is over. The reference that is to be given back now, if any."""
        use = pin.use
        use.pins.discard(pin)
        if use.pins or self._current.get(use.table) is use or use.request not in self._by_request:
            return None
        del self._by_request[use.request]
        return use.request

    def take_idle(self) -> list[Use]:
        """The uses without a user; they are forgotten, and their references are to be given back."""
        idle = [use for use in self._by_request.values() if not use.pins]
        for use in idle:
            self._forget(use)
        return idle

    def end(self, requests: Iterable[RequestId]) -> list[Pin]:
        """These references have been released, whoever used them."""
        ended = [self._by_request[request] for request in requests if request in self._by_request]
        for use in ended:
            self._forget(use)
        return [pin for use in ended for pin in use.pins]

    def end_all(self) -> list[Pin]:
        return self.end(tuple(self._by_request))

    def learn(self, state: NodeLeases) -> None:
        """After a step of the machine: new times, and which uses are still current."""
        tables = dict(state.tables)
        for use in self._by_request.values():
            held = tables[use.table].version(use.version) if use.table in tables else None
            if held is not None:
                use.learn(held)
        serving = state.phase is Phase.SERVING
        self._current = {
            table: use
            for table, use in self._current.items()
            if serving and table in tables and tables[table].newest_version == use.version
        }

    def _forget(self, use: Use) -> None:
        del self._by_request[use.request]
        if self._current.get(use.table) is use:
            del self._current[use.table]


def moment(at: float) -> datetime:
    """A time of the database's, exact to the microsecond."""
    return datetime.fromtimestamp(at, UTC)
