"""Foreign keys in plans by hand and from files: what is not safe."""

from dataclasses import replace
from typing import Any

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import State
from changes.ddl.statements import parse
from changes.plan.model import Plan, StepKind, plan_from_json
from changes.planning.custom_plan import MalformedPlan, rewritten
from changes.planning.planner import make_plan
from changes.planning.tables import KnownTables
from changes.review.check import FaultyPlan, find_faults, review
from tests.changes.referring import LINKS, PLANS, faults, linked, named, unlinked

A, W, P = State.ABSENT, State.WRITE_ONLY, State.PUBLIC


DRAINED = ["drain", "verify", "close"]


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        (
            ["publish write-only in trips", *DRAINED, "publish public in trips", "drain"],
            "step 1 (C6): foreign key trips_code_fkey is write-only in trips@8 and absent in airports@4: a node "
            "deletes a row of one table to which a row of the other refers, and nothing tells it to look",
        ),
        (
            ["publish write-only in airports", *DRAINED, "publish public", "drain"],
            "step 1 (C6): foreign key trips_code_fkey is absent in trips@8 and write-only in airports@5: a node "
            "inserts a row that refers to nothing, and nothing tells it to look; a reader relies on it",
        ),
        (
            ["publish write-only", *DRAINED, "publish public in trips", "drain", "publish public in airports", "drain"],
            "step 5 (C6): foreign key trips_code_fkey is public in trips@9 and write-only in airports@5: one table "
            "relies on what the other one only enforces, and may not enforce in the version next to it",
        ),
        (
            ["publish public", "drain"],
            "step 1 (C6): constraint trips_code_fkey: absent and public are not compatible: a node "
            "without the constraint writes a row that breaks it; a reader relies on it",
        ),
        (
            ["publish write-only", "drain", "publish public", "drain"],
            "step 3 (C6): foreign key trips_code_fkey is public without `verify`: no run has checked that every row "
            "satisfies it (R10)",
        ),
    ],
)
def test_a_foreign_key_moves_in_both_tables_and_step_by_step(steps: list[str], fault: str) -> None:
    plan = rewritten(PLANS["to the primary key"], steps)
    assert fault in [str(found) for found in find_faults(plan)]
    with pytest.raises(FaultyPlan):
        review(plan_from_json(plan.to_json()))


@pytest.mark.parametrize("name", ["to the primary key", "to the table itself", "dropped"])
def test_the_planners_own_steps_can_be_written_by_hand(name: str) -> None:
    plan = PLANS[name]
    steps = []
    for step in plan.forward:
        moved = f" {step.transitions[0].after.value}" if step.transitions else ""
        steps.append(f"{step.kind.value}{moved}")
    assert replace(rewritten(plan, steps), dangers=plan.dangers) == plan


@pytest.mark.parametrize(
    ("name", "step", "message"),
    [
        ("to the primary key", "publish write-only in nowhere", "is in trips and airports, not in nowhere"),
        ("to the table itself", "publish write-only in trips", "is in one table only, and needs no name of it"),
        ("to the primary key", "publish absent in airports", "is absent in airports@4; it cannot become absent"),
        (
            "to the primary key",
            "publish delete-only",
            "`publish` needs one of absent, write-only, public, not 'delete-only'",
        ),
    ],
)
def test_a_side_that_is_not_there_cannot_be_named(name: str, step: str, message: str) -> None:
    with pytest.raises(MalformedPlan, match=message):
        rewritten(PLANS[name], [step])


def changed(plan: Plan, at: int, **values: Any) -> Plan:
    forward = list(plan.forward)
    forward[at] = replace(forward[at], **values)
    return replace(plan, forward=tuple(forward))


def test_the_other_table_is_drained_too() -> None:
    plan = PLANS["to the primary key"]
    assert "step 3: `verify` begins before airports@5 is drained with its own version (L11)" in faults(
        changed(plan, 1, partners=())
    )
    assert "step 6: airports@6 is not drained when the change is done (L11, L12)" in faults(
        changed(plan, 5, partners=())
    )


