"""Temporary tables: a session's own under any name, and nothing of them is left when it ends."""

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from psycopg import errors

from changes.ddl.statements import parse
from changes.planning.table_in_transaction import new_table
from expressions.errors import FatalError
from nodes.session.block import Block
from nodes.session.schema.new_tables import NewTables
from nodes.store.refusals import CommitUnknown
from tests.nodes.conftest import STORAGES, Cluster
from tests.nodes.linked_tables import link


def reserved(cluster: Cluster, name: str) -> list[int]:
    """The ids of the temporary tables of that name, of all sessions."""
    query = "SELECT table_id FROM changes_reservation WHERE names ->> 0 = %s ORDER BY 1"
    return [table_id for (table_id,) in cluster.read(query, [f"pg_temp.{name}"])]


def test_each_session_has_its_own_under_one_name(cluster: Cluster, n1: Any, n2: Any) -> None:
    name = f"own{next(cluster.serial)}"
    table = cluster.table("a int", name=name)
    with cluster.connect() as other:
        for connection, value in ((n1, 1), (other, 2)):
            connection.execute(f"CREATE TEMP TABLE {name} (a int)")
            connection.execute(f"INSERT INTO {name} VALUES (%s)", [value])
        n2.execute(f"INSERT INTO {name} VALUES (3)")
        assert [c.execute(f"SELECT a FROM {name}").fetchall() for c in (n1, other, n2)] == [[(1,)], [(2,)], [(3,)]]
        with pytest.raises(errors.FeatureNotSupported, match=f"public.{name} beside a temporary table"):
            n1.execute(f"INSERT INTO public.{name} VALUES (4)")
        assert n1.execute(f"SELECT count(*) FROM pg_class WHERE relname = '{name}'").fetchone()[0] >= 1
        n1.execute(f"DROP TABLE {name}")
        assert n1.execute(f"SELECT a FROM {name}").fetchall() == [(3,)]
    assert cluster.violations(table) == []


def test_nothing_is_left_when_the_session_ends(cluster: Cluster) -> None:
    name = f"own{next(cluster.serial)}"
    with cluster.connect() as connection:
        connection.execute(f"CREATE TEMP TABLE {name} (a int PRIMARY KEY)")
        connection.execute(f"INSERT INTO {name} SELECT n FROM generate_series(1, 100) AS n")
        [table_id] = reserved(cluster, name)
        assert pair_views(cluster, table_id) == STORAGES
        connection.execute(f"ALTER TABLE {name} ADD COLUMN b int DEFAULT 7")
        assert connection.execute(f"SELECT sum(a), sum(b) FROM {name}").fetchone() == (5050, 700)
    deadline = time.monotonic() + 30
    while reserved(cluster, name):
        assert time.monotonic() < deadline, "the reservation of a temporary table outlives its session"
        time.sleep(0.02)
    assert cluster.read("SELECT state FROM catalog_table WHERE id = %s", [table_id]) == [("dropped",)]


def pair_views(cluster: Cluster, table_id: int) -> int:
    """The number of views through which users' texts read the table."""
    query = "SELECT count(*) FROM pg_views WHERE schemaname = 'pair_views' AND viewname ~ %s"
    [(count,)] = cluster.read(query, [f"^t{table_id}_"])
    return int(count)


def test_a_rollback_leaves_the_table_as_it_was_before_the_transaction(cluster: Cluster, n1: Any) -> None:
    """Also its plans: a version that was undone is never the number of another one."""
    name = f"own{next(cluster.serial)}"
    n1.execute(f"CREATE TEMP TABLE {name} (a int)")
    n1.execute(f"INSERT INTO {name} VALUES (1)")
    for column in ("b", "c"):
        with n1.transaction(force_rollback=True):
            n1.execute(f"ALTER TABLE {name} ADD COLUMN {column} int DEFAULT 5")
            assert n1.execute(f"SELECT * FROM {name}").description[1].name == column
        assert n1.execute(f"SELECT * FROM {name}").fetchall() == [(1,)]
    with n1.transaction(force_rollback=True):
        n1.execute(f"DROP TABLE {name}")
    assert n1.execute(f"SELECT * FROM {name}").fetchall() == [(1,)]
    assert len(reserved(cluster, name)) == 1


def test_what_is_no_session_s_is_refused(cluster: Cluster, n1: Any) -> None:
    name = f"own{next(cluster.serial)}"
    table = cluster.table("id int primary key")
    n1.execute(f"CREATE TEMP TABLE {name} (a int PRIMARY KEY)")
    with pytest.raises(errors.UndefinedTable):
        n1.execute(f"CREATE TEMP TABLE {name}_child (a int REFERENCES {table})")
    n1.execute(f"CREATE TEMP TABLE {name}_child (a int REFERENCES {name})")
    with pytest.raises(errors.ForeignKeyViolation):
        n1.execute(f"INSERT INTO {name}_child VALUES (1)")
    with pytest.raises(psycopg.Error), n1.transaction():
        n1.execute(f"CREATE TABLE {name} (a int)")


