"""The door of a change that waits, or has failed, leads to its kind, its versions, and the node that holds it back."""

import re

import pytest

from changes.plan.model import Plan, StepKind
from lab.own.sessions_of_changes import Holder, session_of_failure, session_of_wait
from lab.own.statements import planned
from lab.sessions.replay import show
from lab.sessions.session import Session
from lab.sessions.shown import SessionView, Severity
from tests.lab.own.kinds import KINDS, TABLES

WITHOUT = {"a column and its foreign key"}
"""Its part has fewer versions than its plan: the door is the general one."""

LEASE, OPEN, OUTLIVED = (True, False), (True, True), (False, True)


def plan_of(kind: str) -> Plan:
    plan = planned(TABLES + KINDS[kind])[-1].plan
    assert plan is not None
    return plan


def waiting(plan: Plan, kind: StepKind, version: int, behind: int, by: tuple[bool, bool]) -> Session | None:
    return session_of_wait(plan, kind, version, Holder("n3", behind, *by), "05-two-versions")


def why(shown: SessionView) -> str:
    """The publisher's next step, and the reason why it is refused."""
    (refused,) = (
        f"{one.label}: {one.why_not}"
        for one in shown.offers
        if one.id.split(".")[0] in ("publish", "drain") and one.why_not
    )
    return refused


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - WITHOUT))
@pytest.mark.parametrize("by", [LEASE, OPEN, OUTLIVED], ids=["lease", "open transaction", "outlived its lease"])
def test_every_wait_of_every_kind_has_its_door(kind: str, by: tuple[bool, bool]) -> None:
    plan = plan_of(kind)
    first = plan.publishes[0].version - 1
    for at, step in enumerate(plan.forward):
        behind = step.version - (2 if step.kind is StepKind.PUBLISH else 1)
        if step.kind not in (StepKind.PUBLISH, StepKind.DRAIN) or behind < first or at == 0:
            continue
        if step.kind is StepKind.PUBLISH:
            continue  # each is drained before the next: only a sandbox published past the rules meets it
        session = waiting(plan, step.kind, step.version, behind, by)
        if behind == 0:
            continue  # nobody leases a table before its first version
        assert session is not None, step
        shown = show(session, single_steps=True)
        assert shown.refused is None
        reason = why(shown)
        assert f"drain v{step.version}" in reason or f"publish v{step.version + 1}" in reason
        assert ("n3 still leases" in reason) is by[0], reason
        assert ("still open" in reason) is by[1], reason
        assert re.search(rf"(v|@){behind}\b", reason), reason
        assert "n3" in {node.name for node in shown.cluster.nodes}


def test_a_door_has_the_names_and_the_numbers_of_its_change() -> None:
    plan = plan_of("an index")
    version = plan.publishes[1].version
    session = waiting(plan, StepKind.PUBLISH, version, version - 2, OPEN)
    assert session is not None
    shown = show(session, single_steps=True)
    assert [one.number for one in shown.cluster.versions] == [version - 2, version - 1]
    assert {one.table for one in shown.cluster.versions} == {"flights"}
    assert shown.cluster.versions[-1].elements[0].name == "by_dest"
    older = version - 2
    assert why(shown) == f"publish v{version}: n3 still leases v{older}, a transaction of v{older} is still open"


@pytest.mark.parametrize(
    ("kind", "clause"),
    [
        ("a unique index", "C4"),
        ("not null", ""),
        ("a check", ""),
        ("a foreign key", ""),
        ("a foreign key to itself", ""),
    ],
)
def test_a_failure_ends_at_its_verification_over_rows_that_break_the_rule(kind: str, clause: str) -> None:
    session = session_of_failure(plan_of(kind), "09-unique")
    assert session is not None
    shown = show(session, single_steps=True)
    assert shown.refused is None
    assert shown.trace[-1].id == "verify"
    assert not [one for one in shown.verdicts if one.severity is Severity.DAMAGE and one.clause != clause]


@pytest.mark.parametrize("kind", ["an index", "a table", "an index dropped"])
def test_what_no_row_can_break_has_no_such_door(kind: str) -> None:
    assert session_of_failure(plan_of(kind), "09-unique") is None
