"""asyncpg and its pool."""

import asyncio
import datetime as dt
import io
import json
import uuid
from decimal import Decimal

import asyncpg
from across_changes import TITLE, Answer, across_changes
from trial import DATABASE, HOST, URL, USER, check, run, tried

loop = asyncio.new_event_loop()


def within(work):
    """The step with a connection of its own."""

    async def do() -> None:
        connection = await asyncpg.connect(URL)
        try:
            await work(connection)
        finally:
            await connection.close()

    return lambda: loop.run_until_complete(do())


@tried("a table, rows with parameters, values of every kind")
@within
async def rows(connection) -> None:
    await connection.execute("DROP TABLE IF EXISTS apg")
    await connection.execute(
        "CREATE TABLE apg (id bigserial PRIMARY KEY, n bigint, w text, f float8, b boolean, d date, t timestamptz,"
        " u uuid)"
    )
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, dt.UTC)
    values = (2**40, "wörd", 0.1, True, dt.date(2024, 2, 29), moment, uuid.UUID(int=5))
    await connection.execute("INSERT INTO apg (n, w, f, b, d, t, u) VALUES ($1, $2, $3, $4, $5, $6, $7)", *values)
    check(tuple(await connection.fetchrow("SELECT n, w, f, b, d, t, u FROM apg")), values)


@tried("arrays: = ANY($1)")
@within
async def arrays(connection) -> None:
    check([row["id"] for row in await connection.fetch("SELECT id FROM apg WHERE id = ANY($1::bigint[])", [1, 2])], [1])


@tried("array columns (binary): lists both ways, = ANY($1) and unnest($1, ..) without casts, COPY of records")
@within
async def array_columns(connection) -> None:
    await connection.execute("DROP TABLE IF EXISTS apg_lists")
    await connection.execute(
        "CREATE TABLE apg_lists (id int PRIMARY KEY, n int[], w text[], f float8[], m numeric(8,2)[], d date[],"
        " t timestamptz[], u uuid[], b boolean[], i interval[], y bytea[])"
    )
    moment = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, dt.UTC)
    lists = ([1, None, 3], ["a", 'b"c', "d,e", ""], [0.1, -2.5], [Decimal("1.50")], [dt.date(2024, 2, 29)], [moment],
             [uuid.UUID(int=5)], [True, None], [dt.timedelta(days=1, hours=2)], [b"\x00"])  # fmt: skip
    await connection.execute("INSERT INTO apg_lists VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", *lists)
    check(tuple(await connection.fetchrow("SELECT * FROM apg_lists"))[1:], lists)
    check(await connection.fetchval("SELECT id FROM apg_lists WHERE id = ANY($1)", [1, 2]), 1)
    check(await connection.fetchval("SELECT id FROM apg_lists WHERE $1 = ANY(w) AND n @> $2", "a", [1]), 1)
    await connection.execute(
        "INSERT INTO apg_lists (id, w) SELECT a, ARRAY[b] FROM unnest($1::int[], $2::text[]) AS x (a, b)",
        [10, 11], ["p", None],
    )  # fmt: skip
    check([row["w"] for row in await connection.fetch("SELECT w FROM apg_lists WHERE id > 9 ORDER BY id")],
          [["p"], [None]])  # fmt: skip
    await connection.copy_records_to_table("apg_lists", records=[(20, [4, None], ["x y"])], columns=["id", "n", "w"])
    check(tuple(await connection.fetchrow("SELECT n, w FROM apg_lists WHERE id = 20")), ([4, None], ["x y"]))


@tried("numeric, interval, bytea, time; views, temporary tables, WITH that writes")
@within
async def more(connection) -> None:
    await connection.execute(
        "CREATE TEMP TABLE apg_more (id int PRIMARY KEY, m numeric(12,3), i interval, b bytea, t time)"
    )
    values = (1, Decimal("1.250"), dt.timedelta(days=1, hours=2), b"\x00\xff", dt.time(4, 5))
    sql = "WITH made AS (INSERT INTO apg_more VALUES ($1, $2, $3, $4, $5) RETURNING *) SELECT * FROM made"
    check(tuple(await connection.fetchrow(sql, *values)), values)
    await connection.execute("CREATE OR REPLACE VIEW apg_view AS SELECT id, n FROM apg")
    check(await connection.fetchval("SELECT n FROM apg_view WHERE id = $1", 1), 2**40)
    await connection.execute("DROP VIEW apg_view")


@tried("executemany, insert .. returning")
@within
async def many(connection) -> None:
    await connection.executemany("INSERT INTO apg (n, w) VALUES ($1, $2)", [(n, str(n)) for n in range(100)])
    check(await connection.fetchval("INSERT INTO apg (n) VALUES (500) RETURNING n"), 500)


@tried("transactions and savepoints")
@within
async def transactions(connection) -> None:
    async with connection.transaction():
        await connection.execute("INSERT INTO apg (n) VALUES (1000)")
        inner = connection.transaction()
        await inner.start()
        await connection.execute("INSERT INTO apg (n) VALUES (1001)")
        await inner.rollback()
    check(await connection.fetchval("SELECT count(*) FROM apg WHERE n >= 1000 AND n < 2000"), 1)


