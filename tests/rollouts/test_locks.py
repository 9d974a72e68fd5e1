"""The table of locks, held against a real PostgreSQL: `pg_locks`, the relation's file, and its scans."""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from rollouts.checks import check
from rollouts.locks import BY_NAME as RULE_NAMED
from rollouts.locks import RULES, TRIED_ON, Rule, rules_of
from rollouts.statements.tables import Column, Table
from rollouts.statements.values import Type
from rollouts.templates import BY_NAME

STRENGTHS = ("ShareUpdateExclusiveLock", "ShareLock", "ShareRowExclusiveLock", "AccessExclusiveLock")
SETUP = """
CREATE TABLE p (id bigint PRIMARY KEY);
CREATE TABLE t (id bigint, id2 bigint NOT NULL, a int, b text, v varchar(20), n int CHECK (n IS NOT NULL));
CREATE UNIQUE INDEX made ON t (id2);
ALTER TABLE t ADD CONSTRAINT later CHECK (a > -99) NOT VALID;
CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER g0 BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION f();
INSERT INTO p SELECT generate_series(1, 9);
INSERT INTO t SELECT g, g, g, 'b', 'v', g FROM generate_series(1, 9) g;
"""
SCHEMA = {
    "t": Table(
        "t",
        tuple(
            Column(*one)
            for one in (("id", Type("int8")), ("a", Type("int4")), ("b", Type("text")), ("v", Type("varchar", 20)))
        ),
    )
}
PLAIN = [rule for rule in RULES if "CONCURRENTLY" not in rule.example]
CONCURRENT = [rule for rule in RULES if rule not in PLAIN]


@pytest.fixture
def connection(url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS rollout_locks CASCADE")
        connection.execute("CREATE SCHEMA rollout_locks")
        connection.execute("SET search_path = rollout_locks")
        connection.execute(SETUP)
        yield connection
        connection.execute("DROP SCHEMA rollout_locks CASCADE")


def one(connection: psycopg.Connection[Any], text: str, *values: object) -> Any:
    row = connection.execute(text, values or None).fetchone()
    assert row is not None
    return row[0]


def strongest(connection: psycopg.Connection[Any], table: int, pid: int) -> str:
    """The strongest lock of a statement about a schema that the session holds on the table."""
    rows = connection.execute("SELECT mode FROM pg_locks WHERE relation = %s AND pid = %s AND granted", (table, pid))
    held = [mode for (mode,) in rows if mode in STRENGTHS]
    return max(held, key=STRENGTHS.index, default="")


@pytest.mark.parametrize(
    "rule", [one for one in RULES if "CONCURRENTLY" not in one.example], ids=lambda rule: rule.name
)
def test_a_statement_takes_the_lock_and_does_the_work_of_its_rule(
    connection: psycopg.Connection[Any], rule: Rule
) -> None:
    table, pid = one(connection, "SELECT 't'::regclass::oid::int"), connection.info.backend_pid
    connection.execute("BEGIN")
    file = one(connection, "SELECT pg_relation_filenode(%s)", table)
    scans = one(connection, "SELECT pg_stat_get_xact_numscans(%s)", table)
    connection.execute(rule.example)
    lock = strongest(connection, table, pid)
    reads = one(connection, "SELECT pg_stat_get_xact_numscans(%s)", table) > scans
    is_there = one(connection, "SELECT count(*) FROM pg_class WHERE oid = %s", table)
    rewrites = bool(is_there) and one(connection, "SELECT pg_relation_filenode(%s)", table) != file
    connection.execute("ROLLBACK")
    assert (lock, reads, rewrites) == (rule.lock, rule.reads, rule.rewrites)


@pytest.mark.parametrize("rule", CONCURRENT, ids=lambda rule: rule.name)
def test_an_index_that_is_built_concurrently_lets_writers_go_on(
    url: str, connection: psycopg.Connection[Any], rule: Rule
) -> None:
    """It waits for a writer that began before it, with the lock of its rule in its hand."""
    table = one(connection, "SELECT 't'::regclass::oid::int")
    with psycopg.connect(url, options="-c search_path=rollout_locks") as writer:
        writer.execute("INSERT INTO t (id2, n) VALUES (99, 1)")
        builder = psycopg.connect(url, autocommit=True, options="-c search_path=rollout_locks")
        with builder:
            builder.pgconn.send_query(rule.example.encode())
            until = time.monotonic() + 20
            while not (lock := strongest(connection, table, builder.info.backend_pid)) and time.monotonic() < until:
                time.sleep(0.02)
            connection.execute("SET lock_timeout = '5s'")
            connection.execute("INSERT INTO t (id2, n) VALUES (100, 1)")
            writer.commit()
            while (result := builder.pgconn.get_result()) is not None:
                assert result.status == psycopg.pq.ExecStatus.COMMAND_OK, result.error_message
            builder.execute("SELECT pg_stat_force_next_flush()")
            scans = one(connection, "SELECT pg_stat_get_numscans(%s)", table)
    assert (lock, scans > 0, False) == (rule.lock, rule.reads, rule.rewrites)


def test_the_examples_of_rules_fall_under_them() -> None:
    """But a trigger, which a file does not write as a statement."""
    found = {rule.name: rules_of(rule.example, SCHEMA) for rule in RULES if rule.name != "create trigger"}
    assert found == {name: (name.removesuffix(" after check"),) for name in found}


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t ALTER id TYPE text",
        "ALTER TABLE t ALTER v TYPE varchar(10)",
        "ALTER TABLE t ALTER v TYPE varchar",
        "ALTER TABLE t ALTER b TYPE varchar",
        "ALTER TABLE t ALTER b TYPE varchar(10)",
        "ALTER TABLE t ALTER v TYPE text USING v || ''",
        "ALTER TABLE t ADD c2 float8 DEFAULT random() * 2",
        "ALTER TABLE t ADD c2 text DEFAULT gen_random_uuid()::text",
        "ALTER TABLE t ADD c2 timestamptz DEFAULT now()",
        "ALTER TABLE t ADD c2 text DEFAULT lower('A')",
    ],
)
def test_a_table_is_written_anew_where_its_rule_says_so(connection: psycopg.Connection[Any], statement: str) -> None:
    file = "SELECT pg_relation_filenode('t')"
    before = one(connection, file)
    connection.execute(statement)
    [name] = rules_of(statement, SCHEMA)
    is_written = one(connection, file) != before
    assert RULE_NAMED[name].rewrites or not is_written, "a rewrite that nobody was told of"
    assert is_written == RULE_NAMED[name].rewrites


def test_a_checked_column_is_required_without_a_scan() -> None:
    rules = [held.rule.name for held in check(BY_NAME["add-not-null"].safe).hold_ups]
    assert rules == ["add check not valid", "validate constraint", "set not null after check", "drop constraint"]


def test_another_version_is_said_to_be_untried() -> None:
    text = BY_NAME["rename"].safe
    assert str(check(text).tried) == "tried on PostgreSQL 18"
    other = 'database = "postgresql 15"\n' + text
    assert str(check(other).tried) == "not tried on postgresql 15; tried on PostgreSQL 18"


def test_the_table_is_tried_on_the_version_that_it_names(connection: psycopg.Connection[Any]) -> None:
    version = one(connection, "SHOW server_version_num")
    assert f"PostgreSQL {int(version) // 10000}" == TRIED_ON
