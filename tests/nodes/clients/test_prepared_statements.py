"""A prepared statement after a schema change: PostgreSQL's answer, asked of PostgreSQL beside it by the same libpq
calls. On our side the table changes by a new version that another node could have brought about. A client gets what it
was told of a result, or 0A000 and no row."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import pq

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from catalog.values.types import SqlType
from nodes.clients.statements import PREPARED_MAX
from tests.nodes.conftest import Cluster
from tests.nodes.raw_client import SYNC, Raw, ask, bind, describe, execute, fields, kinds, message, parse, query, rows

COLUMNS, OTHERS = "id int primary key, a text, b int", "id int primary key, x date"
A, B, C = ColumnId(2), ColumnId(3), ColumnId(4)
CHANGED = ("0A000", "cached plan must not change result type", "RevalidateCachedQuery")

Change = Callable[[Descriptor], Descriptor]


def added(table: Descriptor) -> Descriptor:
    columns = (*table.columns, Column(C, "c", SqlType.DATE))
    return table.next_version(columns=columns, next_column_id=ColumnId(5))


def dropped(table: Descriptor) -> Descriptor:
    return table.next_version(columns=tuple(c for c in table.columns if c.id != B))


def renamed(table: Descriptor) -> Descriptor:
    return table.next_version(columns=tuple(replace(c, name="z") if c.id == B else c for c in table.columns))


def retyped(table: Descriptor) -> Descriptor:
    """What a change of type ends in: another column under the name."""
    columns = (*(c for c in table.columns if c.id != B), Column(C, "b", SqlType.BIGINT))
    return table.next_version(columns=columns, next_column_id=ColumnId(5))


CHANGES: dict[str, tuple[Change | str, str]] = {
    "a column is added": (added, "ALTER TABLE {t} ADD COLUMN c date"),
    "a column is dropped": (dropped, "ALTER TABLE {t} DROP COLUMN b"),
    "a column is renamed": (renamed, "ALTER TABLE {t} RENAME COLUMN b TO z"),
    "a column has another type": (retyped, "ALTER TABLE {t} ALTER COLUMN b TYPE bigint"),
    "the table is made anew": (OTHERS, f"DROP TABLE {{t}}; CREATE TABLE {{t}} ({OTHERS})"),
    "the table is made anew as it was": (COLUMNS, f"DROP TABLE {{t}}; CREATE TABLE {{t}} ({COLUMNS})"),
}
STATEMENTS = (
    "SELECT * FROM {t}", "SELECT id, a FROM {t}", "SELECT b FROM {t} WHERE b > 0", "SELECT count(*) FROM {t}",
    "SELECT x.* FROM {t} x JOIN {t} y ON x.id = y.id", "INSERT INTO {t} (id) VALUES (1) RETURNING *",
    "UPDATE {t} SET id = 2 WHERE id = 1 RETURNING *", "DELETE FROM {t} WHERE id = 2 RETURNING *",
    "DELETE FROM {t} RETURNING id", "DELETE FROM {t}",
)  # fmt: skip


def change(cluster: Cluster, table: str, how: Change | str) -> None:
    """Bring the change about as other nodes would, until n1 has heard of it."""
    now = cluster.descriptor(table)
    if not isinstance(how, str):
        cluster.publish(how(now), nodes=("n1",))
        return
    away = now.next_version(name=f"{table}_old")
    with cluster.store() as store:
        store.execute("UPDATE catalog_table SET name = %s WHERE id = %s", [away.name, now.table_id])
    cluster.publish(away, nodes=("n1",))
    with cluster.connect("n2") as other, other.transaction():
        other.execute(f"CREATE TABLE {table} ({how})")


def outcome(result: "pq.abc.PGresult") -> tuple[Any, ...]:
    """What libpq's caller sees of a result; a node does not say in which function of its own an error came up."""
    if result.status == pq.ExecStatus.FATAL_ERROR:
        field = pq.DiagnosticField
        parts = [result.error_field(f) or b"" for f in (field.SQLSTATE, field.MESSAGE_PRIMARY, field.SOURCE_FUNCTION)]
        code, text, routine = (part.decode() for part in parts)
        return (code, text, routine) if code == CHANGED[0] else (code,)
    columns = [(result.fname(n), result.ftype(n)) for n in range(result.nfields)]
    return (pq.ExecStatus(result.status).name, columns, result.command_status)


