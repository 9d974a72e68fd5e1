"""COPY on a node and on PostgreSQL: the same rows, messages, codes, details, hints and places, byte for byte. Different
on purpose: FREEZE has no effect; files and programs are refused by name; rows come by storage."""

import struct
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg.pq import ExecStatus

from tests.nodes.conftest import Cluster
from tests.nodes.copy.cases import BINARY, CSV, HEAD, OPTIONS, OTHERS, STATEMENTS, TEXT, row

TABLES = (
    "CREATE TABLE t (a int PRIMARY KEY, b text, c varchar(3), d int CHECK (d > 0))",
    "CREATE TABLE d (a int PRIMARY KEY, b text DEFAULT 'dflt', c int DEFAULT 42)",
    "CREATE TABLE w (a int PRIMARY KEY, b text)",
    "CREATE TABLE m (a int, b timestamp(3), c timestamptz(0) DEFAULT '2024-01-01 00:00:00.5Z', d time(0),"
    " e timestamp(1)[], PRIMARY KEY (a, d))",
)
MOMENTS = (
    ("COPY m FROM STDIN", b"1\t2024-01-01 00:00:00.1235\t1999-12-31 23:59:59.5Z\t23:59:59.5\t{2024-01-01 0:0:0.05}\n"),
    ("COPY m FROM STDIN (FORMAT csv)", b"1,2024-01-01 00:00:00.1234999,1999-12-31 23:59:58.49Z,10:00:00.4,\n"),
    ("COPY m (a, b, d) FROM STDIN WHERE b > '2024-01-01 00:00:00.1235'",
     b"1\t2024-01-01 00:00:00.1235\t10:00\n2\t2024-01-01 00:00:00.1234\t10:00:00.5\n"),
    ("COPY m (a, b, c, d) FROM STDIN (DEFAULT 'd')", b"1\t1999-12-31 23:59:59.9995\td\t0:0:0.5\n"),
    ("COPY m (a, b, c, d) FROM STDIN (FORMAT binary)", HEAD + row(
        *(struct.pack(form, n) for form, n in (("!i", 7), ("!q", -500), ("!q", -500_000), ("!q", 86_399_500_000)))
    ) + struct.pack("!h", -1)),
    ("COPY m (a, d, b) FROM STDIN", b"1\t10:00:00.4\t\\N\n1\t09:59:59.6\t\\N\n"),
    ("COPY m (a, d, b) FROM STDIN", b"1\t10:00\t8999-12-31 23:59:59.9996\n"),
)  # fmt: skip
"""COPY into a table whose times have a precision."""
WORDS = ("a\tb\nc\\d", None, "", "é", "q\"u,o;te'", "x", "\\N", "\\.", "a|b\rc\x08\x0b\x0c", "none")
CASES = (
    *(("COPY t FROM STDIN", data) for data in TEXT),
    *(("COPY t FROM STDIN (FORMAT csv)", data) for data in CSV),
    *(("COPY t FROM STDIN (FORMAT binary)", data) for data in BINARY),
    *OTHERS,
)
CONDITIONS = (
    "a > 1",
    "b = 'x' OR d IS NULL",
    "length(b) > 0 AND a <> 3",
    "md5(b) < '9' OR regexp_like(t.b, '^$')",
    "to_char(a, 'FM009') <> '002'",
)
"""The last two are PostgreSQL's to compute."""

Side = "psycopg.Connection[Any]"


def answer(side: Side, sql: str, data: bytes = b"") -> tuple[Any, ...]:
    """What a side says: all of an error, or the tag and the messages of rows."""
    cursor, rows = side.cursor(), []
    try:
        with cursor.copy(sql) as copy:
            assert cursor.pgresult is not None
            if cursor.pgresult.status == ExecStatus.COPY_IN:
                copy.write(data)
            else:
                rows = [bytes(row) for row in copy]
    except psycopg.Error as error:
        found = error.diag
        words = (found.message_primary, found.message_detail, found.message_hint, found.context)
        return ("error", error.sqlstate, *words, found.table_name, found.constraint_name)
    return ("done", cursor.statusmessage, rows[:1], sorted(rows))


def outcome(side: Side, sql: str, data: bytes) -> tuple[Any, ...]:
    """What a side says, and which rows it has then."""
    side.execute("DELETE FROM t; DELETE FROM d")
    said = answer(side, sql, data)
    return said, [side.execute(f"SELECT * FROM {table} ORDER BY a").fetchall() for table in "td"]


