"""Functions, operators and slices of arrays give what PostgreSQL gives, for drawn values of every type. Each is
computed twice: of all rows by the query engine, of one row here."""

import random
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from catalog.values.types import ARRAY_OF, SqlType
from tests.nodes.conftest import Cluster
from tests.nodes.execution.test_types_against_postgres import DRAWN, array
from tests.rounds import rounds

TYPES = [of for of in SqlType if of in ARRAY_OF and of is not SqlType.JSON]
EXPRESSIONS = [
    "a[x]", "a[x][y]", "a[x:y]", "a[:y]", "a[x:]", "a[:]", "a[x:y][1]", "a[2:][x:y]", "(a || b)[x:y]",
    "array_dims(a)", "array_ndims(a)", "array_lower(a, 1)", "array_upper(a, x)", "array_length(a, 1)", "cardinality(a)",
    "a || b", "a || e", "e || a", "array_cat(a, b)", "array_append(a, e)", "array_prepend(e, a)",
    "array_remove(a, e)", "array_replace(a, e, b[1])", "array_replace(a, b[1], NULL)", "array_replace(a, NULL, e)",
    "array_position(a, e)", "array_position(a, e, coalesce(x, 1))", "array_position(a, NULL)", "array_positions(a, e)",
    "array_reverse(a)", "array_sort(a)", "array_sort(a, x > 1)", "array_sort(a, x > 1, y > 1)",
    "trim_array(a, least(abs(x), cardinality(a)))", "array_fill(e, ARRAY[abs(coalesce(y, 0))])",
    "array_fill(e, ARRAY[2], ARRAY[1])",
    "a @> b", "a <@ b", "a && b", "a = b", "a <> b", "a < b", "a <= b", "a > b", "a >= b", "a IS DISTINCT FROM b",
    "e = ANY (a)", "e <> ALL (a)", "e < ANY (a)", "e >= ALL (a)", "e = ANY (a[x:y])", "a IN (a[x:], b)",
    "width_bucket(e, array_sort(array_remove(a, NULL)))",
    "coalesce(a[x:y], b)", "CASE WHEN x > 1 THEN a[x:] ELSE b END", "nullif(a, a[1:2])",
]  # fmt: skip
TEXTS = ["array_to_string(a, '|')", "array_to_string(a[2:], '|', '-')"]
"""By themselves: of what a session shows in its own way they are left to the query engine."""
_MINUS_ZERO = re.compile(r"-0(?=[,}]|$)")


@pytest.fixture(scope="module")
def sides(cluster: Cluster) -> Iterator[tuple[Any, Any]]:
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("CREATE SCHEMA array_functions; SET search_path = array_functions")
        for connection in (ours, theirs):
            connection.execute("SET timezone = 'Asia/Kolkata'")
        yield ours, theirs


def made(cluster: Cluster, sides: tuple[Any, Any], of: SqlType, chance: random.Random, rows: int) -> str:
    """A table of both with the same drawn rows."""
    columns = f"id int PRIMARY KEY, a {of.value}[], b {of.value}[], e {of.value}, x int, y int"
    name, drawn, few = cluster.table(columns), array(of), [DRAWN[of](random.Random(7)) for _ in range(2)]
    sides[1].execute(f"CREATE TABLE {name} ({columns})")
    for number in range(rows):
        arrays = [None if chance.random() < 0.1 else _MINUS_ZERO.sub("0", drawn(chance)) for _ in range(2)]
        element = chance.choice((None, *few, DRAWN[of](chance)))
        value = None if element is None else _MINUS_ZERO.sub("0", element)
        row = (number, *arrays, value, *(chance.choice((None, -1, 0, 1, 2, 3, 4)) for _ in range(2)))
        for connection in sides:
            connection.execute(f"INSERT INTO {name} VALUES ({', '.join(['%t'] * len(row))})", row)
    return name


def answers(connection: "psycopg.Connection[Any]", sql: str) -> list[Any]:
    """Column by column: its type and its values."""
    result = connection.execute(sql).pgresult
    assert result is not None
    return [
        (result.ftype(i), result.fmod(i), [result.get_value(row, i) for row in range(result.ntuples)])
        for i in range(result.nfields)
    ]


