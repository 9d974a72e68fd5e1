"""A trace in sentences, as `Text`s: "n1 commits as v1: - row 1; to v1 by_a is absent: the entry 1 of row 1 stays"."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, Column, Index, Kind, Placement, State
from catalog.text.message import STATES, Text, Values, clauses, joined, listed
from catalog.values.types import SqlType
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
    assigned_text,
    row_of,
    row_text,
    rows_of_range,
    value_text,
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
    width_of,
)
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.config import Config, version_words
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Plain
from storage import encoding
from storage.pairs import PairName

ELEMENTS: Mapping[str, Text] = {
    "column a": Text("column {column}", {"column": "a"}),
    "its twin": Text("its twin"),
    "table t": Text("table {table}", {"table": "t"}),
    "the new placement": Text("the new placement"),
}


def narrate(plain: Plain, steps: Sequence[Step]) -> list[Text]:
    """One sentence for each step. Raises `Impossible`."""
    narrator = narrator_of(plain)
    config, sentences = plain.start(), []
    for step in steps:
        after, _ = plain.after(config, step)
        sentences.append(narrator.sentence(config, step, after))
        config = after
    return sentences


def narrator_of(plain: Plain) -> "Narrator":
    return _LinkedNarrator(plain) if plain.model.foreign_key else Narrator(plain)


def element_text(name: str) -> Text:
    return ELEMENTS.get(name) or Text("{name}", {"name": name})


class Narrator:
    def __init__(self, plain: Plain) -> None:
        self.plain, self.effects = plain, plain.effects
        self.model, self.names = plain.model, [element_text(name) for name in names_of(plain.model)]
        self.elements = elements_of(plain.model)[-len(self.names) :]

    def sentence(self, before: Config, step: Step, after: Config) -> Text:
        if step[0] in self.plain.names:
            return self._node(before, step, after)
        if step[0] == "fill":
            return self._fill(before, step, after)
        match step:
            case ("given", *rows):
                return Text("at first there is {rows}", {"rows": joined(self._given(rows))})
            case ("publish", _):
                return self._published(before, after)
            case ("drain", _):
                return Text("{drained}: no transaction uses an older version", {"drained": self._drained(before)})
            case ("cancel",):
                return Text("the change is cancelled and rolls back")
            case ("close",):
                return Text("all ranges are done and the run is closed: no worker writes to it now")
            case ("verify",):
                is_failed = after.stop != before.stop + 1
                failed, found = Text("verification fails: the change rolls back"), Text("verification passes")
                return failed if is_failed else found
        values: Values = {"changes": self._changes(before, after)}
        match step[0]:
            case "clear":
                return Text("tombstones are cleared: {changes}", values)
            case "purge":
                return Text("tombstones are purged: {changes}", values)
            case "remove":
                return Text("the storage that is left over is removed: {changes}", values)
        of = self._deleted(before)
        return Text("what {elements} has in the store is deleted: {changes}", {**values, "elements": of})

    def _node(self, before: Config, step: Step, after: Config) -> Text:
        name, at = str(step[0]), self.plain.names.index(step[0])  # type: ignore[arg-type]
        node, now = before.nodes[at], after.nodes[at]
        match step[1:]:
            case ("acquire", *which):
                leased: Values = {"node": name, "version": self._leased(after, now.use, which)}
                is_lease = now.held[self.plain.table_at(which)].live
                return Text("{node} leases {version}", leased) if is_lease else Text("{node} loads {version}", leased)
            case ("expire",):
                return self._frozen(name, node.use)
            case ("begin",):
                if self.model.late_enter:
                    return Text(
                        "{node} takes a snapshot, in which v{newest} is the newest version",
                        {"node": name, "newest": self.plain.stops[before.stop].newest},
                    )
                begun: Values = {"version": version_words(node.use), "states": self._use_words(before, node.use)}
                return Text("{node} begins a transaction as {version}: {states}", {"node": name, **begun})
        open_one = node.transaction
        assert open_one is not None
        match step[1:]:
            case ("rollback",):
                return Text("{node} rolls back", {"node": name})
            case ("pin",):
                return Text(
                    "{node} chooses {version}, and has not entered yet",
                    {"node": name, "version": version_words(node.use)},
                )
            case ("enter",):
                uses: Values = {"version": version_words(open_one.use), "states": self._use_words(before, open_one.use)}
                return Text("{node} enters as {version}: {states}", {"node": name, **uses})
            case ("end",):
                ended: Values = {"node": name}
                if not all(
                    self.plain.has_leases(self.plain.stops[before.stop], at, v) for at, v in enumerate(open_one.use)
                ):
                    return Text("the publisher ends the session of {node}: its deadline has passed", ended)
                return Text("the publisher ends the session of {node}: its lease has expired", ended)
            case ("read", *row):
                return Text("{node} reads {row}", {"node": name, "row": row_text(row)})
            case ("write", statement):
                return Text("{node} {does}", {"node": name, "does": statement_text(statement)})  # type: ignore[arg-type]
        statement = step[2] if step[1] == "run" else open_one.statement
        done = self._commit(before, after, open_one.use, statement)  # type: ignore[arg-type]
        values: Values = {"version": version_words(open_one.use), "changes": done}
        return Text("{node} commits as {version}: {changes}", {"node": name, **values})

    def _given(self, rows: Sequence[object]) -> list[Text]:
        return [_given_row(row, value) for row, value in enumerate(rows, 1) if value != "-"]

    def _published(self, before: Config, after: Config) -> Text:
        version = self.plain.stops[before.stop].version
        if self.model.lacks(Broken.IN_PLACE):
            spread: Values = {"version": version, "count": self._descriptor(after, version).placement.storages}
            return Text("v{version} is published: the rows are on {count} storages, it says", spread)
        states = self._state_words(self._descriptor(after, version))
        return Text("v{version} is published: {states}", {"version": version, "states": states})

    def _drained(self, before: Config) -> Text:
        return Text("v{version} is drained", {"version": self.plain.stops[before.stop].version})

    def _leased(self, config: Config, use: Use, which: Sequence[object]) -> Text:
        return Text("v{version}: {states}", {"version": use[0], "states": self._use_words(config, use)})

    def _frozen(self, name: str, use: Use) -> Text:
        return Text("{node} freezes, and its lease on {version} expires", {"node": name, "version": version_words(use)})

    def _use_words(self, config: Config, use: Use) -> Text:
        return self._state_words(self._descriptor(config, use[0]))

    def _commit(self, before: Config, after: Config, use: Use, statement: Statement) -> Text:
        (version,) = use
        schema = self._descriptor(before, version)
        stays, put = list(self._stays(before, after, statement)), set(self._put(before, after))
        parts = [self._changes(before, after)]
        for at, name in enumerate(self.names):
            of_it = [pair for part, pair in stays if part == at]
            state: Values = {"version": version, "element": name, "state": STATES[state_of(schema, self.elements[at])]}
            if of_it:
                state["pairs"] = joined(of_it)
                parts.append(Text("under v{version} {element} is {state}: {pairs} stays", state))
            elif statement[0] != DELETE and at not in put and self._is_left_out(schema, at):
                parts.append(Text("under v{version} {element} is {state}: nothing is put into it", state))
        return clauses(parts)

    def _is_left_out(self, schema: Descriptor, at: int) -> bool:
        has_pairs = self.model.kinds[at] not in (Kind.TABLE, Kind.CONSTRAINT)
        return has_pairs and state_of(schema, self.elements[at]) is not State.PUBLIC

    def _fill(self, before: Config, step: Step, after: Config) -> Text:
        if step[1] == "purge":
            changes = self._changes(before, after)
            return Text("tombstones are removed while the fill runs: {changes}", {"changes": changes})
        number = step[2]
        assert isinstance(number, int)
        if step[1] == "again":
            return Text("the worker of range {range} is believed dead, another takes over", {"range": number})
        is_second = step[3] != 1
        who = Text("the second worker") if is_second else Text("the fill")
        values: Values = {"who": who, "rows": ", ".join(map(str, rows_of_range(self.plain.model, number - 1)))}
        if step[1] == "read":
            chunk = after.ranges[number - 1][2 if is_second else 1]
            return Text("{who} reads row {rows}: {to_put}", {**values, "to_put": self.chunk_text(chunk)})
        return Text("{who} puts row {rows}: {changes}", {**values, "changes": self._changes(before, after)})

    def chunk_text(self, chunk: int) -> Text:
        ops = self.effects.chunks[chunk] if chunk >= 0 else ()
        pairs = [self._pair_words(self.effects.name_of(op.key), op.value) for op in ops]
        return Text("{pairs} is to be put", {"pairs": joined(pairs)}) if pairs else Text("there is nothing to put")

    def _deleted(self, before: Config) -> Text:
        parts = self.plain.stops[before.stop].parts
        if self.model.has_placements:
            return Text("the old placement") if parts == (0,) else Text("the new placement")
        return joined([self.names[part] for part in parts])

    # Changes in the store

    def _pairs(self, config: Config) -> dict[tuple[int, bytes], bytes | None]:
        pairs = self.effects.known[config.contents].pairs
        return {(home, key): value for home, items in enumerate(pairs) for key, value in items}

    def _changes(self, before: Config, after: Config) -> Text:
        old, new = self._pairs(before), self._pairs(after)
        parts = []
        for slot in sorted(old.keys() | new.keys()):
            name, was, now = self.effects.name_of(slot[1]), old.get(slot), new.get(slot)
            pair: Values = {"pair": self._pair_words(name, was if now is None else now)}
            if slot in new and now is None and was is not None:
                parts.append(Text("a tombstone where {pair} was", pair))
            elif slot in new and now is None and slot not in old:
                parts.append(Text("a tombstone where {pair} might be", pair))
            elif slot not in new:
                parts.append(Text("- tombstone of {pair}", pair) if was is None else Text("- {pair}", pair))
            elif now is not None and was != now:
                parts.append(Text("+ {pair}", pair) if was is None else Text("~ {pair}", pair))
        return listed(parts) or Text("nothing changes in the store")

    def _put(self, before: Config, after: Config) -> Iterator[int | None]:
        old, new = self._pairs(before), self._pairs(after)
        for slot, value in new.items():
            if value is not None and old.get(slot) != value:
                yield part_of(self.model, self.effects.name_of(slot[1]))

    def _stays(self, before: Config, after: Config, statement: Statement) -> Iterator[tuple[int, Text]]:
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

    def _pair_words(self, name: PairName, value: bytes | None) -> Text:
        is_new = self.model.has_placements and name.placement == NEW
        pair = self._pair_of(name, value)
        return Text("{pair} in the new placement", {"pair": pair}) if is_new else pair

    def _pair_of(self, name: PairName, value: bytes | None) -> Text:
        if name.index != PRIMARY:
            assert name.values is not None
            owner = name.row_key if name.row_key is not None else value
            entry = Text("the entry {value}", {"value": _value_of(name.values)})
            if len(self.effects.widest.indexes) > 1:
                entry = Text("{entry} of {index}", {"entry": entry, "index": INDEX_NAMES[name.index]})
            return entry if owner is None else Text("{entry} of row {row}", {"entry": entry, "row": _number(owner)})
        assert name.row_key is not None
        row = _number(name.row_key)
        if name.column == EXISTS:
            return Text("row {row}", {"row": row})
        held = assigned_text("a", _value_of(value)) if value is not None else "a"
        if name.column == TWIN:
            return Text("the twin's {value} of row {row}", {"value": held, "row": row})
        return Text("{value} of row {row}", {"value": held, "row": row})

    def _descriptor(self, config: Config, version: int, table: int = 0) -> Descriptor:
        return self.effects.program.descriptor(self.plain.stops[config.stop], version, table)

    def _state_words(self, schema: Descriptor) -> Text:
        elements: tuple[Index | Column | Placement, ...] = (*schema.indexes, *schema.columns, *schema.placements)
        filling = any(element.filling for element in elements)
        if self.model.has_placements:
            old = next((p.state for p in schema.placements if p.id != NEW), State.ABSENT)
            both: Values = {"old": STATES[old], "new": STATES[state_of(schema, self.elements[0])]}
            states = Text("the old placement is {old}, the new one {new}", both)
        elif self.model.widths:
            states = width_text(self.names[0], width_of(schema))
        else:
            states = listed([_is_in(name, state_of(schema, self.elements[at])) for at, name in enumerate(self.names)])
        return Text("{states}, filling", {"states": states}) if filling else states


class _LinkedNarrator(Narrator):
    def _given(self, rows: Sequence[object]) -> list[Text]:
        there = zip(self.effects.subjects, rows, strict=True)
        return [
            Text("parent {parent}", {"parent": row}) if what == INSERT_PARENT else _given_row(row, value)
            for (what, row), value in there
            if value != "-"
        ]

    def _published(self, before: Config, after: Config) -> Text:
        stop, newest = self.plain.stops[before.stop], self.plain.stops[after.stop].newest_use
        new = [at for at, place in enumerate(stop.published) if place != UNCHANGED]
        values: Values = {"tables": _tables_text(newest, new), "states": self._use_words(after, newest)}
        one, both = Text("{tables} is published: {states}", values), Text("{tables} are published: {states}", values)
        return one if len(new) == 1 else both

    def _drained(self, before: Config) -> Text:
        stop = self.plain.stops[before.stop]
        values: Values = {"tables": _tables_text(stop.newest_use, stop.drained)}
        one, both = Text("{tables} is drained", values), Text("{tables} are drained", values)
        return one if len(stop.drained) == 1 else both

    def _leased(self, config: Config, use: Use, which: Sequence[object]) -> Text:
        at = NAMES.index(str(which[0]))
        link = _is_in(element_text(LINK_NAME), self._state(config, use, at))
        column = self._column_words(config, use) if at == CHILD else []
        return Text("{version}: {states}", {"version": f"{NAMES[at]}@{use[at]}", "states": listed([*column, link])})

    def _frozen(self, name: str, use: Use) -> Text:
        values: Values = {"node": name, "versions": version_words(use)}
        return Text("{node} freezes, and its leases on {versions} expire", values)

    def _use_words(self, config: Config, use: Use) -> Text:
        child, parent = (self._state(config, use, at) for at in (CHILD, PARENT))
        link = _is_in(element_text(LINK_NAME), child)
        if child is not parent:
            states: Values = {"link": LINK_NAME, "state": STATES[child], "other": STATES[parent]}
            states |= {"child": NAMES[CHILD], "referenced": NAMES[PARENT]}
            link = Text("{link} is {state} in {child}, {other} in {referenced}", states)
        return listed([*self._column_words(config, use), link])

    def _column_words(self, config: Config, use: Use) -> list[Text]:
        if len(self.model.kinds) == 1:
            return []
        child = self._descriptor(config, use[CHILD])
        state = _is_in(ELEMENTS["column a"], state_of(child, self.elements[0]))
        is_filling = any(column.filling for column in child.columns)
        return [Text("{state} and filling", {"state": state}) if is_filling else state]

    def _state(self, config: Config, use: Use, at: int) -> State:
        constraints = self._descriptor(config, use[at], at).constraints
        return next((one.state for one in constraints), State.ABSENT)

    def _commit(self, before: Config, after: Config, use: Use, statement: Statement) -> Text:
        done = self._changes(before, after)
        what, row, value = statement
        at = PARENT if what in OF_PARENTS else CHILD
        if self._state(before, use, at) is not State.ABSENT:
            return done
        of: Values = {"version": f"{NAMES[at]}@{use[at]}", "link": LINK_NAME}
        if what in (DELETE_PARENT, MOVE_PARENT):
            of |= {"parent": row}
            who = Text("{version} does not know {link}: references to parent {parent} are not checked", of)
            return clauses([done, who])
        if what in (INSERT, UPDATE) and value > 0:
            is_there = Text("{version} does not know {link}: parent {parent} is not looked up", of | {"parent": value})
            return clauses([done, is_there])
        return done

    def _pair_of(self, name: PairName, value: bytes | None) -> Text:
        assert name.row_key is not None
        if name.row_key in self.parents:
            return Text("parent {parent}", {"parent": _value_of(name.row_key)})
        return super()._pair_of(name, value)

    @cached_property
    def parents(self) -> frozenset[bytes]:
        return frozenset(encoded(value) for value in range(1, self.model.values + 1))


def _given_row(row: int, value: object) -> Text:
    return Text("row {row} ({value})", {"row": row, "value": value_text(value)})


def width_text(name: Text, width: Text) -> Text:
    return Text("{element} has the {width} type", {"element": name, "width": width})


def _is_in(name: Text, state: State) -> Text:
    return Text("{element} is {state}", {"element": name, "state": STATES[state]})


def _tables_text(use: Use, tables: Sequence[int]) -> Text:
    return joined([Text("{version}", {"version": f"{NAMES[at]}@{use[at]}"}) for at in tables])


DOES = {
    DELETE: (Text("deletes {row}"), Text("delete {row}")),
    MOVE: (Text("changes the key of {row} to {key}"), Text("change the key of {row} to {key}")),
    INSERT_PARENT: (Text("inserts {row}"), Text("insert {row}")),
    INSERT: (Text("inserts {row} with {value}"), Text("insert {row} with {value}")),
    UPDATE: (Text("updates {row} to {value}"), Text("update {row} to {value}")),
}
"""A client's request, as a sentence says it and as a button does."""


