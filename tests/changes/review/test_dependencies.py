"""The rules for plans of several elements: each broken by a plan that somebody wrote, and told with its witness."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from changes.plan.model import Element, Move, MoveKind
from changes.planning.custom_plan import MalformedPlan, rewritten
from changes.review.check import FaultyPlan, find_faults, review
from tests.changes.tables import every_plan, people, planned

PLANS = every_plan()
RUN = ["fill", "verify", "close"]
COVERED, READ, CHECKED = (
    "drop a column that an index covers",
    "drop a required column",
    "add a column, checked and unique",
)
MIXED = "add a default, drop an indexed column"


def drained(*versions: str | Sequence[str]) -> list[str]:
    """Versions, each drained, and between them what is done under them."""
    steps: list[str] = []
    for version in versions:
        steps += [version] if isinstance(version, str) else [*version]
        if isinstance(version, str) and version.startswith("publish"):
            steps.append("drain")
    return steps


def faults(name: str, *versions: str | Sequence[str]) -> list[str]:
    return [str(fault) for fault in find_faults(rewritten(PLANS[name], drained(*versions)))]


WRITTEN = "publish code write-only filling, people_code_key write-only filling, people_code_check write-only"
HIDDEN = "publish code delete-only, people_code_key delete-only"
SHOWN = ("publish code public, people_code_key public, people_code_check public", "purge")


@pytest.mark.parametrize(
    ("name", "versions"),
    [
        pytest.param(
            COVERED,
            ["publish one_name write-only", "publish name delete-only, one_name delete-only", "delete",
             "publish name absent, one_name absent"],
            id="a column with its index",
        ),
        pytest.param(CHECKED, [HIDDEN, WRITTEN, RUN, *SHOWN], id="a column with its index and its check"),
    ],
)  # fmt: skip
def test_the_planners_own_steps_are_safe_when_written_by_hand(name: str, versions: list[str]) -> None:
    assert faults(name, *versions) == []


@pytest.mark.parametrize(
    ("name", "versions", "fault"),
    [
        pytest.param(
            COVERED,
            ["publish name delete-only, one_name write-only", "publish one_name delete-only", "delete",
             "publish name absent, one_name absent"],
            "step 1 (C5): index one_name is write-only while column name is delete-only: a node that may not write "
            "name leaves an entry with a value that the row does not have",
            id="a column and its index dropped by each one's own sequence",
        ),
        pytest.param(
            CHECKED,
            [f"{HIDDEN}, people_code_check write-only", WRITTEN, RUN, *SHOWN],
            "step 1 (C6): constraint people_code_check is write-only and column code is delete-only",
            id="a constraint on a new column is written before the column",
        ),
        pytest.param(
            CHECKED,
            ["publish people_code_key delete-only, code delete-only",
             "publish people_code_key write-only filling, people_code_check write-only, code write-only filling",
             ["fill people_code_key, code", "verify", "close"], *SHOWN],
            "(C4 and C5): unique index people_code_key is filled before column code, which it covers",
            id="an index filled before its column",
        ),
        pytest.param(
            CHECKED,
            [HIDDEN, WRITTEN, ["fill", "verify people_code_check, code, people_code_key", "close"], *SHOWN],
            "constraints are verified last",
            id="a constraint verified before the fill is",
        ),
        pytest.param(
            COVERED,
            ["publish one_name write-only", "publish name delete-only, one_name delete-only", "delete name, one_name",
             "publish name absent, one_name absent"],
            "entries are deleted first, then values, then rows",
            id="values deleted before entries",
        ),
        pytest.param(
            COVERED,
            ["publish one_name write-only", "publish name delete-only, one_name delete-only",
             ["delete name", "delete one_name"], "publish name absent, one_name absent"],
            "(C5): the values of column name are deleted before the entries of unique index one_name, which covers it",
            id="values deleted in a run before the entries'",
        ),
        pytest.param(
            READ,
            ["publish visits write-only, calm write-only, people_visits_not_null write-only",
             "publish visits delete-only, calm absent, people_visits_not_null absent",
             "delete", "publish visits absent"],
            "step 1 (C6): column visits becomes write-only while constraint calm, which reads it, is not absent yet",
            id="a column leaves public with a constraint",
        ),
        pytest.param(
            READ,
            ["publish calm write-only, people_visits_not_null write-only",
             "publish visits write-only, calm absent, people_visits_not_null absent", "publish visits delete-only",
             "delete", "publish visits absent"],
            "step 3 (C6): column visits becomes write-only while constraint people_visits_not_null, which reads it,",
            id="a column leaves public in the version in which its constraint becomes absent",
        ),
        pytest.param(
            READ,
            ["publish calm write-only", "publish calm absent", "publish visits write-only",
             "publish visits delete-only", "delete", "publish visits absent"],
            "step 5 (C2): column visits becomes write-only while it is NOT NULL",
            id="a column leaves public while it is NOT NULL",
        ),
        pytest.param(
            MIXED,
            ["publish nick delete-only, one_name write-only", "publish nick write-only filling, one_name delete-only",
             RUN, "publish nick public, name delete-only", "purge", "delete", "publish name absent, one_name absent"],
            "step 3: unique index one_name is given up before column nick is verified: if that fails, nothing is as",
            id="something is lost before everything is verified",
        ),
    ],
)  # fmt: skip
def test_a_broken_rule_is_reported_with_pair_clause_and_witness(name: str, versions: list[str], fault: str) -> None:
    assert any(fault in said for said in faults(name, *versions)), faults(name, *versions)


def test_nothing_is_added_and_dropped_in_one_plan() -> None:
    plan = PLANS["add an optional column"]
    both = replace(plan, moves=(*plan.moves, Move(plan.moves[0].element, MoveKind.DROP)))
    with pytest.raises(FaultyPlan, match="column nick is added and dropped in one plan: it has no rollback"):
        review(both)


def test_nothing_new_depends_on_what_is_dropped() -> None:
    plan = planned("ALTER TABLE people ADD UNIQUE (town)", people())
    town = people().column_named("town")
    dropped = Move(Element(town.kind, town.id, town.name), MoveKind.DROP)
    with pytest.raises(FaultyPlan, match=r"\(C5\): unique index people_town_key depends on column town"):
        review(replace(plan, moves=(*plan.moves, dropped)))


def test_a_version_moves_what_the_plan_says_and_nothing_else() -> None:
    plan = PLANS[COVERED]
    silent = replace(plan.forward[0], transitions=())
    with pytest.raises(FaultyPlan) as refused:
        review(replace(plan, forward=(silent, *plan.forward[1:])))
    said = "step 1: people@16 moves unique index one_name public -> write-only, and the plan does not say so"
    assert [str(fault) for fault in refused.value.faults] == [said]


def test_versions_follow_each_other() -> None:
    plan = PLANS["add an optional column"]
    first, *rest = plan.forward
    skipping = replace(first, version=19, descriptor=replace(first.published, version=19))
    with pytest.raises(FaultyPlan, match="it publishes people@19 of table 8, and people@16 is next"):
        review(replace(plan, forward=(skipping, *rest)))


def test_the_point_of_no_return_is_not_later_than_the_first_loss() -> None:
    plan = PLANS[COVERED]
    with pytest.raises(FaultyPlan, match=r"there is no rollback from here, but the plan says so only at step 6 \(X6\)"):
        review(replace(plan, point_of_no_return=5))


def test_of_two_types_one_follows_from_the_other() -> None:
    plan = PLANS["change a type"]
    forward = list(plan.forward)
    at = forward.index(plan.publishes[2])
    swapped = forward[at].published
    forgetful = tuple(replace(c, derived=None) if c.name == "born (was date)" else c for c in swapped.columns)
    forward[at] = replace(forward[at], descriptor=replace(swapped, columns=forgetful))
    with pytest.raises(
        FaultyPlan, match=r"\(C5\): column born \(was date\) is kept beside born, and follows from nothing"
    ):
        review(replace(plan, forward=tuple(forward)))


def test_a_type_change_can_only_be_written_in_full() -> None:
    with pytest.raises(MalformedPlan, match="write the plan in full"):
        rewritten(PLANS["change a type"], ["publish public"])


@pytest.mark.parametrize(
    ("name", "step", "message"),
    [
        (CHECKED, "publish people_code_key delete-only", "step 1: unique index people_code_key comes before a column"),
        (COVERED, "publish name absent", "step 1: column name cannot become absent while one_name covers it"),
    ],
)
def test_no_version_has_an_index_without_its_column(name: str, step: str, message: str) -> None:
    with pytest.raises(MalformedPlan, match=message):
        rewritten(PLANS[name], [step])


def test_an_element_that_is_not_there_cannot_be_named() -> None:
    with pytest.raises(MalformedPlan, match="step 1: 'nobody public' names no element; there are: name, one_name"):
        rewritten(PLANS[COVERED], ["publish nobody public"])