def differences(sides: tuple[Any, Any], expressions: list[str], rows: str) -> list[str]:
    sql = f"SELECT {', '.join(expressions)} FROM {rows}"
    both = zip(expressions, *(answers(connection, sql) for connection in sides), strict=True)
    return [
        f"SELECT {expression} FROM {rows}\n  PostgreSQL: {theirs}\n  node:       {ours}"
        for expression, ours, theirs in both
        if ours != theirs
    ]


@pytest.mark.parametrize("of", TYPES, ids=lambda of: of.value)
@rounds(few=10, many=60)
def test_functions_and_operators_give_what_postgresql_gives(
    cluster: Cluster, sides: tuple[Any, Any], of: SqlType, rounds: int
) -> None:
    name = made(cluster, sides, of, random.Random(11), rounds)
    found = []
    for expressions in (EXPRESSIONS, TEXTS):
        found += differences(sides, expressions, f"{name} t, (SELECT 1) AS one ORDER BY t.id")
        for number in range(rounds):
            found += differences(sides, expressions, f"{name} WHERE id = {number}")
    assert not found, "\n\n".join(found)


BOUNDS = (None, "NULL", -2, 0, 1, 2, 3, 4, 7, 2**31 - 1, -(2**31))
SOURCES = ("NULL", "'{}'", "ARRAY[8]", "ARRAY[8, NULL]", "ARRAY[7, 8, 9]", "i[2:]", "ARRAY[1.5, 2.5]", "t")
HOLDS = "i int[], t text[]"


def assigned(connection: "psycopg.Connection[Any]", sql: str) -> Any:
    """What the row would be."""
    try:
        with connection.transaction(force_rollback=True):
            return connection.execute(sql).fetchall()
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary


def other_than_from_one(answer: Any) -> bool:
    """True if PostgreSQL makes an array that does not count from 1, which a node refuses by name."""
    return isinstance(answer, list) and any("]=" in value for row in answer for value in row if value)


def is_refused(answer: Any) -> bool:
    return bool(answer == ("0A000", "an array whose elements do not count from 1 is not supported"))


@pytest.mark.parametrize("by_the_engine", [False, True])
@rounds(few=80, many=400)
def test_a_slice_is_assigned_as_postgresql_assigns_it(
    cluster: Cluster, sides: tuple[Any, Any], *, by_the_engine: bool, rounds: int
) -> None:
    """An assignment reads the value that was there, and another one of the same statement what that one made."""
    name = cluster.table(f"id int PRIMARY KEY, {HOLDS}")
    sides[1].execute(f"CREATE TABLE {name} (id int PRIMARY KEY, {HOLDS})")
    arrays = (None, "{}", "{NULL}", "{1}", "{1,2,3}", "{4,NULL,6,7,8}")
    for connection in sides:
        for number, text in enumerate(arrays):
            connection.execute(f"INSERT INTO {name} VALUES (%t, %t, %t)", (number, text, text))
    chance, found, refused = random.Random(3), [], 0
    for _ in range(rounds):
        first, last = (chance.choice(BOUNDS) for _ in range(2))
        subscript = f"{'' if first is None else first}:{'' if last is None else last}"
        source, number = chance.choice(SOURCES), chance.randrange(len(arrays))
        column = "t" if source == "t" else "i"
        more = chance.choice(("", "", f", {column}[2] = NULL", f", {column}[:1] = {column}[1:1]"))
        tail = f" FROM (SELECT 1) AS one WHERE id = {number}" if by_the_engine else f" WHERE id = {number}"
        sql = f"UPDATE {name} SET {column}[{subscript}] = {source}{more}{tail} RETURNING {column}::text"
        ours, theirs = (assigned(connection, sql) for connection in sides)
        if is_refused(ours) and (other_than_from_one(theirs) or more):
            refused += 1
        elif ours != theirs:
            found.append(f"{sql} (of {arrays[number]})\n  PostgreSQL: {theirs}\n  node:       {ours}")
    assert not found, "\n\n".join(found)
    assert 0 < refused < rounds / 3
