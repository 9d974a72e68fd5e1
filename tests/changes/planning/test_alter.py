"""Every kind of change: its versions, its rollback from every point, its undo, its dangers, and what is refused."""

import datetime as dt
from dataclasses import replace
from itertools import combinations

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, Coordination, Kind, State
from catalog.values.types import SqlType
from changes.ddl.errors import DdlError
from changes.ddl.resolve import NothingToDo
from changes.plan.element_states import state_of
from changes.plan.model import MoveKind, Plan, StepKind, describe, plan_from_json, why_no_return
from changes.plan.rollback import moving, rollback_steps
from changes.plan.undo import undo_of
from changes.review.check import find_faults, step_faults
from expressions.rows import shown
from expressions.typed import Context
from storage import encoding
from tests.changes.tables import KINDS, every_plan, people, planned
from tests.rounds import every

PLANS = every_plan()
EVERY_KIND = pytest.mark.parametrize("name", KINDS)
A, D, W, P = State.ABSENT, State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC


@EVERY_KIND
def test_how_many_versions_each_kind_takes(name: str) -> None:
    assert len(PLANS[name].publishes) == KINDS[name][1]


def test_a_table_gets_no_more_columns_than_create_gives_it() -> None:
    full = people()
    spare = 1600 - len(full.columns)
    more = tuple(replace(full.columns[-1], id=ColumnId(1000 + n), name=f"c{n}") for n in range(spare - 1))
    full = replace(full, columns=(*full.columns, *more), next_column_id=ColumnId(9000))
    assert planned("ALTER TABLE people ADD last int", full).publishes
    with pytest.raises(DdlError, match="tables can have at most 1600 columns") as refused:
        planned("ALTER TABLE people ADD last int, ADD one_more int", full)
    assert (refused.value.sqlstate, refused.value.position) == ("54011", 38)


@EVERY_KIND
def test_every_plan_is_safe_and_survives_json(name: str) -> None:
    plan = PLANS[name]
    assert find_faults(plan) == []
    assert plan_from_json(plan.to_json()) == plan


def _points(plan: Plan) -> range:
    """After how many of its versions a change can still roll back."""
    return range(1, 1 + sum(step.kind is StepKind.PUBLISH for step in plan.forward[: plan.point_of_no_return]))


@EVERY_KIND
def test_the_rollback_from_every_point_is_safe_and_ends_where_it_began(name: str) -> None:
    plan = PLANS[name]
    for published in _points(plan):
        here, back = plan.publishes[published - 1].published, rollback_steps(plan, published)
        assert step_faults(moving(plan), here, back) == []
        last = [step.descriptor for step in back if step.descriptor][-1]
        assert last.state is A if plan.base is None else last == _as_before(plan.base, last)


def _as_before(base: Descriptor, last: Descriptor) -> Descriptor:
    """Equal to the table before, versions and used-up ids aside (X4)."""
    return replace(
        base,
        version=last.version,
        next_column_id=last.next_column_id,
        next_index_id=last.next_index_id,
        next_constraint_id=last.next_constraint_id,
        next_placement_id=last.next_placement_id,
    )


@EVERY_KIND
def test_what_moves_ends_public_or_gone(name: str) -> None:
    plan = PLANS[name]
    ends = {MoveKind.ADD: P, MoveKind.DROP: A}
    moved = [move for move in plan.moves if move.kind in ends]
    assert all(state_of(plan.result, move.element) is ends[move.kind] for move in moved)
    told = {transition.element for step in plan.publishes for transition in step.transitions}
    assert told == {move.element for move in moved}


@EVERY_KIND
def test_the_undo_of_every_kind_can_be_planned(name: str) -> None:
    plan = PLANS[name]
    undo = undo_of(plan)
    back = planned(undo.statement, None if undo.statement.startswith("CREATE TABLE") else plan.result)
    assert find_faults(back) == []


UNDOS = {
    "drop a table": "Only the structure comes back: the rows of people are deleted.",
    "drop an optional column": "Only the structure comes back: the values of town are deleted.",
    "drop a column that an index covers": 'afterwards: CREATE UNIQUE INDEX "one_name"',
    "add a table": "All rows written to t since are deleted.",
}


