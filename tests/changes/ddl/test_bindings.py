"""L12: what the names in a statement stand for is settled once, when it is submitted."""

import pytest

from changes.ddl.bindings import AsNamed, Names, names_from_json, names_in
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse
from tests.changes.referring import named, unlinked


@pytest.mark.parametrize(
    ("statement", "tables", "uniques"),
    [
        pytest.param("ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports", {"airports"}, (), id="a table"),
        pytest.param(
            "ALTER TABLE trips ADD a text REFERENCES airports, ADD FOREIGN KEY (boss) REFERENCES trips",
            {"airports", "trips"},
            (),
            id="two, one of them itself",
        ),
        pytest.param(
            "ALTER TABLE trips ADD IF NOT EXISTS n bigint REFERENCES nowhere, ADD a int",
            set(),
            (),
            id="a name of nothing",
        ),
        pytest.param(
            "ALTER TABLE trips ADD UNIQUE (city), ADD a text UNIQUE, ADD CONSTRAINT k UNIQUE (code)",
            set(),
            ("trips_city_key", "trips_a_key", "k"),
            id="unique constraints in the statement's order",
        ),
        pytest.param("ALTER TABLE trips RENAME TO runs", set(), (), id="a statement of one table"),
    ],
)
def test_l12_what_a_statement_names(statement: str, tables: set[str], uniques: tuple[str, ...]) -> None:
    view = CatalogView(unlinked())
    found = names_in(resolve(parse(statement), view), view)
    assert found == Names({name: named(name, unlinked()).table_id for name in tables}, uniques)
    assert names_from_json(found.to_json()) == found


def test_l12_a_name_finds_the_table_it_was_given_and_no_other() -> None:
    airports, trips = named("airports", unlinked()), named("trips", unlinked())
    tables = AsNamed(CatalogView(unlinked()), Names({"ports": airports.table_id, "gone": 999}, ()))
    assert tables.named("ports") == airports
    assert tables.named("gone") is None
    assert tables.named("trips") is None
    assert tables.numbered(trips.table_id) == trips
