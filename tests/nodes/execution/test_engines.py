"""The two engines agree: what Python computes for a row is what DuckDB computes for it.

Every simple expression here is analysed once and computed twice. Rows come from hypothesis, so the
corners of each type (limits, NaN, NULL, the empty string) meet every operator.
"""

import datetime as dt
import re
import uuid
from decimal import Decimal
from typing import Any

import duckdb
import postgast
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.intervals import DAY, Interval
from catalog.values.numerics import read
from catalog.values.times import of_micros
from catalog.values.types import SqlType
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.scopes import Relation, Scan, Scope
from expressions.errors import SqlError
from expressions.sqltypes import BPCHAR, INT2, INT4, INT8, OF_SQL_TYPE, Type
from expressions.typed import Context, evaluate, is_simple, render, render_value, value_text
from expressions.values import texts
from nodes.execution.engine.duckdb_engine import as_written, values
from nodes.execution.engine.engine_functions import register
from nodes.execution.engine.refusals import translated
from tests.rounds import drawn, some_of

COLUMNS = {
    "i": SqlType.INTEGER, "j": SqlType.INTEGER, "big": SqlType.BIGINT, "f": SqlType.DOUBLE, "g": SqlType.DOUBLE,
    "t": SqlType.TEXT, "b": SqlType.BOOLEAN, "d": SqlType.DATE, "ts": SqlType.TIMESTAMP, "tz": SqlType.TIMESTAMPTZ,
    "u": SqlType.UUID, "s": SqlType.SMALLINT, "w": SqlType.SMALLINT, "r": SqlType.REAL, "q": SqlType.REAL,
    "v": SqlType.VARCHAR, "c": SqlType.CHAR, "n": SqlType.NUMERIC, "m": SqlType.NUMERIC,
    "y": SqlType.BYTEA, "z": SqlType.BYTEA, "tm": SqlType.TIME, "o": SqlType.TIME, "iv": SqlType.INTERVAL,
    "k": SqlType.INTERVAL,
}  # fmt: skip
TABLE = Descriptor(
    TableId(1),
    "x",
    1,
    tuple(Column(ColumnId(n), name, of) for n, (name, of) in enumerate(COLUMNS.items(), 1)),
    (ColumnId(1),),
)
MOMENTS = st.datetimes(dt.datetime.fromisoformat("0001-01-02"), dt.datetime.fromisoformat("9999-12-30"))
HALVES = [0, 5, 50, 55, 500, 5000, 49_995, 50_000, 500_000, 999_950, 999_999]
"""Microseconds that are rounded to one side or the other."""
MOMENTS |= st.builds(lambda moment, micros: moment.replace(microsecond=micros), MOMENTS, st.sampled_from(HALVES))
LATE_MOMENTS = [dt.datetime.fromisoformat("9999-12-31 23:59:59").replace(microsecond=micros) for micros in HALVES]
VALUES: dict[SqlType, st.SearchStrategy[Any]] = {
    SqlType.INTEGER: st.one_of(st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31)]), st.integers(-(2**31), 2**31 - 1)),
    SqlType.SMALLINT: st.one_of(st.sampled_from([0, 1, -1, 2**15 - 1, -(2**15)]), st.integers(-(2**15), 2**15 - 1)),
    SqlType.REAL: st.one_of(
        st.sampled_from([0.0, -0.0, 2.0**127, 1e6, 0.5, float("nan"), float("inf")]), st.floats(width=32)
    ),
    SqlType.BIGINT: st.one_of(st.sampled_from([0, 2**63 - 1, -(2**63)]), st.integers(-(2**63), 2**63 - 1)),
    SqlType.DOUBLE: st.one_of(st.sampled_from([0.0, -0.0, 1e308, 0.5, 2.5, float("nan"), float("inf")]), st.floats()),
    SqlType.TEXT: st.one_of(
        st.sampled_from(["", "1", " 7 ", "x'y", "t", "2020-01-01"]),
        st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    ),
    SqlType.VARCHAR: st.one_of(
        st.sampled_from(["", "1", "ab  ", "abcd"]), st.text(st.characters(codec="utf-8", exclude_characters="\0"))
    ),
    SqlType.CHAR: st.sampled_from(["", "1", "ab", "abcd", "ä"]),
    SqlType.NUMERIC: st.one_of(
        st.sampled_from(["0", "0.00", "1", "1.0", "-1.5", "2.5", "1e25", "1e-20", "NaN", "inf", "-inf"]).map(read),
        st.decimals(-1000, 1000, places=3),
        st.integers(-(10**25), 10**25).map(Decimal),
    ),
    SqlType.BOOLEAN: st.booleans(),
    SqlType.DATE: st.dates(dt.date(1, 1, 2), dt.date(9999, 12, 30)),
    SqlType.TIMESTAMP: MOMENTS,
    SqlType.TIMESTAMPTZ: MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC)),
    SqlType.UUID: st.uuids(),
    SqlType.BYTEA: st.binary(max_size=5) | st.sampled_from([b"", b"\0", b"a\0b", b"\xff", "aé".encode()]),
    SqlType.TIME: st.sampled_from([0, 1, DAY, DAY // 2, DAY - 5, DAY - 50, *HALVES]).map(of_micros)
    | st.integers(0, DAY).map(of_micros),
    SqlType.INTERVAL: st.builds(
        Interval,
        st.integers(-30, 30),
        st.integers(-70, 70),
        st.integers(-(10**12), 10**12) | st.sampled_from([0, DAY, -DAY]),
    )
    | st.sampled_from([Interval(2**31 - 1, 0, 0), Interval(0, 0, -(2**63))]),
}


def rows_for(text: str) -> st.SearchStrategy[dict[str, Any]]:
    """Rows of the columns that an expression names; the others are NULL."""
    named = set(re.findall(r"\b[a-z]+\b", text))
    return st.fixed_dictionaries({
        name: st.none() | VALUES[of] if name in named else st.none() for name, of in COLUMNS.items()
    })  # fmt: skip


EXPRESSIONS = [
    *(
        f"{of}::{name}({digits})"
        for of, name in (("ts", "timestamp"), ("tz", "timestamptz"), ("tm", "time"))
        for digits in range(7)
    ),
    "ts::timestamp(3)::timestamp(0)",
    "ts::timestamptz(1)",
    "tz::timestamp(2)",
    "tz::time(1)",
    "d::timestamp(0)",
    "ts::timestamp(1) = ts::timestamp",
    *(f"{a} {sign} {b}" for a, b in (("tm", "o"), ("iv", "k")) for sign in ("=", "<>", "<", "<=", ">", ">=", "-")),
    *(
        f"extract({part} from iv)"
        for part in ("epoch", "second", "ms", "microseconds", "hour", "day", "month", "quarter")
    ),
    *(f"extract({part} from iv)" for part in ("year", "century", "week", "fortnight")),
    *(f"extract({part} from tm)" for part in ("epoch", "second", "minutes", "hour", "day", "fortnight")),
    *(f"date_part('{part}', {of})" for part in ("second", "epoch") for of in ("iv", "tm")),
    *(
        f"date_trunc('{part}', iv)"
        for part in ("millennium", "year", "quarter", "month", "day", "minute", "second", "ms")
    ),
    *(f"justify_{word}(iv)" for word in ("hours", "days", "interval")),
    *(f"{of}::text" for of in ("tm", "iv")),
    *(f"t::{of}" for of in ("time", "interval")),
    "iv + k",
    "-iv",
    "iv * f",
    "f * iv",
    "iv * 2",
    "iv / f",
    "iv / 3",
    "iv IN ('1 mon', k)",
    "iv IS DISTINCT FROM k",
    "coalesce(iv, k)",
    "greatest(iv, k, '1 day')",
    "nullif(iv, k)",
    "tm + iv",
    "iv + tm",
    "tm - iv",
    "d + tm",
    "tm + d",
    "tm::interval",
    "iv::time",
    "ts::time",
    "tz::time",
    "tm IN ('24:00', o)",
    "least(tm, o)",
    "tm BETWEEN '00:00' AND o",
    "make_time(i, j, f)",
    "make_time(3, 4, f)",
    "make_interval(s, w, s, i, w, s, f)",
    "pg_input_is_valid(t, 'interval')",
    "pg_input_is_valid(t, 'time')",
    "ts - '2020-01-01 10:00'",
    "interval '2' day + iv",
    "iv::interval hour to minute",
    *(f"y {sign} z" for sign in ("=", "<>", "<", "<=", ">", ">=", "||")),
    *(f"{name}(y)" for name in ("length", "octet_length", "bit_length", "bit_count", "md5", "sha224", "sha512")),
    *(f"encode(y, '{form}')" for form in ("hex", "base64", "escape", "no form")),
    *(f"decode(t, '{form}')" for form in ("hex", "base64", "escape")),
    *(f"{name}(y, z)" for name in ("btrim", "ltrim", "rtrim")),
    "y::text",
    "t::bytea",
    "y = '\\x00'",
    "y || 'a'",
    "y IN ('', z)",
    "y IS DISTINCT FROM z",
    "coalesce(y, z, 'none')",
    "greatest(y, z)",
    "substring(y from 2)",
    "substring(y from i for j)",
    "position(z in y)",
    "position(v in t)",
    "strpos(t, v)",
    "strpos(t, 'x')",
    "get_byte(y, i)",
    "get_byte(y, 0)",
    "set_byte(y, 1, i)",
    "get_bit(y, 9)",
    "set_bit(y, 0, i)",
    "convert_from(y, 'UTF8')",
    "convert_to(t, 'utf-8')",
    "pg_input_is_valid(t, 'bytea')",
    *(f"n {sign} m" for sign in ("+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=")),
    *(f"{name}(n)" for name in ("abs", "round", "trunc", "ceil", "floor", "sign", "scale", "min_scale", "trim_scale")),
    *(
        f"n::{of}"
        for of in ("text", "float8", "real", "smallint", "integer", "bigint", "numeric(6,2)", "numeric(3,-1)")
    ),
    *(f"{name}::numeric" for name in ("i", "s", "big", "f", "r", "t")),
    "-n",
    "@ n",
    "n + i",
    "n * 1.50",
    "n / 3",
    "n + big",
    "n + f",
    "n * r",
    "n = i",
    "n < f",
    "i / 3.0",
    "i % 2.5",
    "round(n, 2)",
    "round(n, i)",
    "trunc(n, -1)",
    "div(n, m)",
    "mod(n, 2)",
    "f::numeric(10, 3)",
    "n IN (1, 2.50, m)",
    "n IN (0.0, NULL)",
    "n BETWEEN 0 AND 10.5",
    "n IS DISTINCT FROM m",
    "nullif(n, 0)",
    "nullif(i, 1.0)",
    "nullif(n, m)",
    "coalesce(n, i, 0)",
    "greatest(n, m, 1.0)",
    "least(n, 0)",
    "CASE n WHEN 0 THEN 'none' ELSE n::text END",
    "0.1 + 0.2 = 0.3",
    "i + 0.1 = 1.1",
    "n || 'x'",
    "pg_input_is_valid(t, 'numeric')",
    "i + j",
    "i - j",
    "i * j",
    "i / j",
    "i % j",
    "-i",
    "@ i",
    "i & j",
    "i | j",
    "i # j",
    "~i",
    "abs(i)",
    "mod(i, j)",
    "big + i",
    "big - 1",
    "big * 2",
    "big / i",
    "big % i",
    "-big",
    "i + 1 + j * 2",
    "f + g",
    "f - g",
    "f * g",
    "f / g",
    "-f",
    "abs(f)",
    "f + i",
    "i * f",
    "i = j",
    "i <> j",
    "i < big",
    "f < g",
    "f = g",
    "f >= g",
    "t < 'm'",
    "t = '1'",
    "b < true",
    "d < '2020-01-01'",
    "ts >= d",
    "tz > ts",
    "u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
    "u < u",
    "s + w",
    "s - w",
    "s * w",
    "s / w",
    "s % w",
    "-s",
    "@ s",
    "~s",
    "s + i",
    "big - s",
    "s * 2",
    "s = w",
    "s < i",
    "s = big",
    "abs(s)",
    "mod(s, w)",
    "s::integer",
    "s::bigint",
    "s::real",
    "s::text",
    "i::smallint",
    "big::smallint",
    "f::smallint",
    "r::smallint",
    "t::smallint",
    "s IN (1, 2)",
    "greatest(s, i)",
    "v = t",
    "v = 'ab  '",
    "v = c",
    "c = 'ab  '",
    "c < t",
    "c || v",
    "length(c)",
    "v::varchar(2)",
    "v::char(3)",
    "t::char(2)",
    "i::varchar(3)",
    "c::varchar",
    "v::integer",
    "v LIKE 'a%'",
    "upper(v)",
    "coalesce(v, t)",
    "coalesce(c, 'x ')",
    "c IN ('ab ', '1')",
    "c::char(2)",
    "(c || ' x')::char(3)",
    "t::char(2)",
    "v::char(3)",
    "nullif(v, '1')",
    "c IS DISTINCT FROM 'ab   '",
    "r + q",
    "r - q",
    "r * q",
    "r / q",
    "-r",
    "@ r",
    "r + f",
    "f * r",
    "r + i",
    "r < q",
    "r = f",
    "r = 0.1",
    "r > f",
    "r = s",
    "r::float8",
    "f::real",
    "i::real",
    "big::real",
    "r::integer",
    "r::bigint",
    "r::text",
    "t::real",
    "abs(r)",
    "r IS DISTINCT FROM q",
    "coalesce(r, q, 0)",
    "least(r, f)",
    "nullif(r, q)",
    "i = f",
    "big = f",
    "i IS NULL",
    "i IS NOT NULL",
    "b IS TRUE",
    "b IS NOT FALSE",
    "b IS UNKNOWN",
    "b AND i > 0",
    "b OR i > 0",
    "NOT b",
    "b AND NULL",
    "b OR NULL",
    "i IN (1, 2, j)",
    "i NOT IN (1, NULL)",
    "t IN ('a', '')",
    "i BETWEEN 0 AND j",
    "i IS DISTINCT FROM j",
    "f IS DISTINCT FROM g",
    "coalesce(i, j, 0)",
    "coalesce(t, 'none')",
    "nullif(i, j)",
    "nullif(f, g)",
    "greatest(i, j, 0)",
    "least(f, g)",
    "greatest(t, 'm')",
    "CASE WHEN i > 0 THEN 'plus' WHEN i < 0 THEN 'minus' ELSE t END",
    "CASE i WHEN 1 THEN f ELSE g END",
    "t || 'x'",
    "t || t",
    "t LIKE '%1%'",
    "t NOT LIKE '_'",
    "t LIKE 'x\\_%'",
    "upper(t)",
    "lower(t)",
    "btrim(t)",
    "ltrim(t)",
    "rtrim(t, '1 ')",
    "trim(both '2' from t)",
    "left(t, 2)",
    "left(t, -1)",
    "left(t, i)",
    "right(t, 2)",
    "right(t, -1)",
    "right(t, 0)",
    "substr(t, 2)",
    "substr(t, i)",
    "substr(t, -1, 3)",
    "substring(t from i for 2)",
    "replace(t, '0', 'x')",
    "replace(t, '', 'x')",
    "length(t)",
    "octet_length(t)",
    "starts_with(t, '2')",
    "i::bigint",
    "i::float8",
    "big::integer",
    "big::float8",
    "f::integer",
    "f::bigint",
    "b::integer",
    "i::boolean",
    "d::timestamp",
    "d::timestamptz",
    "ts::date",
    "ts::timestamptz",
    "tz::timestamp",
    "tz::date",
    "d - '2000-01-01'",
    "i::text",
    "big::text",
    "b::text",
    "f::text",
    "d::text",
    "ts::text",
    "tz::text",
    "u::text",
    "t::text",
    "t::integer",
    "t::boolean",
    "pg_input_is_valid(t, 'integer')",
    "pg_input_is_valid(t, 'boolean')",
    "pg_input_is_valid(big::text, 'int4')",
    "pg_input_is_valid(t, 'no type')",
]

ENGINE = duckdb.connect(":memory:", config={"threads": 1})
ENGINE.execute("SET timezone = 'UTC'")
register(ENGINE)


@pytest.mark.drawn
@pytest.mark.parametrize("text", some_of(EXPRESSIONS, 3))
def test_both_engines_agree(text: str) -> None:
    scan = Scan(0, TABLE)
    tree = postgast.parse(f"SELECT {text}").stmts[0].stmt.select_stmt.target_list[0].res_target.val
    analyzer = Analyzer({})
    expr = analyzer.known(analyzer.expr(tree, Scope(None, [Relation(0, "x", scan=scan)])))
    assert is_simple(expr), f"{text} needs the engine: it does not belong here"

    @drawn(few=10, many=200)
    @given(row=rows_for(text))
    def agree(row: dict[str, Any]) -> None:
        by_id = {column.id: row[column.name] for column in TABLE.columns}
        found = here(expr, by_id)
        assert found == there(expr, row), text
        assert expr.type is not BPCHAR or found[1] is None or not found[1].endswith(b" "), text

    agree()


@pytest.mark.parametrize(
    "value",
    [1073421568109919.5, -1000000000000000.1, 1e15, -3e15, 1234567890123456.0, 1000000000000000.2, 9999999999999998.0],
)
def test_a_large_double_keeps_all_its_digits_as_a_text(value: float) -> None:
    scan = Scan(0, TABLE)
    tree = postgast.parse("SELECT f::text").stmts[0].stmt.select_stmt.target_list[0].res_target.val
    analyzer = Analyzer({})
    expr = analyzer.known(analyzer.expr(tree, Scope(None, [Relation(0, "x", scan=scan)])))
    row = dict.fromkeys(COLUMNS) | {"f": value}
    kind, text = there(expr, row)
    assert (kind, float(text)) == ("value", value)
    assert here(expr, {column.id: row[column.name] for column in TABLE.columns}) == (kind, text)


def read_there(expr: Any, row: dict[str, Any]) -> tuple[str, Any]:
    """What the engine computes, or how it is refused where it is read."""
    try:
        return there(expr, row)
    except SqlError as error:
        return "error", error.sqlstate


def here(expr: Any, row: dict[Any, Any]) -> tuple[str, Any]:
    try:
        return "value", value_text(expr.type, evaluate(expr, row, Context()))
    except SqlError as error:
        return "error", error.sqlstate


def there(expr: Any, row: dict[str, Any]) -> tuple[str, Any]:
    columns = ", ".join(
        f"{render_value(row[column.name], OF_SQL_TYPE[column.type])} AS c{column.id}" for column in TABLE.columns
    )
    try:
        reader = (
            ENGINE.cursor()
            .sql(f"SELECT {render(expr, Context())} AS o0 FROM (SELECT {columns}) AS r0")
            .to_arrow_reader(10)
        )
        (value,) = values(reader.read_next_batch().column(0), expr.type)
    except duckdb.Error as error:
        return "error", translated(error).sqlstate
    return "value", value_text(expr.type, value)


@pytest.mark.parametrize("moment", LATE_MOMENTS, ids=str)
@pytest.mark.parametrize("digits", range(7))
def test_a_precision_rounds_nothing_into_the_year_10000(moment: dt.datetime, digits: int) -> None:
    for name, of, value in (("ts", "timestamp", moment), ("tz", "timestamptz", moment.replace(tzinfo=dt.UTC))):
        scan = Scan(0, TABLE)
        tree = postgast.parse(f"SELECT {name}::{of}({digits})").stmts[0].stmt.select_stmt.target_list[0].res_target.val
        expr = Analyzer({}).expr(tree, Scope(None, [Relation(0, "x", scan=scan)]))
        row = dict.fromkeys(COLUMNS) | {name: value}
        found = here(expr, {column.id: row[column.name] for column in TABLE.columns})
        assert read_there(expr, row) == found


def test_a_value_is_rendered_as_a_constant_whatever_it_holds() -> None:
    for value, of in (("x'; DROP TABLE y; --", SqlType.TEXT), (uuid.UUID(int=5), SqlType.UUID), (-5, SqlType.INTEGER)):
        reader = ENGINE.cursor().sql(f"SELECT {render_value(value, OF_SQL_TYPE[of])} AS o0").to_arrow_reader(1)
        assert values(reader.read_next_batch().column(0), OF_SQL_TYPE[of]) == [value]


@pytest.mark.parametrize(("of", "least"), [(INT2, -(2**15)), (INT4, -(2**31)), (INT8, -(2**63))], ids=str)
def test_a_number_that_its_type_has_not_is_refused_though_the_engine_makes_it(of: Type, least: int) -> None:
    """`- constant` is of a wider type to the engine: no client may get it as a number of this one."""
    (column,) = ENGINE.cursor().sql(f"SELECT - CAST('{least}' AS {of.duck}) AS o0").to_arrow_table().columns
    for taken in (values, lambda column, of: as_written(column, of, str.encode, is_text=True)):
        with pytest.raises(SqlError) as refused:
            taken(column.chunk(0), of)
        assert refused.value.sqlstate == "22003"


def test_case_is_the_engines_for_every_character() -> None:
    characters = [chr(code) for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]
    rows = ENGINE.cursor().execute("SELECT c, upper(c), lower(c) FROM (SELECT unnest(?) AS c)", [characters]).fetchall()
    assert [c for c, up, down in rows if (texts.upper(c), texts.lower(c)) != (up, down)] == []
