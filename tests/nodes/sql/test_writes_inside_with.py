"""Statements inside WITH that are refused by name, before anything is done."""

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.types import SqlType
from expressions.analysis.building import Parameters
from expressions.errors import SqlError
from nodes.sql.planner import make_plan
from nodes.sql.statements import parse
from nodes.sql.writes.questions import Described
from nodes.wire.messages import Field

TABLE = Descriptor(TableId(7), "t", 1, (Column(ColumnId(1), "id", SqlType.INTEGER),), (ColumnId(1),))
OIDS, IDS = [Field("array", 1028)], [Field("id", 23)]


@pytest.mark.parametrize(("sql", "shown"), [
    pytest.param("WITH x AS (DELETE FROM t RETURNING ARRAY[id::oid]) SELECT * FROM x", OIDS, id="an array of oids"),
    pytest.param("WITH x AS (DELETE FROM t RETURNING id) INSERT INTO t SELECT id FROM x", IDS, id="one table twice"),
    pytest.param("WITH x AS (DELETE FROM t), r AS (SELECT random()) SELECT * FROM r", [], id="chance"),
    pytest.param("WITH RECURSIVE x AS (DELETE FROM t RETURNING id) SELECT * FROM x", [], id="recursive"),
    pytest.param("SELECT * FROM (WITH x AS (DELETE FROM t RETURNING id) SELECT * FROM x) y", [], id="inside a query"),
])  # fmt: skip
def test_it_is_refused_by_name(sql: str, shown: list[Field]) -> None:
    [statement] = parse(sql)
    with pytest.raises(SqlError) as refused:
        make_plan(statement, {"t": TABLE}, Parameters(), answers=[Described((), ()), Described((), shown)])
    assert refused.value.sqlstate == "0A000"