@pytest.mark.parametrize("name", UNDOS)
def test_an_undo_says_what_it_does_not_bring_back(name: str) -> None:
    assert UNDOS[name] in undo_of(PLANS[name]).warning


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("add a required column", 'ALTER TABLE "people" DROP COLUMN "seen"'),
        ("add a column, checked and unique", 'ALTER TABLE "people" DROP COLUMN "code"'),
        ("set not null", 'ALTER TABLE "people" ALTER COLUMN "name" DROP NOT NULL'),
        ("drop not null", 'ALTER TABLE "people" ALTER COLUMN "age" SET NOT NULL'),
        ("drop a check", 'ALTER TABLE "people" ADD CONSTRAINT "grown" CHECK (age > 1)'),
        ("add unique", 'ALTER TABLE "people" DROP CONSTRAINT "people_town_born_key"'),
        ("drop a default", 'ALTER TABLE "people" ALTER COLUMN "visits" SET DEFAULT 0'),
        ("set a default", 'ALTER TABLE "people" ALTER COLUMN "town" DROP DEFAULT'),
        ("number a column", 'ALTER TABLE "people" ALTER COLUMN "id" DROP IDENTITY'),
        ("change a type", 'ALTER TABLE "people" ALTER COLUMN "born" TYPE date'),
        ("keep the values under another type", 'ALTER TABLE "people" ALTER COLUMN "name" TYPE text'),
        ("keep the values beside an addition",
         'ALTER TABLE "people" ALTER COLUMN "name" TYPE text, DROP COLUMN "nick"'),
        ("make a text shorter", 'ALTER TABLE "people" ALTER COLUMN "town" TYPE text'),
        ("rename a table", 'ALTER TABLE "folk" RENAME TO "people"'),
        ("rename a column", 'ALTER TABLE "people" RENAME COLUMN "nick" TO "name"'),
        ("rename an index", 'ALTER INDEX "by_years" RENAME TO "by_age"'),
        ("rename a check", 'ALTER TABLE "people" RENAME CONSTRAINT "adult" TO "grown"'),
        ("rename a unique", 'ALTER INDEX "one_of_a_name" RENAME TO "one_name"'),
        ("add an index", 'DROP INDEX "i"'),
        ("comment on a table", 'COMMENT ON TABLE "people" IS NULL'),
        ("comment on a column", """COMMENT ON COLUMN "people"."town" IS 'where they live'"""),
        ("comment on a unique", 'COMMENT ON CONSTRAINT "one_name" ON "people" IS NULL'),
        ("give up leases", """ALTER TABLE "people" SET (coordination = 'lease')"""),
        ("drop a required column", 'ALTER TABLE "people" ADD COLUMN "visits" integer NOT NULL DEFAULT 0, '
         'ADD CONSTRAINT "calm" CHECK (visits < 100)'),
    ],
)  # fmt: skip
def test_the_undo_in_words(name: str, statement: str) -> None:
    assert undo_of(PLANS[name]).statement == statement


# --- coordination


@pytest.mark.parametrize(
    ("before", "after", "versions"),
    [
        ("lease", "both", ["both"]),
        ("lease", "hash", ["both", "hash"]),
        ("both", "lease", ["lease"]),
        ("both", "hash", ["hash"]),
        ("hash", "lease", ["both", "lease"]),
        ("hash", "both", ["both"]),
    ],
)
def test_neighbouring_versions_have_a_protection_in_common(before: str, after: str, versions: list[str]) -> None:
    table = replace(people(), coordination=Coordination(before))
    plan = planned(f"ALTER TABLE people SET (coordination = '{after}')", table)
    assert [step.published.coordination.value for step in plan.publishes] == versions
    assert [step.kind for step in plan.forward] == [StepKind.PUBLISH, StepKind.DRAIN] * len(versions)
    assert plan.point_of_no_return == len(plan.forward) - 2
    assert undo_of(plan).statement == f"""ALTER TABLE "people" SET (coordination = '{before}')"""


def test_a_plan_from_leases_to_none_at_once_is_refused() -> None:
    plan = PLANS["give up leases"]
    assert plan.base is not None
    hasty = replace(plan.publishes[-1], version=plan.base.version + 1)
    drained = replace(plan.forward[-1], version=hasty.version)
    faults = find_faults(replace(plan, forward=(hasty, drained), point_of_no_return=0))
    words = "coordination lease and hash are not compatible: nothing bounds how long"
    assert any(words in str(fault) for fault in faults)


