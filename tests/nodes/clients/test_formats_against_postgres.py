"""Results and parameters are PostgreSQL's byte for byte, in text and in binary, for values drawn at random."""

import datetime as dt
import random
import struct
from decimal import Decimal
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.json import Json, Jsonb

from catalog.values.intervals import DAY, Interval, clock_text, text_of
from tests.nodes.conftest import Cluster


class Clock(int):
    """A time of day in microseconds: Python's own has no 24:00."""


class IntervalText(Dumper):
    oid = 1186

    def dump(self, obj: Interval) -> bytes:
        return text_of(obj).encode()


class IntervalBinary(Dumper):
    oid, format = 1186, Format.BINARY

    def dump(self, obj: Interval) -> bytes:
        return struct.pack("!qii", obj.micros, obj.days, obj.months)


class ClockText(Dumper):
    oid = 1083

    def dump(self, obj: Clock) -> bytes:
        return clock_text(obj).encode()


class ClockBinary(Dumper):
    oid, format = 1083, Format.BINARY

    def dump(self, obj: Clock) -> bytes:
        return struct.pack("!q", obj)


for kind, dumpers in ((Interval, (IntervalText, IntervalBinary)), (Clock, (ClockText, ClockBinary))):
    for dumper in dumpers:
        psycopg.adapters.register_dumper(kind, dumper)

COLUMNS = (
    "id int primary key, n bigint, f float8, s text, b boolean, d date, ts timestamp, tz timestamptz, u uuid,"
    " m smallint, r real, v varchar(30), c char(6), p numeric(12,3), q numeric, j json, o jsonb,"
    " y bytea, tm time, iv interval"
)
NAMES = [column.split()[0] for column in COLUMNS.split(", ")]
ROWS = 40
FIRST, LAST = (dt.datetime.fromisoformat(text) for text in ("0001-01-01", "9999-12-31 23:59:59.999999"))
EDGES: list[tuple[Any, ...]] = [
    (-(2**31), -(2**63), 5e-324, "", False, dt.date.min, FIRST, dt.datetime(2, 1, 1, tzinfo=dt.UTC), UUID(int=0),
     -(2**15), 1e-45, "", "", Decimal("-999999999.999"), Decimal("-Infinity"), Json([]), Jsonb(""), b"", Clock(0),
     Interval(1 - 2**31, 1 - 2**31, 1 - 2**63)),
    (2**31 - 1, 2**63 - 1, float("nan"), "ä€😀", True, dt.date.max, LAST,
     dt.datetime(9998, 12, 31, tzinfo=dt.UTC), UUID(int=2**128 - 1), 2**15 - 1, float("nan"), "ä€😀", "ä€😀",
     Decimal("999999999.999"), Decimal("Infinity"), Json({"b": 1, "a": [None]}), Jsonb({"b": 1, "a": [None]}),
     bytes(range(256)), Clock(DAY), Interval(2**31 - 2, 2**31 - 1, 2**63 - 1)),
    (0, 0, float("inf"), "'\"\\\n", True, dt.date(2000, 1, 1), dt.datetime.fromisoformat("2000-01-01"),
     dt.datetime(1999, 12, 31, 23, 59, 59, 999_999, dt.UTC), UUID(int=1), 0, float("-inf"), "a ", "b  ",
     Decimal("NaN"), Decimal("NaN"), Json(None), Jsonb(None), b"\x00", Clock(1), Interval(0, 0, 0)),
    (1, *[None] * 19),
]  # fmt: skip


def drawn() -> list[tuple[Any, ...]]:
    chance, other = random.Random(11), random.Random(12)
    start, years = dt.datetime.fromisoformat("1850-01-01"), 300 * 365 * 86_400

    def moment() -> dt.datetime:
        micros = chance.choice((0, 1, 120_000, 999_999))
        return start + dt.timedelta(seconds=chance.randrange(years), microseconds=micros)

    def double() -> float:
        while (value := struct.unpack("!d", chance.randbytes(8))[0]) != value:
            pass
        return float(value)

    def real() -> float:
        while (value := struct.unpack("!f", chance.randbytes(4))[0]) != value:
            pass
        return float(value)

    def numeric() -> Decimal:
        digits = "".join(other.choice("0123456789") for _ in range(other.randrange(1, 40)))
        return Decimal(f"{other.choice(('', '-'))}{digits[:-9] or 0}.{digits[-9:]}")

    def interval() -> Interval:
        return Interval(other.randrange(-30, 30), other.randrange(-90, 90), other.randrange(-(10**12), 10**12))

    rows = [
        (number, chance.randrange(-(2**63), 2**63), double(), "x" * chance.randrange(9), chance.random() < 0.5,
         moment().date(), moment(), moment().replace(tzinfo=dt.UTC), UUID(bytes=chance.randbytes(16)),
         chance.randrange(-(2**15), 2**15), real(), " x" * other.randrange(9), "y" * other.randrange(7),
         Decimal(other.randrange(-(10**11), 10**11)).scaleb(-3), numeric(),
         Json({"é" * other.randrange(3): other.random()}), Jsonb([{"zz": number, "a": "ä\n"}, other.random()]),
         other.randbytes(other.randrange(6)), Clock(other.randrange(DAY)), interval())
        for number in range(10, 10 + ROWS)
    ]  # fmt: skip
    return [*EDGES, *rows]


