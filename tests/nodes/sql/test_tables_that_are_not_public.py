"""L13: why a table cannot be used is said in one wording, by nodes and in the lab."""

from dataclasses import replace

import postgast
import pytest

from catalog.elements import State
from expressions.errors import SqlError
from leases.rules import NotLeasable, check_leasable
from nodes.sql.uses import followed
from tests.nodes.sql.test_access_paths import TABLE


@pytest.mark.parametrize("state", [State.DELETE_ONLY, State.WRITE_ONLY, State.ABSENT], ids=lambda state: state.value)
def test_a_table_that_is_not_public_is_refused_in_the_words_of_the_rule(state: State) -> None:
    select = postgast.parse("SELECT 1 FROM flights").stmts[0].stmt.select_stmt
    with pytest.raises(NotLeasable) as rule:
        check_leasable("flights", state)
    with pytest.raises(SqlError) as said:
        followed(select, {"flights": replace(TABLE, state=state)}, {})
    assert said.value.message == str(rule.value)
    assert said.value.message.startswith(f"table flights is {state.value}: ")
    assert said.value.hint == "it is so in version 3; statements may name it while it is public"