def test_a_change_of_coordination_in_words() -> None:
    plan = PLANS["give up leases"]
    said = [describe(plan, step).partition(": ")[2] for step in plan.publishes]
    assert said == ["nodes are coordinated by leases and hashes", "nodes are coordinated by hashes, without leases"]
    [back] = [step for step in rollback_steps(plan, 1) if step.kind is StepKind.PUBLISH]
    assert describe(plan, back).endswith(": nodes are coordinated by leases again")
    assert why_no_return(plan).startswith("nodes are coordinated by hashes, without leases since people@")


def test_coordination_that_is_so_already_is_nothing_to_do() -> None:
    with pytest.raises(NothingToDo, match="coordination of people is lease already"):
        planned("ALTER TABLE people SET (coordination = 'lease')", people())


def test_coordination_is_changed_alone() -> None:
    with pytest.raises(DdlError, match="coordination is changed together with something else"):
        planned("ALTER TABLE people ADD nick text, SET (coordination = 'both')", people())


# --- the steps of each kind


def _states(plan: Plan) -> list[str]:
    """What each version moves, and between them the reorganisations."""
    short = {A: "a", D: "d", W: "w", P: "p"}
    steps = []
    for step in plan.forward:
        if step.kind is StepKind.PUBLISH:
            steps.append(" ".join(f"{t.element.name}:{short[t.before]}{short[t.after]}" for t in step.transitions))
        elif step.kind is not StepKind.DRAIN:
            steps.append(" ".join((step.kind.value, *(element.name for element in step.elements))))
    return steps


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("add an optional column", ["nick:ad", "nick:dp"]),
        ("add a required column",
         ["seen:ad", "seen:dw", "fill seen", "verify seen", "close", "seen:wp", "purge seen"]),
        ("drop an optional column", ["town:pd", "delete town", "town:da"]),
        ("drop a column that an index covers",
         ["one_name:pw", "name:pd one_name:wd", "delete one_name name", "name:da one_name:da"]),
        ("drop a required column",
         ["calm:pw people_visits_not_null:pw", "calm:wa people_visits_not_null:wa", "visits:pw", "visits:wd",
          "delete visits", "visits:da"]),
        ("set not null",
         ["people_name_not_null:aw", "verify people_name_not_null", "close", "people_name_not_null:wp"]),
        ("drop a check", ["grown:pw", "grown:wa"]),
        ("add a column, checked and unique",
         ["code:ad people_code_key:ad", "code:dw people_code_check:aw people_code_key:dw",
          "fill code people_code_key", "verify code people_code_key people_code_check",
          "close", "code:wp people_code_check:wp people_code_key:wp", "purge code people_code_key"]),
        ("add an optional column, checked",
         ["code:ad", "code:dw people_check:aw", "verify people_check", "close", "code:wp people_check:wp"]),
        ("add and drop columns", ["nick:ad", "nick:dp town:pd", "delete town", "town:da"]),
        ("add a default, drop an indexed column",
         ["nick:ad", "nick:dw", "fill nick", "verify nick", "close", "nick:wp one_name:pw", "purge nick",
          "name:pd one_name:wd", "delete one_name name", "name:da one_name:da"]),
        ("change a type",
         ["born (as text):ad", "born (as text):dw", "fill born (as text)",
          "verify born (as text)", "close", "born (as text):wp born (was date):pw", "purge born (as text)",
          "born (was date):wd", "delete born (was date)", "born (was date):da"]),
        ("exchange a check",
         ["older:aw", "verify older", "close", "older:wp grown:pw", "grown:wa"]),
        ("rename a column", [""]),
    ],
)  # fmt: skip
def test_the_steps(name: str, steps: list[str]) -> None:
    assert _states(PLANS[name]) == steps