@pytest.fixture(scope="module")
def tables(cluster: Cluster) -> str:
    """The name of a table that the node and PostgreSQL have, with the same rows."""
    name = cluster.table(COLUMNS)
    values = f"INSERT INTO {name} VALUES ({', '.join(['%b'] * len(NAMES))})"
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("CREATE SCHEMA IF NOT EXISTS formats; SET search_path = formats")
        theirs.execute(f"CREATE TABLE {name} ({COLUMNS})")
        for connection in (ours, theirs):
            with connection.cursor() as cursor, connection.transaction():
                cursor.executemany(values, drawn())
    return name


def answer(connection: "psycopg.Connection[Any]", sql: str, *, binary: bool) -> list[Any]:
    """Types, lengths, formats and raw values."""
    result = connection.cursor(binary=binary).execute(sql).pgresult
    assert result is not None
    described = [(result.ftype(i), result.fsize(i), result.fformat(i), result.fmod(i)) for i in range(result.nfields)]
    return [described, *([result.get_value(r, c) for c in range(result.nfields)] for r in range(result.ntuples))]


QUERIES = {
    "by the engine": "SELECT * FROM {t} ORDER BY id",
    "numbers of fewer bytes": "SELECT r::text AS a, r::float8 AS b, -r AS c, m + m / 2 AS d, m::real AS e, m * 2 AS f,"
    " m::bigint AS g FROM {t} WHERE m BETWEEN -20000 AND 20000 ORDER BY id",
    "texts of a length": "SELECT c, v, c || v AS a, v || v AS b, c::text AS d, v::varchar(2) AS e, c::char(9) AS f,"
    " max(c) OVER () IS NULL AS g, x.w FROM (SELECT id, c, v, c AS w FROM {t}) AS x ORDER BY id",
    "numerics": "SELECT p + q AS a, p * 1.50 AS b, p - 1 AS c, -q AS d, round(q, 2) AS e, p::text AS f, q::float8 AS g,"
    " n::numeric AS h, sum(p) OVER () AS i, max(q) OVER () AS j, p = q AS k, p::numeric(14,4) AS l, p::numeric AS o"
    " FROM {t} WHERE p < 1e8 AND q > -1e30 AND q < 1e30 ORDER BY q, id",
    "documents": "SELECT j -> 0 AS a, o ->> 0 AS b, o -> 0 -> 'a' AS c, o || '[1]' AS d, to_jsonb(p) AS e,"
    " j::jsonb AS f, o::json AS g, jsonb_build_object('n', id, 't', s) AS h, ARRAY[o, '1'] AS i, ARRAY[j] AS k"
    " FROM {t} ORDER BY id",
    "bytes": "SELECT y || '\\x00' AS a, length(y) AS b, md5(y) AS c, encode(y, 'base64') AS d, y::text AS e,"
    " sha256(y) AS f, ARRAY[y, NULL, ''] AS g, y > '\\x80' AS h FROM {t} ORDER BY y, id",
    "times of day": "SELECT tm + iv AS a, tm - iv AS b, tm - '04:05' AS c, d + tm AS e, tm::interval AS f,"
    " tm::text AS g, extract(second FROM tm) AS h, extract(epoch FROM tm) AS i, ts::time AS j, tz::time AS k,"
    " max(tm) OVER () AS l, ARRAY[tm, NULL] AS m, iv::time AS o FROM {t} WHERE id BETWEEN 10 AND 999 ORDER BY tm, id",
    "columns of intervals": "SELECT iv + '1 day' AS a, iv * 2.5 AS b, iv / 3 AS c, -iv AS e, iv::text AS f,"
    " ts + iv AS g, tz - iv AS h, d + iv AS i, extract(epoch FROM iv) AS j, date_trunc('hour', iv) AS k, "
    " justify_interval(iv) AS l, sum(iv) OVER () AS o, max(iv) OVER () AS q, iv > '1 mon' AS r, ARRAY[iv, NULL] AS u"
    " FROM {t} WHERE id BETWEEN 10 AND 999 ORDER BY iv, id",
    "by a key": "SELECT * FROM {t} WHERE id IN (-2147483648, 2147483647, 0, 1, 12, 13)",
    "computed": "SELECT id + 1 AS a, n IS NULL AS b, tz::timestamp AS c, tz::date AS d, ts::timestamptz AS e,"
    " d::timestamptz AS f, tz::text AS g, date_trunc('day', tz) AS h, extract(hour FROM tz)::int AS i FROM {t}"
    " WHERE tz BETWEEN '1900-01-01' AND '2100-01-01' AND ts BETWEEN '1900-01-01' AND '2100-01-01' ORDER BY id",
    "computed for one row": "SELECT tz::timestamp AS c, tz::date AS d, ts::timestamptz AS e, d::timestamptz AS f,"
    " tz::text AS g FROM {t} WHERE id = 14",
    "of literals": "SELECT 'a' AS t, 1 AS i, 2.5::float8 AS f, '3/4/2024'::date AS d,"
    " '2024-07-01 10:00'::timestamptz AS z",
    "precisions": "SELECT ts::timestamp(3) AS a, tz::timestamptz(0) AS b, tm::time(1) AS c, ts::timestamp(6) AS d,"
    " ts::timestamp AS e, coalesce(ts::timestamp(2), ts::timestamp(2)) AS f, coalesce(ts::timestamp(2), ts) AS g,"
    " ARRAY[tm, NULL]::time(0)[] AS h, max(ts::timestamp(1)) OVER () AS i, x.p, x.p::timestamp AS q FROM {t},"
    " (SELECT '2024-01-01 00:00:00.5'::timestamp(0) AS p) AS x WHERE id BETWEEN 10 AND 999 ORDER BY id",
    "intervals": "SELECT interval '1 year 2 months' AS a, interval '-3 days 04:05:06.789' AS b, interval '0' AS c,"
    " interval '-1 month' AS d, interval '-00:00:00.5' AS e, interval '-2 years 1 day -26:00' AS f,"
    " ts - '2024-01-01' AS g"
    " FROM {t} WHERE id > 1 OR id = 0",
    "an interval beside a key": "SELECT interval '24 hours' AS a, interval '1 day' AS b FROM {t} WHERE id = 14",
    "intervals of rows written": "UPDATE {t} SET n = n WHERE id IN (12, 13, 14)"
    " RETURNING ts - '2024-01-01 10:00' AS a, interval '1 mon 1 day' AS b, id",
}


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"])
@pytest.mark.parametrize("query", QUERIES)
def test_results_are_those_of_postgresql(cluster: Cluster, tables: str, query: str, zone: str) -> None:
    sql = QUERIES[query].format(t=tables)
    if query == "by a key":
        sql += " ORDER BY id" if zone == "Europe/Berlin" else ""
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("SET search_path = formats")
        for connection in (ours, theirs):
            connection.execute(f"SET timezone = '{zone}'; SET datestyle = 'ISO, DMY'")
        for binary in (True, False):
            found, expected = answer(ours, sql, binary=binary), answer(theirs, sql, binary=binary)
            assert found[0] == expected[0]
            assert sorted(found[1:], key=repr) == sorted(expected[1:], key=repr)


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("computed", ["d + 1", "d - 1", "ts + interval '1 day'", "tz + interval '2 years'"])
def test_what_is_computed_lies_beyond_the_years_that_a_column_takes(
    cluster: Cluster, tables: str, computed: str, *, binary: bool
) -> None:
    sql = f"SELECT {computed} AS v FROM {tables} ORDER BY id"
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("SET search_path = formats; SET timezone = 'UTC'")
        assert answer(ours, sql, binary=binary) == answer(theirs, sql, binary=binary)