def prepare(side: "psycopg.Connection[Any]", number: int, sql: bytes, by: str) -> None:
    name = b"s%d" % number
    result = side.pgconn.prepare(name, sql) if by == "Parse" else side.pgconn.exec_(b"PREPARE %s AS %s" % (name, sql))
    assert result.status == pq.ExecStatus.COMMAND_OK, result.error_message


def executed(side: "psycopg.Connection[Any]", number: int, by: str) -> tuple[Any, ...]:
    name = b"s%d" % number
    return outcome(side.pgconn.exec_prepared(name, []) if by == "Parse" else side.pgconn.exec_(b"EXECUTE %s" % name))


@pytest.mark.parametrize("by", ["Parse", "PREPARE"])
@pytest.mark.parametrize("case", CHANGES)
def test_what_a_changed_table_answers_is_what_postgresql_answers(cluster: Cluster, case: str, by: str) -> None:
    table = cluster.table(COLUMNS)
    how, ddl = CHANGES[case]
    statements = [sql.format(t=table).encode() for sql in STATEMENTS]
    with cluster.connect("n1") as ours, cluster.store() as theirs:
        theirs.execute("CREATE SCHEMA IF NOT EXISTS reference; SET search_path = reference")
        theirs.execute(f"CREATE TABLE {table} ({COLUMNS})")
        try:
            for number, sql in enumerate(statements):
                for side in (ours, theirs):
                    prepare(side, number, sql, by)
            theirs.execute(ddl.format(t=table))
            change(cluster, table, how)
            found, expected = ([executed(side, n, by) for n in range(len(statements))] for side in (ours, theirs))
        finally:
            theirs.execute(f"DROP TABLE reference.{table}")
    told = dict(zip(STATEMENTS, found, strict=True))
    assert told == dict(zip(STATEMENTS, expected, strict=True))
    assert (told["SELECT * FROM {t}"] == CHANGED) == ("as it was" not in case)


def test_a_driver_that_prepares_again_goes_on(cluster: Cluster, raw: Raw) -> None:
    """asyncpg and pgjdbc know the message and its routine, close the statement and parse it anew."""
    table = cluster.table(COLUMNS)
    select = parse(f"SELECT * FROM {table}", "s")
    assert kinds(ask(raw, select, describe(b"S", "s"), SYNC)) == "1tTZ"
    change(cluster, table, added)
    answers = ask(raw, bind(name="s"), execute(), SYNC)
    assert kinds(answers) == "2EZ"
    told = fields(answers[-2][1])
    assert (told["C"], told["M"], told["R"]) == CHANGED
    answers = ask(raw, message(b"C", b"Ss\0"), select, describe(b"S", "s"), bind(name="s"), execute(), SYNC)
    assert kinds(answers) == "31tT2CZ"
    assert answers[3][1].startswith(b"\0\4id\0")


def test_a_statement_that_is_asked_once_follows_the_schema(cluster: Cluster, raw: Raw) -> None:
    """Between Parse and Execute of one batch a version may come out; nobody was told anything yet, so nothing fails."""
    table = cluster.table(COLUMNS)
    raw.send(parse(f"SELECT * FROM {table}", "") + message(b"H"))
    assert raw.message() == (b"1", b"")
    change(cluster, table, added)
    answers = ask(raw, bind(), describe(), execute(), bind(), describe(), execute(), SYNC)
    assert kinds(answers) == "2TC2TCZ"
    assert [body[:2] for kind, body in answers if kind == b"T"] == [b"\0\4", b"\0\4"]