def test_no_temporary_table_is_given_up_while_its_transaction_runs(cluster: Cluster, n1: Any, n2: Any) -> None:
    """Else COMMIT would take it for a table that all know, and its rows with it."""
    name, table = f"own{next(cluster.serial)}", cluster.table("id int primary key")
    before = f"INSERT INTO {table} VALUES (1); CREATE TEMP TABLE {name} (a int PRIMARY KEY)"
    for discard in ("DISCARD TEMP", "DISCARD ALL"):
        with pytest.raises(errors.ActiveSqlTransaction):
            n1.execute(f"{before}; {discard}")
        with pytest.raises(errors.UndefinedTable):
            n2.execute(f"SELECT * FROM {name}")
    assert reserved(cluster, name) == []


@pytest.mark.usefixtures("worker")
def test_a_drop_with_cascade_leaves_the_table_alone_that_the_temporary_one_hides(cluster: Cluster, n1: Any) -> None:
    """And so the foreign keys that refer to it."""
    name = f"own{next(cluster.serial)}"
    cluster.table("id int primary key", name=name)
    child = cluster.table("id int primary key, parent int")
    link(cluster, child, "parent", name, "id")
    n1.execute(f"CREATE TEMP TABLE {name} (a int)")
    n1.execute(f"DROP TABLE {name} CASCADE")
    with pytest.raises(errors.ForeignKeyViolation):
        n1.execute(f"INSERT INTO {child} VALUES (1, 1)")
    assert n1.execute(f"SELECT id FROM {name}").fetchall() == []


def test_a_node_that_was_taken_for_dead_says_that_its_temporary_tables_are_gone(cluster: Cluster, n1: Any) -> None:
    """Their names and what is stored are freed while it does not answer; it may answer again."""
    name = f"own{next(cluster.serial)}"
    n1.execute(f"CREATE TEMP TABLE {name} (a int PRIMARY KEY)")
    n1.execute(f"INSERT INTO {name} VALUES (1)")
    [table_id] = reserved(cluster, name)
    with cluster.store() as store:
        for (schema,) in cluster.read("SELECT schemaname FROM pg_tables WHERE tablename = %s", [f"kv_{table_id}"]):
            store.execute(f"DROP TABLE {schema}.kv_{table_id} CASCADE")
    for sql in (f"SELECT a FROM {name}", f"INSERT INTO {name} VALUES (2)", f"TRUNCATE {name}"):
        with pytest.raises(errors.ObjectNotInPrerequisiteState, match="its node was taken for dead"):
            n1.execute(sql)
    n1.execute("DISCARD TEMP")
    n1.execute(f"CREATE TEMP TABLE {name} (a int PRIMARY KEY)")
    assert n1.execute(f"SELECT a FROM {name}").fetchall() == []


@pytest.mark.parametrize("is_altered", [True, False])
def test_a_commit_of_which_nobody_knows_ends_a_session_whose_temporary_table_it_altered(is_altered: bool) -> None:
    """The rows may be those of either version: to go on with one of them would be to read what is not there."""
    before = new_table(parse("CREATE TABLE own (a int)").action, 7)  # type: ignore[arg-type]
    tables = NewTables(SimpleNamespace(unannounced={}), "ann")  # type: ignore[arg-type]
    tables.temporary.ends[7] = "preserve rows"
    tables.temporary.kept = {7: before}
    tables.tables = {"own": replace(before, version=2) if is_altered else before}

    async def nothing(*_: object, **__: object) -> None: ...

    async def lost() -> None:
        raise CommitUnknown("08007", "its outcome is not known", hint="look")

    statements = SimpleNamespace(hold_cursors=nothing, end_cursors=lambda committed: None, cursors={})
    around = SimpleNamespace(end=lambda committed: None, end_transaction=nothing, statements=statements, pool=None)
    block = Block(around, around, tables, around, around, around, around)  # type: ignore[arg-type]
    block.is_explicit = True
    block.transaction = SimpleNamespace(  # type: ignore[assignment]
        commit=lost, is_over=True, has_committed=False, has_written=True, own={}
    )
    with pytest.raises(CommitUnknown if not is_altered else FatalError) as caught:
        asyncio.run(block.commit())
    assert (caught.value.sqlstate, caught.value.hint) == ("08007", "look")