@pytest.mark.parametrize(
    ("name", "point_of_no_return"),
    [
        ("add an optional column", "publish people@17: column nick delete-only -> public"),
        ("set not null", "publish people@17: constraint people_name_not_null write-only -> public"),
        ("drop an optional column", "delete all values of town"),
        ("drop a check", "publish people@17: constraint grown write-only -> absent"),
        ("drop a column that an index covers",
         "publish people@17: column name public -> delete-only, unique index one_name write-only -> delete-only"),
        ("change a type", "publish people@19: column born (was date) write-only -> delete-only"),
        ("rename a column", "publish people@16: column name is renamed to nick"),
        ("rename a check", "publish people@16: constraint grown is renamed to adult"),
        ("set a default", "publish people@16: column town has the default 'Ulm'"),
        ("number a column", "publish people@16: column id has numbers of its own"),
        ("keep the values under another type", "publish people@16: column name is of type varchar"),
        ("keep the values beside an addition", "publish people@17: column nick delete-only -> public"),
        ("not null and a default", "publish people@17: constraint people_town_not_null write-only -> public"),
    ],
)  # fmt: skip
def test_the_point_of_no_return(name: str, point_of_no_return: str) -> None:
    plan = PLANS[name]
    assert describe(plan, plan.forward[plan.point_of_no_return]) == point_of_no_return


# --- what a version says


def test_a_column_has_its_fill_value_from_the_moment_of_submission() -> None:
    now = dt.datetime(2026, 3, 4, 12, tzinfo=dt.UTC)
    plan = planned("ALTER TABLE people ADD at timestamp DEFAULT now()", people(), context=Context(now=now))
    column = plan.result.column_named("at")
    assert column.default == "now()"
    assert column.fill_value == encoding.encode(SqlType.TIMESTAMP, now.replace(tzinfo=None))
    assert plan.dangers == ()
    assert plan.costs == ("Every row of people is written once: its at becomes '2026-03-04 12:00:00'::timestamp.",)


def test_a_not_null_is_a_constraint_while_it_moves_and_the_columns_own_then() -> None:
    versions = [step.published for step in PLANS["set not null"].publishes]
    assert [(v.column_named("name").not_null, len(v.constraints)) for v in versions] == [(False, 3), (True, 2)]
    down = [step.published for step in PLANS["drop not null"].publishes]
    assert [(v.column_named("age").not_null, len(v.constraints)) for v in down] == [(False, 3), (False, 2)]


def test_a_type_changes_in_one_version_and_the_old_column_is_derived_backwards() -> None:
    before, swapped, gone = (PLANS["change a type"].publishes[n].published for n in (1, 2, 4))
    twin = before.column_named("born (as text)")
    assert (twin.kind, twin.derived and shown(before, twin.derived.expression)) == (Kind.DERIVED_COLUMN, "born::text")
    new, old = swapped.column_named("born"), swapped.column_named("born (was date)")
    assert (new.id, new.type, new.state, new.derived) == (twin.id, SqlType.TEXT, P, None)
    assert old.derived is not None
    assert (old.state, shown(swapped, old.derived.expression)) == (W, "born::date")
    names = [column.name for column in people().columns]
    assert [column.name for column in gone.columns] == names


def test_a_cast_is_the_same_whatever_it_calls_the_type() -> None:
    plain = planned("ALTER TABLE people ALTER town TYPE integer", people())
    for using in ("town::int4", "CAST(people.town AS pg_catalog.int4)", "town::int"):
        assert planned(f"ALTER TABLE people ALTER town TYPE integer USING {using}", people()) == plain


def test_x6_a_swap_may_be_taken_back_until_the_old_side_is_delete_only() -> None:
    plan = PLANS["change a type"]
    assert [describe(plan, step) for step in rollback_steps(plan, 3)] == [
        "close the run",
        "publish people@19: column born (as text) public -> write-only, column born (was date) write-only -> public",
        "wait until no version before people@19 is in use",
        "publish people@20: column born (as text) write-only -> delete-only",
        "wait until no version before people@20 is in use",
        "delete all values of born (as text)",
        "publish people@21: column born (as text) delete-only -> absent",
        "wait until no version before people@21 is in use",
    ]
    assert why_no_return(plan) == "column born (was date) is delete-only since people@19"


def test_a_swap_is_taken_back_to_the_version_before_it_with_nothing_to_fill() -> None:
    table = planned("ALTER TABLE people DROP CONSTRAINT calm", people()).result
    plan = planned(
        "ALTER TABLE people ALTER visits TYPE bigint, ALTER born TYPE text, ALTER town SET DEFAULT 'Ulm'", table
    )
    before = plan.publishes[1].published
    for published in _points(plan):
        back = [step.published for step in rollback_steps(plan, published) if step.kind is StepKind.PUBLISH]
        assert back[-1] == _as_before(table, back[-1])
    swapped_back = back[0]
    assert [c.name for c in swapped_back.public_columns] == [c.name for c in table.columns]
    assert {c.id: c for c in swapped_back.columns} == {
        c.id: replace(c, filling=False, default=table.column(c.id).default if c.state is P else c.default)
        for c in before.columns
    }


