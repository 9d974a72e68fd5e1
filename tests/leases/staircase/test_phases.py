"""The state in which each version of a table is drawn, along the plans of whole changes and of those that roll back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from catalog.descriptor import Descriptor
from changes.plan.model import Plan, StepKind
from changes.plan.rollback import rollback_steps
from leases.staircase.phases import drawn, moving_elements, phase, phases
from tests.changes.tables import people, planned

INDEX = {"element": "index", "name": "by_dest", "state": "delete-only", "filling": False}


def versions(plan: Plan) -> list[Descriptor]:
    """The version that the plan begins with, and each that it publishes."""
    assert plan.base is not None
    return [plan.base, *(step.published for step in plan.publishes if step.published is not None)]


def drawn_in(bodies: Sequence[Descriptor]) -> list[str]:
    return drawn(zip(phases(bodies), map(moving_elements, bodies), strict=True))


def looks_of(plan: Plan) -> str:
    return " > ".join(phases(versions(plan)))


@pytest.mark.parametrize(("statement", "expected"), [
    ("CREATE INDEX i ON people (born)", "absent > delete-only > write-only > public"),
    ("DROP INDEX by_age", "public > write-only > delete-only > absent"),
    ("ALTER TABLE people ADD nick text", "absent > delete-only > public"),
    ("ALTER TABLE people DROP town", "public > delete-only > absent"),
    ("ALTER TABLE people ALTER name SET NOT NULL", "absent > write-only > public"),
    ("ALTER TABLE people ALTER age DROP NOT NULL", "public > write-only > absent"),
    ("ALTER TABLE people ADD CHECK (age < 200)", "absent > write-only > public"),
    ("ALTER TABLE people RENAME town TO city", "public > public"),
    ("DROP TABLE people", "public > delete-only > absent"),
])  # fmt: skip
def test_a_version_is_drawn_in_the_state_of_what_its_change_moves(statement: str, expected: str) -> None:
    assert looks_of(planned(statement, people())) == expected


def test_after_a_rollback_the_element_is_absent_again() -> None:
    plan = planned("CREATE INDEX i ON people (born)", people())
    back = [step.published for step in rollback_steps(plan, 2) if step.kind is StepKind.PUBLISH]
    newest = versions(plan)[:3]
    for body in back:
        assert body is not None
        newest.append(replace(body, version=newest[-1].version + 1))
    assert phases(newest) == ["absent", "delete-only", "write-only", "delete-only", "absent"]


def test_between_two_changes_a_version_shows_what_the_first_one_made() -> None:
    first = planned("CREATE INDEX i ON people (born)", people())
    second = planned("CREATE INDEX j ON people (town)", first.result)
    both = [*versions(first), *versions(second)[1:]]
    assert phases(both)[3:5] == ["public", "delete-only"]
    assert phases(both[3:])[:2] == ["absent", "delete-only"], "of what was before them nothing is known"


def test_a_table_is_public_once_it_is_created_whatever_comes_next() -> None:
    made = planned("CREATE TABLE t (id bigint PRIMARY KEY, n integer)", None)
    later = planned("CREATE INDEX i ON t (n)", made.result)
    shown = [*(step.published for step in made.publishes), *versions(later)[1:]]
    assert phases([body for body in shown if body is not None])[:3] == ["delete-only", "public", "delete-only"]


@pytest.mark.parametrize(("moving", "table_state", "looks"), [
    pytest.param([], "delete-only", "delete-only", id="the table itself is on its way"),
    pytest.param([INDEX], "public", "delete-only", id="an index that is delete-only"),
    pytest.param([INDEX, INDEX | {"state": "write-only"}], "public", "delete-only",
        id="of two, the one with further to go"),
    pytest.param([INDEX | {"state": "write-only", "filling": True}], "public", "write-only", id="a fill"),
])  # fmt: skip
def test_a_version_in_motion_looks_like_the_element_with_furthest_to_go(
    moving: list[dict[str, Any]], table_state: str, looks: str
) -> None:
    assert phase(moving, table_state) == looks


def test_a_type_change_says_of_each_version_which_column_is_drawn() -> None:
    """Two columns move, one after the other: without its name a state could be either's."""
    bodies = versions(planned("ALTER TABLE people ALTER born TYPE text", people()))
    shown = list(zip(phases(bodies), drawn_in(bodies), strict=True))
    assert shown == [
        ("public", ""),
        ("delete-only", "born (as text)"),
        ("write-only", "born (as text)"),
        ("write-only", "born (was date)"),
        ("delete-only", "born (was date)"),
        ("public", ""),
    ]


def test_one_element_that_moves_alone_needs_no_name() -> None:
    assert set(drawn_in(versions(planned("CREATE INDEX i ON people (born)", people())))) == {""}
