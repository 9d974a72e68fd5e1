"""Plans: the steps, the rollback, and the reviews of hand-written ones (protocol sections 4, 7, 8)."""

from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import IndexId, State
from catalog.values.types import SqlType
from changes.ddl.actions import (
    UNNAMED,
    AlterTable,
    CreateIndex,
    CreateTable,
    DropIndex,
    IndexPart,
    Name,
    NewColumn,
    NewUnique,
    SetSharding,
)
from changes.ddl.errors import DdlError
from changes.plan.element_states import drain, moved, publish
from changes.plan.model import Element, Plan, Step, StepKind, describe, plan_from_json
from changes.plan.rollback import moving, rollback_steps
from changes.plan.undo import create_table
from changes.planning.planner import make_plan
from changes.review.check import FaultyPlan, find_faults, review, step_faults
from tests.changes.tables import BY_NAME, COLUMNS, CREATE_INDEX, DROP_INDEX, USERS, indexed_users, plans, users

PLANS = plans()


def element_of(plan: Plan) -> Element:
    return plan.moves[0].element


def words(plan: Plan, steps: tuple[Step, ...]) -> list[str]:
    return [describe(plan, step) for step in steps]


def test_an_index_is_added_step_by_step() -> None:
    plan = PLANS["add an index"]
    assert words(plan, plan.forward) == [
        "publish users@3: index by_name absent -> delete-only",
        "wait until no version before users@3 is in use",
        "publish users@4: index by_name delete-only -> write-only",
        "wait until no version before users@4 is in use",
        "fill index by_name",
        "verify index by_name",
        "close the run",
        "publish users@5: index by_name write-only -> public",
        "wait until no version before users@5 is in use",
        "purge the tombstones of index by_name",
    ]


def test_only_the_way_up_fills() -> None:
    assert [step.descriptor.indexes[0].filling for step in PLANS["add an index"].publishes if step.descriptor] == [
        False, True, False,
    ]  # fmt: skip
    down = [step.descriptor for step in PLANS["drop an index"].publishes if step.descriptor]
    assert not any(index.filling for descriptor in down for index in descriptor.indexes)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_a_plan_survives_json(plan: Plan) -> None:
    assert plan_from_json(plan.to_json()) == plan


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_every_plan_and_every_rollback_is_safe(plan: Plan) -> None:
    assert find_faults(plan) == []
    for published, here in _reversible(plan):
        assert step_faults(moving(plan), here, rollback_steps(plan, published)) == []


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
def test_the_rollback_ends_where_it_began(plan: Plan) -> None:
    for published, _ in _reversible(plan):
        last = [step.descriptor for step in rollback_steps(plan, published) if step.descriptor][-1]
        if plan.base is None:
            assert last.state is State.ABSENT
        else:
            # Ids are never used again, so the next free one is not part of what was before.
            before = replace(plan.base, version=last.version, next_index_id=last.next_index_id)
            assert last == before


def _reversible(plan: Plan) -> list[tuple[int, Descriptor]]:
    descriptors = [step.descriptor for step in plan.publishes if step.descriptor]
    return [(published, descriptors[published - 1]) for published in range(1, plan.reversible_publishes + 1)]


@pytest.mark.parametrize(
    ("name", "point_of_no_return"),
    [
        pytest.param("add a table", "publish users@2: table users delete-only -> public", id="table added: public"),
        pytest.param("add an index", "publish users@5: index by_name write-only -> public", id="index added: public"),
        pytest.param(
            "drop an index", "publish users@7: index by_name write-only -> delete-only", id="index dropped: delete-only"
        ),
        pytest.param("drop a table", "delete all rows of users", id="table dropped: its deletion"),
    ],
)
def test_the_point_of_no_return(name: str, point_of_no_return: str) -> None:
    plan = PLANS[name]
    assert describe(plan, plan.forward[plan.point_of_no_return]) == point_of_no_return


@pytest.mark.parametrize(
    ("name", "is_reversible"),
    [
        pytest.param("drop an index", True, id="a publish may be waited for, and then it was not done"),
        pytest.param("drop a table", False, id="what a deletion has begun is lost"),
    ],
)
def test_the_last_step_that_may_roll_back(name: str, is_reversible: bool) -> None:
    plan = PLANS[name]
    assert plan.last_reversible == plan.point_of_no_return - (not is_reversible)
    assert replace(plan, point_of_no_return=len(plan.forward)).last_reversible == len(plan.forward) - 1


