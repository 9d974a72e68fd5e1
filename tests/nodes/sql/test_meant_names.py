"""A name that nothing bears is refused with the one that was probably meant."""

import postgast
import pytest

from nodes.settings.known import unrecognized
from nodes.sql.uses import followed
from tests.nodes.sql.test_access_paths import TABLE


@pytest.mark.parametrize(("sql", "hint"), [
    pytest.param("SELECT orign FROM flights", 'Perhaps you meant to reference the column "flights.origin".',
        id="a column, in PostgreSQL's words"),
    pytest.param("SELECT f.dely FROM flights AS f", 'Perhaps you meant to reference the column "f.delay".',
        id="a column of one relation"),
    pytest.param("SELECT (SELECT max(orign) FROM (SELECT 1 AS one) AS x) FROM flights",
        'Perhaps you meant to reference the column "flights.origin".', id="a column of the query around it"),
    pytest.param("SELECT nothing FROM flights", None, id="no column is like it"),
])  # fmt: skip
def test_a_misspelt_name_has_a_hint(sql: str, hint: str | None) -> None:
    [refusal] = followed(postgast.parse(sql).stmts[0].stmt.select_stmt, {"flights": TABLE}, {}).refusals.values()
    assert refusal.hint == hint


def test_a_misspelt_setting_has_a_hint() -> None:
    assert unrecognized("serach_path").hint == 'Perhaps you meant the parameter "search_path".'
    assert unrecognized("nothing").hint is None
