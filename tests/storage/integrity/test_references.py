"""Foreign keys over pairs: where a referenced row is found, what a statement owes, and C6."""

from dataclasses import replace

import pytest

from catalog.descriptor import from_json
from catalog.elements import NO_ACTION, REFERENCED, RESTRICT, Constraint, ConstraintId, State
from catalog.values.types import SqlType
from storage import encoding
from storage.integrity.clauses import Referenced, check
from storage.integrity.references import Unmet, demands, place_of, refers_still, refers_to, why_unmet
from storage.mutations import insert_row
from storage.pairs import StoredRow, row_key
from tests.references import CITY, NAME, TRIP_CITY, TRIP_CODE, TRIP_ID, airports, linked, trips

BUCKETS = 8
REFERRED = Constraint(ConstraintId(9), "stops_trip_fkey", REFERENCED, (TRIP_ID,), state=State.PUBLIC)
"""Another table refers to trips."""


def text(value: str | None) -> bytes:
    return encoding.encode(SqlType.TEXT, value)


def airport(code: str, city: str | None = None) -> StoredRow:
    return StoredRow(row_key(airports(), [code]), {NAME: text(None), CITY: text(city)})


def trip(number: int, code: str | None, city: str | None = None) -> StoredRow:
    return StoredRow(row_key(trips(), [number]), {TRIP_CODE: text(code), TRIP_CITY: text(city)})


def pairs_of(descriptor, rows):
    ops = [op for row in rows for op in insert_row(descriptor, row, BUCKETS)]
    return {op.key: op.value for op in ops}


def violations(rows, there, state=State.PUBLIC, **how):
    child, parent = linked(trips(), airports(), state, **how)
    referenced = Referenced(parent, [pairs_of(parent, there)])
    return check(child, [pairs_of(child, rows)], buckets=BUCKETS, referenced=[referenced])


def test_c6_a_row_that_refers_to_nothing():
    [broken] = violations([trip(1, "LAX"), trip(2, "XXX"), trip(3, None)], [airport("LAX")])
    assert str(broken) == (
        "C6: row id = 2 with (code) = ('XXX') breaks constraint trips_code_fkey: no row of airports has"
        " (code) = ('XXX')"
    )


def test_a_foreign_key_that_is_not_public_is_not_relied_on():
    assert violations([trip(2, "XXX")], [], State.WRITE_ONLY) == []


def test_a_foreign_key_to_a_unique_index():
    rows = [trip(1, None, "Paris"), trip(2, None, "Rome")]
    [broken] = violations(rows, [airport("CDG", "Paris")], column=TRIP_CITY, to=CITY)
    assert "row id = 2" in broken.why


def test_a_key_is_found_where_its_row_lies():
    child, parent = linked(trips(), airports())
    values = refers_to(child, child.foreign_keys[0], trip(1, "LAX"))
    place = place_of(parent, child.foreign_keys[0], values, BUCKETS)
    ops = {op.key: op.bucket for op in insert_row(parent, airport("LAX"), BUCKETS)}
    assert ops[place.key] == place.bucket


def demands_of(descriptor, changed):
    """What the rows ask for, in the words of a test: the row concerned, what is wanted, and the values."""
    return [
        (demand.row, "a row with" if demand.wants_row else "none that refers to", *demand.values)
        for demand in demands(descriptor, changed)
    ]


THERE, NOBODY = "a row with", "none that refers to"


@pytest.mark.parametrize(("before", "after", "asks"), [
    pytest.param(None, trip(1, "LAX"), [(0, THERE, text("LAX"))], id="a new row"),
    pytest.param(None, trip(1, None), [], id="a new row that refers to nothing"),
    pytest.param(trip(1, "LAX"), trip(1, "CDG"), [(0, THERE, text("CDG"))], id="another value"),
    pytest.param(trip(1, None), trip(1, "CDG"), [(0, THERE, text("CDG"))], id="a value at last"),
    pytest.param(trip(1, "LAX"), trip(1, "LAX", "Paris"), [], id="another column"),
    pytest.param(trip(1, "LAX"), trip(2, "LAX"), [], id="another key"),
    pytest.param(trip(1, "LAX"), trip(1, None), [], id="nothing any more"),
    pytest.param(trip(1, "LAX"), None, [], id="deleted"),
])  # fmt: skip
def test_what_a_changed_row_of_the_child_asks(before, after, asks):
    """As PostgreSQL does: a row that refers to what it referred to before is not asked again."""
    child, _ = linked(trips(), airports())
    assert demands_of(child, [(before, after)]) == asks