def test_a_dropped_index_is_public_again_at_once() -> None:
    plan = PLANS["drop an index"]
    assert words(plan, rollback_steps(plan, 1)) == [
        "publish users@7: index by_name write-only -> public",
        "wait until no version before users@7 is in use",
    ]


def test_an_index_under_way_rolls_back_over_every_state() -> None:
    plan = PLANS["add an index"]
    assert words(plan, rollback_steps(plan, 2)) == [
        "close the run",
        "publish users@5: index by_name write-only -> delete-only",
        "wait until no version before users@5 is in use",
        "delete all entries of by_name",
        "publish users@6: index by_name delete-only -> absent",
        "wait until no version before users@6 is in use",
    ]


def test_a_table_gets_ids_and_a_required_key() -> None:
    table = users()
    assert [(c.id, c.name, c.not_null) for c in table.columns] == [(1, "id", True), (2, "name", False)]
    assert (table.next_column_id, table.version, table.state) == (3, 2, State.PUBLIC)


def test_an_index_id_is_used_once() -> None:
    dropped = make_plan(DROP_INDEX, indexed_users()).result
    assert element_of(make_plan(CREATE_INDEX, dropped)).id == 2


@pytest.mark.parametrize(
    ("action", "sqlstate", "message"),
    [
        pytest.param(
            CreateIndex(BY_NAME, USERS, (IndexPart(Name("nick", 30)),)),
            "42703",
            'column "nick" does not exist',
            id="a column that is not there",
        ),
        pytest.param(
            DropIndex(Name("by_nick", 12), USERS),
            "42704",
            'index "by_nick" does not exist',
            id="an index that is not there",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(action: CreateIndex | DropIndex, sqlstate: str, message: str) -> None:
    with pytest.raises(DdlError, match=message) as refused:
        make_plan(action, users())
    assert refused.value.sqlstate == sqlstate
    assert refused.value.position is not None


def test_an_element_on_its_way_cannot_be_dropped() -> None:
    under_way = PLANS["add an index"].publishes[1].descriptor
    with pytest.raises(DdlError, match="index by_name is write-only: only a public index can be dropped"):
        make_plan(DROP_INDEX, under_way)


def test_a_sharding_key_outside_the_primary_key_needs_a_guard() -> None:
    action = CreateTable(USERS, COLUMNS, (Name("id"),), sharding_key=(Name("name", 60),))
    with pytest.raises(FaultyPlan, match="two nodes put the same primary key on two storages"):
        make_plan(action, None, table_id=7)
    guarded = replace(action, uniques=(NewUnique(UNNAMED, (Name("id"),), guards_key=True),))
    made = make_plan(guarded, None, table_id=7).result
    assert made.key_guard is not None
    assert (made.key_guard.name, made.is_home_in_key, made.sharding_key) == ("users_pkey_guard", False, (2,))
    with pytest.raises(DdlError, match="cannot drop index users_pkey_guard: rows are spread by name, and it keeps the"):
        make_plan(DropIndex(Name("users_pkey_guard"), USERS), made)
    assert "UNIQUE" not in create_table(made)
    named = replace(made, indexes=(replace(made.key_guard, name="one_id"),))
    assert ', CONSTRAINT "one_id" UNIQUE ("id")) WITH (sharding_key' in create_table(named)
    second = replace(made.key_guard, id=IndexId(2), name="one_id")
    two = replace(made, indexes=(*made.indexes, second), next_index_id=IndexId(3))
    assert make_plan(DropIndex(Name("users_pkey_guard"), USERS), two).result.key_guard == second


@pytest.mark.parametrize(
    ("key", "function", "sqlstate", "why"),
    [
        (["nope"], "strcrc32", "42703", 'column "nope" named in the sharding key does not exist'),
        (["name", "name"], "strcrc32", "42701", 'column "name" appears twice in the sharding key'),
        (["id"], "sha1", "42704", 'sharding function "sha1" does not exist'),
        ([], "sha1", "42704", 'sharding function "sha1" does not exist'),
        (["size"], "mpcrc32", "42804", "column size is of type double precision: mpcrc32 does not spread rows by it"),
        (["name"], "bucket", "42804", "column name is of type text: bucket does not spread rows by it"),
        (["id", "place"], "bucket", "42P16", "sharding function bucket takes 1 column, not 2"),
    ],
)
def test_a_definition_that_spreads_no_rows_is_refused(key: list[str], function: str, sqlstate: str, why: str) -> None:
    more = (NewColumn(Name("size"), SqlType.DOUBLE), NewColumn(Name("place"), SqlType.INTEGER))
    names = tuple(Name(name, 60) for name in key)
    action = CreateTable(
        USERS, (*COLUMNS, *more), (Name("id"),), sharding_key=names, sharding_function=Name(function, 80)
    )
    with pytest.raises(DdlError, match=why) as refused:
        make_plan(action, None, table_id=7)
    assert refused.value.sqlstate == sqlstate
    assert refused.value.position in (60, 80)


def test_a_float_key_is_refused_by_a_function_that_is_named() -> None:
    """CREATE and SET take the same: the usual function takes every primary key, another one takes no floats."""
    create = CreateTable(USERS, (NewColumn(Name("at"), SqlType.DOUBLE),), (Name("at"),))
    table = make_plan(create, None, table_id=7).result
    for action, base in (
        (replace(create, sharding_function=Name("mpcrc32")), None),
        (AlterTable(USERS, (SetSharding(function=Name("mpcrc32")),)), table),
        (AlterTable(USERS, (SetSharding(key=(Name("at"),)),)), table),
    ):
        with pytest.raises(DdlError, match="column at is of type double precision"):
            make_plan(action, base, table_id=7)


def test_an_explicit_sharding_key_is_kept() -> None:
    columns = (*COLUMNS, NewColumn(Name("town"), COLUMNS[0].type))
    action = CreateTable(USERS, columns, (Name("town"), Name("id")), sharding_key=(Name("town"),))
    assert make_plan(action, None, table_id=7).result.sharding_key == (3,)


# Plans written by hand


def _without(kind: StepKind, name: str = "add an index") -> Plan:
    plan = PLANS[name]
    return replace(plan, forward=tuple(step for step in plan.forward if step.kind is not kind))


def _jump(*states: State) -> Plan:
    """An index that goes through `states` only, every version drained."""
    plan = PLANS["add an index"]
    first = plan.publishes[0].descriptor
    assert first is not None
    index = replace(first.indexes[0], state=states[0])
    here = users().with_index(index)
    steps = [publish(users(), here, (element_of(plan),)), drain(here)]
    for state in states[1:]:
        there = moved(here, element_of(plan), state)
        steps += [publish(here, there, (element_of(plan),)), drain(there)]
        here = there
    return replace(plan, forward=tuple(steps))


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        pytest.param(_jump(State.PUBLIC), r"C3 and C4\): index by_name: absent and public", id="an index in one jump"),
        pytest.param(
            _jump(State.WRITE_ONLY, State.PUBLIC), r"C3 and C5\): .*absent and write-only", id="no delete-only"
        ),
        pytest.param(_jump(State.DELETE_ONLY, State.PUBLIC), r"C4\): .*delete-only and public", id="no write-only"),
        pytest.param(_without(StepKind.FILL), r"C4\): index by_name is public without `fill`", id="nobody fills"),
        pytest.param(_without(StepKind.VERIFY), r"C4\): index by_name is public without `verify`", id="nobody looks"),
        pytest.param(_without(StepKind.CLOSE), r"C5\): index by_name is public without `close`", id="run left open"),
        pytest.param(_without(StepKind.PURGE), r"C7\): tombstones of index by_name are left", id="not tidied"),
        pytest.param(_without(StepKind.DRAIN), "three versions may be in use", id="nobody waits"),
        pytest.param(
            _without(StepKind.DELETE, "drop an index"),
            r"C3\): pairs of index by_name are left",
            id="entries stay behind",
        ),
        pytest.param(
            _without(StepKind.DELETE, "drop a table"), r"C1\): pairs of table users are left", id="rows stay behind"
        ),
    ],
)
def test_an_unsafe_plan_is_refused_with_clause_and_witness(plan: Plan, message: str) -> None:
    with pytest.raises(FaultyPlan, match=message):
        review(plan)


def test_entries_may_not_be_deleted_while_somebody_writes_them() -> None:
    plan = PLANS["drop an index"]
    steps = list(plan.forward)
    steps[2:2] = [Step(StepKind.DELETE, 6, elements=moving(plan))]
    with pytest.raises(FaultyPlan, match=r"C3\): `delete` comes while index by_name is write-only"):
        review(replace(plan, forward=tuple(steps)))