@pytest.mark.parametrize(
    ("beside", "is_earlier"),
    [
        pytest.param("ADD nick text", True, id="an addition counts from public on"),
        pytest.param("ALTER name SET NOT NULL", True, id="so does a constraint"),
        pytest.param("DROP CONSTRAINT one_name", False, id="a dropped index until it is delete-only"),
        pytest.param("DROP CONSTRAINT grown", False, id="a dropped constraint until it is absent"),
        pytest.param("ALTER town SET DEFAULT 'Ulm'", False, id="a default is given back"),
    ],
)
def test_x6_of_a_swap_and_others_the_earliest_point_counts(beside: str, is_earlier: bool) -> None:
    plan = planned(f"ALTER TABLE people ALTER born TYPE text, {beside}", people())
    step = plan.forward[plan.point_of_no_return]
    assert ("born (as text) write-only -> public" in describe(plan, step)) == is_earlier
    assert ("born (was date) write-only -> delete-only" in describe(plan, step)) != is_earlier


def test_the_default_changes_its_type_too() -> None:
    plan = planned("ALTER TABLE people ALTER visits DROP DEFAULT", people())
    town = planned("ALTER TABLE people ALTER town SET DEFAULT '7'", plan.result).result
    assert planned("ALTER TABLE people ALTER town TYPE integer", town).result.column_named("town").default == "7"


def test_a_table_is_created_with_its_constraints_public() -> None:
    table = PLANS["add a table"].publishes[0].published
    assert [(i.name, i.state, i.unique) for i in table.indexes] == [("t_n_key", P, True)]
    assert [(c.name, c.state, c.expression) for c in table.constraints] == [("t_n_check", P, '"#2" > 0')]
    assert (table.next_index_id, table.next_constraint_id) == (2, 2)


def test_a_rename_changes_no_expression() -> None:
    renamed = planned("ALTER TABLE people RENAME age TO years", people()).result
    assert renamed.constraints == people().constraints
    (grown,) = (one for one in renamed.constraints if one.name == "grown")
    assert shown(renamed, grown.expression or "") == "years > 1"


DANGERS = [
    ("add a partial unique index", "If two rows have the same values the check fails, and the change rolls back."),
    ("drop a column that an index covers", "Unique index one_name covers it and is dropped with it."),
    ("drop a column that constraints read", "Constraint grown reads age and is dropped with it."),
    ("drop an optional column", "All values of town are lost; undoing the change later restores the column, not"),
    ("add a column, checked and unique", "have the same code the check fails, and the change rolls back."),
    ("add a column, checked and unique", "All rows get the same code: two rows are one too many."),
    ("set not null", "Every row of people is read once; one without name makes the change roll back."),
    ("set a default", "Rows that are there keep their town; only later inserts see the default."),
]


COSTS = [
    ("add a partial unique index", "Every row of people is read once; each later write of it also writes"),
    ("change a type", "Every row of people is rewritten: a text stands beside the date, then takes its place."),
]


@pytest.mark.parametrize(("name", "cost"), COSTS)
def test_a_cost_is_no_danger_and_is_kept_with_the_plan(name: str, cost: str) -> None:
    plan = PLANS[name]
    assert any(cost in said for said in plan.costs)
    assert not any(cost in said for said in plan.dangers)
    assert plan_from_json(plan.to_json()).costs == plan.costs


@pytest.mark.parametrize(("name", "danger"), DANGERS)
def test_dangers_are_stated_in_plain_words(name: str, danger: str) -> None:
    assert any(danger in said for said in PLANS[name].dangers)


# --- refused, with code and place


