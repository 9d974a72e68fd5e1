"""psycopg 3 and its pool."""

import datetime as dt
import uuid
from decimal import Decimal

import psycopg
from across_changes import TITLE, Answer, across_changes
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from psycopg_pool import ConnectionPool
from trial import DATABASE, HOST, URL, USER, check, run, tried

connection = psycopg.connect(URL, autocommit=True)


@tried("a table, rows with parameters, values of every kind, in text and binary")
def rows() -> None:
    connection.execute("DROP TABLE IF EXISTS three")
    connection.execute(
        "CREATE TABLE three (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n bigint, w text, f float8, b boolean,"
        " d date, t timestamptz, u uuid)"
    )
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, dt.UTC)
    values = (2**40, "wörd", 0.1, True, dt.date(2024, 2, 29), moment, uuid.UUID(int=5))
    for binary in (False, True):
        marks = ", ".join(["%b" if binary else "%s"] * len(values))
        connection.execute(f"INSERT INTO three (n, w, f, b, d, t, u) VALUES ({marks})", values)
        found = connection.execute("SELECT n, w, f, b, d, t, u FROM three WHERE n = %s", (2**40,), binary=binary)
        check(found.fetchall()[-1], values)


@tried("arrays: = ANY(list), unnest")
def arrays() -> None:
    check(connection.execute("SELECT id FROM three WHERE id = ANY(%s) ORDER BY id", ([1, 2],)).fetchall(), [(1,), (2,)])
    connection.execute(
        "INSERT INTO three (n, w) SELECT * FROM unnest(%s::bigint[], %s::text[])", ([10, 11], ["a", "b"])
    )


@tried("array columns: lists both ways, in text and binary, SET a[1] = .., = ANY of a column, COPY in text and binary")
def array_columns() -> None:
    connection.execute("DROP TABLE IF EXISTS three_lists")
    connection.execute(
        "CREATE TABLE three_lists (id int PRIMARY KEY, n int[], w text[], f float8[], m numeric(8,2)[], d date[],"
        " t timestamptz[], u uuid[], b boolean[], j jsonb[])"
    )
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, dt.UTC)
    lists = ([1, None, 3], ["a", 'b"c', "d,e", "", None], [0.1, -2.5], [Decimal("1.50")], [dt.date(2024, 2, 29)],
             [moment], [uuid.UUID(int=5)], [True, None], [Jsonb({"a": 1})])  # fmt: skip
    for number, binary in enumerate((False, True)):
        marks = ", ".join(["%b" if binary else "%t"] * len(lists))
        connection.execute(f"INSERT INTO three_lists VALUES ({number}, {marks})", lists)
        found = connection.execute("SELECT * FROM three_lists WHERE id = %s", (number,), binary=binary).fetchone()
        check(found[1:], (*lists[:-1], [{"a": 1}]))
        one = connection.execute(
            "SELECT id FROM three_lists WHERE 'd,e' = ANY(w) AND n @> %s::int[]", ([3],), binary=binary
        )
        check(len(one.fetchall()), number + 1)
    connection.execute("UPDATE three_lists SET n[1] = 7, w = w || %s::text WHERE id = 0", ("z",))
    check(connection.execute("SELECT n[1], w[6] FROM three_lists WHERE id = 0").fetchone(), (7, "z"))
    check(connection.execute("SELECT sum(x) FROM three_lists, unnest(n) AS x").fetchone(), (14,))
    with connection.cursor() as cursor:
        for number, form in ((10, "TEXT"), (11, "BINARY")):
            with cursor.copy(f"COPY three_lists (id, n, w) FROM STDIN (FORMAT {form})") as out:
                out.set_types(["int4", "int4[]", "text[]"])
                out.write_row((number, [4, None], ["x y", "{}"]))
            with cursor.copy(
                f"COPY (SELECT n, w FROM three_lists WHERE id = {number}) TO STDOUT (FORMAT {form})"
            ) as rows:
                rows.set_types(["int4[]", "text[]"])
                check(list(rows.rows()), [([4, None], ["x y", "{}"])])


