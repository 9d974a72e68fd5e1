"""A whole cluster as one deterministic value: nodes, their database, the store, the messages between them, a clock.
Nothing happens by itself: a caller delivers a message, passes time, runs a statement."""

import copy
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from catalog.descriptor import Descriptor
from catalog.elements import NodeId, TableId
from catalog.text.sentence import Sentence
from lab.cluster.control_plane import Control, Hindrances, LabError, Without
from lab.cluster.database import answer, failure
from lab.cluster.lines import RENEWALS, clauses, names_of, versioned
from lab.cluster.parts import Message, Node, Transaction
from leases.gossip import News
from leases.node import machine, vocabulary
from leases.node.holdings import NodeLeases
from leases.rules import Hindrance
from storage.pairs import Pair
from storage.store import MemoryStore, TransactionStatus

DELIVERIES_MAX = 10_000
"""So many messages may follow from one event; more means that the cluster talks to itself."""

WAKINGS_MAX = 1_000
"""So often may nodes wake in one span of time; more means that one spins."""


@dataclass
class World:
    """`output`: the events since it was last read, in words. `by_hand`: runs go in single steps."""

    control: Control = field(default_factory=Control)
    store: MemoryStore = field(default_factory=MemoryStore)
    nodes: dict[NodeId, Node] = field(default_factory=dict)
    transactions: dict[str, Transaction] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    now: float = 0.0
    by_hand: bool = False
    loses_news: bool = False
    untidy: set[str] = field(default_factory=set)
    granted: dict[int, int] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    requests: int = 0
    output: list[str] = field(default_factory=list)

    def copy(self) -> "World":
        return copy.deepcopy(self)

    def say(self, line: str) -> None:
        self.output.append(line)

    def table_name(self, table: TableId, version: int) -> Sentence:
        return versioned(self.control.newest(table).name, version)

    # Nodes

    def node(self, name: str) -> Node:
        """A new name makes a node."""
        node_id = NodeId(name)
        if node_id not in self.nodes:
            self.start_node(node_id)
        return self.nodes[node_id]

    def start_node(self, name: NodeId) -> None:
        incarnation = self.control.start_node(name)
        self.messages = [message for message in self.messages if message.node != name]
        self._drop_transactions(name)
        ahead_s = self.nodes[name].clock_ahead_s if name in self.nodes else 0.0
        self.nodes[name] = Node(name, NodeLeases(name, incarnation), clock_ahead_s=ahead_s)

    def stop_node(self, name: NodeId) -> None:
        """The process has ended, its sessions with it; its leases run on until they expire."""
        node = self.nodes[name]
        node.is_running, node.taken = False, {}
        self.messages = [message for message in self.messages if message.node != name]
        self._drop_transactions(name)

    def _drop_transactions(self, name: NodeId) -> None:
        for one in self.transactions.values():
            if one.node == name:
                self.end_transaction(one, Sentence("its node has ended"))
        self.transactions = {actor: one for actor, one in self.transactions.items() if one.node != name}

    def hears(self, name: NodeId, event: vocabulary.Event) -> None:
        node = self.nodes[name]
        node.leases, effects = machine.step(node.leases, event, self._clock(node))
        for effect in effects:
            self._perform(node, effect)

    def _clock(self, node: Node) -> float:
        """The node's own clock, and not less than its due time, whatever rounding says."""
        due = self._due(node)
        shown = self.now + node.clock_ahead_s
        return shown if due is None or due > self.now else max(shown, node.leases.wake_at or shown)

    def _perform(self, node: Node, effect: vocabulary.Effect) -> None:
        match effect:
            case vocabulary.Acquire() | vocabulary.Renew() | vocabulary.Release():
                self.messages.append(Message(node.name, effect))
            case vocabulary.Grant(request, _, version):
                self.granted[int(str(request))] = version
            case vocabulary.Refuse(request, _, _, reason):
                self.refused[int(str(request))] = reason
            case vocabulary.EndTransactions(table, version, requests, reason):
                used = self.table_name(table, version)
                self.say(Sentence("{node}: all that use {used} end: {why}", node=node.name, used=used, why=reason))
                self._end(node, requests, reason)
            case vocabulary.Exit(reason):
                self.say(Sentence("{node}: exits: {why}", node=node.name, why=reason))
                self.stop_node(node.name)
            case vocabulary.DrainDone():
                self.say(Sentence("{node}: drained", node=node.name))
            case vocabulary.WakeAt():
                pass

    def _end(self, node: Node, requests: frozenset[vocabulary.RequestId], reason: str) -> None:
        for one in self.transactions.values():
            if any(request in requests for request, _ in one.pins.values()):
                if one.is_reading and Without.REENTRY in self.control.without:
                    continue
                if one.is_reading and one.query is not None:
                    one.expired = one.expired or reason
                else:
                    self.end_transaction(one, reason)
        node.taken = {table: [r for r in taken if r not in requests] for table, taken in node.taken.items()}

    # Messages

    def settle(self) -> None:
        for _ in range(DELIVERIES_MAX):
            at = next(self.deliverable(), None)
            if at is None:
                return
            self.deliver(at)
        raise AssertionError(f"more than {DELIVERIES_MAX} messages followed from one event")

    def deliverable(self) -> Iterator[int]:
        for at, message in enumerate(self.messages):
            node = self.nodes[message.node]
            if not node.holds_messages and (message.is_request or not node.is_frozen):
                yield at

    def deliver(self, at: int) -> None:
        message = self.messages.pop(at)
        if not message.is_request:
            self._notify(message)
            return
        for event in answer(self.control, self.nodes[message.node], message.content, self.now):
            self.messages.append(Message(message.node, event))

    def lose(self, at: int) -> None:
        """News is lost without a trace (L6); of a request or its answer the node learns that it failed."""
        message = self.messages[at]
        instead = failure(message.content)
        if instead is None and not isinstance(message.content, News):
            raise LabError(Sentence("what {node} is going to hear is its own: it can't be lost", node=message.node))
        self.messages[at : at + 1] = [] if instead is None else [Message(message.node, instead)]

    def _notify(self, message: Message) -> None:
        content = message.content
        match content:
            case vocabulary.Acquired(table, version):
                what = self.table_name(table, version)
                how = "{node}: leased {what}" if content.is_leased else "{node}: loaded {what}"
                self.say(Sentence(how, node=message.node, what=what))
                content = self._counted_late(message.node, content)
            case vocabulary.Released(table, version):
                self.say(Sentence("{node}: released {what}", node=message.node, what=self.table_name(table, version)))
            case vocabulary.Renewed(outcomes):
                for one in outcomes:
                    self._report_renewal(message.node, one)
            case vocabulary.AcquireFailed(table, reason, _):
                if not self.nodes[message.node].leases.table(table).waiters:
                    self.say(Sentence("{node}: {why}", node=message.node, why=reason))
            case vocabulary.RenewFailed() | vocabulary.ReleaseFailed():
                self.say(Sentence("{node}: {why}", node=message.node, why=content.reason))
        self.hears(message.node, content)  # type: ignore[arg-type]  # no request, hence an event

    def _counted_late(self, name: NodeId, answer: vocabulary.Acquired) -> vocabulary.Acquired:
        node = self.nodes[name]
        acquisition = node.leases.table(answer.table).acquisition
        if Without.ASKING_TIME not in self.control.without or acquisition is None:
            return answer
        return replace(answer, remaining_s=answer.remaining_s + self._clock(node) - acquisition.asked_at)

    def _report_renewal(self, node: NodeId, one: vocabulary.RenewOutcome) -> None:
        what = self.table_name(one.table, one.version)
        if one.outcome is not vocabulary.Renewal.LOST:
            self.say(Sentence(RENEWALS[one.outcome], node=node, what=what))
        elif self.nodes[node].leases.table(one.table).version(one.version):
            self.say(Sentence("{node}: lost its lease on {what}", node=node, what=what))
        else:
            self.say(Sentence("{node}: learns of {what} as it renews", node=node, what=what))

    # Time

    def _due(self, node: Node) -> float | None:
        if not node.is_running or node.is_frozen or node.leases.wake_at is None:
            return None
        return node.leases.wake_at - node.clock_ahead_s

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        for _ in range(WAKINGS_MAX):
            due = [at for node in self.nodes.values() if (at := self._due(node)) is not None and at <= end]
            if not due:
                break
            self.advance_to(min(due))
            self.settle()
        else:
            raise AssertionError(f"nodes wake more than {WAKINGS_MAX} times in {seconds:g} s")
        self.advance_to(end)
        self.settle()

    def advance_to(self, now: float) -> None:
        """Wakes what is due, ends transactions past their deadline (T4)."""
        self.now = max(self.now, now)
        for one in list(self.transactions.values()):
            self._check_deadline(one)
        for node in list(self.nodes.values()):
            due = self._due(node)
            if due is not None and due <= self.now:
                self.hears(node.name, vocabulary.Tick())

    def _check_deadline(self, one: Transaction) -> None:
        is_over = any(self._is_over(one, table, version) for table, version in one.entered.items())
        if (
            is_over
            and not one.is_reading
            and one.ended is None
            and one.store.status is TransactionStatus.OPEN
            and not self.control.without & {Without.FENCE, Without.DEADLINE}
        ):
            self.say(Sentence("{node}: its transaction is past its deadline and ends", node=one.actor))
            self.end_transaction(one, Sentence("it was past its deadline"))

    def why_not_write(self, one: Transaction) -> str | None:
        """Why a transaction that has only read may not write: each of its tables is entered again first (T4)."""
        for table, version in one.entered.items() if one.is_reading else ():
            used = self.control.version(table, version)
            held = self.nodes[one.node].leases.table(table).version(version)
            is_over = used.coordination.has_leases and held is None
            if (is_over or self._is_over(one, table, version)) and Without.REENTRY not in self.control.without:
                what = versioned(used.name, version)
                return Sentence(
                    "the lease on {what} has expired: its transaction writes nothing more (40001)", what=what
                )
        return None

    def _is_over(self, one: Transaction, table: TableId, version: int) -> bool:
        if not self.control.version(table, version).coordination.has_leases:
            return one.until[table] <= self.now
        lease = self.nodes[one.node].leases.table(table).version(version)
        return lease is not None and lease.expires_at <= self.now

    # Versions

    def publish(self, *descriptors: Descriptor) -> None:
        """Publishes the next version of a table, or of several at once, and spreads the news. Raises `LabError`."""
        hindrances = self.control.publish(descriptors, self.now, self.locked())
        if hindrances:
            what = names_of(descriptors)
            why = self.hindered_by(hindrances, of=len(descriptors))
            raise LabError(Sentence("cannot publish {what}: {hindrances}", what=what, hindrances=why))
        for descriptor in descriptors:
            self.spread_news(descriptor)

    def spread_news(self, descriptor: Descriptor) -> None:
        if self.loses_news:
            return
        for node in self.nodes.values():
            if node.is_running:
                self.messages.append(Message(node.name, News(descriptor.table_id, descriptor.version)))

    def hindered_by(self, hindrances: Hindrances, *, of: int) -> Sentence:
        """The leases and locks that block, and until when; of several tables, with the table's name."""
        lines: list[Sentence] = []
        for table, hindrance in hindrances.items():
            lines += self._hindered_by(hindrance, f" of {self.control.newest(table).name}" if of > 1 else "")
        return clauses(lines)

    def _hindered_by(self, hindrance: Hindrance, of_table: str) -> list[Sentence]:
        lines = [
            Sentence(
                "{node} still leases version {version}{of_table} (expires in {seconds:g} s)",
                node=one.node,
                version=one.version,
                of_table=of_table,
                seconds=one.expires_at - self.now,
            )
            for one in hindrance.leases
        ]
        locked = "a transaction still runs on version {version}{of_table}"
        return lines + [Sentence(locked, version=version, of_table=of_table) for version in hindrance.locked]

    # Transactions

    def locked(self) -> Mapping[TableId, Collection[int]]:
        found: dict[TableId, set[int]] = {}
        for one in self.transactions.values():
            for table, version in one.entered.items() if one.holds_locks else ():
                found.setdefault(table, set()).add(version)
        return found

    def end_transaction(self, one: Transaction, reason: str) -> None:
        """Ends its session from outside: nothing of it is acknowledged (L8, T4). A sent COMMIT is done first."""
        if one.is_committing:
            self.store.flush()
        if one.store.status is TransactionStatus.OPEN:
            one.ended = reason
            one.store.rollback()

    def crash_store(self, kept: int) -> None:
        """Every session ends; of the commits on their way `kept` are recovered (T7)."""
        self.store.crash(kept)
        for one in self.transactions.values():
            one.is_lost = one.is_sent
            self.end_transaction(one, Sentence("the store crashed"))

    def end_lock_holders(self, table: TableId, *, below: int) -> None:
        """L8: ends the sessions that hold a version older than `below` without a lease."""
        for one in self.transactions.values():
            if one.holds_locks and table in one.entered and one.entered[table] < below:
                what = self.table_name(table, one.entered[table])
                self.say(Sentence("{node}: its session on {what} is ended", node=one.actor, what=what))
                self.end_transaction(one, Sentence("its session was ended: it held back a change without a lease"))

    def pairs(self, table: TableId) -> list[list[Pair]]:
        start = table.to_bytes(4)
        return [sorted(pair for pair in pairs.items() if pair[0].startswith(start)) for pairs in self.store.pairs]
