"""pg8000, a driver without libpq."""

import datetime as dt
import io
import json
import uuid
from decimal import Decimal
from importlib.metadata import version

import pg8000.native
from across_changes import TITLE, Answer, across_changes
from trial import DATABASE, HOST, PORT, USER, check, run, tried


def connected() -> pg8000.native.Connection:
    return pg8000.native.Connection(USER, host=HOST, port=PORT, database=DATABASE)


connection = connected()


@tried("a table, rows with parameters, values of every kind")
def rows() -> None:
    connection.run("DROP TABLE IF EXISTS p8")
    connection.run(
        "CREATE TABLE p8 (id serial PRIMARY KEY, n bigint, w text, f float8, b boolean, d date, t timestamptz, u uuid)"
    )
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, dt.UTC)
    values = {
        "n": 2**40,
        "w": "wörd",
        "f": 0.1,
        "b": True,
        "d": dt.date(2024, 2, 29),
        "t": moment,
        "u": uuid.UUID(int=5),
    }
    connection.run("INSERT INTO p8 (n, w, f, b, d, t, u) VALUES (:n, :w, :f, :b, :d, :t, :u)", **values)
    check(connection.run("SELECT n, w, f, b, d, t, u FROM p8"), [list(values.values())])


@tried("arrays: = ANY(:ids)")
def arrays() -> None:
    check(connection.run("SELECT id FROM p8 WHERE id = ANY(CAST(:ids AS int[]))", ids=[1, 2]), [[1]])


@tried("array columns: lists both ways, NULLs, = ANY of a column, COPY")
def array_columns() -> None:
    connection.run("DROP TABLE IF EXISTS p8_lists")
    connection.run("CREATE TABLE p8_lists (id int PRIMARY KEY, n int[], w text[], f float8[], m numeric(8,2)[])")
    values = {"n": [1, None, 3], "w": ["a", 'b"c', "d,e"], "f": [0.5, -2.5], "m": [Decimal("1.50")]}
    connection.run("INSERT INTO p8_lists VALUES (1, :n, :w, :f, :m)", **values)
    check(connection.run("SELECT n, w, f, m FROM p8_lists"), [list(values.values())])
    check(connection.run("SELECT id FROM p8_lists WHERE :w = ANY(w)", w="d,e"), [[1]])
    connection.run("COPY p8_lists (id, n) FROM STDIN", stream=io.StringIO("2\t{4,NULL}\n"))
    check(connection.run("SELECT n FROM p8_lists WHERE id = 2"), [[[4, None]]])


@tried("numeric, jsonb, interval, bytea, time")
def more_types() -> None:
    connection.run("CREATE TEMP TABLE p8_more (m numeric(12,3), j jsonb, i interval, b bytea, t time)")
    values = {"m": Decimal("1.250"), "j": json.dumps({"a": [1, None]}), "i": dt.timedelta(days=1, hours=2),
              "b": b"\x00\xff", "t": dt.time(4, 5)}  # fmt: skip
    connection.run("INSERT INTO p8_more VALUES (:m, :j, :i, :b, :t)", **values)
    check(connection.run("SELECT * FROM p8_more"), [[*({**values, "j": {"a": [1, None]}}).values()]])


@tried("transactions")
def transactions() -> None:
    connection.run("START TRANSACTION")
    connection.run("INSERT INTO p8 (n) VALUES (1000)")
    connection.run("ROLLBACK")
    check(connection.run("SELECT count(*) FROM p8"), [[1]])


@tried("COPY in and out")
def copy() -> None:
    connection.run("COPY p8 (n, w) FROM STDIN WITH (FORMAT csv)", stream=io.StringIO("5000,a\n5001,b\n"))
    out = io.StringIO()
    connection.run("COPY (SELECT n, w FROM p8 WHERE n >= 5000 AND n < 6000 ORDER BY n) TO STDOUT", stream=out)
    check(out.getvalue(), "5000\ta\n5001\tb\n")


@tried("a prepared statement, many times")
def prepared() -> None:
    statement = connection.prepare("SELECT n FROM p8 WHERE id = :id")
    for _ in range(10):
        check(statement.run(id=1), [[2**40]])
    statement.close()


@tried("errors: a key that is there")
def errors() -> None:
    try:
        connection.run("INSERT INTO p8 (id) VALUES (1)")
    except pg8000.native.DatabaseError as error:
        check(error.args[0]["C"], "23505")
        return
    raise AssertionError("no error")


@tried("another column while the connection is open")
def change() -> None:
    other = connected()
    before = len(connection.run("SELECT * FROM p8 WHERE id = 1")[0])
    other.run("ALTER TABLE p8 ADD COLUMN extra int DEFAULT 7")
    other.close()
    check(len(connection.run("SELECT * FROM p8 WHERE id = 1")[0]), before + 1)


class Door:
    """Statements that are prepared by name and kept; each that is refused is prepared again by who uses it."""

    def __init__(self, port: int) -> None:
        self.connection = pg8000.native.Connection(USER, host=HOST, port=port, database=DATABASE)
        self.prepared: dict[str, pg8000.native.PreparedStatement] = {}

    def ask(self, sql: str, values: dict[str, object]) -> Answer:
        if sql not in self.prepared:
            self.prepared[sql] = self.connection.prepare(sql)
        statement = self.prepared[sql]
        rows = statement.run(**values)
        columns = statement.columns and tuple((column["name"], column["type_oid"]) for column in statement.columns)
        return Answer(columns, [tuple(row) for row in rows or ()], statement._context.row_count)

    def prepare_again(self, sql: str) -> None:
        self.prepared.pop(sql).close()


class Unnamed(Door):
    """`run`: Parse and Describe, then Bind and Execute, each time."""

    def ask(self, sql: str, values: dict[str, object]) -> Answer:
        rows = self.connection.run(sql, **values)
        described = self.connection.columns
        columns = described and tuple((column["name"], column["type_oid"]) for column in described)
        return Answer(columns, [tuple(row) for row in rows or ()], self.connection.row_count)

    def prepare_again(self, sql: str) -> None:
        pass


def changed(port: int, sql: str) -> None:
    other = pg8000.native.Connection(USER, host=HOST, port=port, database=DATABASE)
    other.run(sql)
    other.close()


@tried(TITLE)
def across() -> None:
    across_changes("p8_prepared", Door, changed)


@tried(f"{TITLE}: parsed each time (run)")
def across_unnamed() -> None:
    across_changes("p8_unnamed", Unnamed, changed)


run("pg8000", version("pg8000"))