@pytest.mark.parametrize(
    ("sql", "sqlstate", "message"),
    [
        ("ADD |name text", "42701", 'column "name" of relation "people" already exists'),
        ("ADD |c int NOT NULL", "0A000", "NOT NULL without a default on an added column"),
        ("ADD |c int NOT NULL DEFAULT NULL", "0A000", "NOT NULL without a default on an added column"),
        ("ADD c int DEFAULT 5 |CHECK (c < 5)", "23514", "the fill value of c violates check constraint people_c_check"),
        ("ADD c int |CHECK (c IS NOT NULL)", "23514", "the fill value of c violates"),
        ("ADD |c serial", "0A000", "an identity or serial column on a table that is there"),
        ("ADD c uuid |DEFAULT gen_random_uuid()", "0A000", "a volatile default gen_random_uuid() on an added column"),
        ("ADD c uuid |DEFAULT uuidv4() NOT NULL", "0A000", "a volatile default uuidv4() on an added column"),
        ("ADD c float8 |DEFAULT 1 + random()", "0A000", "a volatile default random() on an added column"),
        ("ADD c text |DEFAULT clock_timestamp()::text", "0A000", "a volatile default clock_timestamp() on an added"),
        ("ADD c text |DEFAULT current_user", "0A000", "a default on an added column that depends on the session"),
        (
            "ADD c text |DEFAULT current_setting('my.tenant')",
            "0A000",
            "a default on an added column that depends on the session",
        ),
        ("ADD c text DEFAULT |set_config('my.x', '1', false)", "0A000", "a volatile default set_config()"),
        ("ADD c int |DEFAULT 1 / 0", "22012", "division by zero"),
        ("ADD c int, ADD |c text", "0A000", "column c is changed twice in one statement"),
        ("ADD c int, DROP |c", "0A000", "column c is changed twice in one statement"),
        ("DROP town, ADD |town int", "0A000", "column town is changed twice in one statement"),
        ("DROP |nothing", "42703", 'column "nothing" of relation "people" does not exist'),
        ("DROP |id", "0A000", "a change of the primary key's columns, id among them, is not possible"),
        ("DROP town, ADD |CHECK (town <> '')", "0A000", "reads column town, which this statement drops"),
        ("DROP town, ADD UNIQUE (|town)", "0A000", "index reads column town, which this statement drops"),
        ("DROP town, ALTER |town SET NOT NULL", "0A000", "column town is changed twice"),
        ("ALTER |nothing SET NOT NULL", "42703", 'column "nothing" of relation "people" does not exist'),
        ("ALTER |id DROP NOT NULL", "42P16", 'column "id" is in a primary key'),
        ("ALTER age SET DEFAULT |now()", "42804", "is of type integer but default expression is of type timestamp"),
        ("ALTER |id SET DEFAULT nextval('other_seq')", "0A000", "the sequence other_seq as a default is not supported"),
        ("ALTER |id DROP IDENTITY", "55000", 'column "id" of relation "people" is not an identity column'),
        ("ALTER |visits ADD GENERATED ALWAYS AS IDENTITY", "55000", "already has a default value"),
        ("ALTER |town ADD GENERATED ALWAYS AS IDENTITY", "22023", "identity column type must be smallint, integer"),
        ("ALTER age SET DEFAULT |'x'", "22P02", 'invalid input syntax for type integer: "x"'),
        ("ALTER |id TYPE text", "0A000", "a type change of id, a column of the key, is not possible"),
        ("ALTER |age TYPE text", "0A000", "a type change of age, which is indexed or constrained by by_age, one_name"),
        ("ALTER town TYPE |timestamptz", "0A000", "a cast without an inverse, from text to timestamptz,"),
        ("ALTER born TYPE |integer", "0A000", "a cast without an inverse, from date to integer,"),
        ("ALTER town TYPE |integer USING length(town)", "0A000", "a cast without an inverse, USING length(town)"),
        ("ALTER born TYPE text, ALTER |born SET NOT NULL", "0A000", "column born is changed twice"),
        ("ALTER born TYPE text, ADD UNIQUE (|born)", "0A000", "column born, which this statement gives another type"),
        ("ADD CHECK (|nothing > 1)", "42703", 'column "nothing" does not exist'),
        ("ADD CHECK (|now() > '2020-01-01')", "42P17", "the time of the transaction cannot stand in check constraint"),
        ("ADD CHECK (|(SELECT true))", "0A000", "a subquery in check constraint"),
        ("ADD CHECK (age |+ 1)", "42804", "check constraint must be of type boolean"),
        ("ADD CONSTRAINT |grown CHECK (age > 2)", "42710", 'constraint "grown" for relation "people" already exists'),
        ("DROP CONSTRAINT grown, ADD CONSTRAINT |grown CHECK (age > 2)", "42710", "already exists"),
        ("DROP CONSTRAINT |nothing", "42704", 'constraint "nothing" of relation "people" does not exist'),
        ("DROP CONSTRAINT |people_pkey", "0A000", "a change of the primary key's columns is not possible"),
        ("DROP CONSTRAINT |people_age_not_null", "42704", "does not exist"),
        ("ADD UNIQUE (|nothing)", "42703", 'column "nothing" does not exist'),
        ("RENAME |nothing TO x", "42703", 'column "nothing" does not exist'),
        ("RENAME name TO |age", "42701", 'column "age" of relation "people" already exists'),
        ("RENAME CONSTRAINT |by_age TO x", "42704", 'constraint "by_age" for table "people" does not exist'),
        ("RENAME CONSTRAINT grown TO |calm", "42710", 'constraint "calm" for relation "people" already exists'),
        ("RENAME CONSTRAINT grown TO |one_name", "42710", "already exists"),
        ("RENAME CONSTRAINT one_name TO |calm", "42710", 'constraint "calm" for relation "people" already exists'),
        ("ADD CONSTRAINT |calm UNIQUE (born)", "42710", 'constraint "calm" for relation "people" already exists'),
        ("ADD CONSTRAINT k CHECK (age > 0), ADD CONSTRAINT |k UNIQUE (born)", "42710", 'constraint "k" for relation'),
        ("RENAME CONSTRAINT one_name TO |by_age", "42P07", 'relation "by_age" already exists'),
        ("RENAME CONSTRAINT |people_pkey TO x", "0A000", "RENAME CONSTRAINT of a primary key is not supported yet"),
        ("RENAME CONSTRAINT |people_age_not_null TO x", "0A000", "RENAME CONSTRAINT of a NOT NULL"),
    ],
)
def test_what_cannot_be_planned_is_refused_at_its_place(sql: str, sqlstate: str, message: str) -> None:
    text = f"ALTER TABLE people {sql}"
    with pytest.raises(DdlError) as refused:
        planned(text.replace("|", ""), people())
    assert (refused.value.sqlstate, message in refused.value.message) == (sqlstate, True), refused.value.message
    assert refused.value.position == text.index("|") + 1


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        (
            "ADD c int NOT NULL",
            "Give it a DEFAULT; or add it without NOT NULL, fill it with UPDATE, then SET NOT NULL.",
        ),
        (
            "ALTER born TYPE integer",
            "Older nodes must still be served while it moves. date can become char, text, timestamp, varchar.",
        ),
        ("ALTER visits TYPE text", "Drop calm, change the type, and create it again."),
        ("ALTER town TYPE integer USING length(town)", "Write USING town::integer, or add a column, fill it with"),
        ("DROP CONSTRAINT people_age_not_null", "Write ALTER COLUMN age DROP NOT NULL."),
    ],
)
def test_a_refusal_says_what_to_do_instead(sql: str, hint: str) -> None:
    with pytest.raises(DdlError) as refused:
        planned(f"ALTER TABLE people {sql}", people())
    assert hint in str(refused.value.hint)


