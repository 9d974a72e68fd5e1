"""Which states may live together (protocol section 4)."""

from itertools import pairwise

import pytest

from catalog.elements import Kind, State
from catalog.states import possible_states
from changes.plan.model import Element
from changes.planning.stages import rungs_down, rungs_up
from changes.review.neighbour_states import DANGERS, check_step, danger

A, D, W, P = State.ABSENT, State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC

UNSAFE = [
    pytest.param(Kind.TABLE, A, P, ("C1",), id="a table public for one and unknown to the other"),
    pytest.param(Kind.OPTIONAL_COLUMN, A, W, ("C1",), id="an optional column written by one, unknown to the other"),
    pytest.param(Kind.REQUIRED_COLUMN, A, W, ("C1",), id="a required column written by one, unknown to the other"),
    pytest.param(Kind.OPTIONAL_COLUMN, A, P, ("C1",), id="an optional column public for one, unknown to the other"),
    pytest.param(Kind.REQUIRED_COLUMN, A, P, ("C1", "C2"), id="a required column public for one, unknown to the other"),
    pytest.param(Kind.REQUIRED_COLUMN, D, P, ("C2",), id="a required column read by one, not written by the other"),
    pytest.param(Kind.DERIVED_COLUMN, A, W, ("C1", "C5"), id="a derived column written by one, unknown to the other"),
    pytest.param(Kind.INDEX, A, W, ("C3", "C5"), id="an index written by one, unknown to the other"),
    pytest.param(Kind.INDEX, A, P, ("C3", "C4"), id="an index read by one, unknown to the other"),
    pytest.param(Kind.INDEX, D, P, ("C4",), id="an index read by one, not written by the other"),
    pytest.param(Kind.CONSTRAINT, A, P, ("C6",), id="a constraint relied on by one, unknown to the other"),
]


@pytest.mark.parametrize(("kind", "one", "other", "clauses"), UNSAFE)
def test_unsafe_pairs_name_the_clause_in_both_directions(
    kind: Kind, one: State, other: State, clauses: tuple[str, ...]
) -> None:
    for before, after in ((one, other), (other, one)):
        found = check_step(kind, "it", before, after)
        assert found is not None
        assert found.danger.clauses == clauses
        assert str(found.danger.witness) in str(found)


LADDERS = {
    Kind.TABLE: (A, D, P),
    Kind.OPTIONAL_COLUMN: (A, D, P),
    Kind.REQUIRED_COLUMN: (A, D, W, P),
    Kind.DERIVED_COLUMN: (A, D, W, P),
    Kind.INDEX: (A, D, W, P),
    Kind.UNIQUE_INDEX: (A, D, W, P),
    Kind.CONSTRAINT: (A, W, P),
    Kind.PLACEMENT: (A, D, W, P),
}


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
def test_each_step_of_the_ladder_is_safe(kind: Kind) -> None:
    ladder = LADDERS[kind]
    assert kind.facts.ladder == ladder
    assert possible_states(kind) >= set(ladder)
    assert all(check_step(kind, "it", one, other) is None for one, other in pairwise(ladder))


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
def test_the_planner_goes_up_and_down_the_ladder(kind: Kind) -> None:
    it, ladder = Element(kind, 1, "it"), LADDERS[kind]
    assert tuple(rungs_up(it, is_covered=False).values()) == ladder[1:]
    down = tuple(rungs_down(it, is_late=False, is_alone=True).values())
    assert down + (() if kind is Kind.CONSTRAINT else (A,)) == ladder[-2::-1]


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
def test_only_defined_states_are_judged(kind: Kind) -> None:
    assert all(pair <= possible_states(kind) for pair in DANGERS[kind])
    assert danger(kind, P, P) is None


def test_an_undefined_state_is_refused_by_name() -> None:
    assert "a table is never write-only" in str(check_step(Kind.TABLE, "users", D, W))
    assert "a constraint is never delete-only" in str(check_step(Kind.CONSTRAINT, "positive", A, D))
