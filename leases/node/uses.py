"""Uses of versions within this process: all users of one version share one reference of the machine. A step of the
machine copies its state, and statements are a thousand times as frequent as news; so uses change in place. An idle use
keeps its reference until the machine hears anything else (L4)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from catalog.descriptor import Descriptor
from catalog.elements import TableId
from leases.node.holdings import Holding, NodeLeases, Phase
from leases.node.vocabulary import RequestId


@dataclass(frozen=True, slots=True)
class Schema:
    descriptor: Descriptor
    schema_hash: str
    sharding_hash: str


@dataclass(slots=True, eq=False)
class Pin:
    """One transaction's use of one version. `expires_at` (database) and `deadline` (monotonic) are of the moment of
    pinning; `expires_at_now` follows renewals. `ended_because`: its work may not be acknowledged any more."""

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
        return self.use.expires_at if self.use.held.is_leased else self.expires_at

    @property
    def is_leased(self) -> bool:
        """False: only a storage's check limits it."""
        return self.use.held.is_leased


@dataclass(slots=True, eq=False)
class Use:
    """The machine's reference `request`, shared by `pins`."""

    request: RequestId
    table: TableId
    version: int
    schema: Schema
    held: Holding
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

    def learn(self, held: Holding) -> None:
        if held is not self.held:
            self.held, self.expires_at = held, moment(held.expires_at)


class Uses:
    """All uses of a node; new users join the current one, of the newest version."""

    def __init__(self) -> None:
        self._by_request: dict[RequestId, Use] = {}
        self._current: dict[TableId, Use] = {}

    def join(self, table: TableId, now: float) -> Pin | None:
        """A pin on the table's current version; None: ask the machine."""
        use = self._current.get(table)
        return use.pin(now) if use is not None and now < use.held.stop_at else None

    def begin(self, request: RequestId, table: TableId, held: Holding, schema: Schema, now: float) -> Pin:
        """The first pin of a version granted to `request`."""
        use = Use(request, table, held.version, schema, held, moment(held.expires_at))
        self._by_request[request] = use
        self._current[table] = use
        return use.pin(now)

    def of_version(self, table: TableId, version: int) -> Use | None:
        return next((u for u in self._by_request.values() if u.table == table and u.version == version), None)

    def leave(self, pin: Pin) -> RequestId | None:
        """Ends a pin. Returns the reference to give back, if any."""
        use = pin.use
        use.pins.discard(pin)
        if use.pins or self._current.get(use.table) is use or use.request not in self._by_request:
            return None
        del self._by_request[use.request]
        return use.request

    def take_idle(self) -> list[Use]:
        """Forgets uses without users, and returns their references to give back."""
        idle = [use for use in self._by_request.values() if not use.pins]
        for use in idle:
            self._forget(use)
        return idle

    def end(self, requests: Iterable[RequestId]) -> list[Pin]:
        ended = [self._by_request[request] for request in requests if request in self._by_request]
        for use in ended:
            self._forget(use)
        return [pin for use in ended for pin in use.pins]

    def end_all(self) -> list[Pin]:
        return self.end(tuple(self._by_request))

    def learn(self, state: NodeLeases) -> None:
        """After a step of the machine: new times and current uses."""
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
    """A time of the database, exact to the microsecond."""
    return datetime.fromtimestamp(at, UTC)