@pytest.mark.parametrize(
    ("sql", "notice"),
    [
        ("ADD IF NOT EXISTS name text", 'column "name" of relation "people" already exists, skipping'),
        ("DROP IF EXISTS nothing", 'column "nothing" of relation "people" does not exist, skipping'),
        ("DROP CONSTRAINT IF EXISTS nothing", 'constraint "nothing" of relation "people" does not exist, skipping'),
        ("ALTER age SET NOT NULL", "column age of people is NOT NULL already, skipping"),
        ("ALTER name DROP NOT NULL", "column name of people is not NOT NULL, skipping"),
        ("ALTER visits SET DEFAULT 0", "column visits of people has that default already, skipping"),
        ("ALTER born TYPE date", "column born is of type date already, skipping"),
    ],
)
def test_what_is_so_already_is_a_notice(sql: str, notice: str) -> None:
    with pytest.raises(NothingToDo) as nothing:
        planned(f"ALTER TABLE people {sql}", people())
    assert nothing.value.message == notice


def test_what_is_on_its_way_cannot_be_altered() -> None:
    under_way = PLANS["add a required column"].publishes[1].published
    with pytest.raises(DdlError, match="column seen is write-only: only a public column can be"):
        planned("ALTER TABLE people ALTER seen SET NOT NULL", under_way)