def statement_text(statement: Statement) -> Text:
    return _worded(statement, 0)


def request_text(statement: Statement) -> Text:
    return _worded(statement, 1)


def _worded(statement: Statement, form: int) -> Text:
    what, _, other = statement
    values: Values = {"row": row_text(row_of(statement))}
    if what in (MOVE, MOVE_PARENT):  # the key of a parent is a value
        key = Text("{value}", {"value": other}) if what == MOVE_PARENT else Text("{row}", {"row": other})
        return Text(DOES[MOVE][form].template, {**values, "key": key})
    if what in (INSERT, UPDATE) and other != NO_VALUE:
        return Text(DOES[what][form].template, {**values, "value": value_text(other)})
    return Text(DOES[DELETE if what in (DELETE, DELETE_PARENT) else INSERT_PARENT][form].template, values)


def _number(key: bytes) -> int:
    number, _ = encoding.decode(SqlType.BIGINT, key)
    assert isinstance(number, int)
    return number


def _value_of(data: bytes) -> str:
    number, _ = encoding.decode(SqlType.BIGINT, data)
    if number is None or int(str(number)) < FIRST_VALUE:
        return "NULL" if number is None else str(number)  # a row, which another one refers to
    return str(int(str(number)) - FIRST_VALUE + 1)
