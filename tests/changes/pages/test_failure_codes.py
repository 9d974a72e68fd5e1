"""The code of a failed change, by what its verification found."""

from dataclasses import replace

import pytest

from catalog.elements import CHECK, FOREIGN_KEY, NOT_NULL, REFERENCED, ColumnId, Constraint, ConstraintId, State
from changes.pages.failure_codes import sqlstate_of
from tests.storage.stage import users

OWN = Constraint(ConstraintId(1), "own", NOT_NULL, columns=(ColumnId(2),), state=State.WRITE_ONLY)
HIGH = Constraint(ConstraintId(2), "high", CHECK, state=State.WRITE_ONLY)
HOME = Constraint(ConstraintId(3), "home", FOREIGN_KEY, columns=(ColumnId(2),), state=State.WRITE_ONLY)
THERE = replace(HOME, id=ConstraintId(4), rule=REFERENCED)
"""The other side of a foreign key, in the same table."""


@pytest.mark.parametrize(
    ("found", "code"),
    [
        pytest.param([("C6", "constraint own")], "23502", id="a NOT NULL that is a constraint on its way"),
        pytest.param([("C6", "column age")], "23502", id="a column that comes with its NOT NULL"),
        pytest.param([("C6", "constraint high")], "23514", id="a CHECK"),
        pytest.param([("C6", "index by_name")], "23505", id="entries that are not unique"),
        pytest.param([("C6", "constraint home")], "23503", id="a foreign key"),
        pytest.param([("C6", "index i"), ("C6", "constraint high"), ("C6", "constraint own")], "23502", id="the first"),
        pytest.param([("C4", "index by_name"), ("C2", "column age")], None, id="our own mistakes are no rule's"),
        pytest.param([], None, id="nothing was found"),
    ],
)
def test_the_code_is_that_of_the_rule_that_rows_break(found: list[tuple[str, str]], code: str | None) -> None:
    table = replace(users(7), constraints=(OWN, HIGH, HOME, THERE))
    assert sqlstate_of([{"clause": clause, "element": element} for clause, element in found], [table]) == code
