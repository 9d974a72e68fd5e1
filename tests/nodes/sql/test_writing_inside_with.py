"""Statements that write inside WITH: how much of them is planned, and which queries beside them are refused."""

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.types import SqlType
from catalog.view_definition import ViewColumn, ViewDefinition
from expressions.analysis.building import Parameters
from expressions.errors import SqlError
from nodes.sql.naming import ViewInUse
from nodes.sql.planner import make_plan
from nodes.sql.statements import parse
from nodes.sql.writes.questions import Described

ID = Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True)
TABLES = {
    f"t{i}": Descriptor(table_id=TableId(800 + i), name=f"t{i}", version=1, columns=(ID,), primary_key=(ID.id,))
    for i in range(20)
}
CHANCE = ViewInUse(ViewDefinition(1, "chance", 1, "SELECT random() AS r", (ViewColumn("r", 701, -1),)))
OVER_CHANCE = ViewInUse(
    ViewDefinition(2, "over_chance", 1, "SELECT r FROM chance", (ViewColumn("r", 701, -1),)), views={"chance": CHANCE}
)

ANSWERS = [Described((), ())] * 30


def refusal(sql: str) -> SqlError:
    (statement,) = parse(sql)
    with pytest.raises(SqlError) as caught:
        make_plan(
            statement, TABLES, Parameters(), views={"chance": CHANCE, "over_chance": OVER_CHANCE}, answers=ANSWERS
        )
    return caught.value


def test_queries_that_each_part_is_planned_with_are_counted() -> None:
    """200 queries and 200 statements were planned 40,000 times, which held the event loop for seconds."""
    queries = ", ".join(f"s{i} AS (SELECT id FROM t1)" for i in range(15))
    parts = ", ".join(f"d{i} AS (DELETE FROM t{i} RETURNING id)" for i in range(20))
    assert refusal(f"WITH {queries}, {parts} SELECT 1").sqlstate == "54001"


def test_a_table_that_is_written_again_is_refused_before_what_follows_is_planned() -> None:
    error = refusal("WITH a AS (DELETE FROM t1), b AS (DELETE FROM t1), c AS (DELETE FROM nowhere) SELECT 1")
    assert error.message == "writing t1 twice in one statement is not supported"


@pytest.mark.parametrize("view", ["chance", "over_chance"])
def test_a_view_that_has_another_value_each_time_is_refused(view: str) -> None:
    """It was worked out anew for each part: what one part took for chosen was not what the next one did."""
    error = refusal(f"WITH x AS (SELECT r FROM {view}), d AS (DELETE FROM t1 USING x WHERE x.r < 1) SELECT * FROM x")
    assert error.sqlstate == "0A000"
    assert error.message.startswith("random() in a query of WITH")


def test_a_sample_is_refused_beside_statements_that_write() -> None:
    """Worked out for each part it would have other rows each time."""
    sample = "x AS (SELECT id FROM t2 TABLESAMPLE BERNOULLI (50))"
    error = refusal(f"WITH {sample}, d AS (DELETE FROM t1 USING x WHERE t1.id = x.id) SELECT * FROM x")
    assert error.message == "TABLESAMPLE in a query of WITH beside statements that write is not supported"
