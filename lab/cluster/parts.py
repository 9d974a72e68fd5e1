"""Nodes, transactions and messages of a cluster in memory, as values."""

from dataclasses import dataclass, field

from catalog.elements import NodeId, TableId
from leases.node import vocabulary
from leases.node.holdings import NodeLeases
from storage.store import MemoryTransaction, TransactionStatus


@dataclass(frozen=True, slots=True)
class Message:
    node: NodeId
    content: vocabulary.Effect | vocabulary.Event

    @property
    def is_request(self) -> bool:
        return isinstance(self.content, vocabulary.Acquire | vocabulary.Renew | vocabulary.Release)


@dataclass
class Transaction:
    """A transaction of `actor`; its snapshot shows the versions `newest`. `ended`: why it was ended from outside. A
    table is pinned first and `entered` a round trip later: only then the lock is held and the deadline armed (T2).
    `is_sent`: COMMIT was sent, and not answered yet; `is_lost`: its session was lost since. `query`: the table, and the
    index, of a query that reads on; `is_alone`: it is the whole transaction. `expired`: why no statement begins in it
    any more while the query reads on (T4)."""

    actor: str
    node: NodeId
    store: MemoryTransaction
    newest: dict[TableId, int]
    pins: dict[TableId, tuple[int, int]] = field(default_factory=dict)
    entered: dict[TableId, int] = field(default_factory=dict)
    ended: str | None = None
    until: dict[TableId, float] = field(default_factory=dict)
    """The end of its time with a version that is not leased; nothing extends it."""
    is_sent: bool = False
    is_lost: bool = False
    query: tuple[TableId, str | None] | None = None
    is_alone: bool = False
    expired: str | None = None

    @property
    def is_reading(self) -> bool:
        """Until its first write it has no deadline: its lock bounds it (T4)."""
        return not self.store.ops

    @property
    def is_committing(self) -> bool:
        return self.store.status is TransactionStatus.FLUSHING

    @property
    def holds_locks(self) -> bool:
        return self.store.status in (TransactionStatus.OPEN, TransactionStatus.FLUSHING)

    def uses(self, table: TableId, version: int) -> bool:
        return table in self.pins and self.pins[table][1] == version


@dataclass
class Node:
    """A process with its own clock. `taken` are the pins that a script holds without a transaction."""

    name: NodeId
    leases: NodeLeases
    is_running: bool = True
    is_frozen: bool = False
    is_cut_off: bool = False
    holds_messages: bool = False
    clock_ahead_s: float = 0.0
    taken: dict[TableId, list[int]] = field(default_factory=dict)