def test_a_description_that_was_told_early_counts(cluster: Cluster, raw: Raw) -> None:
    table = cluster.table(COLUMNS)
    raw.send(parse(f"SELECT * FROM {table}", "") + describe(b"S") + message(b"H"))
    assert [(raw.message() or (b"",))[0] for _ in range(3)] == [b"1", b"t", b"T"]
    change(cluster, table, dropped)
    assert kinds(ask(raw, bind(), execute(), SYNC)) == "2EZ"


def test_a_portal_goes_on_in_the_version_of_its_transaction(cluster: Cluster, raw: Raw) -> None:
    table = cluster.table(COLUMNS)
    with cluster.connect() as other:
        other.execute(f"INSERT INTO {table} SELECT g, 'a', g FROM generate_series(1, 5) g")
    ask(raw, parse(f"SELECT * FROM {table} ORDER BY id", "s"), describe(b"S", "s"), SYNC)
    ask(raw, query("BEGIN"))
    raw.send(bind(name="s", portal="p") + execute(2, "p") + message(b"H"))
    assert [(raw.message() or (b"",))[0] for _ in range(4)] == [b"2", b"D", b"D", b"s"]
    # a version that comes out while a transaction uses the one before; new transactions use it
    cluster.publish(added(cluster.descriptor(table)), nodes=())
    cluster.use("n1", cluster.descriptor(table))
    answers = ask(raw, execute(0, "p"), bind(name="s"), execute(), SYNC)
    assert kinds(answers) == "DDDC2DDDDDCZ"
    assert rows(answers)[-1] == (b"5", b"a", b"5")
    assert kinds(ask(raw, query("COMMIT"), bind(name="s"), execute(), SYNC)) == "CZ"
    assert kinds(raw.until_ready()) == "2EZ"


def test_two_descriptions_of_different_portals_are_both_answered(raw: Raw) -> None:
    raw.send(parse("SELECT 1 AS one", "a") + parse("SELECT 'x' AS two", "b") + bind(name="a", portal="a"))
    answers = ask(raw, bind(name="b", portal="b"), describe(b"P", "a"), execute(portal="b"), SYNC)
    assert kinds(answers) == "1122TDCZ"
    assert b"one" in answers[4][1]


def test_an_auto_prepared_statement_of_psycopg(cluster: Cluster) -> None:
    table = cluster.table(COLUMNS)
    with cluster.connect("n1") as client:
        for _ in range(6):
            client.execute(f"SELECT * FROM {table} WHERE id = %s", [1])
        change(cluster, table, renamed)
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="cached plan must not change result type"):
            client.execute(f"SELECT * FROM {table} WHERE id = %s", [1])
        client.execute("DEALLOCATE ALL")
        cursor = client.execute(f"SELECT * FROM {table} WHERE id = %s", [1], prepare=False)
        assert [c.name for c in cursor.description or ()] == ["id", "a", "z"]


def test_the_unnamed_statement_can_be_replaced_however_many_have_names(raw: Raw) -> None:
    named = b"".join(parse("SELECT 1", f"s{number}") for number in range(PREPARED_MAX - 1))
    assert kinds(ask(raw, named, parse("SELECT 1"), SYNC)) == "1" * PREPARED_MAX + "Z"
    assert kinds(ask(raw, parse("SELECT 2"), SYNC)) == "1Z"
    assert kinds(ask(raw, parse("SELECT 2", "one more"), SYNC)) == "EZ"


def test_execute_takes_values_of_the_session_and_what_the_store_computes(cluster: Cluster) -> None:
    with cluster.connect() as connection:
        connection.execute("PREPARE shown(text) AS SELECT $1")
        given = ("current_user", "round(2.5)", "ARRAY[1, 2]", "lower('A' || repeat('B', 2))")
        answers = [connection.execute(f"EXECUTE shown({value})").fetchone() for value in given]
        assert answers == [(connection.info.user,), ("3",), ("{1,2}",), ("abb",)]
