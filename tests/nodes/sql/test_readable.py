"""Which SELECTs PostgreSQL answers in place, and what their texts look like."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, State, TableId
from catalog.values.types import SqlType
from expressions.errors import SqlError
from expressions.typed import Context
from nodes.catalog_queries.compiled import Facts
from nodes.sql.conditions.access_paths import access
from nodes.sql.naming import NO_VIEWS, ViewInUse
from nodes.sql.pair_queries import Given, rows_sql
from nodes.sql.readable import InPlace, in_place
from nodes.sql.statements import parse
from storage import encoding

BY_DEST = Index(IndexId(1), "by_dest", (IndexColumn(ColumnId(2)),), state=State.PUBLIC)
FLIGHTS = Descriptor(
    table_id=TableId(7),
    name="flights",
    version=14,
    columns=(
        Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True),
        Column(ColumnId(2), "dest", SqlType.TEXT),
        Column(ColumnId(3), "gate", SqlType.TEXT, State.DELETE_ONLY),
        Column(ColumnId(4), "delay", SqlType.INTEGER, fill_value=encoding.encode(SqlType.INTEGER, 5)),
    ),
    primary_key=(ColumnId(1),),
    indexes=(BY_DEST,),
)
OTHERS = replace(FLIGHTS, table_id=TableId(8), name="others")


TABLES = {"flights": FLIGHTS, "others": OTHERS}
FACTS = Facts(
    "ann",
    "schemalab",
    "owner",
    "PostgreSQL 18",
    42,
    True,
    {"TimeZone": "UTC"}.__getitem__,
    lambda _, to: to or "",
    list,
)


def placed(text: str, views: Mapping[str, ViewInUse] = NO_VIEWS) -> InPlace:
    [statement] = parse(text)
    return in_place(statement, TABLES, views, None, facts=FACTS)


def text_of(text: str) -> str:
    place = placed(text)
    return place.filled({use.scan.number: f"q{use.scan.number}" for use in place.uses}, "$1").text


@pytest.mark.parametrize(("text", "there"), [
    ("WITH flights AS (SELECT * FROM flights WHERE id < 3) SELECT id FROM flights",
        'WITH flights AS (SELECT * FROM (q0) AS "flights" WHERE id < 3) SELECT id FROM flights'),
    ("TABLE flights", 'SELECT * FROM (q0) AS "flights"'),
    ("SELECT f.* FROM flights f FOR UPDATE OF f", "SELECT f.* FROM (q0) f "),
    ("SELECT count(*) FROM flights WHERE dest = current_user",
        'SELECT count(*) FROM (q0) AS "flights" WHERE dest = (SELECT \'ann\'::pg_catalog.name AS "current_user")'),
    ("SELECT n.now FROM flights, now() n",
        'SELECT n.now FROM (q0) AS "flights", (SELECT ($1::pg_catalog.timestamptz)::timestamptz AS "n") n'),
    ("SELECT pg_is_in_recovery()", "SELECT (SELECT false AS pg_is_in_recovery)"),
    ("SELECT age(d)", "SELECT age(($1::pg_catalog.timestamptz)::pg_catalog.date, d)"),
    ("COPY flights (id) TO STDOUT", 'SELECT "id" FROM (q0) AS "flights"'),
    ("COPY (SELECT 1 FROM flights) TO STDOUT", 'SELECT 1 FROM (q0) AS "flights"'),
])  # fmt: skip
def test_tables_and_values_of_the_session_are_replaced_where_they_stand(text: str, there: str) -> None:
    assert text_of(text) == there


def test_a_text_with_values_of_a_session_is_that_sessions() -> None:
    assert placed("SELECT version()").is_of_session
    assert not placed("SELECT now()").is_of_session


@pytest.mark.parametrize(("text", "why"), [
    ("SELECT id FROM flights TABLESAMPLE SYSTEM (10)", "TABLESAMPLE"),
    ("SELECT nextval('s') FROM flights", "nextval"),
    ("SELECT inet_server_addr()", "inet_server_addr"),
])  # fmt: skip
def test_what_is_of_no_rows_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(SqlError, match=why):
        placed(text)


def test_places_of_errors_are_those_of_the_client() -> None:
    text = "SELECT 'é'; SELECT id, 1 / (id - id) FROM flights"
    statement = parse(text)[1]
    place = in_place(statement, {"flights": FLIGHTS}, {}, None)
    done = place.filled({0: "SELECT 'a query of the table'"})
    assert done.text == "SELECT id, 1 / (id - id) FROM (SELECT 'a query of the table') AS \"flights\""
    at = done.text.index("1 / (")
    assert text.encode()[place.offset(done, at + 1) :].startswith(b"1 / (")


def test_the_time_of_the_transaction_is_the_clients() -> None:
    text = text_of("SELECT now(), id, CURRENT_DATE - 1 FROM flights WHERE CURRENT_TIMESTAMP(3) > now() + '1 day'")
    at = "($1::pg_catalog.timestamptz)::"
    assert text == (
        f'SELECT {at}timestamptz AS "now", id, {at}date - 1 FROM (q0) AS "flights"'
        f" WHERE {at}timestamptz(3) > {at}timestamptz + '1 day'"
    )


def sql_of(where: str, values: tuple[object, ...] = ()) -> tuple[str, Given]:
    [use] = placed(f"SELECT dest, delay FROM flights{where}").uses
    way = access(FLIGHTS, use.scan.conditions, Context(values), storages=2, buckets=16)  # type: ignore[arg-type]
    given = Given(1)
    columns = {name: FLIGHTS.column_named(name) for name in ("dest", "delay")}
    return rows_sql(FLIGHTS, columns, way, None, given), given


def test_only_pairs_of_the_columns_named_are_read_and_a_missing_one_has_its_fill_value() -> None:
    sql, given = sql_of("")
    assert sql.count("c IN (0, 2, 4) GROUP BY") == 2
    assert f"coalesce(any_value(v) FILTER (WHERE c = 4), '\\x{FLIGHTS.columns[3].fill_value.hex()}'" in sql  # type: ignore[union-attr]
    assert "pair_views.t7_v14_s1" in sql
    assert "pair_views.t7_v14_s2" in sql
    assert given.values == []


def test_a_range_of_keys_is_a_parameter() -> None:
    sql, given = sql_of(" WHERE id > 7")
    assert "k >= $1 AND k < $2" in sql
    assert given.values[0] == bytes.fromhex("00010000") + encoding.encode(SqlType.BIGINT, 8)


def test_rows_that_entries_name_are_read_by_key() -> None:
    sql, given = sql_of(" WHERE dest = 'BOS'")
    assert sql.count("k = ANY (ARRAY(SELECT") == 2
    assert "pair_views.t7_v14_s2_i1 WHERE k >= $1 AND k < $2" in sql
    assert given.values[0] == bytes.fromhex("00010001") + encoding.encode(SqlType.TEXT, "BOS")


def test_a_condition_that_no_row_meets_reads_nothing() -> None:
    sql, given = sql_of(" WHERE id = NULL")
    assert "WHERE false" in sql
    assert given.values == []
