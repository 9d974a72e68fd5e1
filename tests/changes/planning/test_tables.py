"""Whoever stands in for the tables of a plan has all that a planner asks them."""

import pytest

from changes.ddl.bindings import AsNamed, Names
from changes.ddl.resolve import CatalogView
from changes.planning.tables import NO_TABLES, KnownTables, Tables

ASKED = sorted(name for name in vars(Tables) if not name.startswith("_"))


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize(
    "tables", [KnownTables(), CatalogView(()), AsNamed(NO_TABLES, Names({}, ()))], ids=lambda one: type(one).__name__
)
def test_tables_have_all_that_a_planner_asks(tables: Tables, name: str) -> None:
    assert hasattr(tables, name)
