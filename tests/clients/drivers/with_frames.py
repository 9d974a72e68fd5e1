"""Frames: pandas, polars, connectorx, ADBC."""

import sys
from decimal import Decimal
from importlib.metadata import version

from trial import URL, check, run, tried

NAME = sys.argv[1]
SQL = "SELECT id, w FROM frame ORDER BY id"
LISTS = "SELECT n, w, f FROM lists ORDER BY id"


def fill() -> None:
    import psycopg

    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS frame")
        connection.execute("CREATE TABLE frame (id int PRIMARY KEY, w text, f float8)")
        connection.execute("DROP TABLE IF EXISTS lists")
        connection.execute("CREATE TABLE lists (id int PRIMARY KEY, n int[], w text[], f float8[])")
        connection.execute(
            "INSERT INTO lists VALUES (1, '{1,NULL,3}', '{a,\"b c\"}', '{0.5,-2.5}'), (2, '{}', NULL, '{1}')"
        )
        connection.execute("INSERT INTO frame SELECT g, 'w' || g, g / 2.0 FROM generate_series(1, 1000) g")


fill()
if NAME == "pandas":
    import pandas
    import sqlalchemy as sa
    from sqlalchemy.dialects.postgresql import ARRAY

    engine = sa.create_engine(URL.replace("postgresql:", "postgresql+psycopg:"))
    at_once = engine.execution_options(isolation_level="AUTOCOMMIT")

    @tried("read_sql, read_sql_table")
    def read() -> None:
        check(len(pandas.read_sql(SQL, engine)), 1000)
        check(list(pandas.read_sql_table("frame", engine).columns), ["id", "w", "f"])

    @tried("to_sql: replace, append, by rows, by many rows, by COPY")
    def write() -> None:
        frame = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "t": pandas.to_datetime(["2026-01-01"] * 3)})
        frame.to_sql("framed", engine, if_exists="replace", index=False)
        frame.to_sql("framed", engine, if_exists="append", index=False, method="multi")

        def by_copy(_table, connection, keys, rows):
            with (
                connection.connection.cursor() as cursor,
                cursor.copy(f"COPY framed ({', '.join(keys)}) FROM STDIN") as copy,
            ):
                for row in rows:
                    copy.write_row(row)

        frame.to_sql("framed", engine, if_exists="append", index=False, method=by_copy)
        check(len(pandas.read_sql("SELECT * FROM framed", engine)), 9)

    @tried("to_sql with an index, read in chunks")
    def chunks() -> None:
        pandas.DataFrame({"n": range(100)}).to_sql("indexed", engine, if_exists="replace")
        check(sum(len(part) for part in pandas.read_sql("SELECT * FROM indexed", engine, chunksize=10)), 100)

    @tried("read_sql and read_sql_table of a view")
    def view() -> None:
        with at_once.connect() as connection:
            connection.execute(sa.text("DROP VIEW IF EXISTS seen"))
            connection.execute(sa.text("CREATE VIEW seen AS SELECT id, f * 2 AS doubled FROM frame WHERE id <= 10"))
        found = pandas.read_sql("SELECT * FROM seen ORDER BY id", engine)
        check(list(found["doubled"]), [float(n) for n in range(1, 11)])
        check(len(pandas.read_sql_table("seen", engine)), 10)
        with at_once.connect() as connection:
            connection.execute(sa.text("DROP VIEW seen"))

    @tried("array columns: read as lists, written from lists")
    def lists() -> None:
        found = pandas.read_sql(LISTS, engine)
        check(found["n"].tolist(), [[1, None, 3], []])
        frame = pandas.DataFrame({"n": [[1, 2], [3]], "w": [["a"], ["b", None]]})
        kinds = {"n": ARRAY(sa.Integer), "w": ARRAY(sa.Text)}
        frame.to_sql("framed_lists", engine, if_exists="replace", index=False, dtype=kinds)
        again = pandas.read_sql("SELECT * FROM framed_lists ORDER BY n", engine)
        check(again["w"].tolist(), [["a"], ["b", None]])
        check(len(pandas.read_sql_table("framed_lists", engine)), 2)

    @tried("numeric and dates both ways, intervals read")
    def kinds() -> None:
        values = {"m": [Decimal("1.250")], "d": pandas.to_datetime(["2024-02-29"])}
        kinds = {"m": sa.Numeric(12, 3), "d": sa.Date}
        pandas.DataFrame(values).to_sql("framed_kinds", engine, if_exists="replace", index=False, dtype=kinds)
        [row] = pandas.read_sql("SELECT * FROM framed_kinds", engine, coerce_float=False).itertuples(index=False)
        check((row.m, str(row.d)[:10]), (Decimal("1.250"), "2024-02-29"))
        check(pandas.read_sql("SELECT interval '26 hours' AS i", engine)["i"][0], pandas.Timedelta("26h"))

    run("pandas", version("pandas"))
