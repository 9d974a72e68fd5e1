"""Which SELECTs PostgreSQL answers in place, and what their texts look like."""

from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, State, TableId
from catalog.values.types import SqlType
from expressions.analysis.building import Parameters
from expressions.errors import SqlError
from expressions.typed import Context
from nodes.sql.conditions.access_paths import access
from nodes.sql.pair_queries import Given, rows_sql
from nodes.sql.planner import make_plan
from nodes.sql.plans import SelectPlan
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


def plan_of(text: str) -> tuple[SelectPlan, InPlace | None]:
    [statement] = parse(text)
    plan = make_plan(statement, {"flights": FLIGHTS, "others": OTHERS}, Parameters())
    assert isinstance(plan, SelectPlan)
    return plan, in_place(statement, plan, None)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM flights",
        "SELECT f.dest, avg(delay) FROM public.flights f WHERE id > 7 GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
        "SELECT * FROM flights NATURAL JOIN others",
        "SELECT f.id FROM flights f JOIN others o ON o.id = f.delay WHERE f.id IN (SELECT delay FROM others)",
        "WITH flights AS (SELECT * FROM flights WHERE id < 3) SELECT id FROM flights",
        "SELECT id FROM flights UNION ALL SELECT delay FROM others ORDER BY 1",
        "TABLE flights",
        "SELECT 1 + 1",
        "SELECT row_number() OVER (ORDER BY id), * FROM flights",
        "SELECT f.* FROM flights f FOR UPDATE OF f",
    ],
)
def test_postgresql_answers_it(text: str) -> None:
    _, place = plan_of(text)
    assert place is not None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("SELECT (SELECT max(id) FROM others o WHERE o.delay = f.id) FROM flights f", id="correlated"),
        pytest.param("SELECT 1 FROM flights f WHERE EXISTS (SELECT 1 FROM others WHERE delay = f.id)", id="EXISTS"),
        pytest.param(
            "SELECT (SELECT count(*) FROM others a JOIN others b ON a.id = f.id) FROM flights f", id="correlated in ON"
        ),
        pytest.param("SELECT x.id FROM flights f, LATERAL (SELECT id FROM others WHERE id = f.id) x", id="LATERAL"),
        pytest.param("SELECT count(*) FROM flights WHERE dest = current_user", id="the client's name"),
        pytest.param("SELECT id FROM flights TABLESAMPLE SYSTEM (10)", id="a sample"),
        pytest.param("SELECT count(*) FROM flights WHERE dest = 'now'", id="the time when a text is read"),
        pytest.param("SELECT id FROM flights, now()", id="the time as a table"),
        pytest.param("SELECT relname FROM pg_class JOIN flights ON true", id="the catalog"),
    ],
)
def test_the_node_answers_it(text: str) -> None:
    _, place = plan_of(text)
    assert place is None


def test_places_of_errors_are_those_of_the_client() -> None:
    text = "SELECT 'é'; SELECT id, 1 / (id - id) FROM flights"
    statement = parse(text)[1]
    plan = make_plan(statement, {"flights": FLIGHTS}, Parameters())
    assert isinstance(plan, SelectPlan)
    place = in_place(statement, plan, None)
    assert place is not None
    done = place.filled({0: "SELECT 'a query of the table'"})
    assert done.text == "SELECT id, 1 / (id - id) FROM (SELECT 'a query of the table') AS \"flights\""
    at = done.text.index("1 / (")
    assert text.encode()[place.offset(done, at + 1) :].startswith(b"1 / (")


def test_the_time_of_the_transaction_is_the_clients() -> None:
    _, place = plan_of("SELECT now(), id, CURRENT_DATE - 1 FROM flights WHERE CURRENT_TIMESTAMP(3) > now() + '1 day'")
    assert place is not None
    text = place.filled({0: "..."}, "$1").text
    at = "($1::pg_catalog.timestamptz)::"
    assert text == (
        f'SELECT {at}timestamptz AS "now", id, {at}date - 1 FROM (...) AS "flights"'
        f" WHERE {at}timestamptz(3) > {at}timestamptz + '1 day'"
    )


def sql_of(where: str, values: tuple[object, ...] = ()) -> tuple[str, Given]:
    [statement] = parse(f"SELECT dest, delay FROM flights{where}")
    plan = make_plan(statement, {"flights": FLIGHTS}, Parameters())
    [scan], context = plan.scans, Context(values)  # type: ignore[union-attr, arg-type]
    way = access(FLIGHTS, scan.conditions, context, storages=2, buckets=16)
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


def test_a_column_that_is_not_public_is_named_with_its_state() -> None:
    with pytest.raises(SqlError, match="delete-only in version 14"):
        plan_of("SELECT count(gate) FROM flights")