@pytest.fixture(scope="module")
def sides(cluster: Cluster) -> Iterator[tuple[Side, Side]]:
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("DROP SCHEMA IF EXISTS copied CASCADE")
        theirs.execute("CREATE SCHEMA copied")
        theirs.execute("SET search_path = copied, pg_catalog")
        for sql in TABLES:
            theirs.execute(sql)
            with ours.transaction():
                ours.execute(sql.replace("TABLE ", "TABLE IF NOT EXISTS "))
        for side in (ours, theirs):
            side.execute("DELETE FROM w")
            for number, word in enumerate(WORDS, 1):
                side.execute("INSERT INTO w VALUES (%s, %s)", (number, word))
        yield ours, theirs


def test_data_is_read_and_written_as_postgresql_does(sides: tuple[Side, Side]) -> None:
    found = [[outcome(side, sql, data) for side in sides] for sql, data in CASES]
    assert [(case, *both) for case, both in zip(CASES, found, strict=True) if both[0] != both[1]] == []


@pytest.mark.parametrize(("sql", "data"), MOMENTS)
def test_times_of_a_precision_are_rounded(sides: tuple[Side, Side], sql: str, data: bytes) -> None:
    found, stored = [], "SELECT a, b::text, c::text, d::text, e::text FROM m ORDER BY a, d"
    for side in sides:
        side.execute("DELETE FROM m")
        found.append((answer(side, sql, data), side.execute(stored).fetchall()))
    assert found[0] == found[1]


def test_options_are_taken_and_refused_as_by_postgresql(sides: tuple[Side, Side]) -> None:
    statements = [f"COPY t {way} ({option})" for option in OPTIONS for way in ("FROM STDIN", "TO STDOUT")]
    for side in sides:
        side.execute("DELETE FROM t")
    found = [(sql, *(answer(side, sql) for side in sides)) for sql in statements]
    assert [case for case in found if case[1] != case[2]] == []


def test_statements_are_refused_as_by_postgresql(sides: tuple[Side, Side]) -> None:
    found = [(sql, *(answer(side, sql)[:2] for side in sides)) for sql in STATEMENTS]
    assert [case for case in found if case[1] != case[2]] == []


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_leaves_rows_out(sides: tuple[Side, Side], condition: str) -> None:
    data = b"1\tx\t\\N\t3\n2\tx\t\\N\t\\N\n3\ty\t\\N\t3\n4\t\t\\N\t3\n"
    ours, theirs = (outcome(side, f"COPY t FROM STDIN WHERE {condition}", data) for side in sides)
    assert ours == theirs
    assert ours[0][1] != "COPY 4"


def test_a_default_that_postgresql_computes_fills_what_the_data_has_not(sides: tuple[Side, Side]) -> None:
    found = []
    for side in sides:
        with side.transaction(force_rollback=True):
            side.execute("CREATE TABLE filled (a integer PRIMARY KEY, b text DEFAULT md5('x'))")
            with side.cursor() as cursor, cursor.copy("COPY filled (a) FROM STDIN WHERE left(b, 1) = '9'") as copy:
                copy.write(b"1\n2\n")
            found.append(side.execute("SELECT a, b FROM filled ORDER BY a").fetchall())
    assert found[0] == found[1]
    assert len(found[0]) == 2


def test_any_size_of_pieces_makes_the_same_rows(sides: tuple[Side, Side]) -> None:
    data = b'1,"a""b\nc",x,3\r\n2,"\r\n",y,4\r\n'
    with sides[0].cursor() as cursor:
        cursor.execute("DELETE FROM t")
        with cursor.copy("COPY t FROM STDIN (FORMAT csv)") as copy:
            for byte in data:
                copy.write(bytes((byte,)))
        assert cursor.execute("SELECT a, b, d FROM t ORDER BY a").fetchall() == [(1, 'a"b\nc', 3), (2, "\r\n", 4)]


@pytest.mark.parametrize(("sql", "what"), [
    ("COPY t FROM '/etc/passwd'", "COPY from a file"),
    ("COPY t TO '/tmp/t'", "COPY to a file"),
    ("COPY t FROM PROGRAM 'ls'", "COPY from a program"),
    ("COPY (SELECT 1) TO PROGRAM 'cat'", "COPY to a program"),
    ("COPY (DELETE FROM t RETURNING a) TO STDOUT", "COPY of a statement that writes"),
])  # fmt: skip
def test_what_a_node_does_not_do_is_refused_by_name(n1: Side, sides: object, sql: str, what: str) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=f"^{what} is not supported") as refusal:
        n1.execute(sql)
    assert refusal.value.diag.message_hint
