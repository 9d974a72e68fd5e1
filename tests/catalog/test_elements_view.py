"""A foreign key in words, from both of its tables."""

from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, REFERENCED, RESTRICT, Constraint, ConstraintId
from catalog.text.descriptors import differences, elements
from tests.references import AIRPORTS, TRIP_CODE, TRIP_ID, TRIPS, airports, linked, trips


def test_a_foreign_key_says_where_it_leads_and_where_it_comes_from():
    child, parent = linked(trips(), airports(), on_delete=RESTRICT)
    assert elements(child, {AIRPORTS: parent})[-2]["detail"] == "(code) → airports (code), on delete restrict"
    assert elements(parent, {TRIPS: child})[-2]["detail"] == "(code) ← trips (code), on delete restrict"


def test_a_table_that_is_gone_is_called_by_its_number():
    child, _ = linked(trips(), airports())
    assert differences(trips(), child) == [
        {"sign": "+", "element": "foreign key", "name": f"trips_code_fkey (code) → table {AIRPORTS}", "what": "public"}
    ]
    assert elements(child)[-2]["detail"] == f"(code) → table {AIRPORTS}"


def test_each_side_leads_to_the_other_table():
    child, parent = linked(trips(), airports(), on_delete=RESTRICT)
    leads = elements(child, {AIRPORTS: parent})[-2]["other"]
    assert leads == {
        "table_id": AIRPORTS,
        "name": "airports",
        "before": "(code) → ",
        "after": " (code), on delete restrict",
    }
    assert elements(parent, {TRIPS: child})[-2]["other"]["name"] == "trips"
    assert {one["element"] for one in (elements(child)[-2], elements(parent)[-2])} == {"foreign key"}
    assert elements(child)[-2]["other"] is None


def test_a_table_that_refers_to_itself_does_not_lead_anywhere_else():
    alone = boss_of(trips())
    here, there = elements(alone, {TRIPS: alone})[-3:-1]
    assert (here["other"], there["other"]) == (None, None)
    assert (here["detail"], there["detail"]) == ("(code) → trips (id)", "(id) ← trips (code)")


def boss_of(table: Descriptor) -> Descriptor:
    """The next version of a table whose code refers to its own id."""
    own = Constraint(
        ConstraintId(1), "boss", FOREIGN_KEY, (TRIP_CODE,), references=TRIPS, reference_columns=(TRIP_ID,), partner=2
    )
    other = replace(own, id=ConstraintId(2), rule=REFERENCED, columns=(TRIP_ID,), reference_columns=(TRIP_CODE,))
    return replace(table, version=2, constraints=(own, replace(other, partner=ConstraintId(1))))
