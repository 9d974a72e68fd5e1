"""Columns of arrays of every type are PostgreSQL's byte for byte: as parameters, as results, and by COPY."""

import random
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from catalog.values.types import ARRAY_OF, SqlType
from tests.nodes.conftest import Cluster
from tests.nodes.execution.test_types_against_postgres import DRAWN, array

TYPES = [of for of in SqlType if of in ARRAY_OF]
COLUMNS = ", ".join(["id int PRIMARY KEY", *(f"c{n} {of.value}[]" for n, of in enumerate(TYPES))])
ROWS = 20
DOCUMENTS = ["{}", ' {"a":  1} ', '["x", null]', '"é\\n"', "null", '{"q": "{,}"}']


_MINUS_ZERO = re.compile(r"-0(?=[,}])")
"""A number that a node keeps as 0."""


def texts() -> Iterator[list[str | None]]:
    """Rows of arrays of drawn values, with and without NULLs, and some that are NULL."""
    chance = random.Random(3)
    drawn = {of: array(of) for of in TYPES if of in DRAWN} | {SqlType.JSON: lambda _: json_array(chance)}
    yield [None] * len(TYPES)
    yield ["{}"] * len(TYPES)
    yield ["{NULL}"] * len(TYPES)
    for _ in range(ROWS):
        yield [_MINUS_ZERO.sub("0", drawn[of](chance)) for of in TYPES]


def json_array(chance: random.Random) -> str:
    quoted = (one.replace("\\", "\\\\").replace('"', '\\"') for one in chance.choices(DOCUMENTS, k=chance.randrange(4)))
    return "{" + ",".join(f'"{one}"' for one in quoted) + "}"


@pytest.fixture(scope="module")
def table(cluster: Cluster) -> str:
    """The name of a table that both have, with the same rows, from the same texts."""
    name = cluster.table(COLUMNS)
    insert = f"INSERT INTO {name} VALUES (%t, {', '.join(['%t'] * len(TYPES))})"
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("CREATE SCHEMA IF NOT EXISTS arrays; SET search_path = arrays")
        theirs.execute(f"CREATE TABLE {name} ({COLUMNS})")
        for connection in (ours, theirs):
            connection.execute("SET timezone = 'UTC'")
            with connection.cursor() as cursor, connection.transaction():
                cursor.executemany(insert, [(number, *row) for number, row in enumerate(texts())])
    return name


@pytest.fixture
def sides(cluster: Cluster, table: str) -> Iterator[tuple[Any, Any]]:
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("SET search_path = arrays")
        for connection in (ours, theirs):
            connection.execute("SET timezone = 'Asia/Tokyo'")
        yield ours, theirs


def values(connection: "psycopg.Connection[Any]", sql: str, *, binary: bool) -> list[Any]:
    result = connection.cursor(binary=binary).execute(sql).pgresult
    assert result is not None
    described = [(result.ftype(i), result.fsize(i), result.fmod(i)) for i in range(result.nfields)]
    return [described, *([result.get_value(r, c) for c in range(result.nfields)] for r in range(result.ntuples))]


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("sql", ["SELECT * FROM {} ORDER BY id", "SELECT * FROM {} WHERE id = 7"])
def test_results_are_those_of_postgresql(sides: tuple[Any, Any], table: str, sql: str, *, binary: bool) -> None:
    found, expected = (values(connection, sql.format(table), binary=binary) for connection in sides)
    assert found == expected


def answered(connection: "psycopg.Connection[Any]", literal: str) -> Any:
    try:
        return connection.execute("SELECT %s::text[]::text", [literal]).fetchone()
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary, error.diag.message_detail


