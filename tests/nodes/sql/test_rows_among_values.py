"""Functions that give rows: those that a list of values does not take name the place that does."""

import pytest

from expressions.analysis.building import Parameters
from expressions.errors import SqlError
from nodes.sql.planner import make_plan
from nodes.sql.statements import parse


@pytest.mark.parametrize("call", ["json_each('{}')", "jsonb_each_text('{}')"])
def test_a_function_that_only_from_takes_says_so(call: str) -> None:
    [statement] = parse(f"SELECT {call}")
    with pytest.raises(SqlError, match=f"function {call.split('(')[0]} among values is not supported") as caught:
        make_plan(statement, {}, Parameters())
    assert caught.value.sqlstate == "0A000"
    assert "it may stand in FROM" in (caught.value.hint or "")
