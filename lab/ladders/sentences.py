"""Sentences for the steps of an order in plain words, short enough for a class: "n1 deletes row 1. It does not know
by_a, so the entry stays." The stage's own narration (`lab.explorer.narration`) says every pair."""

from collections.abc import Collection, Sequence

from catalog.elements import Kind, NodeId, State
from catalog.text.message import NOTHING, STATES, Text, Values, joined
from changes.plan.element_states import state_of
from lab.explorer.contents.statements import DELETE, INSERT, UPDATE, Statement, rows_of_range
from lab.explorer.narration import element_text
from lab.explorer.plans.program import Do
from lab.explorer.plans.small_tables import elements_of, names_of, part_of, row_key_of
from lab.explorer.spaces.config import Config
from lab.explorer.spaces.full_space import Plain
from storage.mutations import REMOVALS

PAIRS = {"index": Text("entry"), "column": Text("value"), "placement": Text("copy")}

PUTS_NOTHING = Text("The fill reads row {rows}. In v{version}, {states}, so the fill puts nothing.")
EMPTY = Text("The table is empty.")
ModelPair = tuple[int, bytes, bytes]
"""A live pair: its storage, key and value."""

COLUMN = "a"


class Sentences:
    def __init__(self, plain: Plain) -> None:
        self.plain, self.model = plain, plain.model
        self.elements = elements_of(plain.model)
        self.names = [element_text(name) for name in names_of(plain.model)]
        family = self.model.kind.family.value if not self.model.kind.is_index else "index"
        self.pair = PAIRS.get(family, PAIRS["column"])

    def first(self, config: Config) -> Text:
        values: Values = {"states": self.states(config, 1), "rows": self._rows(config)}
        return Text("Both servers use v1: {states}. {rows}", values)

    def _rows(self, config: Config) -> Text:
        given = [
            Text("row {row} with {column} = {value}", {"row": row, "column": COLUMN, "value": value})
            if isinstance(value, int) and value > 0
            else Text("row {row}", {"row": row})
            for row, value in enumerate(self.plain.effects.given_rows(config.contents), 1)
            if value != "-"
        ]
        return Text("The table holds {rows}.", {"rows": joined(given)}) if given else EMPTY

    def states(self, config: Config, version: int) -> Text:
        found = self._states_in(config, version)
        if self.model.has_placements:
            both: Values = {"old": STATES[found[0]], "new": STATES[found[1]]}
            return Text("the old placement is {old}, the new one {new}", both)
        named = zip(self.names, found, strict=False)
        return joined([Text("{element} is {state}", {"element": name, "state": STATES[one]}) for name, one in named])

    def stage(self, config: Config, version: int) -> tuple[State, ...]:
        return tuple(self._states_in(config, version))

    def _states_in(self, config: Config, version: int) -> list[State]:
        described = self.plain.effects.program.descriptor(self.plain.stops[config.stop], version)
        return [state_of(described, element) for element in self.elements]

    # What a step does

    def published(self, after: Config) -> Text:
        version = self.plain.stops[after.stop].newest
        values: Values = {"version": version, "states": self.states(after, version)}
        return Text("The publisher publishes v{version}: {states}.", values)

    def leased(self, name: str, after: Config) -> Text:
        node = after.nodes[self.plain.names.index(NodeId(name))]
        return Text("{node} leases v{version}.", {"node": name, "version": node.use[0]})

    def written(self, name: str, statement: Statement, before: Config, after: Config) -> Text:
        did, so = self._did(name, statement), self._so(name, statement, before, after)
        return Text("{did} {so}", {"did": did, "so": so}) if so else did

    def _did(self, name: str, statement: Statement) -> Text:
        what, row, value = statement
        values: Values = {"node": name, "row": row, "column": COLUMN, "value": value}
        if what == INSERT:
            plain, full = (
                Text("{node} inserts row {row}.", values),
                Text("{node} inserts row {row}, {column} = {value}.", values),
            )
            return full if value > 0 else plain
        if what == UPDATE:
            return Text("{node} sets {column} = {value} in row {row}.", values)
        if what == DELETE:
            return Text("{node} deletes row {row}.", values)
        verb = what.partition("-")[0]
        texts = {
            "insert": Text("{node} inserts parent {row}.", values),
            "delete": Text("{node} deletes parent {row}.", values),
        }
        return texts.get(verb, Text("{node} changes the key of row {row}.", values))

    def _so(self, name: str, statement: Statement, before: Config, after: Config) -> Text:
        if self.model.kind in (Kind.TABLE, Kind.CONSTRAINT) or self.model.foreign_key:
            return NOTHING
        what, row, _ = statement
        was, now = self._pairs(before), self._pairs(after)
        put, removed = now - was, was - now
        kept = [pair for pair in was & now if self._row_of(pair) == row_key_of(row)]
        at, state = self._state_used(name, before, put or removed)
        values: Values = {
            "element": self.names[min(at, len(self.names) - 1)],
            "what": self.pair,
            "state": STATES[state],
            "row": row,
        }
        if state is State.ABSENT:
            if what == INSERT:
                return Text("It does not know {element}, so it puts no {what}.", values)
            none = Text("It does not know {element}. There was no {what} of row {row}.", values)
            return Text("It does not know {element}, so the {what} stays.", values) if kept else none
        puts_again = not put and self._puts(name, statement, before)
        if removed and (put or puts_again):
            return Text("It replaces the {what}.", values)
        if put and state is State.PUBLIC:
            return Text("It knows {element}, so it puts the {what}, too.", values)
        if put:
            return Text("For it {element} is {state}: it puts the {what}, too.", values)
        if removed and what == UPDATE:
            return Text("For it {element} is {state}: it removes the old {what} and puts none.", values)
        if removed:
            return Text("For it {element} is {state}: it removes the {what}, too.", values)
        if what == INSERT:
            again = Text("It puts the {what}, too: the store still held the same one.", values)
            return again if puts_again else Text("For it {element} is {state}: it puts no {what}.", values)
        return NOTHING

    def _state_used(self, name: str, config: Config, changed: Collection[ModelPair]) -> tuple[int, State]:
        states = self._states_in(config, self._version_used(name, config))
        parts = (part_of(self.model, self.plain.effects.name_of(key)) for _, key, _ in sorted(changed))
        at = len(states) - 1 if self.model.has_placements else next(parts, None) or 0
        return at, states[at]

    def _version_used(self, name: str, config: Config) -> int:
        node = config.nodes[self.plain.names.index(NodeId(name))]
        return (node.use if node.transaction is None else node.transaction.use)[0]

    def _puts(self, name: str, statement: Statement, config: Config) -> bool:
        effects = self.plain.effects
        described = effects.program.descriptor(self.plain.stops[config.stop], self._version_used(name, config))
        ops = effects.operations(described, effects.snapshot(config.contents), statement) or ()
        return any(op.act not in REMOVALS and part_of(self.model, effects.name_of(op.key)) is not None for op in ops)

    def _row_of(self, pair: ModelPair) -> bytes:
        """The key of the row that a pair belongs to: a unique entry holds it as its value."""
        _, key, value = pair
        return self.plain.effects.name_of(key).row_key or value

    def _pairs(self, config: Config) -> set[ModelPair]:
        effects = self.plain.effects
        held = enumerate(effects.known[config.contents].pairs)
        return {
            (home, key, value)
            for home, items in held
            for key, value in items
            if value is not None and part_of(self.model, effects.name_of(key)) is not None
        }

    def filled(self, number: int, before: Config, after: Config, *, is_second: bool) -> Text:
        rows = joined([Text("{row}", {"row": row}) for row in rows_of_range(self.model, number - 1)])
        stored = self._pairs(after)
        put = stored - self._pairs(before)
        version = self.plain.stops[before.stop].newest
        state = self.states(before, version)
        values: Values = {"rows": rows, "what": self.pair, "version": version, "states": state}
        if put:
            second = Text("A second worker reads row {rows} and puts the {what}.", values)
            return second if is_second else Text("The fill reads row {rows} and puts the {what}.", values)
        if self._states_in(before, version)[-1] in (State.ABSENT, State.DELETE_ONLY):
            return Text(PUTS_NOTHING.template, values)
        read = {row_key_of(row) for row in rows_of_range(self.model, number - 1)}
        if read & set(map(self._row_of, stored)):
            held = Text("The fill reads row {rows}. The store holds its {what} already, so the fill puts nothing.")
            return Text(held.template, values)
        return Text("The fill reads row {rows}. It has no {what} to put.", values)

    def worked(self, do: Do, before: Config, after: Config) -> Text:
        values: Values = {"what": self.pair}
        if do is Do.VERIFY:
            found, failed = (
                Text("Verification finds nothing wrong."),
                Text("Verification fails. The change rolls back."),
            )
            return found if after.stop == before.stop + 1 else failed
        if do is Do.DELETE:
            return Text("Every {what} of the element is deleted.", values)
        return Text("The storage that is left over is removed.")

    def queried(self, name: str, version: int, found: Sequence[str], has_leased: bool) -> Text:
        """A query under the newest version, by the index, of a node that has just leased it or of anybody."""
        rows = joined([Text("{row}", {"row": one}) for one in found])
        values: Values = {"node": name, "version": version, "rows": rows}
        if not has_leased:
            none = Text("A query under v{version} reads the index and does not find the row.", values)
            return Text("A query under v{version} reads the index and finds row {rows}.", values) if found else none
        none = Text("{node} leases v{version} and queries by the index: the row is not found.", values)
        return (
            Text("{node} leases v{version} and queries by the index: it finds row {rows}.", values) if found else none
        )
