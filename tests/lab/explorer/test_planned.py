"""The planner's own plans are proved, and a plan without one of its steps is not."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import (
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Coordination,
    Index,
    IndexColumn,
    IndexId,
    Kind,
    State,
)
from catalog.values.types import SqlType
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse
from changes.plan.model import Element, Move, MoveKind, Plan, Step, StepKind
from changes.plan.rollback import rollback_steps
from changes.planning.custom_plan import rewritten
from changes.planning.planner import make_plan
from changes.planning.stages import Draft, compose
from changes.planning.tables import KnownTables
from lab.explorer import planned
from lab.explorer.model import BadModel, Model
from lab.explorer.planned import Part, digest, parts_of, prove, prove_parts
from lab.explorer.plans.program import Do, Program, plan_of, program
from lab.explorer.spaces.search import Budget, Watch
from lab.explorer.variants import all_variants
from lab.explorer.verdict import Answer, Verdict, explore
from lab.scripts.commands_of import Lab, perform
from lab.scripts.commands_of.changes import planned as plan_as_written
from storage.buckets import StorageCount
from storage.encoding import encode
from tests.changes.planning.test_foreign_keys import PLANS as FOREIGN_KEYS
from tests.changes.tables import every_plan, plans, users

PLANS = plans()
PATIENTLY = Budget(seconds=120.0)
"""What is proved does not depend on how busy the machine is; how fast it goes is the benchmarks' matter."""

ANSWERS: dict[str, Answer] = {}


