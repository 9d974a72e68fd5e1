"""The states of an element that may live together, as two nodes one version apart may hold them.

Protocol section 4, as data: for every kind of element the pairs of states that break a
clause when some node is in the one and another in the other, and how they break it. Both
directions are meant: a drop is a mirrored add.

    index    absent ── delete-only ── write-only ── public      each neighbour is safe
               └────────C3───────────────┘  │          │
                            └───────────────┼──C4──────┘        each jump is not

`changes.review.check` reads a plan against it. The planner refuses a plan with an unsafe step;
the lab runs it and shows what happens.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from catalog.elements import Kind, State
from catalog.states import possible_states

A, D, W, P = State.ABSENT, State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC
Pair = frozenset[State]


@dataclass(frozen=True, slots=True)
class Danger:
    """Why two states may not live together: the clauses that break, and a story in which they do."""

    clauses: tuple[str, ...]
    witness: str


@dataclass(frozen=True, slots=True)
class UnsafeStep:
    """One element's step that a plan may not take."""

    kind: Kind
    name: str
    before: State
    after: State
    danger: Danger

    def __str__(self) -> str:
        pair = f"{self.before.value} and {self.after.value} may not be in use together"
        return f"{self.kind.value} {self.name}: {pair} ({' and '.join(self.danger.clauses)}): {self.danger.witness}"


_ORPHAN_VALUE = Danger(
    ("C1",),
    "a node that knows the column writes its value into a row; a node that does not deletes the row, "
    "and the value stays behind without one",
)
_MISSING_VALUE = Danger(
    ("C2",),
    "a node that may not write the column inserts a row without its value; a reader finds a required one missing",
)

_COLUMN = {frozenset({A, W}): _ORPHAN_VALUE}

_INDEX = {
    frozenset({A, W}): Danger(
        ("C3", "C5"),
        "a node that writes the index puts an entry; a node that has never heard of it deletes the row, "
        "and the entry points at nothing",
    ),
    frozenset({A, P}): Danger(
        ("C3", "C4"),
        "a node that has never heard of the index inserts a row and no entry; a reader of the index does not find it",
    ),
    frozenset({D, P}): Danger(
        ("C4",),
        "a node in delete-only inserts a row and puts no entry; a reader of the public index does not find the row",
    ),
}

DANGERS: Mapping[Kind, Mapping[Pair, Danger]] = {
    Kind.TABLE: {
        frozenset({A, P}): Danger(
            ("C1",), "a node that has the table inserts a row; for a node that has not, its pairs belong to no table"
        ),
    },
    Kind.OPTIONAL_COLUMN: {**_COLUMN, frozenset({A, P}): _ORPHAN_VALUE},
    Kind.REQUIRED_COLUMN: {
        **_COLUMN,
        frozenset({A, P}): Danger(("C1", "C2"), f"{_ORPHAN_VALUE.witness}; and {_MISSING_VALUE.witness}"),
        frozenset({D, P}): _MISSING_VALUE,
    },
    Kind.DERIVED_COLUMN: {
        **_COLUMN,
        frozenset({A, P}): Danger(("C1", "C2"), f"{_ORPHAN_VALUE.witness}; and {_MISSING_VALUE.witness}"),
        frozenset({D, P}): _MISSING_VALUE,
    },
    Kind.INDEX: _INDEX,
    Kind.UNIQUE_INDEX: _INDEX,
    Kind.CONSTRAINT: {
        frozenset({A, P}): Danger(
            ("C6",), "a node without the constraint writes a row that breaks it; a reader relies on it"
        ),
    },
    Kind.PLACEMENT: {
        frozenset({A, W}): _INDEX[frozenset({A, W})],
        frozenset({A, P}): _INDEX[frozenset({A, P})],
        frozenset({D, P}): _INDEX[frozenset({D, P})],
    },
}

ONE_SIDED: Mapping[tuple[bool, bool], Danger] = {
    (True, False): Danger(
        ("C6",),
        "a node deletes a row of the one table to which a row of the other refers, and nothing tells it to look",
    ),
    (False, True): Danger(
        ("C6",), "a node inserts a row that refers to nothing, and nothing tells it to look; a reader relies on it"
    ),
    (True, True): Danger(
        ("C6",),
        "one table relies on what the other one only enforces, and may not enforce any more in the version next to it",
    ),
}
"""A foreign key whose two tables do not have it in the same state: whether the referring one has it, the other one."""


def danger(kind: Kind, one: State, other: State) -> Danger | None:
    """The danger when nodes hold an element in these two states at once; None when nothing does."""
    if one is other:
        return None
    return DANGERS[kind].get(frozenset({one, other}))


def check_step(kind: Kind, name: str, before: State, after: State) -> UnsafeStep | None:
    """The fault of an element's step from one version to the next."""
    for state in (before, after):
        if state not in possible_states(kind):
            undefined = Danger((), f"a {kind.value} is never {state.value}")
            return UnsafeStep(kind, name, before, after, undefined)
    found = danger(kind, before, after)
    return None if found is None else UnsafeStep(kind, name, before, after, found)
