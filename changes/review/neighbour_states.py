"""The states of an element that nodes one version apart may hold (protocol section 4), from the facts of its kind
(`catalog.kinds`), in both directions: a drop is a mirrored add. Neighbouring states are safe, each jump is not. The
planner refuses an unsafe step; the lab runs it and shows what happens."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from catalog.elements import Kind, State
from catalog.kinds import Family
from catalog.states import possible_states
from catalog.text.message import STATES, Text, Values, kind_text, named_element
from catalog.text.message import clauses as listed_clauses

A, D, W, P = State.ABSENT, State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC
Pair = frozenset[State]


@dataclass(frozen=True, slots=True)
class Danger:
    """The clauses that break when two states are held at once, and a story in which they do."""

    clauses: tuple[str, ...]
    witness: Text


@dataclass(frozen=True, slots=True)
class UnsafeStep:
    kind: Kind
    name: str
    before: State
    after: State
    danger: Danger

    @property
    def text(self) -> Text:
        what = "column" if self.kind.is_column else self.kind.value
        values: Values = {"element": named_element(what, self.name), "witness": self.danger.witness}
        states: Values = {"before": STATES[self.before], "after": STATES[self.after]}
        return Text("{element}: {before} and {after} are not compatible: {witness}", values | states)

    def __str__(self) -> str:
        return str(self.text)


LEFT: Mapping[Family, Text] = {
    Family.TABLE: Text("a node that has the table inserts a row; to a node without it, the pairs belong to no table"),
    Family.COLUMN: Text("a node writes a value; a node that does not know the column deletes the row, not the value"),
    Family.INDEX: Text("a node puts an entry; a node that does not know the index deletes the row, not the entry"),
    Family.PLACEMENT: Text(
        "a node puts a row into the placement, too; a node that does not know the placement deletes the row elsewhere"
    ),
}
"""The harm when one node writes an element that another one does not know."""

LACKED: Mapping[Family, Text] = {
    Family.COLUMN: Text("a node that may not write the column inserts a row; a reader finds a required value missing"),
    Family.INDEX: Text("a node that puts no entry inserts a row; a reader of the public index does not find it"),
    Family.CONSTRAINT: Text("a node without the constraint writes a row that breaks it; a reader relies on it"),
    Family.PLACEMENT: Text("a node that does not write the placement inserts a row; its reader does not find it"),
}
"""The harm when one node relies on an element that another one does not write, or not enforce."""


def _danger(kind: Kind, states: Pair) -> Danger | None:
    """Without readers nothing is missed, and leftovers of a derived element are met by its own nodes (C5)."""
    facts = kind.facts
    is_left = A in states and bool(states & {W, P}) and bool(facts.left_breaks)
    is_lacked = P in states and bool(states & {A, D}) and bool(facts.unfilled_breaks)
    if is_left and is_lacked:
        return Danger(
            (facts.left_breaks, facts.unfilled_breaks), listed_clauses([LEFT[facts.family], LACKED[facts.family]])
        )
    if is_lacked:
        return Danger((facts.unfilled_breaks,), LACKED[facts.family])
    if is_left:
        return Danger((facts.left_breaks, "C5") if facts.is_derived else (facts.left_breaks,), LEFT[facts.family])
    return None


def _dangers(kind: Kind) -> Mapping[Pair, Danger]:
    states = [state for state in State if state in possible_states(kind)]
    found = {pair: _danger(kind, pair) for pair in map(frozenset, combinations(states, 2))}
    return {pair: danger for pair, danger in found.items() if danger is not None}


DANGERS: Mapping[Kind, Mapping[Pair, Danger]] = {kind: _dangers(kind) for kind in Kind}

ONE_SIDED: Mapping[tuple[bool, bool], Danger] = {
    (True, False): Danger(
        ("C6",),
        Text("a node deletes a row of one table to which a row of the other refers, and nothing tells it to look"),
    ),
    (False, True): Danger(
        ("C6",),
        Text("a node inserts a row that refers to nothing, and nothing tells it to look; a reader relies on it"),
    ),
    (True, True): Danger(
        ("C6",),
        Text("one table relies on what the other one only enforces, and may not enforce in the version next to it"),
    ),
}
"""A foreign key whose two tables do not have it in the same state: whether the referring one has it, the other one."""


def danger(kind: Kind, one: State, other: State) -> Danger | None:
    """The danger when nodes hold an element in these two states at once, or None."""
    if one is other:
        return None
    return DANGERS[kind].get(frozenset({one, other}))


def check_step(kind: Kind, name: str, before: State, after: State) -> UnsafeStep | None:
    for state in (before, after):
        if state not in possible_states(kind):
            undefined = Danger((), Text("a {kind} is never {state}", {"kind": kind_text(kind), "state": STATES[state]}))
            return UnsafeStep(kind, name, before, after, undefined)
    found = danger(kind, before, after)
    return None if found is None else UnsafeStep(kind, name, before, after, found)
