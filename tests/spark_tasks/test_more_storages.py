"""A table that is spread over another number of storages, through every version of its plan, with writers of both. The
third storage is a real one: code that takes the number of storages from the setting misses its rows."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db import connection

from changes.plan.model import StepKind, element_json
from changes.plan.rollback import rollback_steps
from changes.submission import storages as management
from spark_tasks.checks.audit import audit_table
from spark_tasks.reorganise.drop_storage import _drop
from storage.buckets import BUCKETS
from storage.pairs import placement_prefix, prefix, rows_of
from tests.spark_tasks.runs import Runs
from tests.spark_tasks.test_placements import Walk, begin, home, labels_of, people_of, plan_of, write
from tests.storage import pairs_sql
from tests.storage.stage import STORAGES, Stage, new_stage, strike

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(scope="module")
def third_storage(django_db_setup: None, django_db_blocker: object) -> Iterator[int]:
    """A storage more than the cluster began with."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        number = management.add_storage(who="ann")
        yield number
        assert management.remove_storage(who="ann") == number
        connection.close()


@pytest.fixture
def stage(dsn: str, third_storage: int) -> Iterator[Stage]:
    made = new_stage(dsn, people_of, storages=third_storage)
    yield made
    _drop(made.table_id)
    strike(made)


def walk(stage: Stage, options: str, change: int) -> None:
    runs, plan = Runs(stage, change_id=stage.table_id + change * 1_000_000), plan_of(stage, options)
    Walk(stage, runs, plan.forward, labels_of(plan), audits=True).go()
    assert stage.violations() == []


def lie_where_they_belong(stage: Stage) -> list[int]:
    """How many rows lie on each storage; each lies where its bucket says."""
    counts = []
    for storage, pairs in enumerate(stage.contents(), 1):
        there = rows_of(stage.now, stage.now.placement, sorted(pairs.items()))
        assert {home(stage, row) for row in there} <= {storage}
        counts.append(len(there))
    return counts


def test_rows_are_spread_over_more_storages_and_fewer_beside_writers(stage: Stage, runs: Runs) -> None:
    begin(stage)
    walk(stage, "storages = 3", 1)
    more = lie_where_they_belong(stage)
    assert (len(more), sum(more), all(more)) == (3, 40, True)
    walk(stage, "storages = 1", 2)
    assert lie_where_they_belong(stage) == [40, 0, 0]
    assert stage.contents()[1:] == [{}, {}], "nothing is left on a storage that the placement does not use"


@pytest.mark.parametrize(
    "published", [1, pytest.param(2, marks=pytest.mark.soak), pytest.param(3, marks=pytest.mark.soak)]
)
def test_a_rollback_leaves_nothing_on_the_new_storage(stage: Stage, runs: Runs, published: int) -> None:
    begin(stage)
    plan = plan_of(stage, "storages = 3")
    last = plan.forward.index(plan.publishes[published - 1])
    done = [*plan.forward[: last + 1], *plan.forward[last + 1 : last + 2 + 2 * (published == 2)]]
    Walk(stage, runs, tuple(done), labels_of(plan)).go()
    Walk(stage, runs, rollback_steps(plan, published), labels_of(plan), audits=True).go()
    assert stage.violations() == []
    assert (stage.now.storage_count(STORAGES), stage.contents()[2]) == (2, {})


def test_an_index_is_filled_verified_and_dropped_on_all_storages_of_the_placement(stage: Stage, runs: Runs) -> None:
    begin(stage)
    walk(stage, "storages = 3", 1)
    low = placement_prefix(stage.now, stage.now.placement.id)
    by_age = prefix(stage.now, stage.now.placement.id, stage.now.index_named("by_age").id)
    entries = [key for key in stage.contents()[2] if key.startswith(by_age)]
    assert entries
    stage.sql(*pairs_sql.delete(3, stage.table_id, entries[0]))
    report = audit_table(stage.dsn, stage.table_id, storages=STORAGES, buckets=BUCKETS)
    assert [(one["clause"], one["storage"]) for one in report.violations] == [("C4", 3)]
    assert low in entries[0]


def test_an_audit_sees_a_row_on_a_storage_that_no_placement_uses(stage: Stage) -> None:
    begin(stage)
    start = prefix(stage.now, stage.now.placement.id)
    key = min(key for key in stage.contents()[0] if key >= start)
    stage.sql(*pairs_sql.insert(3, stage.table_id, key, stage.contents()[0][key]))
    report = audit_table(stage.dsn, stage.table_id, storages=STORAGES, buckets=BUCKETS)
    assert ("C7", 3) in [(one["clause"], one["storage"]) for one in report.violations]


def test_a_storage_that_is_added_has_the_pair_tables_fences_and_versions_of_every_table(stage: Stage) -> None:
    begin(stage, 6)
    write(stage, stage.now, 99)
    names = "SELECT relname FROM pg_class WHERE relnamespace = 'storage_{}'::regnamespace ORDER BY relname"
    assert stage.sql(names.format(3)) == stage.sql(names.format(1))
    copies = "SELECT version, schema_hash, sharding_hash FROM storage_{}.versions WHERE table_id = %s ORDER BY 1"
    assert stage.sql(copies.format(3), [stage.table_id]) == stage.sql(copies.format(1), [stage.table_id])
    fence = f"SELECT pg_sequence_last_value('storage_{{}}.fence_{stage.table_id}')"
    assert stage.sql(fence.format(3)) == stage.sql(fence.format(1)) == [(stage.now.version,)]


def test_a_storage_is_not_removed_while_a_table_is_spread_over_it(stage: Stage, runs: Runs) -> None:
    begin(stage, 6)
    stage.publish(replace(stage.now.next_version(), placements=(replace(stage.now.placement, storages=3),)))
    with pytest.raises(management.CannotChange, match="storage 3 is in use: table users is spread over 3 storages"):
        management.remove_storage(who="ann")
    stage.publish(replace(stage.now.next_version(), placements=(replace(stage.now.placement, storages=0),)))
    stage.sql(f"INSERT INTO storage_3.kv_{stage.table_id} VALUES ('\\x00', 0, '')")
    with pytest.raises(management.CannotChange, match="has pairs there, which an audit names"):
        management.remove_storage(who="ann")
    assert stage.sql("SELECT existing FROM storage_layout") == [(3,)]


def test_every_step_of_the_plan_is_one_of_a_placement(stage: Stage) -> None:
    plan = plan_of(stage, "storages = 3")
    kinds = [step.kind for step in plan.forward if step.kind in (StepKind.FILL, StepKind.VERIFY, StepKind.DELETE)]
    assert kinds == [StepKind.FILL, StepKind.VERIFY, StepKind.DELETE]
    moved = {element_json(one)["name"] for step in plan.forward for one in step.elements}
    assert moved == {"strcrc32(id)", "strcrc32(id) on 3 storages"}