elif NAME == "polars":
    import polars
    import sqlalchemy as sa

    @tried("read_database_uri by connectorx")
    def connectorx() -> None:
        check(polars.read_database_uri(SQL, URL, engine="connectorx").shape, (1000, 2))

    @tried("read_database_uri by ADBC")
    def adbc() -> None:
        check(polars.read_database_uri(SQL, URL, engine="adbc").shape, (1000, 2))

    @tried("write_database")
    def write() -> None:
        frame = polars.DataFrame({"a": [1, 2], "b": ["x", "y"]})
        alchemy = URL.replace("postgresql:", "postgresql+psycopg:")
        frame.write_database("polars_framed", alchemy, if_table_exists="replace", engine="sqlalchemy")
        check(polars.read_database_uri("SELECT count(*) AS n FROM polars_framed", URL, engine="connectorx")["n"][0], 2)

    @tried("array columns: read by ADBC, by connectorx, by SQLAlchemy")
    def lists() -> None:
        expected = [[1, None, 3], []]
        check(polars.read_database_uri(LISTS, URL, engine="adbc")["n"].to_list(), expected)
        check(polars.read_database_uri("SELECT f FROM lists ORDER BY id", URL, engine="connectorx")["f"].to_list(),
              [[0.5, -2.5], [1.0]])  # fmt: skip
        with sa.create_engine(URL.replace("postgresql:", "postgresql+psycopg:")).connect() as connection:
            check(polars.read_database(LISTS, connection)["n"].to_list(), expected)

    run("polars", version("polars"))
elif NAME == "connectorx":
    import connectorx

    @tried("read_sql by each of its protocols")
    def read() -> None:
        for protocol in ("binary", "csv", "cursor", "simple"):
            check(len(connectorx.read_sql(URL, SQL, protocol=protocol, return_type="arrow")), 1000)

    @tried("read_sql in partitions")
    def partitions() -> None:
        found = connectorx.read_sql(URL, "SELECT * FROM frame", partition_on="id", partition_num=3, return_type="arrow")
        check(len(found), 1000)

    @tried("array columns")
    def lists() -> None:
        found = connectorx.read_sql(URL, "SELECT f FROM lists ORDER BY id", return_type="arrow")
        check(found.column(0).to_pylist(), [[0.5, -2.5], [1.0]])

    run("connectorx", version("connectorx"))
else:
    import adbc_driver_postgresql.dbapi as adbc
    import pyarrow

    @tried("fetch_arrow_table (COPY TO in binary)")
    def fetch() -> None:
        with adbc.connect(URL) as connection, connection.cursor() as cursor:
            cursor.execute(SQL)
            check(cursor.fetch_arrow_table().num_rows, 1000)

    @tried("adbc_ingest (COPY FROM in binary)")
    def ingest() -> None:
        with adbc.connect(URL) as connection, connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS ingested")
            connection.commit()
            table = pyarrow.table({"a": [1, 2, 3], "b": ["x", None, "z"]})
            cursor.adbc_ingest("ingested", table, mode="create")
            connection.commit()
            cursor.execute("SELECT count(*) FROM ingested")
            check(cursor.fetchone(), (3,))

    @tried("array columns: read, and bound as parameters; numeric, dates, times, intervals, bytea")
    def lists() -> None:
        with adbc.connect(URL) as connection, connection.cursor() as cursor:
            cursor.execute(LISTS)
            found = cursor.fetch_arrow_table()
            check(found.column("n").to_pylist(), [[1, None, 3], []])
            check(found.column("w").to_pylist(), [["a", "b c"], None])
            table = pyarrow.table(
                {
                    "id": pyarrow.array([10], pyarrow.int32()),
                    "n": pyarrow.array([[4, None]], pyarrow.list_(pyarrow.int32())),
                }
            )
            cursor.adbc_ingest("lists", table, mode="append")
            connection.commit()
            cursor.execute("SELECT n FROM lists WHERE id = 10")
            check(cursor.fetchone(), ([4, None],))
            cursor.execute(
                "SELECT 1.50::numeric(8,2) AS m, DATE '2024-02-29' AS d, TIME '04:05' AS t, '\\x00ff'::bytea AS b"
            )
            [row] = cursor.fetch_arrow_table().to_pylist()
            check((str(row["d"]), str(row["t"]), row["b"]), ("2024-02-29", "04:05:00", b"\x00\xff"))

    run("ADBC", version("adbc-driver-postgresql"))