def test_equal_values_are_asked_once_and_of_the_first_row_that_has_them():
    child, _ = linked(trips(), airports())
    changed = [(trip(1, "LAX"), trip(1, "LAX")), (None, trip(2, "LAX")), (None, trip(3, "CDG")), (None, trip(4, "LAX"))]
    assert demands_of(child, changed) == [(1, THERE, text("LAX")), (2, THERE, text("CDG"))]


@pytest.mark.parametrize("state", [State.WRITE_ONLY, State.PUBLIC])
def test_both_tables_make_demands_from_write_only_on(state):
    child, parent = linked(trips(), airports(), state)
    assert demands_of(child, [(None, trip(1, "LAX"))]) == [(0, THERE, text("LAX"))]
    assert demands_of(parent, [(airport("LAX"), None)]) == [(0, NOBODY, text("LAX"))]


def test_of_one_row_what_refers_to_it_is_named_first():
    """As PostgreSQL's triggers fire: row by row, the table that is referred to before the one that refers."""
    child, other = linked(trips(), airports())
    both = replace(child, constraints=(*child.constraints, replace(REFERRED, references=other.table_id)))
    changed = [(trip(1, "LAX"), trip(2, "CDG")), (trip(3, "CDG"), trip(4, "LAX"))]
    assert [(row, what) for row, what, _ in demands_of(both, changed)] == [
        (0, NOBODY),
        (0, THERE),
        (1, NOBODY),
        (1, THERE),
    ]
    only_child = demands(both, changed, both.foreign_keys)
    assert [demand.wants_row for demand in only_child] == [True, True]


@pytest.mark.parametrize(("how", "gone"), [({}, []), ({"on_update": RESTRICT}, [(0, NOBODY, text("Paris"))])])
@pytest.mark.parametrize("taker", [airport("B", "Oslo"), None], ids=["an old row", "a new row"])
def test_values_that_another_row_takes_over(how, gone, taker):
    """NO ACTION looks at what is there in the end; RESTRICT at each row."""
    _, parent = linked(trips(), airports(), column=TRIP_CITY, to=CITY, **how)
    changed = [(airport("A", "Paris"), airport("A", "Rome")), (taker, airport("B", "Paris"))]
    assert demands_of(parent, changed) == gone + ([(1, NOBODY, text("Oslo"))] if taker else [])


def test_deleted_and_untouched_rows():
    _, parent = linked(trips(), airports())
    changed = [(airport("A"), None), (airport("B", "Oslo"), airport("B", "Rome"))]
    assert demands_of(parent, changed) == [(0, NOBODY, text("A"))]


@pytest.mark.parametrize(("after", "how"), [(None, RESTRICT), (airport("B"), NO_ACTION)])
def test_a_loss_says_which_action_it_falls_under(after, how):
    _, parent = linked(trips(), airports(), on_delete=RESTRICT)
    assert [demand.how for demand in demands(parent, [(airport("A"), after)])] == [how]


def test_who_still_refers_to_what_was_lost():
    child, parent = linked(trips(), airports())
    (demand,) = demands(parent, [(airport("LAX"), None)])
    rows = [trip(1, "LAX"), trip(2, "CDG"), trip(3, None)]
    assert [refers_still(child, demand, row) for row in rows] == [True, False, False]


def test_a_demand_is_met_by_a_pair_or_by_nobody():
    child, parent = linked(trips(), airports())
    (asks,), lost = demands(child, [(None, trip(1, "LAX"))]), demands(parent, [(airport("LAX"), None)])[0]
    at = place_of(parent, asks.constraint, asks.values, BUCKETS)
    assert why_unmet(asks, parent, has=lambda place: place == at, rows=list, buckets=BUCKETS) is None
    assert why_unmet(asks, parent, has=lambda _: False, rows=list, buckets=BUCKETS) == Unmet()
    others = [trip(1, "CDG"), trip(2, None)]
    assert why_unmet(lost, child, has=lambda _: False, rows=lambda: others) is None
    assert why_unmet(lost, child, has=lambda _: False, rows=lambda: [*others, trip(3, "LAX")]) == Unmet(trip(3, "LAX"))


def test_each_side_mirrors_the_other():
    child, parent = linked(trips(), airports(), column=TRIP_CITY, to=CITY, on_delete=RESTRICT)
    (refers,), (referred,) = child.foreign_keys, parent.referenced_by
    assert refers.mirrored(child.table_id) == referred
    assert referred.mirrored(parent.table_id) == refers


def test_both_sides_survive_json():
    for table in linked(trips(), airports(), column=TRIP_CITY, to=CITY, on_delete=RESTRICT):
        assert from_json(table.to_json()) == table
