"""A trace in sentences.

    n1 leases v2, where by_a is delete-only
    n2 commits as v1: row 1 goes; v1 knows of no by_a: the entry 1 of row 1 stays

A pure function of the trace: text, JSON and pictures are made of what it says.
"""

from collections.abc import Iterator, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, Column, Index, Kind, Placement, State
from catalog.types import SqlType
from lab.explorer.effects import DELETE, INSERT, MOVE, NO_VALUE, Statement, rows_of_range
from lab.explorer.fill import Step
from lab.explorer.plain import Config, Plain
from lab.explorer.schema import FIRST_VALUE, INDEX_NAMES, NEW, TWIN, names_of, part_of, state_at
from storage import encoding
from storage.pairs import PairName


def tell(plain: Plain, steps: Sequence[Step]) -> list[str]:
    """One sentence for each step. The steps must be possible, one after the other."""
    teller, config, told = _Teller(plain), plain.start(), []
    for step in steps:
        after, _ = plain.after(config, step)
        told.append(teller.sentence(config, step, after))
        config = after
    return told


class _Teller:
    """Words for one model."""

    def __init__(self, plain: Plain) -> None:
        self.plain, self.effects = plain, plain.effects
        self.model, self.names = plain.model, names_of(plain.model)

    def sentence(self, before: Config, step: Step, after: Config) -> str:
        if step[0] in self.plain.names:
            return self._node(before, step, after)
        if step[0] == "fill":
            return self._fill(before, step, after)
        match step:
            case ("given", *rows):
                there = [f"row {row} ({_value_words(value)})" for row, value in enumerate(rows, 1) if value != "-"]
                return f"at first there is {' and '.join(there)}"
            case ("publish", version):
                return f"v{version} is published: {self._state_words(self._descriptor(after, version))}"  # type: ignore[arg-type]
            case ("drain", version):
                return f"v{version} is drained: nobody uses an older version any more"
            case ("cancel",):
                return "the change is cancelled and turns back"
            case ("close",):
                return "all ranges are done, the run is closed: no worker may write any more"
            case ("verify",):
                way = after.stop != before.stop + 1
                return "verification fails: the change turns back" if way else "verification finds everything"
        changes = self._changes(before, after)
        what = {"clear": "tombstones are cleared", "purge": "tombstones are purged"}
        return f"{what.get(str(step[0]), f'what {self._deleted(before)} has in the store is deleted')}: {changes}"

    def _node(self, before: Config, step: Step, after: Config) -> str:
        name, at = str(step[0]), self.plain.names.index(step[0])  # type: ignore[arg-type]
        node, now = before.nodes[at], after.nodes[at]
        match step[1:]:
            case ("acquire",):
                version = now.use[0]
                return f"{name} leases v{version}: {self._state_words(self._descriptor(after, version))}"
            case ("expire",):
                return f"{name} freezes: its lease on v{node.use[0]} runs out"
            case ("begin",):
                state = self._state_words(self._descriptor(before, node.use[0]))
                return f"{name} begins a transaction as v{node.use[0]}: {state}"
        open_one = node.transaction
        assert open_one is not None
        match step[1:]:
            case ("rollback",):
                return f"{name} rolls back"
            case ("end",):
                return f"the executor ends the session of {name}, whose lease is over"
            case ("read", row):
                return f"{name} reads row {row}"
            case ("write", statement):
                return f"{name} {statement_words(statement)}"  # type: ignore[arg-type]
        statement = step[2] if step[1] == "run" else open_one.statement
        version = open_one.use[0]
        return f"{name} commits as v{version}: {self._commit(before, after, version, statement)}"  # type: ignore[arg-type]

    def _commit(self, before: Config, after: Config, version: int, statement: Statement) -> str:
        done = self._changes(before, after)
        schema = self._descriptor(before, version)
        stays, put = list(self._stays(before, after, statement)), set(self._put(before, after))
        words = []
        for at, name in enumerate(self.names):
            of_it = [pair for part, pair in stays if part == at]
            state = f"to v{version} {name} is {state_at(self.model, schema, at).value}"
            if of_it:
                words.append(f"{state}: {' and '.join(of_it)} stays")
            elif statement[0] != DELETE and at not in put and self._is_left_out(schema, at):
                words.append(f"{state}: nothing is put into it")
        return "; ".join([done, *words])

    def _is_left_out(self, schema: Descriptor, at: int) -> bool:
        has_pairs = self.model.kinds[at] not in (Kind.TABLE, Kind.CONSTRAINT)
        return has_pairs and state_at(self.model, schema, at) is not State.PUBLIC

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

    def _descriptor(self, config: Config, version: int) -> Descriptor:
        return self.effects.road.descriptor(self.plain.stops[config.stop], version)

    def _state_words(self, schema: Descriptor) -> str:
        elements: tuple[Index | Column | Placement, ...] = (*schema.indexes, *schema.columns, *schema.placements)
        filling = any(element.filling for element in elements)
        states = ", ".join(f"{n} is {state_at(self.model, schema, at).value}" for at, n in enumerate(self.names))
        if self.model.has_placements:
            old = next((p.state for p in schema.placements if p.id != NEW), State.ABSENT)
            states = f"the old placement is {old.value}, the new one {state_at(self.model, schema, 0).value}"
        return f"{states}, filling" if filling else states


def statement_words(statement: Statement) -> str:
    """What a client asks for: "deletes row 1"."""
    what, row, other = statement
    if what == DELETE:
        return f"deletes row {row}"
    if what == MOVE:
        return f"changes the key of row {row} to {other}"
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
    return "NULL" if number is None else str(int(str(number)) - FIRST_VALUE + 1)
