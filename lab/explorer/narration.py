"""A trace in sentences.

    n1 leases v2, where by_a is delete-only
    n2 commits as v1: row 1 goes; v1 knows of no by_a: the entry 1 of row 1 stays

A pure function of the trace: text, JSON and pictures are made of what it says.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, Column, Index, Kind, Placement, State
from catalog.types import SqlType
from changes.plan.element_states import state_of
from lab.explorer.contents.statements import (
    DELETE,
    DELETE_PARENT,
    INSERT,
    INSERT_PARENT,
    MOVE,
    MOVE_PARENT,
    NO_VALUE,
    OF_PARENTS,
    UPDATE,
    Statement,
    row_of,
    rows_of_range,
)
from lab.explorer.plans.program import UNCHANGED, Use
from lab.explorer.plans.small_tables import (
    CHILD,
    FIRST_VALUE,
    INDEX_NAMES,
    LINK_NAME,
    NAMES,
    NEW,
    PARENT,
    TWIN,
    elements_of,
    encoded,
    names_of,
    part_of,
)
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Config, Plain, version_words
from storage import encoding
from storage.pairs import PairName


def narrate(plain: Plain, steps: Sequence[Step]) -> list[str]:
    """One sentence for each step. The steps must be possible, one after the other."""
    narrator = narrator_of(plain)
    config, sentences = plain.start(), []
    for step in steps:
        after, _ = plain.after(config, step)
        sentences.append(narrator.sentence(config, step, after))
        config = after
    return sentences


def narrator_of(plain: Plain) -> "Narrator":
    return _LinkedNarrator(plain) if plain.model.foreign_key else Narrator(plain)


class Narrator:
    """Words for one model."""

    def __init__(self, plain: Plain) -> None:
        self.plain, self.effects = plain, plain.effects
        self.model, self.names = plain.model, names_of(plain.model)
        self.elements = elements_of(plain.model)[-len(self.names) :]

    def sentence(self, before: Config, step: Step, after: Config) -> str:
        if step[0] in self.plain.names:
            return self._node(before, step, after)
        if step[0] == "fill":
            return self._fill(before, step, after)
        match step:
            case ("given", *rows):
                return f"at first there is {' and '.join(self._given(rows))}"
            case ("publish", _):
                return self._published(before, after)
            case ("drain", _):
                return f"{self._drained(before)}: nobody uses an older version any more"
            case ("cancel",):
                return "the change is cancelled and rolls back"
            case ("close",):
                return "all ranges are done, the run is closed: no worker may write any more"
            case ("verify",):
                way = after.stop != before.stop + 1
                return "verification fails: the change rolls back" if way else "verification finds everything"
        changes = self._changes(before, after)
        what = {"clear": "tombstones are cleared", "purge": "tombstones are purged"}
        return f"{what.get(str(step[0]), f'what {self._deleted(before)} has in the store is deleted')}: {changes}"

    def _node(self, before: Config, step: Step, after: Config) -> str:
        name, at = str(step[0]), self.plain.names.index(step[0])  # type: ignore[arg-type]
        node, now = before.nodes[at], after.nodes[at]
        match step[1:]:
            case ("acquire", *which):
                return f"{name} leases {self._leased(after, now.use, which)}"
            case ("expire",):
                return f"{name} freezes: {self._lease_words(node.use)}"
            case ("begin",):
                return f"{name} begins a transaction as {version_words(node.use)}: {self._use_words(before, node.use)}"
        open_one = node.transaction
        assert open_one is not None
        match step[1:]:
            case ("rollback",):
                return f"{name} rolls back"
            case ("end",):
                return f"the executor ends the session of {name}, whose lease is over"
            case ("read", *row):
                return f"{name} reads {row_words(row)}"
            case ("write", statement):
                return f"{name} {statement_words(statement)}"  # type: ignore[arg-type]
        statement = step[2] if step[1] == "run" else open_one.statement
        done = self._commit(before, after, open_one.use, statement)  # type: ignore[arg-type]
        return f"{name} commits as {version_words(open_one.use)}: {done}"

    def _given(self, rows: Sequence[object]) -> list[str]:
        return [f"row {row} ({_value_words(value)})" for row, value in enumerate(rows, 1) if value != "-"]

    def _published(self, before: Config, after: Config) -> str:
        version = self.plain.stops[before.stop].version
        return f"v{version} is published: {self._state_words(self._descriptor(after, version))}"

    def _drained(self, before: Config) -> str:
        return f"v{self.plain.stops[before.stop].version} is drained"

    def _leased(self, config: Config, use: Use, which: Sequence[object]) -> str:
        return f"v{use[0]}: {self._use_words(config, use)}"

    def _lease_words(self, use: Use) -> str:
        return f"its lease on v{use[0]} runs out"

    def _use_words(self, config: Config, use: Use) -> str:
        return self._state_words(self._descriptor(config, use[0]))

    def _commit(self, before: Config, after: Config, use: Use, statement: Statement) -> str:
        (version,) = use
        done = self._changes(before, after)
        schema = self._descriptor(before, version)
        stays, put = list(self._stays(before, after, statement)), set(self._put(before, after))
        words = []
        for at, name in enumerate(self.names):
            of_it = [pair for part, pair in stays if part == at]
            state = f"to v{version} {name} is {state_of(schema, self.elements[at]).value}"
            if of_it:
                words.append(f"{state}: {' and '.join(of_it)} stays")
            elif statement[0] != DELETE and at not in put and self._is_left_out(schema, at):
                words.append(f"{state}: nothing is put into it")
        return "; ".join([done, *words])

    def _is_left_out(self, schema: Descriptor, at: int) -> bool:
        has_pairs = self.model.kinds[at] not in (Kind.TABLE, Kind.CONSTRAINT)
        return has_pairs and state_of(schema, self.elements[at]) is not State.PUBLIC

    def _fill(self, before: Config, step: Step, after: Config) -> str:
        if step[1] == "purge":
            return f"tombstones are removed while the fill runs: {self._changes(before, after)}"
        if step[1] == "again":
            return f"the worker of range {step[2]} is believed dead, another takes over"
        number, attempt = step[2], step[3]
        assert isinstance(number, int)
        who = "the fill" if attempt == 1 else "the second worker"
        rows = ", ".join(str(row) for row in rows_of_range(self.plain.model, number - 1))
        if step[1] == "read":
            chunk = after.ranges[number - 1][1 if attempt == 1 else 2]
            return f"{who} reads row {rows}: {self._chunk_words(chunk)}"
        changes = self._changes(before, after)
        return f"{who} puts row {rows}: {changes}"

    def _chunk_words(self, chunk: int) -> str:
        ops = self.effects.chunks[chunk] if chunk >= 0 else ()
        pairs = [self._pair_words(self.effects.name_of(op.key), op.value) for op in ops]
        return f"{' and '.join(pairs)} is to be put" if pairs else "there is nothing to put"

    def _deleted(self, before: Config) -> str:
        parts = self.plain.stops[before.stop].parts
        if self.model.has_placements:
            return "the old placement" if parts == (0,) else "the new placement"
        return " and ".join(self.names[part] for part in parts)

    # What changed

    def _pairs(self, config: Config) -> dict[tuple[int, bytes], bytes | None]:
        pairs = self.effects.known[config.contents].pairs
        return {(home, key): value for home, items in enumerate(pairs) for key, value in items}

    def _changes(self, before: Config, after: Config) -> str:
        """The difference in the store, in words."""
        old, new = self._pairs(before), self._pairs(after)
        words = []
        for slot in sorted(old.keys() | new.keys()):
            name = self.effects.name_of(slot[1])
            was, now = old.get(slot), new.get(slot)
            if slot in new and now is None and (slot not in old or was is not None):
                words.append(
                    f"a tombstone where {self._pair_words(name, was)} {'was' if was is not None else 'might be'}"
                )
            elif slot not in new:
                words.append(
                    f"- {self._pair_words(name, was)}"
                    if was is not None
                    else f"- tombstone of {self._pair_words(name, None)}"
                )
            elif now is not None and was != now:
                words.append(f"{'~' if was is not None else '+'} {self._pair_words(name, now)}")
        return ", ".join(words) or "nothing changes in the store"

    def _put(self, before: Config, after: Config) -> Iterator[int | None]:
        """The elements that got a pair."""
        old, new = self._pairs(before), self._pairs(after)
        for slot, value in new.items():
            if value is not None and old.get(slot) != value:
                yield part_of(self.model, self.effects.name_of(slot[1]))

    def _stays(self, before: Config, after: Config, statement: Statement) -> Iterator[tuple[int, str]]:
        """Pairs of an element that belong to the row a statement removed or changed, and are as they were."""
        if statement[0] == INSERT:
            return
        old, new = self._pairs(before), self._pairs(after)
        row = encoding.encode(SqlType.BIGINT, statement[1])
        for slot, value in new.items():
            name = self.effects.name_of(slot[1])
            owner = name.row_key if name.row_key is not None else value
            part = part_of(self.model, name)
            if value is not None and old.get(slot) == value and owner == row and part is not None:
                yield part, self._pair_words(name, value)

    def _pair_words(self, name: PairName, value: bytes | None) -> str:
        where = " in the new placement" if self.model.has_placements and name.placement == NEW else ""
        if name.index != PRIMARY:
            assert name.values is not None
            owner = name.row_key if name.row_key is not None else value
            of_row = "" if owner is None else f" of row {_number(owner)}"
            of_index = f" of {INDEX_NAMES[name.index]}" if len(self.effects.widest.indexes) > 1 else ""
            return f"the entry {_value_of(name.values)}{of_index}{of_row}{where}"
        assert name.row_key is not None
        if name.column == EXISTS:
            return f"row {_number(name.row_key)}{where}"
        held = "" if value is None else f" = {_value_of(value)}"
        whose = "the twin's a" if name.column == TWIN else "a"
        return f"{whose}{held} of row {_number(name.row_key)}{where}"

    def _descriptor(self, config: Config, version: int, table: int = 0) -> Descriptor:
        return self.effects.program.descriptor(self.plain.stops[config.stop], version, table)

    def _state_words(self, schema: Descriptor) -> str:
        elements: tuple[Index | Column | Placement, ...] = (*schema.indexes, *schema.columns, *schema.placements)
        filling = any(element.filling for element in elements)
        states = ", ".join(f"{n} is {state_of(schema, self.elements[at]).value}" for at, n in enumerate(self.names))
        if self.model.has_placements:
            old = next((p.state for p in schema.placements if p.id != NEW), State.ABSENT)
            states = f"the old placement is {old.value}, the new one {state_of(schema, self.elements[0]).value}"
        return f"{states}, filling" if filling else states


class _LinkedNarrator(Narrator):
    """Words for two tables and the foreign key between them."""

    def _given(self, rows: Sequence[object]) -> list[str]:
        there = zip(self.effects.subjects, rows, strict=True)
        return [
            f"parent {row}" if what == INSERT_PARENT else f"row {row} ({_value_words(value)})"
            for (what, row), value in there
            if value != "-"
        ]

    def _published(self, before: Config, after: Config) -> str:
        stop, newest = self.plain.stops[before.stop], self.plain.stops[after.stop].newest_use
        new = [at for at, place in enumerate(stop.published) if place != UNCHANGED]
        return f"{_tables_words(newest, new)} published: {self._use_words(after, newest)}"

    def _drained(self, before: Config) -> str:
        stop = self.plain.stops[before.stop]
        return f"{_tables_words(stop.newest_use, stop.drained)} drained"

    def _leased(self, config: Config, use: Use, which: Sequence[object]) -> str:
        at = NAMES.index(str(which[0]))
        column = self._column_words(config, use) if at == CHILD else ""
        return f"{NAMES[at]}@{use[at]}: {column}{LINK_NAME} is {self._state(config, use, at)}"

    def _lease_words(self, use: Use) -> str:
        return f"its leases on {version_words(use)} run out"

    def _use_words(self, config: Config, use: Use) -> str:
        child, parent = (self._state(config, use, at) for at in (CHILD, PARENT))
        states = child if child == parent else f"{child} in child, {parent} in parent"
        return f"{self._column_words(config, use)}{LINK_NAME} is {states}"

    def _column_words(self, config: Config, use: Use) -> str:
        """The state of the column that refers, where it moves."""
        if len(self.model.kinds) == 1:
            return ""
        child = self._descriptor(config, use[CHILD])
        filling = " and filling" if any(column.filling for column in child.columns) else ""
        return f"column a is {state_of(child, self.elements[0]).value}{filling}, "

    def _state(self, config: Config, use: Use, at: int) -> str:
        constraints = self._descriptor(config, use[at], at).constraints
        return next((one.state for one in constraints), State.ABSENT).value

    def _commit(self, before: Config, after: Config, use: Use, statement: Statement) -> str:
        done = self._changes(before, after)
        what, row, value = statement
        at = PARENT if what in OF_PARENTS else CHILD
        asks = {DELETE_PARENT: f"who refers to parent {row}", MOVE_PARENT: f"who refers to parent {row}"}
        if what in (INSERT, UPDATE) and value > 0:
            asks[what] = f"whether parent {value} is there"
        if what not in asks or self._state(before, use, at) != State.ABSENT.value:
            return done
        return f"{done}; to {NAMES[at]}@{use[at]} {LINK_NAME} is absent: nobody asks {asks[what]}"

    def _pair_words(self, name: PairName, value: bytes | None) -> str:
        assert name.row_key is not None
        if name.row_key in self.parents:
            return f"parent {_value_of(name.row_key)}"
        return super()._pair_words(name, value)

    @cached_property
    def parents(self) -> frozenset[bytes]:
        """The keys of parents, which no other row has."""
        return frozenset(encoded(value) for value in range(1, self.model.values + 1))


def _tables_words(use: Use, tables: Sequence[int]) -> str:
    named = [f"{NAMES[at]}@{use[at]}" for at in tables]
    return f"{' and '.join(named)} {'is' if len(named) == 1 else 'are'}"


def row_words(row: Sequence[object]) -> str:
    """The row of a statement: "row 1", "parent 2"."""
    return " ".join(map(str, row)) if len(row) > 1 else f"row {row[0]}"


def statement_words(statement: Statement) -> str:
    """A client's request in words: "deletes row 1"."""
    what, row, other = statement
    whose = row_words(row_of(statement))
    if what in (DELETE, DELETE_PARENT):
        return f"deletes {whose}"
    if what in (MOVE, MOVE_PARENT):
        return f"changes the key of {whose} to {other}"
    if what == INSERT_PARENT:
        return f"inserts {whose}"
    if what == INSERT:
        return f"inserts row {row}" + ("" if other == NO_VALUE else f" with {_value_words(other)}")
    return f"updates row {row} to {_value_words(other)}"


def _value_words(value: object) -> str:
    return "a = NULL" if value == 0 else f"a = {value}" if value != NO_VALUE else "no value"


def _number(key: bytes) -> int:
    number, _ = encoding.decode(SqlType.BIGINT, key)
    assert isinstance(number, int)
    return number


def _value_of(data: bytes) -> str:
    number, _ = encoding.decode(SqlType.BIGINT, data)
    if number is None or int(str(number)) < FIRST_VALUE:
        return "NULL" if number is None else f"{number}"  # a row, which another one refers to
    return str(int(str(number)) - FIRST_VALUE + 1)
