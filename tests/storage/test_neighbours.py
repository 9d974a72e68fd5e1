"""The unsafe pairs of states, found by trying everything, are those of section 4 and of the planner's table."""

from dataclasses import replace
from functools import cache

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, Derivation, Kind, State
from catalog.states import possible_states
from catalog.values.types import SqlType
from changes.review import neighbour_states
from tests.storage import linked_neighbours
from tests.storage.neighbours import ADDED, ID, SOURCE, TABLE, Danger, dangers, states_of, unsafe_pairs

A, D, W, P = State.ABSENT, State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC
found = cache(unsafe_pairs)

INDEX = {(A, W): ("C3", "C5"), (A, P): ("C3 C4", "C5"), (D, P): ("C4", "")}
REQUIRED = {(A, W): ("C1", ""), (A, P): ("C1 C2", ""), (D, P): ("C2", "")}
SECTION_4 = {
    Kind.TABLE: {(A, P): ("C1", "")},
    Kind.OPTIONAL_COLUMN: {(A, W): ("C1", ""), (A, P): ("C1", "")},
    Kind.REQUIRED_COLUMN: REQUIRED,
    Kind.DERIVED_COLUMN: REQUIRED | {(A, W): ("C1", "C5"), (A, P): ("C1 C2", "C5")},
    Kind.INDEX: INDEX,
    Kind.UNIQUE_INDEX: INDEX | {(A, P): ("C3 C4", "C5 C6"), (D, P): ("C4 C6", "")},
    Kind.CONSTRAINT: {(A, P): ("C6", "")},
    Kind.PLACEMENT: {(A, W): ("C7", "C5")},
}
"""For each kind its unsafe pairs, the clauses that one statement breaks, and those that a second one breaks then."""


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
def test_what_is_found_is_what_the_protocol_says(kind: Kind) -> None:
    said = {frozenset(pair): tuple(set(clauses.split()) for clauses in both) for pair, both in SECTION_4[kind].items()}
    assert {pair: (set(d.clauses), set(d.later_clauses)) for pair, d in found(kind).items()} == said


@pytest.mark.parametrize("kind", [k for k in Kind if k is not Kind.PLACEMENT], ids=lambda kind: kind.value)
def test_the_planners_table_says_the_same(kind: Kind) -> None:
    """Its clauses are among those found; of a placement it speaks as of an index (C3 for what C7 says here)."""
    assert set(states_of(kind)) == possible_states(kind)
    assert found(kind).keys() == neighbour_states.DANGERS[kind].keys()
    for pair, danger in neighbour_states.DANGERS[kind].items():
        assert set(danger.clauses) <= found(kind)[pair].clauses | found(kind)[pair].later_clauses
        assert found(kind)[pair].clauses - set(danger.clauses) <= {"C6"}, "duplicates go with the missing entries (C4)"


def test_a_danger_names_who_did_what() -> None:
    (breach,) = found(Kind.INDEX)[frozenset({D, P})].first
    assert str(breach) == (
        "a node in delete-only inserts row 1 with a = 1; in public, C4: index i has no entry for row id = 1"
    )


OLD, TWIN = Column(SOURCE, "a", SqlType.INTEGER), Column(ADDED, "b", SqlType.INTEGER, added_with_default=True)
FORTH, BACK = f'- "#{SOURCE}"', f'- "#{ADDED}"'
TWIN_FOLLOWS, OLD_FOLLOWS = Derivation(SOURCE, FORTH, BACK), Derivation(ADDED, BACK, FORTH)


def of(old: Column | None, twin: Column | None) -> Descriptor:
    columns = (c for c in (old, twin) if c is not None and c.state is not A)
    return replace(TABLE, columns=(TABLE.column(ID), *columns))


def before(state: State) -> Descriptor:
    return of(OLD, replace(TWIN, state=state, derived=TWIN_FOLLOWS))


def after(state: State) -> Descriptor:
    return of(replace(OLD, state=state, derived=OLD_FOLLOWS) if state is not A else None, TWIN)


def judged(one: Descriptor, other: Descriptor) -> Danger:
    return dangers({"before": one, "after": other})


def test_the_swap_of_a_type_change_is_one_safe_step() -> None:
    assert judged(before(W), after(W)).clauses == frozenset()
    assert judged(after(W), after(D)).clauses == frozenset()


@pytest.mark.parametrize(("one", "other", "clauses"), [
    pytest.param(before(D), after(W), "C2", id="a twin that is not written yet is read"),
    pytest.param(before(W), after(D), "C5", id="the old column loses its values while it is read"),
    pytest.param(before(W), after(A), "C1", id="the old column is gone while it is read"),
    pytest.param(after(W), after(A), "C1", id="without delete-only its values are left"),
])  # fmt: skip
def test_a_type_change_in_fewer_steps(one: Descriptor, other: Descriptor, clauses: str) -> None:
    assert set(clauses.split()) <= judged(one, other).clauses


def test_a_foreign_key_may_not_be_absent_and_public_at_once() -> None:
    """Found with two tables, and the same as the planner's table says of every constraint."""
    unsafe = linked_neighbours.unsafe_pairs()
    assert unsafe.keys() == {frozenset({A, P})} == neighbour_states.DANGERS[Kind.CONSTRAINT].keys()
    assert {breach.clause for breach in unsafe[frozenset({A, P})].first} == {"C6"}


def test_a_node_that_has_one_version_of_the_child_and_another_of_the_parent_is_tried() -> None:
    (danger,) = linked_neighbours.unsafe_pairs().values()
    dangling = "row id = 1 with (parent) = (1) breaks constraint refers: no row of parent has (id) = (1)"
    (breach,) = danger.first
    assert str(breach) == f"a node in absent puts a row that refers to parent 1; in public, C6: {dangling}"
    universe = linked_neighbours._TwoTables(A, P)
    referring = universe.representations()
    whole = max((pairs for pairs in referring if universe.is_consistent(pairs)), key=len)
    assert [f"{breach.by} {breach.statement}" for breach, _ in universe.breaches(whole)] == [
        "absent deletes parent 1",
        "public in child and absent in parent deletes parent 1",
    ]