def test_parameters_come_back_in_both_formats(cluster: Cluster) -> None:
    sql = "SELECT " + ", ".join(f"%{{0}}::{column.split()[1]} AS {column.split()[0]}" for column in COLUMNS.split(", "))
    with cluster.connect() as ours, cluster.store() as theirs:
        for connection in (ours, theirs):
            connection.execute("SET timezone = 'Asia/Tokyo'")
        for row in drawn()[:12]:
            for form in ("t", "b"):
                asked = [connection.cursor(binary=True).execute(sql.format(form), row) for connection in (ours, theirs)]
                found, expected = (
                    [cursor.pgresult.get_value(0, i) for i in range(len(NAMES))] for cursor in asked if cursor.pgresult
                )
                assert found == expected


def test_a_result_says_which_columns_of_which_table_it_shows(cluster: Cluster, tables: str) -> None:
    asked = (
        "SELECT id, n IS NULL AS m, s FROM {t}", "SELECT q.x, q.y FROM (SELECT s AS x, n IS NULL AS y FROM {t}) AS q",
        "WITH w AS (SELECT d, u FROM {t}) SELECT w.u FROM w",
        "SELECT a.id, b.tz FROM {t} AS a JOIN {t} AS b ON a.id = b.id",
        "SELECT id FROM {t} UNION SELECT id FROM {t}", "SELECT id, a.b FROM {t} AS a JOIN {t} AS c USING (id)",
        "SELECT max(id) AS id FROM {t}",
    )  # fmt: skip
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("SET search_path = formats")
        (oid,) = theirs.execute("SELECT %s::regclass::oid::int8", [f"formats.{tables}"]).fetchone() or (0,)
        (table,) = ours.execute("SELECT %s::regclass::oid::int8", [tables]).fetchone() or (0,)
        for sql in asked:
            found, expected = (places(connection, sql.format(t=tables)) for connection in (ours, theirs))
            assert [(t and oid if t == table else t, c) for t, c in found] == expected, sql


def places(connection: "psycopg.Connection[Any]", sql: str) -> list[tuple[int, int]]:
    result = connection.execute(sql).pgresult
    assert result is not None
    return [(result.ftable(i), result.ftablecol(i)) for i in range(result.nfields)]
