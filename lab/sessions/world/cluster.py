"""The lab's cluster drawn: nodes with their leases and transactions, messages under way, pairs, the change's plan."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, State, TableId
from catalog.text.message import Values
from catalog.values.types import to_text
from lab.cluster.parts import Message as WorldMessage
from lab.cluster.parts import Node as WorldNode
from lab.cluster.parts import Transaction as WorldTransaction
from lab.cluster.requests import Stage
from lab.explorer.lanes import CATALOG, STORE
from lab.scripts.commands import Lab
from lab.scripts.text import key_text, value_text
from lab.sessions import pairs
from lab.sessions.probe import probes
from lab.sessions.shown import (
    NOTHING,
    Cluster,
    Element,
    Lease,
    Message,
    Node,
    Pair,
    PlanStep,
    Probe,
    Text,
    Transaction,
    Version,
)
from lab.sessions.world.script_texts import act_text, text_of
from leases.gossip import News
from leases.node import vocabulary
from storage import encoding
from storage.pairs import PairName, StoredRow, encoded_value, index_values, name_of, rows_of

T = TableId(1)
NAME = "t"
PROBED = (1,)
"""The values of a that palettes write, and a probe asks for."""


def held_by(lab: Lab) -> pairs.StoredPairs:
    """All pairs of the table; storages are counted from 1."""
    storages = enumerate(lab.world.pairs(T), 1)
    return {(number, key): value for number, held in storages for key, value in held}


class Drawing:
    def __init__(self, lab: Lab, before: pairs.StoredPairs) -> None:
        self.lab, self.world, self.before = lab, lab.world, before
        control = lab.world.control
        self.versions = control.published[T]
        self.in_force = control.accepted_versions(T, lab.world.now, lab.world.locked())

    def cluster(self) -> Cluster:
        return Cluster(
            tuple(
                Version(NAME, one.version, tuple(self._elements(one)), one is self.versions[-1], one in self.in_force)
                for one in self.versions
            ),
            tuple(self._node(node) for _, node in sorted(self.world.nodes.items())),
            tuple(pairs.drawn(held_by(self.lab), self.before, self._pair)),
            tuple(self._plan()),
            (*(self._message(at, one) for at, one in enumerate(self.world.messages)), *self._requests()),
            self.world.now,
        )

    def probes(self) -> tuple[Probe, ...]:
        if not self._indexes:
            return tuple(self._rows_by_name())
        storages = [dict(held) for held in self.world.pairs(T)]
        return tuple(probe for one in self.in_force for probe in probes(one, storages, PROBED, first_value=1))

    def _rows_by_name(self) -> Iterator[Probe]:
        for one in self.in_force:
            names = sorted(column.name for column in one.public_columns if column.id not in one.primary_key)
            for row in self._stored:
                values = ((one.column_named(name), name) for name in names)
                found = [f"{name} = {value_text(c, encoded_value(one, row, c.id))}" for c, name in values]
                where = f"id = {key_text(one, row.key).strip('()')}"
                query = f"SELECT {', '.join(names)} FROM {NAME} WHERE {where}"
                yield Probe(one.version, query, (", ".join(found),), None)

    # Versions

    @cached_property
    def _indexes(self) -> dict[int, str]:
        named = {int(index.id): index.name for one in self.versions for index in one.indexes}
        return named or dict(enumerate(element.name for driver in self.lab.changes for element in driver.filled))

    def _elements(self, one: Descriptor) -> Iterator[Element]:
        if not self._indexes:  # a table without any: its columns, as this version names them
            yield from (Element(column.name, "column", column.state.value) for column in one.columns[1:])
        for number, name in self._indexes.items():
            index = next((index for index in one.indexes if index.id == number), None)
            state = State.ABSENT if index is None else index.state
            yield Element(name, "index", state.value, index is not None and index.filling)

    # Nodes

    def _node(self, node: WorldNode) -> Node:
        world = self.world
        leases = (lease for lease in world.control.leases_of(node.name) if lease.table == T)
        shown = tuple(
            Lease(
                NAME, one.version, one.is_live(world.now), max(0.0, one.expires_at - world.now), world.control.lease_s
            )
            for one in sorted(leases, key=lambda lease: lease.version)
        )
        open_ones = [one for one in world.transactions.values() if one.node == node.name]
        return Node(str(node.name), _condition(node), shown, tuple(map(self._transaction, open_ones)))

    def _transaction(self, one: WorldTransaction) -> Transaction:
        versions = {NAME: one.pins[T][1]} if T in one.pins else {}
        written = len(one.store.ops)
        did = Text("has written {pairs} pairs", {"pairs": written}) if written else Text("has begun")
        why = text_of(one.ended) if one.ended else NOTHING
        return Transaction(versions, did, why)

    def _message(self, at: int, message: WorldMessage) -> Message:
        content, node = message.content, str(message.node)
        if isinstance(content, News):
            return Message(f"{at}", "catalog", node, Text("news of v{version}", {"version": content.version}))
        match content:
            case vocabulary.Acquire():
                text = Text("asks for a lease")
            case vocabulary.Renew():
                text = Text("asks to renew its lease")
            case vocabulary.Release(_, version):
                text = Text("gives v{version} back", {"version": version})
            case vocabulary.Acquired(_, version):
                text = Text("a lease on v{version}", {"version": version})
            case vocabulary.Renewed():
                text = Text("the answer to its renewal")
            case _:
                text = Text("an answer")
        ends = (node, "catalog") if message.is_request else ("catalog", node)
        return Message(f"{at}", *ends, text)

    def _requests(self) -> Iterator[Message]:
        routers = self.lab.routers
        if routers is None:
            return
        for request in (*routers.at(Stage.PLANNED), *routers.at(Stage.WAITING)):
            assert request.descriptor is not None
            values: Values = {"number": request.number, "version": request.descriptor.version}
            if request.stage is Stage.PLANNED:
                text, to = Text("request {number}, planned with v{version}", values), STORE
            else:
                text, to = Text("request {number} waits for a version newer than v{version}", values), CATALOG
            yield Message(f"request {request.number}", str(request.node), to, text)
        for node, _ in routers.loading:
            yield Message(f"reload of {node}", str(node), CATALOG, Text("asks which version is the newest"))

    # Pairs

    def _pair(self, found: pairs.StoredPair) -> Pair:
        widest = self._widest
        name = name_of(widest, found.key)
        owner, value, sort = found.owner(name), found.value, pairs.sort_of(name)
        return Pair(
            f"{found.storage}.{found.key.hex()}",
            NAME,
            found.storage,
            "" if owner is None else key_text(widest, owner).strip("()"),
            sort,
            _key_words(widest, name),
            value_text(widest.column(name.column), value) if sort == "value" and value is not None else "",  # type: ignore[arg-type]
            found.difference,
            is_tombstone=value is None,
            dangles=found.is_live and sort == "entry" and self._is_orphan(name, owner),
            unseen_by=tuple(one.version for one in self.in_force if not pairs.contains(one, name)),
        )

    @cached_property
    def _widest(self) -> Descriptor:
        known = {index.id for one in self.versions for index in one.indexes}
        return next(one for one in reversed(self.versions) if known <= {index.id for index in one.indexes} or not known)

    @cached_property
    def _stored(self) -> list[StoredRow]:
        held = sorted((key, value) for (_, key), value in held_by(self.lab).items())
        return list(rows_of(self._widest, self._widest.placement, held))

    @cached_property
    def _rows(self) -> Mapping[bytes, StoredRow]:
        return {row.key: row for row in self._stored}

    def _is_orphan(self, name: PairName, owner: bytes | None) -> bool:
        row = self._rows.get(owner or b"")
        return row is None or index_values(self._widest, self._widest.index(name.index), row) != name.values

    # The change

    def _plan(self) -> Iterator[PlanStep]:
        for driver in self.lab.changes[-1:]:
            for at, step in enumerate(driver.state.steps):
                place = driver.state.position
                status = "done" if driver.is_over or at < place else "now" if at == place else "ahead"
                yield PlanStep(act_text(step), status)


def _condition(node: WorldNode) -> str:
    if not node.is_running:
        return "down"
    if node.is_frozen:
        return "frozen"
    return "cut off" if node.is_cut_off else "running"


def _key_words(widest: Descriptor, name: PairName) -> str:
    if name.index != PRIMARY:
        index = widest.index(name.index)
        column = widest.column(index.columns[0].column)
        decoded, _ = encoding.decode(column.type, name.values or b"")
        return f"{index.name}: {'NULL' if decoded is None else to_text(column.type, decoded)}"
    return "row" if name.column == EXISTS or name.column is None else widest.column(name.column).name