@tried("numeric, interval, bytea, time, in text and binary")
def more_types() -> None:
    connection.execute("DROP TABLE IF EXISTS three_more")
    connection.execute("CREATE TABLE three_more (id int PRIMARY KEY, m numeric(12,3), i interval, b bytea, t time)")
    values = (Decimal("1.250"), dt.timedelta(days=1, hours=2), b"\x00\xff", dt.time(4, 5))
    for number, binary in enumerate((False, True)):
        marks = ", ".join(["%b" if binary else "%t"] * len(values))
        connection.execute(f"INSERT INTO three_more VALUES ({number}, {marks})", values)
        found = connection.execute("SELECT m, i, b, t FROM three_more WHERE id = %s", (number,), binary=binary)
        check(found.fetchone(), values)


@tried("views, temporary tables like others, WITH that writes")
def statements() -> None:
    connection.execute("DROP VIEW IF EXISTS three_view")
    connection.execute("CREATE VIEW three_view AS SELECT id, n FROM three WHERE n > 0")
    check(len(connection.execute("SELECT * FROM three_view WHERE n = %s", (2**40,)).fetchall()) > 0, True)
    connection.execute("DROP VIEW three_view")
    with connection.transaction():
        connection.execute("CREATE TEMP TABLE three_own (LIKE three_more INCLUDING ALL) ON COMMIT DROP")
        sql = "WITH made AS (INSERT INTO three_own (id) VALUES (1), (2) RETURNING id) SELECT sum(id) FROM made"
        check(connection.execute(sql).fetchone(), (3,))


@tried("executemany, pipelines")
def many() -> None:
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO three (n, w) VALUES (%s, %s)", [(n, str(n)) for n in range(100, 200)])
    with connection.pipeline():
        one = connection.execute("SELECT count(*) FROM three WHERE n >= 100 AND n < 200")
        two = connection.execute("SELECT 1")
        check((one.fetchone(), two.fetchone()), ((100,), (1,)))


@tried("transactions and savepoints")
def transactions() -> None:
    with connection.transaction():
        connection.execute("INSERT INTO three (n) VALUES (1000)")
        with connection.transaction(force_rollback=True):
            connection.execute("INSERT INTO three (n) VALUES (1001)")
    check(connection.execute("SELECT n FROM three WHERE n >= 1000 AND n < 2000").fetchall(), [(1000,)])


@tried("COPY in and out, text and binary")
def copy() -> None:
    with connection.cursor() as cursor:
        with cursor.copy("COPY three (n, w) FROM STDIN") as out:
            out.write_row((5000, "a\tb"))
        with cursor.copy("COPY three (n, w) FROM STDIN (FORMAT BINARY)") as out:
            out.set_types(["int8", "text"])
            out.write_row((5001, None))
        with cursor.copy(
            "COPY (SELECT n, w FROM three WHERE n >= 5000 AND n < 6000 ORDER BY n) TO STDOUT (FORMAT BINARY)"
        ) as rows:
            rows.set_types(["int8", "text"])
            check(list(rows.rows()), [(5000, "a\tb"), (5001, None)])


@tried("rows as dictionaries, a cursor on the client")
def shapes() -> None:
    with connection.cursor(row_factory=dict_row) as cursor:
        check(cursor.execute("SELECT 1 AS a").fetchone(), {"a": 1})


@tried("a cursor of the server, read in parts, and scrolled back")
def server_cursor() -> None:
    with connection.transaction(), connection.cursor("part") as cursor:
        cursor.execute("SELECT id FROM three ORDER BY id")
        check(len(cursor.fetchmany(10)), 10)
    with connection.transaction(), connection.cursor("held", scrollable=True) as cursor:
        cursor.execute("SELECT id FROM three ORDER BY id")
        first = cursor.fetchone()
        cursor.fetchmany(20)
        cursor.scroll(0, mode="absolute")
        check(cursor.fetchone(), first)


