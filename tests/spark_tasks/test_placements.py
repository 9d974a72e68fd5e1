"""A table whose sharding changes, through every version of its plan, with writers of both versions in between; after
each step the seven clauses and the audit judge every pair."""

from collections.abc import Iterator
from typing import Any

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, Index, IndexColumn, IndexId, State, TableId
from catalog.values.types import SqlType
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse
from changes.plan.model import Plan, Step, StepKind, element_json
from changes.plan.rollback import rollback_steps
from changes.planning.planner import make_plan
from spark_tasks.checks.audit import audit_table
from spark_tasks.models import ReorgRun
from spark_tasks.services import close_run
from storage import encoding
from storage.buckets import BUCKETS, StorageCount, storage_of
from storage.integrity.clauses import element_label
from storage.mutations import update_row
from storage.pairs import StoredRow, after, name_of, placement_prefix, prefix, row_bucket, rows_of, stored_key
from tests.spark_tasks.runs import Runs
from tests.storage import pairs_sql
from tests.storage.stage import AGE, ID, NAME, STORAGES, Stage, new_stage, strike, user

BY_AGE, ONE_NAME = IndexId(1), IndexId(2)


def people_of(table_id: int) -> Descriptor:
    """users(id bigint primary key, name text unique, age integer indexed), version 1."""
    columns = (
        Column(ID, "id", SqlType.BIGINT, not_null=True),
        Column(NAME, "name", SqlType.TEXT),
        Column(AGE, "age", SqlType.INTEGER),
    )
    indexes = (
        Index(BY_AGE, "by_age", (IndexColumn(AGE),)),
        Index(ONE_NAME, "one_name", (IndexColumn(NAME, descending=True),), unique=True),
    )
    more: dict[str, Any] = {"indexes": indexes, "next_column_id": 4, "next_index_id": 3}
    return Descriptor(TableId(table_id), "users", 1, columns, (ID,), **more)


@pytest.fixture
def stage(dsn: str) -> Iterator[Stage]:
    stage = new_stage(dsn, people_of)
    yield stage
    strike(stage)


def plan_of(stage: Stage, options: str) -> Plan:
    statement = parse(f"ALTER TABLE users SET ({options})")
    there = StorageCount(STORAGES, stage.storages)
    view = CatalogView((stage.now,), storages=there)
    return make_plan(resolve(statement, view), stage.now, tables=view)


def rows_now(stage: Stage) -> list[StoredRow]:
    """The rows as the version that is newest reads them, wherever they lie."""
    of, place = stage.now, stage.now.placement
    found = [row for pairs in stage.contents() for row in rows_of(of, place, sorted(pairs.items()))]
    assert len({row.key for row in found}) == len(found), "a row is read twice"
    return sorted(found, key=lambda row: row.key)


def write(stage: Stage, at: Descriptor, number: int) -> None:
    """A node that uses this version deletes a row, moves one, and inserts one: `number` is used once."""
    first, second, *_ = rows_now(stage)
    stage.delete([first], at)
    with stage.transaction(at.version) as statements:
        values = {NAME: encoding.encode(SqlType.TEXT, f"moved {number}"), AGE: encoding.encode(SqlType.INTEGER, number)}
        statements.run(update_row(at, second, values))
    stage.insert([user(at, number, f"new {number}", None if number % 2 else 7)], at)


class Walk:
    """A plan's steps on the stage, one after the other, with traffic and a judgement at each."""

    def __init__(
        self, stage: Stage, runs: Runs, steps: tuple[Step, ...], unfinished: frozenset[str], *, audits: bool = False
    ) -> None:
        self.stage, self.runs, self.steps, self.unfinished, self.audits = stage, runs, steps, unfinished, audits
        self.number = 1000 + stage.now.version * 100

    def go(self) -> None:
        for step in self.steps:
            if step.kind is StepKind.PUBLISH:
                before = self.stage.now
                self.stage.publish(step.published, fence=before.version)
                self._write(step.published)
                self._write(before)
                self._judge()
            elif step.kind is StepKind.DRAIN:
                for storage in range(1, self.stage.storages + 1):
                    self.stage.sql(
                        f"SELECT setval('storage_{storage}.fence_{self.stage.table_id}', {self.stage.now.version})"
                    )
            elif step.kind is StepKind.CLOSE:
                for run in ReorgRun.objects.filter(change_id=self.runs.change_id, is_closed=False):
                    close_run(run.id)
            else:
                self._write(self.stage.now)
                status = self.runs.do(step.kind.value, *(element_json(element) for element in step.elements))
                assert (status.state, status.error) == ("done", "")
                self._judge()

    def _write(self, at: Descriptor) -> None:
        self.number += 1
        write(self.stage, at, self.number)

    def _judge(self) -> None:
        assert self.stage.violations(unfinished=self.unfinished) == []
        if self.audits:
            report = audit_table(self.stage.dsn, self.stage.table_id, storages=STORAGES, buckets=BUCKETS)
            assert report.violations == []


