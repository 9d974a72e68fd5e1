"""A foreign key in words, from both of its tables."""

from catalog.elements import RESTRICT
from catalog.elements_view import differences, elements
from tests.references import AIRPORTS, TRIPS, airports, linked, trips


def test_a_foreign_key_says_where_it_leads_and_where_it_comes_from():
    child, parent = linked(trips(), airports(), on_delete=RESTRICT)
    assert (
        elements(child, {AIRPORTS: parent})[-2]["detail"] == "foreign key: (code) → airports (code), on delete restrict"
    )
    assert elements(parent, {TRIPS: child})[-2]["detail"] == "referenced: (code) ← trips (code), on delete restrict"


def test_a_table_that_is_gone_is_called_by_its_number():
    child, _ = linked(trips(), airports())
    assert differences(trips(), child) == [
        {"sign": "+", "element": "constraint", "name": "trips_code_fkey", "what": "public"}
    ]
    assert elements(child)[-2]["detail"] == f"foreign key: (code) → table {AIRPORTS}"