# --- several at once

PIECES = (
    "ADD a int",
    "ADD b int NOT NULL DEFAULT 3",
    "ADD c int CHECK (c > age)",
    "ADD d int DEFAULT 4 UNIQUE",
    "ADD CHECK (age < 99)",
    "ADD UNIQUE (born, town)",
    "ALTER name SET NOT NULL",
    "ALTER age DROP NOT NULL",
    "ALTER visits SET DEFAULT 1",
    "ALTER born TYPE timestamp",
    "ALTER name TYPE varchar",
    "DROP name",
    "DROP age",
    "DROP town",
    "DROP visits",
    "DROP CONSTRAINT grown",
    "DROP CONSTRAINT one_name",
)


@every(3)
@pytest.mark.parametrize("first", PIECES)
def test_any_three_at_once_are_safe_there_and_back_or_refused(first: str, every: int) -> None:
    """Every third of the threes; all of them in the soak."""
    refused = []
    for others in [*combinations(PIECES[PIECES.index(first) + 1 :], 2)][::every]:
        try:
            plan = planned(f"ALTER TABLE people {first}, {', '.join(others)}", people())
        except DdlError as refusal:
            refused.append(str(refusal.hint))
            continue
        for published in _points(plan):
            here, back = plan.publishes[published - 1].published, rollback_steps(plan, published)
            assert step_faults(moving(plan), here, back) == [], others
            last = [step.descriptor for step in back if step.descriptor][-1]
            assert last == _as_before(people(), last), others
    assert all("two statements" in hint.lower() for hint in refused)


def test_a_constraint_may_be_called_like_a_column_that_comes_with_it() -> None:
    plan = planned("ALTER TABLE people ADD COLUMN gate integer, ADD CONSTRAINT gate CHECK (gate > 0)", people())
    assert [str(element) for element in plan.moving(MoveKind.ADD)] == ["column gate", "constraint gate"]
    with pytest.raises(DdlError, match='constraint "gate" for relation "people" already exists'):
        planned("ALTER TABLE people ADD CONSTRAINT gate CHECK (age > 0), ADD CONSTRAINT gate CHECK (age > 1)", people())


@pytest.mark.parametrize("does", [
    pytest.param(", ".join(f"ADD c{n} int" for n in range(101)), id="new columns"),
    pytest.param("ADD c int" + " CHECK (c > 0)" * 101, id="rules of a new column"),
])  # fmt: skip
def test_one_statement_does_so_much_at_once(does: str) -> None:
    """A plan of a thousand columns took a page half a minute and a megabyte."""
    with pytest.raises(DdlError, match="one ALTER TABLE may do at most 100 things at once") as refused:
        planned(f"ALTER TABLE people {does}", people())
    assert refused.value.sqlstate == "54000"


# --- comments


def test_a_comment_stays_with_a_column_that_gets_another_type_and_name() -> None:
    shorter = PLANS["make a text shorter"].result
    renamed = planned("ALTER TABLE people RENAME town TO city", shorter).result
    assert renamed.column_named("city").comment == "where they live"
    assert [column.comment for column in renamed.columns].count("where they live") == 1


def test_a_version_without_comments_is_written_as_before_there_were_any() -> None:
    """Nodes and storages compare hashes of versions that were published before."""
    body = planned("COMMENT ON COLUMN people.town IS NULL", people()).result.to_json()
    parts = [body, *body["columns"], *body["indexes"], *body["constraints"]]
    assert not any({"comment", "key_comment", "constraint_comment", "primary"} & part.keys() for part in parts)


def test_the_same_comment_is_nothing_to_do() -> None:
    with pytest.raises(NothingToDo, match="the comment of column town is so already"):
        planned("COMMENT ON COLUMN people.town IS 'where they live'", people())


def test_the_undo_of_a_comment_gives_back_its_text() -> None:
    first = planned(r"COMMENT ON TABLE people IS 'a\b ''c'''", people())
    assert first.result.comment == r"a\b 'c'"
    second = planned("COMMENT ON TABLE people IS 'd'", first.result)
    assert planned(undo_of(second).statement, second.result).result.comment == first.result.comment