def test_versions_of_the_other_table_follow_each_other_and_hide_nothing() -> None:
    plan = PLANS["to the primary key"]
    there = plan.publishes[0].partners[0]
    skipped = changed(plan, 0, partners=(replace(there, version=7),))
    assert "step 1: it publishes airports@7, and airports@5 is next (L7)" in faults(skipped)
    hidden = changed(plan, 0, partners=(replace(there, name="places"),))
    assert "step 1: places@5 changes more than the foreign keys of the plan" in faults(hidden)
    stranger = replace(plan, partners=())
    assert "step 1: it publishes airports@5, and the plan does not move this table (L11)" in faults(stranger)


def test_a_foreign_key_in_one_descriptor_only_is_refused_from_a_file_too() -> None:
    plan = PLANS["to the primary key"]
    alone = replace(
        plan,
        partners=(),
        forward=tuple(replace(step, partners=()) for step in plan.forward),
        moves=tuple(replace(move, element=replace(move.element, partner=None)) for move in plan.moves),
    )
    assert "foreign key trips_code_fkey is write-only in trips@8 and absent in table 11, which is not in the plan" in (
        faults(plan_from_json(alone.to_json()))
    )


def test_the_two_sides_may_not_say_different_things() -> None:
    plan = PLANS["to the primary key"]
    there = plan.publishes[0].partners[0]
    other = replace(there.referenced_by[0], on_delete="restrict")
    crooked = replace(there, constraints=tuple(other if c.id == other.id else c for c in there.constraints))
    assert "step 1 (C6): foreign key trips_code_fkey differs between trips@8 and airports@5" in faults(
        changed(plan, 0, partners=(crooked,))
    )


def test_what_is_referred_to_is_unique_in_a_plan_from_a_file_too() -> None:
    plan = PLANS["to a unique index"]
    partial = named("airports", unlinked()).index_named("positive").id

    def by_another(table: Descriptor) -> Descriptor:
        other = tuple(replace(one, index=partial) if one.partner else one for one in table.constraints)
        return replace(table, constraints=other)

    crooked = tuple(
        replace(step, descriptor=by_another(step.published), partners=tuple(map(by_another, step.partners)))
        if step.kind is StepKind.PUBLISH
        else replace(step, partners=tuple(map(by_another, step.partners)))
        for step in plan.forward
    )
    assert faults(replace(plan, forward=crooked)).startswith(
        "step 1 (C6): foreign key trips_city_fkey refers to columns of airports@5 that no unique index covers: "
        "two rows may have the same value"
    )


def test_what_makes_values_unique_stays_while_they_are_referred_to() -> None:
    airports = named("airports", linked())
    free = KnownTables(tuple(replace(table, constraints=()) for table in linked()))
    plan = make_plan(
        parse("DROP INDEX by_city").action, replace(airports, constraints=()), tables=free
    )  # planned where nothing refers to it
    bound = tuple(
        replace(step, descriptor=replace(step.descriptor, constraints=airports.constraints))
        if step.descriptor
        else step
        for step in plan.forward
    )
    assert (
        "step 1 (C6): index by_city is write-only while foreign key in_city refers by it: a node cannot see"
        in faults(replace(plan, base=airports, forward=bound))
    )


def test_a_table_leaves_public_after_its_foreign_keys() -> None:
    trips = named("trips", linked())
    plan = make_plan(parse("DROP TABLE trips").action, replace(trips, constraints=()))
    bound = tuple(
        replace(step, descriptor=replace(step.descriptor, constraints=trips.constraints)) if step.descriptor else step
        for step in plan.forward
    )
    assert (
        "step 1 (C6): table trips becomes delete-only while foreign key trips_code_fkey is not absent yet: "
        "no node can look into it to see whether a row is referred to"
    ) in faults(replace(plan, base=trips, forward=bound))


def test_links_are_what_the_other_tests_say() -> None:
    assert len(named("trips", linked()).foreign_keys) == len(LINKS)
    assert len(named("airports", linked()).referenced_by) == 2