@pytest.fixture(autouse=True)
def explored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the parts that plans have in common each is explored once for all tests."""
    monkeypatch.setattr(planned, "explore", known_or_explored)


def known_or_explored(model: Model, *, program: Program, budget: Budget, watch: Watch | None) -> Answer:
    key = digest([Part((), model, program)])
    if key not in ANSWERS:
        answer = explore(model, program=program, budget=budget, watch=watch)
        if answer.verdict is Verdict.UNKNOWN:
            return answer
        ANSWERS[key] = answer
    return ANSWERS[key]


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_as_it_is_planned_is_proved_for_three_nodes(name: str) -> None:
    answer = prove(PLANS[name], budget=PATIENTLY)
    assert answer.verdict is Verdict.PROVED, answer.why
    assert all(answer.sometimes.values()), answer.sometimes


@pytest.mark.parametrize(
    ("name", "without", "clause"),
    [
        pytest.param("add an index", StepKind.FILL, "C4", id="no fill"),
        pytest.param("drop an index", StepKind.DELETE, "C3", id="no deletion"),
        pytest.param("drop a table", StepKind.DELETE, "C1", id="rows are left"),
    ],
)
def test_a_plan_without_a_step_has_a_counterexample(name: str, without: StepKind, clause: str) -> None:
    plan = PLANS[name]
    kept = tuple(step for step in plan.forward if step.kind is not without)
    answer = prove(replace(plan, forward=kept), budget=PATIENTLY)
    assert answer.verdict is Verdict.VIOLATED
    assert answer.clauses == (clause,)
    assert len(answer.sentences) == len(answer.steps)


def test_every_step_before_the_point_of_no_return_can_be_cancelled() -> None:
    plan: Plan = PLANS["add an index"]
    stops = parts_of(plan, nodes=3).explored[0].program.stops
    forward = stops[: next(n for n, stop in enumerate(stops) if stop.do.value == "end") + 1]
    assert [stop.do.value for stop in forward] == [
        "publish",
        "drain",
        "publish",
        "drain",
        "clear",
        "fill",
        "verify",
        "publish",
        "drain",
        "purge",
        "end",
    ]
    assert [stop.cancel is not None for stop in forward] == [False] + [True] * 7 + [False] * 3


def test_x6_a_type_change_can_be_cancelled_until_the_old_column_is_delete_only() -> None:
    plan = every_plan()["change a type"]
    stops = parts_of(plan, nodes=3).explored[0].program.stops
    forward = stops[: next(n for n, stop in enumerate(stops) if stop.do is Do.END)]
    may = [(stop.do, stop.newest) for stop in forward if stop.cancel is not None]
    assert may[-4:] == [(Do.PUBLISH, 3), (Do.DRAIN, 4), (Do.PURGE, 4), (Do.PUBLISH, 4)]
    assert prove(plan, budget=PATIENTLY).verdict is Verdict.PROVED


@pytest.mark.parametrize(("storages", "model"), [(3, "2+3"), (1, "3+2"), (2, "")], ids=["more", "fewer", "as many"])
def test_a_plan_for_another_number_of_storages_is_explored_on_as_many(storages: int, model: str) -> None:
    there = StorageCount(existing=3)
    statement = f"ALTER TABLE users SET (storages = {storages}, sharding_func = 'mpcrc32')"
    table = users()
    action = resolve(parse(statement), CatalogView((table,), storages=there))
    plan = make_plan(action, table, tables=KnownTables((table,), storages=there))
    (part,) = parts_of(plan, nodes=2).explored
    assert (part.model.storages, part.model.by_value) == (model, False)
    assert prove(plan, nodes=2, budget=PATIENTLY).verdict is Verdict.PROVED


@pytest.mark.parametrize("how", Coordination)
def test_a_plan_is_explored_with_the_coordination_of_its_table(how: Coordination) -> None:
    plan = PLANS["add an index"]
    assert plan.base is not None
    part = parts_of(replace(plan, base=replace(plan.base, coordination=how)), nodes=2).explored[0]
    assert part.model.coordination == how.value
    accepted = [stop.tables[0].newest - stop.tables[0].accepted for stop in part.program.stops]
    assert max(accepted) == (1 if how is Coordination.LEASE else 0)


@pytest.mark.parametrize(("variant", "clauses"), [("change-type", ("C2",)), ("reshard-by-key", ("C5", "lost write"))])
def test_a_swap_that_is_given_up_at_once_is_refuted(variant: str, clauses: tuple[str, ...]) -> None:
    """Without the version that swaps back, a node that knows the swap still misses what others write."""
    model = all_variants()[variant].model
    plan = plan_of(model)

    def at_once(published: int) -> Sequence[Step]:
        steps = rollback_steps(plan, published)
        publishes = [number for number, step in enumerate(steps) if step.kind is StepKind.PUBLISH]
        return steps if len(publishes) < 3 else steps[publishes[1] :]

    answer = explore(model, program=program(model, plan, at_once), budget=PATIENTLY)
    assert (answer.verdict, answer.clauses) == (Verdict.VIOLATED, clauses), answer.sentences


AGE = Column(ColumnId(3), "age", SqlType.INTEGER)
LEVEL = replace(AGE, id=ColumnId(4), name="level", added_with_default=True, fill_value=encode(SqlType.INTEGER, 1))
BY_AGE = Index(IndexId(5), "by_age", (IndexColumn(AGE.id),))
BY_LEVEL = Index(IndexId(6), "by_level", (IndexColumn(LEVEL.id),), unique=True)
BY_BOTH = Index(IndexId(5), "both", (IndexColumn(AGE.id), IndexColumn(LEVEL.id)))
BY_NAME = Index(IndexId(7), "by_name_too", (IndexColumn(ColumnId(2)),))
LIMIT = Constraint(ConstraintId(1), "limit", "check", (AGE.id,), '"#3" < 100')


def element(what: Column | Index | Constraint) -> Element:
    return Element(what.kind, what.id, what.name)


def adds(*new: Column | Index | Constraint, covered: Sequence[Column] = ()) -> Plan:
    """A plan that adds these to table users."""
    moves = tuple(Move(element(one), MoveKind.ADD) for one in new)
    first = {element(one): replace(one, state=State.ABSENT) for one in new}
    return compose(Draft(7, "users", users(), moves, new=first, covered=frozenset(map(element, covered))))


def drops(table: Descriptor, *old: Column | Index | Constraint) -> Plan:
    return compose(Draft(7, "users", table, tuple(Move(element(one), MoveKind.DROP) for one in old)))


SEVERAL = {
    "a column, its index and its check": adds(AGE, BY_AGE, LIMIT, covered=[AGE]),
    "a filled column and its unique index": adds(LEVEL, BY_LEVEL),
    "a column, a filled column, an index of another": adds(AGE, LEVEL, BY_NAME),
    "a column with its index goes": drops(adds(AGE, BY_AGE, covered=[AGE]).result, BY_AGE, AGE),
    "a filled column with its index goes": drops(adds(LEVEL, BY_LEVEL).result, BY_LEVEL, LEVEL),
    "a check goes": drops(adds(AGE, LIMIT, covered=[AGE]).result, LIMIT),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_a_plan_of_several_elements_is_proved_part_by_part(name: str) -> None:
    answer = prove(SEVERAL[name], budget=PATIENTLY)
    assert answer.verdict is Verdict.PROVED, answer.sentences
    assert all(answer.sometimes.values()), answer.sometimes


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a column, its index and its check", ["column age, index by_age", "column age, constraint limit"]),
        ("a column, a filled column, an index of another", ["index by_name_too", "column age", "column level"]),
    ],
)
def test_what_has_a_column_in_common_is_explored_together(name: str, parts: list[str]) -> None:
    assert [str(part) for part in parts_of(SEVERAL[name], nodes=3).explored] == parts


def test_values_that_go_before_the_entries_made_of_them_are_refuted() -> None:
    plan = SEVERAL["a column with its index goes"]
    begins = ["publish age delete-only, by_age write-only", "drain", "delete age"]
    ends = ["publish by_age delete-only", "drain", "delete by_age", "publish by_age absent, age absent", "drain"]
    answer = prove(rewritten(plan, begins + ends), budget=PATIENTLY)
    assert answer.clauses == ("C5",)


@pytest.mark.parametrize("name", ["add a partial unique index", "drop a unique index"])
def test_a_partial_index_is_explored_with_a_condition(name: str) -> None:
    plan = every_plan()[name]
    assert [part.model.partial for part in parts_of(plan, nodes=3).explored] == [True]
    assert prove(plan, budget=PATIENTLY).verdict is Verdict.PROVED


def test_one_answer_for_all_parts_counts_their_states() -> None:
    plan = SEVERAL["a column, its index and its check"]
    alone = [prove_parts([part], budget=PATIENTLY).states for part in parts_of(plan, nodes=3).explored]
    assert prove(plan, budget=PATIENTLY).states == sum(alone)


def test_an_entry_over_two_moving_columns_has_no_model_and_names_alone_none() -> None:
    answer = prove(adds(AGE, LEVEL, BY_BOTH, covered=[AGE]), budget=PATIENTLY)
    assert answer.verdict is Verdict.UNKNOWN
    no_place = "more than 1 column: a model's table has no place for so many"
    assert (
        str(answer.why) == f"a part of it cannot be explored: {no_place}. The rest is proved: column age; column level"
    )
    renamed = Draft(7, "users", users(), (Move(Element(Kind.TABLE, 7, "users"), MoveKind.RENAME),), edit=lambda d: d)
    with pytest.raises(BadModel, match="there is nothing to explore"):
        prove(compose(renamed))


LINKED = ["to the primary key", "to a unique index", "two to one table", "dropped", "its column dropped"]
LINKED += ["of two columns, in another order", "a column that refers"]
RARE = ["exchanged", "beside an index", "added and a column dropped", "a required column that refers"]
LINKED_AND_RARE = [*LINKED, *(pytest.param(name, marks=pytest.mark.soak) for name in RARE)]


@pytest.mark.parametrize("name", LINKED_AND_RARE)
def test_a_plan_with_a_foreign_key_is_proved_on_two_tables(name: str) -> None:
    answer = prove(FOREIGN_KEYS[name], budget=PATIENTLY)
    assert answer.verdict is Verdict.PROVED, answer.sentences
    assert all(answer.sometimes.values()), answer.sometimes


ITSELF = ["to the table itself", "dropped from the table itself", "two at once"]
ITSELF += ["its column dropped, which refers twice", "its table dropped"]


@pytest.mark.parametrize("name", ITSELF)
def test_a_table_that_refers_to_itself_is_proved_as_one(name: str) -> None:
    answer = prove(FOREIGN_KEYS[name], budget=PATIENTLY)
    assert answer.verdict is Verdict.PROVED, answer.sentences
    assert all(answer.sometimes.values()), answer.sometimes
    parts = parts_of(FOREIGN_KEYS[name], nodes=3).explored
    assert any(part.model.refers_to_itself and "trips_boss_fkey" in str(part) for part in parts)


@pytest.mark.parametrize(
    ("steps", "clauses"),
    [
        (["publish trips_boss_fkey write-only", "publish trips_boss_fkey public", "drain"], ("C6",)),
        (["publish trips_boss_fkey public", "drain"], ("C6",)),
    ],
    ids=["not verified", "in one step"],
)
def test_a_table_that_refers_to_itself_by_steps_of_ones_own(steps: list[str], clauses: tuple[str, ...]) -> None:
    answer = prove(rewritten(FOREIGN_KEYS["to the table itself"], steps), budget=PATIENTLY)
    assert (answer.verdict, answer.clauses) == (Verdict.VIOLATED, clauses)


def test_beside_a_part_without_a_model_the_others_are_proved() -> None:
    answer = prove(FOREIGN_KEYS["a column that refers to its own table"], budget=PATIENTLY)
    assert answer.verdict is Verdict.UNKNOWN
    assert str(answer.why) == (
        "a part of it cannot be explored: foreign key trips_twin_fkey of the table to itself is enforced while"
        " column twin is not public. The rest is proved: column twin"
    )
    assert all(answer.sometimes.values()), answer.sometimes


def test_beside_a_part_without_a_model_a_counterexample_is_found_all_the_same() -> None:
    plan = adds(AGE, LEVEL, BY_BOTH, covered=[AGE])
    kept = tuple(step for step in plan.forward if step.kind is not StepKind.FILL)
    answer = prove(replace(plan, forward=kept), budget=PATIENTLY)
    assert (answer.verdict, answer.clauses) == (Verdict.VIOLATED, ("lost write",))


@pytest.mark.parametrize("name", ["to the primary key", "dropped"])
def test_a_plan_that_lacks_the_table_it_refers_to_is_refused_in_words(name: str) -> None:
    """As a person may have written it."""
    plan = FOREIGN_KEYS[name]
    alone = replace(plan, partners=(), forward=tuple(replace(step, partners=()) for step in plan.forward))
    with pytest.raises(BadModel, match=r"^the plan lacks table \d+, which foreign key trips_code_fkey references: it"):
        prove(alone)


def test_a_column_that_refers_is_explored_with_its_foreign_key() -> None:
    parts = {name: list(map(str, parts_of(FOREIGN_KEYS[name], nodes=3).explored)) for name in LINKED}
    assert parts["a column that refers"] == ["column dest, foreign key trips_dest_fkey"]
    assert parts["its column dropped"] == ["foreign key in_city", "column city, index by_city_of"]


BY_HAND = {
    "in the child only": ["publish write-only in trips", "drain", "verify", "publish public in trips", "drain"],
    "in the parent only": ["publish write-only in airports", "drain", "verify", "publish public in airports", "drain"],
    "not verified": ["publish write-only", "drain", "publish public", "drain"],
    "verified before the drain": ["publish write-only", "verify", "publish public", "drain"],
    "in one step": ["publish public", "drain"],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_a_foreign_key_by_steps_of_ones_own_has_a_counterexample(name: str) -> None:
    answer = prove(rewritten(FOREIGN_KEYS["to the primary key"], BY_HAND[name]), budget=PATIENTLY)
    assert (answer.verdict, answer.clauses) == (Verdict.VIOLATED, ("C6",))
    assert any("child@" in sentence for sentence in answer.sentences)


def test_a_parent_that_is_published_later_is_drained_later() -> None:
    later = ["publish write-only in trips", "drain", "publish write-only in airports", "drain", "verify"]
    plan = rewritten(FOREIGN_KEYS["to the primary key"], [*later, "publish public", "drain"])
    assert prove(plan, budget=PATIENTLY).verdict is Verdict.PROVED
    (part,) = parts_of(plan, nodes=3).explored
    assert [stop.drained for stop in part.program.stops if stop.do is Do.DRAIN][:3] == [(0,), (0, 1), (0, 1)]


def test_parts_that_differ_in_names_only_are_explored_once() -> None:
    plan = FOREIGN_KEYS["two to one table"]
    first, second = parts_of(plan, nodes=3).explored
    assert prove(plan, budget=PATIENTLY).states == prove_parts([first], budget=PATIENTLY).states
    assert digest([first]) == digest([second])


STATEMENTS = [
    "alter table users alter column age type bigint",
    "alter table users alter column age type numeric",
    "alter table users add column level int not null default 7, add constraint low check (level < 9)",
    "alter table users drop column name",
    "alter table users alter column name set not null, alter column age type numeric",
    "create unique index by_age on users (age) where age > 3",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_planned_for_an_alter_table_is_proved(statement: str) -> None:
    lab = Lab()
    perform(lab, "table users (id int primary key, name text, age int)")
    for before in (
        "create index by_name on users (name)",
        "alter table users add constraint known check (name <> 'x')",
    ):
        perform(lab, before)
        perform(lab, "run")
    answer = prove(plan_as_written(lab, statement), budget=PATIENTLY)
    assert answer.verdict is Verdict.PROVED, answer.sentences
    assert all(answer.sometimes.values()), answer.sometimes
