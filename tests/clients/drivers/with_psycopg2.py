"""psycopg 2."""

import datetime as dt
import io
import uuid
from decimal import Decimal

import psycopg2
import psycopg2.extras
from across_changes import TITLE, Answer, across_changes
from psycopg2.pool import ThreadedConnectionPool
from trial import DATABASE, HOST, URL, USER, check, run, tried

connection = psycopg2.connect(URL)
connection.autocommit = True
cursor = connection.cursor()
psycopg2.extras.register_uuid()


def ask(sql: str, values: object = None) -> list[tuple]:
    cursor.execute(sql, values)
    return cursor.fetchall() if cursor.description else []


@tried("a table, rows with parameters, values of every kind")
def rows() -> None:
    ask("DROP TABLE IF EXISTS two")
    ask(
        "CREATE TABLE two (id serial PRIMARY KEY, n bigint, w varchar(20), f float8, b boolean, d date, t timestamptz,"
        " u uuid)"
    )
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, dt.UTC)
    values = (2**40, "wörd", 0.1, True, dt.date(2024, 2, 29), moment, uuid.UUID(int=5))
    ask("INSERT INTO two (n, w, f, b, d, t, u) VALUES (%s, %s, %s, %s, %s, %s, %s)", values)
    check(ask("SELECT n, w, f, b, d, t, u FROM two"), [values])


@tried("arrays: = ANY(list)")
def arrays() -> None:
    check(ask("SELECT id FROM two WHERE id = ANY(%s)", ([1, 2],)), [(1,)])


@tried("array columns: lists both ways, NULLs, SET a[1] = .., execute_values, COPY, type codes")
def array_columns() -> None:
    ask("DROP TABLE IF EXISTS two_lists")
    ask("CREATE TABLE two_lists (id int PRIMARY KEY, n int[], w varchar(20)[], f float8[], m numeric(8,2)[], d date[])")
    row = (1, [1, None, 3], ["a", 'b"c', "d,e", ""], [0.1, -2.5], [Decimal("1.50")], [dt.date(2024, 2, 29)])
    psycopg2.extras.execute_values(
        cursor, "INSERT INTO two_lists VALUES %s", [row], template="(%s,%s,%s,%s,%s,%s::date[])"
    )
    check(ask("SELECT * FROM two_lists"), [row])
    ask("UPDATE two_lists SET n[1] = %s, w = %s WHERE %s = ANY(w)", (7, [], "d,e"))
    check(ask("SELECT n, w FROM two_lists"), [([7, None, 3], [])])
    cursor.copy_expert("COPY two_lists (id, n, w) FROM STDIN", io.StringIO('2\t{4,NULL}\t{x,"y z"}\n'))
    check(ask("SELECT n, w FROM two_lists WHERE id = 2"), [([4, None], ["x", "y z"])])


@tried("numeric, jsonb, interval, bytea, time")
def more_types() -> None:
    ask("DROP TABLE IF EXISTS two_more")
    ask("CREATE TABLE two_more (id int PRIMARY KEY, m numeric(12,3), j jsonb, i interval, b bytea, t time)")
    values = (1, Decimal("1.250"), psycopg2.extras.Json({"a": [1, None]}), dt.timedelta(days=1, hours=2),
              b"\x00\xff", dt.time(4, 5))  # fmt: skip
    ask("INSERT INTO two_more VALUES (%s, %s, %s, %s, %s, %s)", values)
    found = [bytes(one) if isinstance(one, memoryview) else one for one in ask("SELECT * FROM two_more")[0]]
    check(found, [1, Decimal("1.250"), {"a": [1, None]}, dt.timedelta(days=1, hours=2), b"\x00\xff", dt.time(4, 5)])


@tried("views, temporary tables, WITH that writes")
def statements() -> None:
    ask("DROP VIEW IF EXISTS two_view")
    ask("CREATE VIEW two_view AS SELECT id, n FROM two WHERE n > 0")
    check(len(ask("SELECT * FROM two_view")) > 0, True)
    ask("DROP VIEW two_view")
    ask("CREATE TEMP TABLE two_own (LIKE two_more INCLUDING ALL)")
    ask("WITH made AS (INSERT INTO two_own (id) VALUES (1), (2) RETURNING id) SELECT sum(id) FROM made")
    check(ask("SELECT count(*) FROM two_own"), [(2,)])


@tried("execute_values and executemany")
def many() -> None:
    psycopg2.extras.execute_values(cursor, "INSERT INTO two (n, w) VALUES %s", [(n, str(n)) for n in range(100)])
    cursor.executemany("UPDATE two SET w = %s WHERE n = %s", [("x", 1), ("y", 2)])
    check(ask("SELECT w FROM two WHERE n IN (1, 2) ORDER BY n"), [("x",), ("y",)])


