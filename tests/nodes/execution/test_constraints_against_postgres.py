"""CHECK, NOT NULL, unique and partial unique indexes: a node refuses what PostgreSQL refuses, and says the same, for
statements drawn from a seed. Left out: a statement of several rows may meet its violations in another order, and a
unique index that is wrong only between two rows of one statement is no error here (protocol.md, section 3)."""

import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Constraint, ConstraintId, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from expressions.rows import canonical
from tests.nodes.conftest import Cluster

COLUMNS = "id int PRIMARY KEY, kind text NOT NULL, u int, p int, low int, high int"
UNIQUE = {"guarded_u": (("u",), None), "guarded_p": (("p", "kind"), "high > 5"), "guarded_live": (("u",), "kind = 'b'")}
CHECKS = {"sane": "low < high", "kinds": "kind IN ('a', 'b', 'c') OR low IS NULL"}
STATEMENTS = 220

Answer = tuple[Any, ...]


def with_elements(table: Descriptor) -> Descriptor:
    """The node's table as the definitions above say, in its next version."""

    def kept(predicate: str) -> str:
        return canonical(table, predicate, returns=SqlType.BOOLEAN, what="a predicate")

    def ids(names: tuple[str, ...]) -> tuple[IndexColumn, ...]:
        return tuple(IndexColumn(table.column_named(name).id) for name in names)

    indexes = tuple(
        Index(IndexId(number), name, ids(names), unique=True, where=None if where is None else kept(where))
        for number, (name, (names, where)) in enumerate(UNIQUE.items(), start=1)
    )
    checks = tuple(
        Constraint(ConstraintId(number), name, "check", (), kept(predicate), state=State.PUBLIC)
        for number, (name, predicate) in enumerate(CHECKS.items(), start=1)
    )
    return table.next_version(
        indexes=indexes, constraints=checks, next_index_id=IndexId(9), next_constraint_id=ConstraintId(9)
    )


def make_guarded(cluster: Cluster, ours: "psycopg.Connection[Any]") -> None:
    """The table stays from test to test; its rows go."""
    try:
        ours.execute("DELETE FROM guarded")
    except psycopg.errors.UndefinedTable:
        cluster.table(COLUMNS, name="guarded")
        cluster.publish(with_elements(cluster.descriptor("guarded")), nodes=("n1",))


@pytest.fixture
def sides(cluster: Cluster) -> Iterator[tuple["psycopg.Connection[Any]", "psycopg.Connection[Any]"]]:
    with cluster.connect() as ours, cluster.store() as theirs:
        make_guarded(cluster, ours)
        theirs.execute("DROP SCHEMA IF EXISTS constraints CASCADE")
        theirs.execute("CREATE SCHEMA constraints")
        theirs.execute("SET search_path = constraints")
        checks = ", ".join(f"CONSTRAINT {name} CHECK ({predicate})" for name, predicate in CHECKS.items())
        theirs.execute(f"CREATE TABLE guarded ({COLUMNS}, {checks})")
        for name, (columns, where) in UNIQUE.items():
            condition = "" if where is None else f"WHERE {where}"
            theirs.execute(f"CREATE UNIQUE INDEX {name} ON guarded ({', '.join(columns)}) {condition}")
        yield ours, theirs


def answer(connection: "psycopg.Connection[Any]", sql: str) -> Answer:
    try:
        cursor = connection.execute(sql)
    except psycopg.Error as error:
        said = error.diag
        return (error.sqlstate, said.constraint_name, said.column_name, said.message_primary, said.message_detail)
    return (cursor.statusmessage, cursor.fetchall() if cursor.description else None)


def statement(dice: random.Random) -> str:
    """A statement about one row."""

    def value(name: str) -> str:
        if name == "kind":
            return dice.choice(["'a'", "'b'", "'b'", "'c'", "'other'", "NULL"])
        if name == "p":
            return dice.choice(["1", "2", "NULL"])
        return dice.choice(["NULL", *(str(n) for n in range(10))])

    def row() -> str:
        return f"({dice.randrange(12)}, " + ", ".join(value(n) for n in ("kind", "u", "p", "low", "high")) + ")"

    changed = dice.choice(["kind", "u", "p", "low", "high", "low"])
    assigned = f"{changed} = {value(changed)}"
    return dice.choice([
        f"INSERT INTO guarded VALUES {row()}",
        f"INSERT INTO guarded VALUES {row()}",
        f"INSERT INTO guarded VALUES {row()} RETURNING id, kind",
        f"INSERT INTO guarded VALUES {row()} ON CONFLICT DO NOTHING",
        f"INSERT INTO guarded VALUES {row()} ON CONFLICT (id) DO UPDATE SET {assigned}",
        f"INSERT INTO guarded VALUES {row()} ON CONFLICT (u) DO UPDATE SET low = excluded.low, {assigned}"
        if changed != "low" else f"INSERT INTO guarded VALUES {row()} ON CONFLICT (u) DO NOTHING",
        f"INSERT INTO guarded VALUES {row()} ON CONFLICT (p, kind) WHERE high > 6 DO UPDATE SET {assigned}",
        f"UPDATE guarded SET {assigned} WHERE id = {dice.randrange(12)}",
        f"UPDATE guarded SET {assigned}, high = high + 1 WHERE id = {dice.randrange(12)}",
        f"UPDATE guarded SET id = {dice.randrange(12)} WHERE id = {dice.randrange(12)}",
        f"UPDATE guarded SET {assigned} WHERE u = {dice.randrange(10)} RETURNING id",
        f"DELETE FROM guarded WHERE id = {dice.randrange(12)}",
    ])  # fmt: skip


def test_a_node_refuses_what_postgresql_refuses(cluster: Cluster, sides: Any) -> None:
    ours, theirs = sides
    dice = random.Random(4)
    seen: set[str] = set()
    for number in range(STATEMENTS):
        sql = statement(dice)
        expected = answer(theirs, sql)
        assert answer(ours, sql) == expected, f"statement {number}: {sql}"
        seen.add(str(expected[0])[:5] + str(expected[1] if len(expected) > 2 else ""))
    everything = "SELECT * FROM guarded ORDER BY id"
    assert answer(ours, everything) == answer(theirs, everything)
    assert cluster.violations("guarded") == []
    refusals = {"23514sane", "23514kinds", "23505guarded_u", "23505guarded_p", "23505guarded_pkey", "23502None"}
    assert refusals <= seen, f"not one of {refusals - seen} was met: the statements try too little"


def test_an_update_across_a_partial_unique_index(cluster: Cluster, sides: Any) -> None:
    """Rows move in and out of it by a condition on another column."""
    script = [
        "INSERT INTO guarded VALUES (1, 'a', 1, 7, 1, 9), (2, 'a', 2, 7, 1, 5), (3, 'a', 3, 7, 1, NULL)",
        "UPDATE guarded SET high = 6 WHERE id = 2",
        "UPDATE guarded SET high = 5 WHERE id = 1",
        "UPDATE guarded SET high = 6 WHERE id = 2",
        "UPDATE guarded SET high = NULL WHERE id = 2",
        "UPDATE guarded SET high = high + 1",
        "SELECT * FROM guarded WHERE high > 5 AND p = 7 ORDER BY id",
        "UPDATE guarded SET kind = NULL WHERE high > 5",
        "UPDATE guarded SET low = 100 WHERE p = 7 AND kind = 'a' AND high > 5",
    ]
    ours, theirs = sides
    for sql in script:
        assert answer(ours, sql) == answer(theirs, sql), sql
    assert cluster.violations("guarded") == []
