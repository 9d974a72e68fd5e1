"""A model's world drawn as a cluster. Removed pairs are listed too: a page animates their end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, FOREIGN_KEY, PRIMARY, PlacementId, State
from catalog.text.message import STATES, listed
from catalog.values.types import SqlType
from changes.plan.element_states import is_filling, state_of
from lab.explorer.contents.foreign_keys import LinkedEffects
from lab.explorer.contents.statements import row_text
from lab.explorer.lanes import EXECUTOR, FILL, STORE
from lab.explorer.narration import narrator_of, statement_text
from lab.explorer.plans.program import Do, Stop
from lab.explorer.plans.small_tables import (
    CHILD,
    FIRST_VALUE,
    IDS,
    INDEX_NAMES,
    LINK_NAME,
    NEW,
    OLD,
    PARENT,
    TWIN,
    A,
    elements_of,
)
from lab.explorer.spaces.config import HAS_READ, HAS_WRITTEN, Config
from lab.explorer.spaces.config import Node as ModelNode
from lab.explorer.spaces.config import Transaction as ModelTransaction
from lab.explorer.spaces.fill import UNREAD
from lab.explorer.spaces.full_space import Plain
from lab.sessions import grain, pairs
from lab.sessions.names import MODEL_NAMES, Names
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
    Verdict,
    Version,
)
from storage import encoding
from storage.pairs import PREFIX, PairName, StoredRow, index_values, rows_of

ONE_TABLE = "t"


class Drawing:
    def __init__(self, plain: Plain, config: Config, before: Config, names: Names = MODEL_NAMES) -> None:
        self.plain, self.model, self.effects = plain, plain.model, plain.effects
        self.config, self.before, self.names = config, before, names
        self.stop = plain.stops[config.stop]
        self.tables = tuple(map(names.word, plain.tables if self.model.foreign_key else (ONE_TABLE,)))
        self._rows: dict[tuple[int, PlacementId], Mapping[bytes, StoredRow]] = {}
        self.in_force = [
            [self.effects.program.descriptors[place] for place in plain.in_force(config, at)]
            for at in range(len(self.tables))
        ]

    @property
    def actors(self) -> tuple[str, ...]:
        return (*map(str, self.plain.names), EXECUTOR, *((FILL,) if self._does(Do.FILL) else ()))

    def _does(self, *acts: Do) -> bool:
        return any(stop.do in acts for stop in self.plain.stops)

    def _has_come_to(self, *acts: Do) -> bool:
        return any(stop.do in acts for stop in self.plain.stops[: self.config.stop + 1])

    def cluster(self) -> Cluster:
        return Cluster(
            tuple(self._versions()),
            tuple(map(self._node, map(str, self.plain.names), self.config.nodes)),
            tuple(pairs.drawn(self._held(self.config), self._held(self.before), self._pair)),
            tuple(self._plan()),
            tuple(self._messages()),
        )

    def probes(self) -> tuple[Probe, ...]:
        nulls = any(statement[2] == 0 and statement[0] == "insert" for statement in self.effects.statements)
        values = range(0 if nulls else 1, self.model.values + 1)
        held = self.effects.known[self.config.contents].storages()
        found: list[Probe] = []
        for number, descriptors in enumerate(self.in_force):
            of_table = {
                at: {key: value for key, value in of_storage.items() if self._table_of(key) == number}
                for at, of_storage in enumerate(held)
            }
            for described in descriptors:
                found += probes(described, list(of_table.values()), values, names=self.names)
        return tuple(found)

    def verdicts(self, verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
        """The same; an orphan entry that no query reads yet says when queries meet it."""
        return tuple(replace(one, why=self._met_later(one)) if one.clause == "C5" else one for one in verdicts)

    def _met_later(self, verdict: Verdict) -> Text:
        described = [one for of_table in self.in_force for one in of_table if one.version == verdict.version]
        index = verdict.why.values.get("index")
        if index is None or any(one.public_indexes for one in described):
            return verdict.why
        return Text(
            "{why}. No step removes it, so queries meet it once {index} is public", {"why": verdict.why, "index": index}
        )

    # Versions

    def _versions(self) -> Iterator[Version]:
        for at, (table, versions) in enumerate(zip(self.tables, self.stop.tables, strict=True)):
            known = {described.version for described in self.in_force[at]}
            for number in range(1, versions.newest + 1):
                described = self.effects.program.descriptor(self.stop, number, at)
                elements = tuple(self._elements(described, self.names))
                yield Version(table, number, elements, number == versions.newest, number in known)

    def _elements(self, described: Descriptor, names: Names) -> Iterator[Element]:
        works = self._has_come_to(Do.CLEAR, Do.FILL, Do.DELETE)
        if self.model.has_placements:
            for number, name in ((OLD, "old"), (NEW, "new")):
                found = next((p for p in described.placements if p.id == number), None)
                state = State.ABSENT if found is None else found.state
                yield Element(name, "placement", state.value, works and found is not None and found.filling)
            return
        for element, kind in zip(elements_of(self.model), self.model.kinds, strict=True):
            if self.model.foreign_key and element.name == LINK_NAME:
                state = next((one.state for one in described.constraints), State.ABSENT)
                yield Element(names.word(LINK_NAME), FOREIGN_KEY, state.value)
            elif not self.model.foreign_key or described.table_id == IDS[CHILD]:
                state, name = state_of(described, element), names.word(element.name)
                yield Element(name, kind.value, state.value, works and is_filling(described, element))

    # Nodes

    def _node(self, name: str, node: ModelNode) -> Node:
        held = list(zip(self.tables, node.held, strict=True))
        open_one = node.transaction
        if open_one is not None:
            pinned = zip(self.tables, open_one.held, node.held, strict=True)
            held += [(table, one) for table, one, now in pinned if one.version != now.version]
        of = {table: at for at, table in enumerate(self.tables)}
        leases = tuple(
            Lease(table, one.version, one.live or not self.plain.has_leases(self.stop, of[table], one.version))
            for table, one in held
            if one.version
        )
        is_frozen = bool(leases) and not any(lease.is_live for lease in leases)
        transactions = () if open_one is None else (self._transaction(name, open_one),)
        return Node(name, "frozen" if is_frozen else "running", leases, transactions)

    def _transaction(self, name: str, one: ModelTransaction) -> Transaction:
        did = Text("has begun")
        why = NOTHING
        if one.phase == HAS_READ:
            did = Text("has read {row}", {"row": row_text(one.row)})
        if one.phase == HAS_WRITTEN and one.statement is not None:
            did = Text("has written: {what}", {"what": statement_text(one.statement)})
            hindrance = self.plain.why_not(self.config, (name, "commit"))
            why = NOTHING if hindrance is None else hindrance.text
        return Transaction(dict(zip(self.tables, one.use, strict=True)), did, why)

    # Pairs

    def _held(self, config: Config) -> dict[pairs.Slot, bytes | None]:
        storages = self.effects.known[config.contents].pairs
        return {(home, key): value for home, items in enumerate(storages) for key, value in items}

    def _pair(self, found: pairs.StoredPair) -> Pair:
        name, at = self.effects.name_of(found.key), self._table_of(found.key)
        owner, value, sort = found.owner(name), found.value, pairs.sort_of(name)
        row = "" if owner is None else _value(owner)
        if row and self.model.foreign_key and at == PARENT:
            row = self.names.value(row)
        return Pair(
            f"{found.storage + 1}.{found.key.hex()}",
            self.tables[at],
            found.storage + 1,
            row,
            sort,
            self._key_words(name),
            "" if value is None or sort != "value" else self.names.value(_value(value)),
            found.difference,
            is_tombstone=value is None,
            dangles=found.is_live and value is not None and self._leads_nowhere(name, value),
            unseen_by=tuple(one.version for one in self.in_force[at] if not pairs.contains(one, name)),
            is_new=self.model.has_placements and name.placement == NEW,
        )

    def _leads_nowhere(self, name: PairName, value: bytes) -> bool:
        if name.index != PRIMARY:
            row = self._rows_at(CHILD, name.placement).get(name.row_key or value)
            widest = self._widest(CHILD)
            index = next(one for one in widest.indexes if one.id == name.index)
            return row is None or index_values(widest, index, row) != name.values
        if name.column != A or value == encoding.NULL or not (self.model.foreign_key or self.model.refers_to_itself):
            return False
        return value not in self._rows_at(PARENT if self.model.foreign_key else CHILD, name.placement)

    def _widest(self, at: int) -> Descriptor:
        return self.effects.tables[at] if isinstance(self.effects, LinkedEffects) else self.effects.widest

    def _rows_at(self, at: int, placement: PlacementId) -> Mapping[bytes, StoredRow]:
        key = at, placement
        if key not in self._rows:
            widest = self._widest(at)
            held = sorted((key, value) for (_, key), value in self._held(self.config).items())
            of = next(one for one in widest.placements if one.id == placement)
            self._rows[key] = {row.key: row for row in rows_of(widest, of, held)}
        return self._rows[key]

    def _table_of(self, key: bytes) -> int:
        return IDS.index(PREFIX.unpack_from(key)[0]) if self.model.foreign_key else 0

    def _key_words(self, name: PairName) -> str:
        if name.index != PRIMARY:
            assert name.values is not None
            return f"{self.names.word(INDEX_NAMES[name.index])}: {self.names.value(_value(name.values))}"
        return "row" if name.column == EXISTS else self.names.word("a (twin)" if name.column == TWIN else "a")

    # Plan and fill

    def _plan(self) -> Iterator[PlanStep]:
        stops = self.plain.stops
        begins = next((at + 1 for at in range(self.config.stop - 1, -1, -1) if stops[at].do is Do.END), 0)
        for at in count(begins):
            status = "done" if at < self.config.stop else "now" if at == self.config.stop else "ahead"
            if stops[at].do is Do.END:
                return
            yield PlanStep(self._stop_text(stops[at]), status)

    def _stop_text(self, stop: Stop) -> Text:
        match stop.do:
            case Do.PUBLISH:
                schema = self.effects.program.descriptors[stop.next_schema[CHILD]]
                states = listed([_element_text(element) for element in self._elements(schema, MODEL_NAMES)])
                return Text("publish v{version}: {states}", {"version": stop.version, "states": states})
            case Do.DRAIN:
                return Text("drain v{version}: wait until no older version is used", {"version": stop.version})
        return ACTS[stop.do]

    def _messages(self) -> Iterator[Message]:
        for number, (_, *attempts) in enumerate(self.config.ranges, 1):
            for attempt, chunk in enumerate(attempts, 1):
                if chunk > UNREAD:
                    text = narrator_of(self.plain).chunk_text(chunk)
                    yield Message(f"fill.{number}.{attempt}", FILL, STORE, text)


PLACEMENTS = {"old": Text("the old placement"), "new": Text("the new placement")}
ACTS = {
    Do.CLEAR: Text("clear the tombstones, which are marks of earlier removals"),
    Do.FILL: Text("fill, and close the run"),
    Do.VERIFY: grain.ACTS["verify"],
    Do.DELETE: grain.ACTS["delete"],
    Do.PURGE: Text("purge the tombstones, which are needed no longer"),
    Do.REMOVE: grain.ACTS["remove"],
}


def _element_text(element: Element) -> Text:
    states = {state.value: text for state, text in STATES.items()}
    name = PLACEMENTS.get(element.name, element.name) if element.kind == "placement" else element.name
    return Text("{element} is {state}", {"element": name, "state": states[element.state]})


def _value(data: bytes) -> str:
    """A value as sentences name it: 1 for 11; a row's number, if a row refers to one."""
    number, _ = encoding.decode(SqlType.BIGINT, data)
    if number is None:
        return "NULL"
    return str(number if int(str(number)) < FIRST_VALUE else int(str(number)) - FIRST_VALUE + 1)
