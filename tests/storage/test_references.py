"""Foreign keys over pairs: where a referenced row is found, what a statement takes away, and C6."""

import pytest

from catalog.descriptor import from_json
from catalog.elements import RESTRICT, State
from catalog.types import SqlType
from storage import encoding
from storage.clauses import Referenced, check
from storage.mutations import insert_row
from storage.pairs import StoredRow, row_key
from storage.references import lost, place_of, refers_to
from tests.references import CITY, NAME, TRIP_CITY, TRIP_CODE, airports, linked, trips

BUCKETS = 8


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
        "C6: row id = 2 with (code) = ('XXX') breaks constraint trips_code_fkey: there is no airports with"
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


@pytest.mark.parametrize(("how", "gone"), [({}, set()), ({"on_update": RESTRICT}, {(text("Paris"),)})])
def test_values_that_another_row_takes_over(how, gone):
    """NO ACTION looks at what is there in the end; RESTRICT at each row."""
    _, parent = linked(trips(), airports(), column=TRIP_CITY, to=CITY, **how)
    changed = [
        (airport("A", "Paris"), airport("A", "Rome")),
        (airport("B", "Oslo"), airport("B", "Paris")),
    ]
    assert lost(parent, parent.referenced_by[0], changed) == {(text("Oslo"),)} | gone


def test_deleted_and_untouched_rows():
    _, parent = linked(trips(), airports())
    changed = [(airport("A"), None), (airport("B", "Oslo"), airport("B", "Rome"))]
    assert lost(parent, parent.referenced_by[0], changed) == {(text("A"),)}


def test_both_sides_survive_json():
    for table in linked(trips(), airports(), column=TRIP_CITY, to=CITY, on_delete=RESTRICT):
        assert from_json(table.to_json()) == table


def test_a_constraint_is_found_by_name_in_its_own_table_only():
    child, parent = linked(trips(), airports())
    assert child.constraint_named("trips_code_fkey").references == parent.table_id
    with pytest.raises(LookupError):
        parent.constraint_named("trips_code_fkey")