def test_literals_are_refused_in_the_words_of_postgresql(sides: tuple[Any, Any]) -> None:
    ours, theirs = sides
    chance = random.Random(5)
    parts = ["{", "{", "}", "}", ",", ",", "a", "b c", " ", '"', '"q"', "\\", "NULL"]
    parts += ["[1:2]", "[0:1]", "[", "]", "=", ":", "1"]
    for number in range(600):
        inner = "".join(chance.choices(parts, k=chance.randrange(8)))
        literal = f"{{{inner}}}" if number % 3 else inner
        found, expected = answered(ours, literal), answered(theirs, literal)
        assert found == expected or found[0] == "0A000", literal


def test_parameters_are_read_from_both_formats(sides: tuple[Any, Any], table: str) -> None:
    ours, theirs = sides
    sql = "SELECT " + ", ".join(f"${n}" for n in range(1, len(TYPES) + 1))
    oids = [ARRAY_OF[of].oid for of in TYPES]
    for form in (0, 1):
        given = values(theirs, f"SELECT * FROM {table} ORDER BY id", binary=bool(form))
        for _, *row in given[1:]:
            result = ours.pgconn.exec_params(sql.encode(), row, oids, [form] * len(row), form)
            assert [result.get_value(0, c) for c in range(len(row))] == row, result.error_message


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_a_copy_out_of_postgresql_goes_in_and_comes_out_the_same(sides: tuple[Any, Any], table: str, form: str) -> None:
    ours, theirs = sides

    def out(connection: "psycopg.Connection[Any]") -> bytes:
        with connection.cursor().copy(f"COPY (SELECT * FROM {table} ORDER BY id) TO STDOUT (FORMAT {form})") as copy:
            return b"".join(bytes(part) for part in copy)

    expected = out(theirs)
    assert out(ours) == expected
    with ours.transaction(force_rollback=True):
        ours.execute(f"DELETE FROM {table}")
        with ours.cursor().copy(f"COPY {table} FROM STDIN (FORMAT {form})") as copy:
            copy.write(expected)
        assert out(ours) == expected


def test_a_list_of_python_is_an_array(sides: tuple[Any, Any], table: str) -> None:
    ours, _ = sides
    place = TYPES.index(SqlType.TEXT)
    with ours.transaction(force_rollback=True):
        ours.execute(f"INSERT INTO {table} (id, c{place}) VALUES (1000, %s)", [["a", None, 'b"c', ""]])
        found = ours.execute(f"SELECT c{place} FROM {table} WHERE id = 1000").fetchone()
        assert found == (["a", None, 'b"c', ""],)
        assert ours.execute(f"SELECT id FROM {table} WHERE c{place} = %s", [["a", None, 'b"c', ""]]).fetchall()


CATALOG = {
    "attributes": "SELECT attname, format_type(atttypid, atttypmod), attndims, atttypmod, attlen, attbyval, attalign,"
    " attstorage, attcollation <> 0 FROM pg_attribute WHERE attrelid = '{}'::regclass AND attnum > 0 ORDER BY attnum",
    "types": "SELECT a.attname, t.typname, t.typcategory, e.typname, t.typarray, e.typarray = t.oid FROM pg_attribute a"
    " JOIN pg_type t ON t.oid = a.atttypid JOIN pg_type e ON e.oid = t.typelem"
    " WHERE a.attrelid = '{}'::regclass AND a.attnum > 1 ORDER BY a.attnum",
    "columns": "SELECT column_name, data_type, udt_name, character_maximum_length, numeric_precision, numeric_scale,"
    " datetime_precision FROM information_schema.columns WHERE table_name = '{}' ORDER BY ordinal_position",
}


@pytest.mark.parametrize("query", CATALOG)
def test_the_catalog_shows_arrays_as_postgresql_does(sides: tuple[Any, Any], table: str, query: str) -> None:
    ours, theirs = sides
    sql = CATALOG[query].format(table)
    theirs_only = sql.replace("WHERE table_name", "WHERE table_schema = 'arrays' AND table_name")
    assert ours.execute(sql).fetchall() == theirs.execute(theirs_only).fetchall()