def labels_of(plan: Plan) -> frozenset[str]:
    public = plan.publishes[1].published
    return frozenset(element_label(one) for one in (*public.placements, *public.indexes, *public.columns))


def home(stage: Stage, row: StoredRow) -> int:
    count = stage.now.placement.storage_count(STORAGES)
    return storage_of(row_bucket(stage.now, stage.now.placement, row, BUCKETS), count)


def begin(stage: Stage, count: int = 40) -> None:
    stage.insert(user(stage.now, n, f"name {n}" if n % 7 else None, n % 5) for n in range(count))


@pytest.mark.soak
def test_rows_are_spread_another_way_and_back_beside_writers(stage: Stage, runs: Runs) -> None:
    begin(stage)
    plan = plan_of(stage, "sharding_key = 'age, name', sharding_func = 'mpcrc32'")
    Walk(stage, runs, plan.forward, labels_of(plan), audits=True).go()
    assert stage.violations() == []
    assert [placement.id for placement in stage.now.placements] == [2]
    assert len(rows_now(stage)) == 40
    for storage, pairs in enumerate(stage.contents(), 1):
        there = rows_of(stage.now, stage.now.placement, sorted(pairs.items()))
        assert there
        assert {home(stage, row) for row in there} == {storage}
        assert all(name_of(stage.now, key).placement == 2 for key in pairs)
    runs = Runs(stage, change_id=stage.table_id + 1_000_000)
    back = plan_of(stage, "sharding_key = 'id', sharding_func = 'strcrc32'")
    Walk(stage, runs, back.forward, labels_of(back), audits=True).go()
    assert stage.violations() == []
    assert (stage.now.is_home_in_key, len(rows_now(stage))) == (True, 40)


@pytest.mark.parametrize(
    "published", [pytest.param(1, marks=pytest.mark.soak), 2, pytest.param(3, marks=pytest.mark.soak)]
)
def test_a_change_that_rolls_back_leaves_what_was(stage: Stage, runs: Runs, published: int) -> None:
    begin(stage)
    plan = plan_of(stage, "sharding_func = 'mpcrc32'")
    last = plan.forward.index(plan.publishes[published - 1])
    done = [*plan.forward[: last + 1], *plan.forward[last + 1 : last + 2 + 2 * (published == 2)]]
    Walk(stage, runs, tuple(done), labels_of(plan)).go()
    Walk(stage, runs, rollback_steps(plan, published), labels_of(plan), audits=True).go()
    assert stage.violations() == []
    assert stage.now.placements == plan.base.placements if plan.base else False
    low = placement_prefix(stage.now, stage.now.placement.id)
    assert all(key.startswith(low) for pairs in stage.contents() for key in pairs)


# --- damage


def filled(stage: Stage, runs: Runs) -> Plan:
    """The stage stands before verification: two versions are out, the new placement is filled."""
    begin(stage, 12)
    plan = plan_of(stage, "sharding_key = 'age'")
    at = next(number for number, step in enumerate(plan.forward) if step.kind is StepKind.VERIFY)
    for step in plan.forward[:at]:
        if step.kind is StepKind.PUBLISH:
            stage.publish(step.published)
        elif step.kind is StepKind.FILL:
            assert runs.do("fill", *(element_json(element) for element in step.elements)).state == "done"
    return plan


@pytest.mark.parametrize(
    ("damage", "clause"),
    [
        pytest.param("DELETE FROM {kv} WHERE k >= %s AND k < %s AND v = ''", "C4", id="rows are missing"),
        pytest.param(
            "UPDATE {kv} SET v = '\\x018000000000000063' WHERE k >= %s AND k < %s AND c = 3",
            "C4",
            id="a value is another one",
        ),
        pytest.param(
            "INSERT INTO {kv} SELECT substr(k, 1, 5) || '\\xf000000000000000', c, v FROM {kv} WHERE k >= %s AND k < %s",
            "C5",
            id="rows that do not exist",
        ),
    ],
)
def test_a_verification_finds_what_is_wrong(stage: Stage, runs: Runs, damage: str, clause: str) -> None:
    plan = filled(stage, runs)
    copy = next(p for p in stage.now.placements if p.state is State.WRITE_ONLY)
    low, _ = stored_key(prefix(stage.now, copy.id))
    high, _ = stored_key(prefix(stage.now, copy.id, IndexId(1)))
    rows = stage.sql(f"SELECT count(*) FROM storage_1.kv_{stage.table_id} WHERE k >= %s AND k < %s", [low, high])
    assert rows[0][0] > 0
    if clause == "C5":  # one row of those that are there
        [(first,)] = stage.sql(
            f"SELECT min(k) FROM storage_1.kv_{stage.table_id} WHERE k >= %s AND k < %s", [low, high]
        )
        low, high = first, after(first)
    stage.sql(damage.format(kv=f"storage_1.kv_{stage.table_id}"), [low, high])
    step = next(step for step in plan.forward if step.kind is StepKind.VERIFY)
    status = runs.do("verify", *(element_json(element) for element in step.elements))
    assert status.state == "failed"
    assert clause in {one["clause"] for one in status.violations}