@tried("jsonb: Jsonb as a parameter, read as a dictionary, by a key")
def json() -> None:
    connection.execute("DROP TABLE IF EXISTS three_notes")
    connection.execute("CREATE TABLE three_notes (id int PRIMARY KEY, note jsonb)")
    note = {"b": [1, 2.5, None], "a": {"w": "wörd"}}
    connection.execute("INSERT INTO three_notes VALUES (1, %s)", (Jsonb(note),))
    for binary in (False, True):
        found = connection.execute("SELECT note, note #>> '{a,w}', note -> 'b' -> 0 FROM three_notes", binary=binary)
        check(found.fetchone(), (note, "wörd", 1))
    check(connection.execute("SELECT id FROM three_notes WHERE note @> %s", (Jsonb({"b": [1]}),)).fetchall(), [(1,)])


@tried("advisory locks between two connections")
def advisory() -> None:
    with psycopg.connect(URL, autocommit=True) as other:
        check(connection.execute("SELECT pg_try_advisory_lock(77)").fetchone(), (True,))
        check(other.execute("SELECT pg_try_advisory_lock(77)").fetchone(), (False,))
        check(connection.execute("SELECT pg_advisory_unlock(77)").fetchone(), (True,))
        check(other.execute("SELECT pg_try_advisory_lock(77)").fetchone(), (True,))


@tried("stream")
def stream() -> None:
    with connection.cursor() as cursor:
        check(len(list(cursor.stream("SELECT id FROM three"))) > 50, True)


@tried("a pool")
def pool() -> None:
    with ConnectionPool(URL, min_size=1, max_size=3, open=True) as many, many.connection() as one:
        check(one.execute("SELECT 1").fetchone(), (1,))


@tried("errors by class: a key that is there")
def errors() -> None:
    try:
        connection.execute("INSERT INTO three (id) OVERRIDING SYSTEM VALUE VALUES (1)")
    except psycopg.errors.UniqueViolation as error:
        check(error.diag.constraint_name, "three_pkey")
        return
    raise AssertionError("no error")


@tried("LISTEN and NOTIFY")
def listen() -> None:
    with psycopg.connect(URL, autocommit=True) as other:
        other.execute("LISTEN word")
        connection.execute("NOTIFY word, 'text'")
        check([note.payload for note in other.notifies(timeout=2, stop_after=1)], ["text"])


@tried("a statement prepared by the driver, across a new column")
def change() -> None:
    sql = "SELECT * FROM three WHERE id = %s"
    with psycopg.connect(URL, autocommit=True) as other:
        for _ in range(7):
            before = len(other.execute(sql, (1,), prepare=True).fetchone())
        connection.execute("ALTER TABLE three ADD COLUMN extra int DEFAULT 7")
        try:
            other.execute(sql, (1,), prepare=True)
        except psycopg.errors.FeatureNotSupported as error:  # as PostgreSQL: it is prepared again by the next call
            check(str(error).splitlines()[0], "cached plan must not change result type")
            other.execute("DEALLOCATE ALL")
        check(len(other.execute(sql, (1,)).fetchone()), before + 1)


class Door:
    """Statements that psycopg prepares at once, their results in text."""

    binary = False

    def __init__(self, port: int) -> None:
        self.connection = psycopg.connect(host=HOST, port=port, user=USER, dbname=DATABASE, autocommit=True)
        self.connection.prepare_threshold = 0

    def ask(self, sql: str, values: dict[str, object]) -> Answer:
        for name in values:
            sql = sql.replace(f":{name}", f"%({name})s")
        cursor = self.connection.execute(sql, values, binary=self.binary)
        columns = cursor.description and tuple((column.name, column.type_code) for column in cursor.description)
        return Answer(columns, cursor.fetchall() if columns else [], cursor.rowcount)

    def prepare_again(self, sql: str) -> None:
        """Forget all that was prepared: psycopg keeps a statement under its name."""
        self.connection._prepared.clear()
        self.connection.execute("DEALLOCATE ALL")


class Binary(Door):
    binary = True


def changed(port: int, sql: str) -> None:
    with psycopg.connect(host=HOST, port=port, user=USER, dbname=DATABASE, autocommit=True) as other:
        other.execute(sql)


@tried(TITLE)
def across() -> None:
    across_changes("three_prepared", Door, changed)


@tried(f"{TITLE}: results in binary")
def across_binary() -> None:
    across_changes("three_binary", Binary, changed)


run("psycopg 3", psycopg.__version__)
