"""A dropped table leaves nothing in the storages, and takes nothing from anybody."""

from dataclasses import replace

import psycopg
import pytest

from catalog.elements import State
from catalog.models import Table
from changes.ddl.statements import parse
from changes.submission.new_tables import free_orphaned_tables, free_table, reserve_table
from spark_tasks.models import AuditJob
from spark_tasks.reorganise.drop_storage import drop_storage_of_dropped_tables
from storage.postgres import VERSION_NOT_VISIBLE, session_options
from tests.storage.stage import Stage, new_stage, strike, user


def left(stage: Stage) -> list[str]:
    """What the storages hold of the table."""
    names = [f"storage_{n}.{what}_{stage.table_id}" for n in (1, 2) for what in ("kv", "fence")]
    there = [name for name in names if stage.sql("SELECT to_regclass(%s) IS NOT NULL", [name]) == [(True,)]]
    versions = "SELECT version FROM storage_1.versions WHERE table_id = %s"
    return there + [f"version {version}" for (version,) in stage.sql(versions, [stage.table_id])]


def drop(stage: Stage) -> None:
    """As a change ends: the absent version is drained."""
    stage.publish(replace(stage.now, state=State.ABSENT, version=stage.now.version + 1))
    Table.objects.filter(id=stage.table_id).update(state=Table.State.DROPPED)


def test_all_of_a_dropped_table_goes_and_nothing_of_others(stage: Stage) -> None:
    other = new_stage(stage.dsn)
    stage.insert([user(stage.now, 1, "ann")])
    before = left(other)
    assert stage.table_id not in drop_storage_of_dropped_tables(), "it lives"
    drop(stage)
    assert stage.table_id in drop_storage_of_dropped_tables()
    assert left(stage) == []
    assert left(other) == before
    assert stage.table_id not in drop_storage_of_dropped_tables(), "it is gone"
    strike(other)


def test_its_sequences_go_with_it(stage: Stage) -> None:
    other = new_stage(stage.dsn)
    made = [f"identity.numbers_{one}_1_1" for one in (stage.table_id, stage.table_id * 10, other.table_id)]
    with stage.alone() as store:
        for sequence in made:
            store.execute(f"CREATE SEQUENCE IF NOT EXISTS {sequence}")
    drop(stage)
    assert stage.table_id in drop_storage_of_dropped_tables()
    found = [stage.sql("SELECT to_regclass(%s) IS NOT NULL", [sequence]) for sequence in made]
    assert found == [[(False,)], [(True,)], [(True,)]]
    with stage.alone() as store:
        store.execute(f"DROP SEQUENCE {', '.join(made[1:])}")
    strike(other)


def test_a_transaction_whose_snapshot_still_sees_the_table_is_refused(stage: Stage) -> None:
    with stage.connect() as woken:
        woken.execute("SELECT 1")
        drop(stage)
        drop_storage_of_dropped_tables()
        with pytest.raises(psycopg.Error) as refused:
            stage.enter(woken, 1)
        assert refused.value.sqlstate == VERSION_NOT_VISIBLE


def test_a_reader_is_not_waited_for(stage: Stage) -> None:
    drop(stage)
    with stage.connect() as reader:
        reader.execute(f"SELECT FROM storage_2.kv_{stage.table_id}")
        before = left(stage)
        assert stage.table_id not in drop_storage_of_dropped_tables()
        assert left(stage) == before, "all or nothing"
    assert stage.table_id in drop_storage_of_dropped_tables()


def test_an_audit_under_way_is_waited_for(stage: Stage) -> None:
    drop(stage)
    job = AuditJob.objects.create(table_id=stage.table_id)
    assert stage.table_id not in drop_storage_of_dropped_tables()
    job.delete()
    assert stage.table_id in drop_storage_of_dropped_tables()


# --- tables whose transaction rolled back (T9)

ROUNDS = 25


def reserved(number: int) -> int:
    """A table that a transaction of a node is making; the node is not there any more."""
    statement = parse(f"CREATE TABLE made_{number} (id bigint PRIMARY KEY, name text UNIQUE)")
    return reserve_table(statement, node="a node that died", incarnation=1).table_id


def are_kept(dsn: str, table_ids: list[int]) -> list[bool]:
    asked = "SELECT to_regclass('storage_2.kv_' || id) IS NOT NULL FROM unnest(%s::int[]) AS id"
    with psycopg.connect(dsn) as opened:
        return [kept for (kept,) in opened.execute(asked, (table_ids,)).fetchall()]


def drop_all() -> list[int]:
    """As the timetable does, a few at a time."""
    dropped = []
    for _ in range(ROUNDS):
        if not (more := drop_storage_of_dropped_tables()):
            break
        dropped += more
    return dropped


def test_tables_of_transactions_that_rolled_back_leave_nothing(dsn: str) -> None:
    made = [reserved(number) for number in range(ROUNDS)]
    assert are_kept(dsn, made) == [True] * ROUNDS
    for table_id in made:
        free_table(table_id)
    assert set(made) <= set(drop_all())
    assert are_kept(dsn, made) == [False] * ROUNDS


def test_a_table_whose_node_died_goes_once_no_snapshot_can_be_its_transactions(dsn: str) -> None:
    """A frozen node's transaction keeps it, whether or not it has written to it yet; one that is reserved stays."""
    made, later = reserved(1), reserved(2)
    with psycopg.connect(dsn, **session_options("schemalab node frozen 1")) as frozen:
        frozen.execute("SELECT 1")
        free_orphaned_tables()
        still = reserved(3)
        assert made not in drop_all()
        frozen.execute(f"INSERT INTO storage_1.kv_{made} VALUES ('x', 0, '')")
        assert made not in drop_all()
    assert {made, later} <= set(drop_all())
    assert are_kept(dsn, [made, later, still]) == [False, False, True]
    free_table(still)
    drop_all()


def test_a_table_is_left_where_it_is_while_a_storage_is_added(stage: Stage) -> None:
    """The one who adds it copies what there is of each table."""
    drop(stage)
    with stage.connect() as adding:
        adding.execute("SELECT FROM storage_layout FOR UPDATE")
        before = left(stage)
        assert stage.table_id not in drop_storage_of_dropped_tables()
        assert left(stage) == before
    assert stage.table_id in drop_storage_of_dropped_tables()