@pytest.mark.parametrize(
    ("tail", "value"),
    [
        pytest.param("ffff00", "", id="of no index"),
        pytest.param("0000630000", "", id="of no row"),
        pytest.param("000100", "", id="an entry that ends too soon"),
        pytest.param("00", "", id="too short for any"),
        pytest.param("0002fe9e9d9200", "aa", id="a unique entry of something that is no key"),
    ],
)
def test_a_stray_key_in_a_copy_is_named(stage: Stage, runs: Runs, tail: str, value: str) -> None:
    plan = filled(stage, runs)
    copy = next(p for p in stage.now.placements if p.state is State.WRITE_ONLY)
    key = placement_prefix(stage.now, copy.id) + bytes.fromhex(tail)
    stage.sql(*pairs_sql.insert(2, stage.table_id, key, bytes.fromhex(value)))
    step = next(step for step in plan.forward if step.kind is StepKind.VERIFY)
    status = runs.do("verify", *(element_json(element) for element in step.elements))
    assert [(one["clause"], one["storage"], one["key"]) for one in status.violations] == [("C5", 2, key.hex())]
    report = audit_table(stage.dsn, stage.table_id, storages=STORAGES, buckets=BUCKETS)
    assert [(one["clause"], one["key"]) for one in report.violations] == [("C5", key.hex())]


def test_a_row_that_is_there_twice_is_named_and_hides_no_stale_copy(stage: Stage, runs: Runs) -> None:
    begin(stage, 12)
    plan = plan_of(stage, "sharding_key = 'age'")
    Walk(stage, runs, plan.forward, labels_of(plan)).go()
    back = plan_of(stage, "sharding_key = 'id'")
    more = Runs(stage, change_id=stage.table_id + 1_000_000)
    at = next(number for number, step in enumerate(back.forward) if step.kind is StepKind.VERIFY)
    for step in back.forward[:at]:
        if step.kind is StepKind.PUBLISH:
            stage.publish(step.published)
        elif step.kind is StepKind.FILL:
            assert more.do("fill", *(element_json(element) for element in step.elements)).state == "done"
    start = prefix(stage.now, stage.now.placement.id)
    key = min(key for key in stage.contents()[0] if key >= start)
    copied = f"INSERT INTO storage_2.kv_{stage.table_id} SELECT * FROM storage_1.kv_{stage.table_id}"
    stage.sql(f"{copied} WHERE k = %s", [stored_key(key)[0]])
    copy = next(p for p in stage.now.placements if p.state is State.WRITE_ONLY)
    stale = placement_prefix(stage.now, copy.id) + b"\x00\x00\x01\xf0" + bytes(9)
    stage.sql(*pairs_sql.insert(1, stage.table_id, stale, b""))
    report = audit_table(stage.dsn, stage.table_id, storages=STORAGES, buckets=BUCKETS)
    named = {(one["clause"], one["key"]) for one in report.violations}
    assert ("C6", key.hex()) in named
    assert ("C5", stale.hex()) in named


def test_an_audit_finds_a_primary_key_that_is_on_two_storages(stage: Stage, runs: Runs) -> None:
    begin(stage, 12)
    plan = plan_of(stage, "sharding_key = 'age'")
    Walk(stage, runs, plan.forward, labels_of(plan)).go()
    start = prefix(stage.now, stage.now.placement.id)
    key = min(key for key in stage.contents()[0] if key >= start)
    copied = f"INSERT INTO storage_2.kv_{stage.table_id} SELECT * FROM storage_1.kv_{stage.table_id}"
    stage.sql(f"{copied} WHERE k = %s", [stored_key(key)[0]])
    report = audit_table(stage.dsn, stage.table_id, storages=STORAGES, buckets=BUCKETS)
    assert any("more than once, on different storages" in one["why"] for one in report.violations)