@tried("with connection: commit, rollback, savepoints")
def transactions() -> None:
    other = psycopg2.connect(URL)
    with other, other.cursor() as inner:
        inner.execute("INSERT INTO two (n) VALUES (1000)")
        inner.execute("SAVEPOINT a")
        inner.execute("INSERT INTO two (n) VALUES (1001)")
        inner.execute("ROLLBACK TO SAVEPOINT a")
    try:
        with other, other.cursor() as inner:
            inner.execute("INSERT INTO two (n) VALUES (1002)")
            raise KeyError
    except KeyError:
        pass
    other.close()
    check(ask("SELECT n FROM two WHERE n >= 1000 AND n < 2000"), [(1000,)])


@tried("copy_expert, copy_from, copy_to")
def copy() -> None:
    cursor.copy_expert("COPY two (n, w) FROM STDIN WITH CSV HEADER", io.StringIO('n,w\n5000,a\n5001,"b,c"\n'))
    cursor.copy_from(io.StringIO("5002\td\n"), "two", columns=("n", "w"))
    out = io.StringIO()
    cursor.copy_expert("COPY (SELECT n, w FROM two WHERE n >= 5000 AND n < 6000 ORDER BY n) TO STDOUT", out)
    check(out.getvalue(), "5000\ta\n5001\tb,c\n5002\td\n")


@tried("errors by class: a key that is there")
def errors() -> None:
    try:
        ask("INSERT INTO two (id) VALUES (1)")
    except psycopg2.errors.UniqueViolation as error:
        check(error.diag.constraint_name, "two_pkey")
        return
    raise AssertionError("no error")


@tried("PREPARE and EXECUTE")
def prepared() -> None:
    ask("PREPARE plan (int) AS SELECT n FROM two WHERE id = $1")
    check(ask("EXECUTE plan (1)"), [(2**40,)])


@tried("a named cursor, read in parts")
def named() -> None:
    other = psycopg2.connect(URL)
    with other, other.cursor("part") as inner:
        inner.itersize = 10
        inner.execute("SELECT id FROM two ORDER BY id")
        check(len(list(inner)) > 50, True)
    other.close()


@tried("a pool")
def pool() -> None:
    many = ThreadedConnectionPool(1, 3, URL)
    one = many.getconn()
    many.putconn(one)
    many.closeall()


@tried("another column while the connection is open")
def change() -> None:
    other = psycopg2.connect(URL)
    other.autocommit = True
    inner = other.cursor()
    inner.execute("SELECT * FROM two WHERE id = 1")
    before = len(inner.description)
    ask("ALTER TABLE two ADD COLUMN extra int DEFAULT 7")
    inner.execute("SELECT * FROM two WHERE id = 1")
    check(len(inner.description), before + 1)
    other.close()


class Door:
    """PREPARE and EXECUTE, as an application of psycopg 2 writes them."""

    def __init__(self, port: int) -> None:
        self.connection = psycopg2.connect(host=HOST, port=port, user=USER, dbname=DATABASE)
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        self.made, self.prepared = 0, {}

    def ask(self, sql: str, values: dict[str, object]) -> Answer:
        if sql not in self.prepared:
            numbered = sql
            for number, name in enumerate(values, 1):
                numbered = numbered.replace(f":{name}", f"${number}")
            self.made += 1
            self.cursor.execute(f"PREPARE s{self.made} AS {numbered}")
            self.prepared[sql] = f"s{self.made}"
        marks = ", ".join(["%s"] * len(values))
        self.cursor.execute(f"EXECUTE {self.prepared[sql]} ({marks})", list(values.values()))
        description = self.cursor.description
        columns = description and tuple((column.name, column.type_code) for column in description)
        return Answer(columns, self.cursor.fetchall() if columns else [], self.cursor.rowcount)

    def prepare_again(self, sql: str) -> None:
        self.cursor.execute(f"DEALLOCATE {self.prepared.pop(sql)}")


class Bound(Door):
    """`execute`: a text with the values in it."""

    def ask(self, sql: str, values: dict[str, object]) -> Answer:
        for name in values:
            sql = sql.replace(f":{name}", f"%({name})s")
        self.cursor.execute(sql, values)
        description = self.cursor.description
        columns = description and tuple((column.name, column.type_code) for column in description)
        return Answer(columns, self.cursor.fetchall() if columns else [], self.cursor.rowcount)


def changed(port: int, sql: str) -> None:
    Bound(port).ask(sql, {})


@tried(TITLE)
def across() -> None:
    across_changes("two_prepared", Door, changed)


@tried(f"{TITLE}: as texts")
def across_texts() -> None:
    across_changes("two_texts", Bound, changed)


run("psycopg 2", psycopg2.__version__.split()[0])