@tried("copy_records_to_table (binary), copy_to_table (CSV), copy_from_query")
@within
async def copy(connection) -> None:
    await connection.copy_records_to_table("apg", records=[(5000, "a"), (5001, None)], columns=["n", "w"])
    await connection.copy_to_table("apg", source=io.BytesIO(b"5002,b\n"), columns=["n", "w"], format="csv")
    out = io.BytesIO()
    await connection.copy_from_query("SELECT n, w FROM apg WHERE n >= $1 AND n < 6000 ORDER BY n", 5000, output=out)
    check(out.getvalue(), b"5000\ta\n5001\t\\N\n5002\tb\n")


@tried("a cursor inside a transaction, read in parts")
@within
async def cursor(connection) -> None:
    async with connection.transaction():
        found = [row async for row in connection.cursor("SELECT id FROM apg ORDER BY id", prefetch=10)]
    check(len(found) > 50, True)


@tried("jsonb with a codec of one's own, both ways")
@within
async def documents(connection) -> None:
    await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
    await connection.execute("DROP TABLE IF EXISTS apg_notes")
    await connection.execute("CREATE TABLE apg_notes (id int PRIMARY KEY, note jsonb)")
    note = {"b": [1, None], "a": "wörd"}
    await connection.execute("INSERT INTO apg_notes VALUES (1, $1)", note)
    check(await connection.fetchval("SELECT note FROM apg_notes WHERE note ->> 'a' = $1", "wörd"), note)


@tried("a pool: connections are reset when they are given back")
def pool() -> None:
    async def do() -> None:
        async with asyncpg.create_pool(URL, min_size=1, max_size=4) as many:

            async def one(number: int) -> int:
                async with many.acquire() as connection:
                    await connection.execute("SET statement_timeout = '1min'")
                    return await connection.fetchval("SELECT $1::int", number)

            check(await asyncio.gather(*(one(n) for n in range(20))), list(range(20)))
            async with many.acquire() as connection:
                check(await connection.fetchval("SHOW statement_timeout") == "1min", False)

    loop.run_until_complete(do())


@tried("errors by class: a key that is there")
@within
async def errors(connection) -> None:
    try:
        await connection.execute("INSERT INTO apg (id) VALUES (1)")
    except asyncpg.UniqueViolationError as error:
        check(error.constraint_name, "apg_pkey")
        return
    raise AssertionError("no error")


@tried("introspection: a type by its name, prepared statements' attributes")
@within
async def introspection(connection) -> None:
    statement = await connection.prepare("SELECT id, w FROM apg WHERE id = $1")
    check([a.name for a in statement.get_attributes()], ["id", "w"])
    check([p.name for p in statement.get_parameters()], ["int8"])


@tried("LISTEN and NOTIFY")
@within
async def listen(connection) -> None:
    heard = loop.create_future()
    await connection.add_listener("word", lambda *args: heard.done() or heard.set_result(args[-1]))
    await connection.execute("NOTIFY word, 'text'")
    check(await asyncio.wait_for(heard, 2), "text")


@tried("a prepared statement across a new column: prepared again by the driver")
@within
async def change(connection) -> None:
    sql = "SELECT * FROM apg WHERE id = $1"
    before = len(await connection.fetchrow(sql, 1))
    other = await asyncpg.connect(URL)
    await other.execute("ALTER TABLE apg ADD COLUMN extra int DEFAULT 7")
    await other.close()
    check(len(await connection.fetchrow(sql, 1)), before + 1)


class Door:
    """A connection with a loop of its own, whose statements asyncpg prepares, keeps and prepares again."""

    def __init__(self, port: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.connection = self.wait(asyncpg.connect(host=HOST, port=port, user=USER, database=DATABASE))
        self.prepared: dict[str, asyncpg.prepared_stmt.PreparedStatement] = {}

    def wait(self, work):
        return self.loop.run_until_complete(work)

    def ask(self, sql: str, values: dict[str, object]) -> Answer:
        if sql not in self.prepared:
            numbered = sql
            for number, name in enumerate(values, 1):
                numbered = numbered.replace(f":{name}", f"${number}")
            self.prepared[sql] = self.wait(self.connection.prepare(numbered))
        statement = self.prepared[sql]
        rows = self.wait(statement.fetch(*values.values()))
        columns = tuple((column.name, column.type.oid) for column in statement.get_attributes())
        return Answer(columns or None, [tuple(row) for row in rows], int(statement.get_statusmsg().split()[-1]))

    def prepare_again(self, sql: str) -> None:
        del self.prepared[sql]


def changed(port: int, sql: str) -> None:
    door = Door(port)
    door.wait(door.connection.execute(sql))
    door.wait(door.connection.close())


@tried(TITLE)
def across() -> None:
    across_changes("apg_prepared", Door, changed)


run("asyncpg", asyncpg.__version__)
