"""Undo of changes of foreign keys: in words, and that the tables are as before."""

import pytest

from catalog.elements import State
from changes.plan.undo import add_foreign_key, create_table, undo_of
from changes.planning.tables import KnownTables
from changes.review.check import find_faults
from tests.changes.referring import EVERY_KIND, KINDS, PLANS, after, linked, named, planned

A, W, P = State.ABSENT, State.WRITE_ONLY, State.PUBLIC


@EVERY_KIND
def test_the_undo_of_every_kind_can_be_planned(name: str) -> None:
    plan = PLANS[name]
    left = after(plan, KINDS[name][2]())
    assert find_faults(planned(undo_of(plan).statement, left)) == []


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("to the primary key", 'ALTER TABLE "trips" DROP CONSTRAINT "trips_code_fkey"'),
        ("a column that refers", 'ALTER TABLE "trips" DROP COLUMN "dest"'),
        (
            "dropped",
            'ALTER TABLE "trips" ADD CONSTRAINT "trips_code_fkey" FOREIGN KEY ("code") REFERENCES "airports" ("code")',
        ),
        (
            "its column dropped",
            'ALTER TABLE "trips" ADD COLUMN "city" text, ADD CONSTRAINT "in_city" FOREIGN KEY ("city") '
            'REFERENCES "airports" ("city") ON DELETE RESTRICT',
        ),
        ("renamed", 'ALTER TABLE "trips" RENAME CONSTRAINT "there" TO "in_city"'),
        ("dropped with its index", 'ALTER TABLE "trips" ADD CONSTRAINT "one_n" UNIQUE ("n")'),
    ],
)
def test_the_undo_in_words(name: str, statement: str) -> None:
    assert undo_of(PLANS[name]).statement == statement


@pytest.mark.parametrize(
    "name",
    [
        "dropped with its index",
        "dropped behind its index",
        "dropped with what it refers to",
        "both its columns dropped",
        "both dropped, what it refers to first",
    ],
)
def test_what_is_undone_afterwards_makes_the_table_as_it_was(name: str) -> None:
    """A foreign key that went with its index comes back when the index is there."""
    plan = PLANS[name]
    undo, tables = undo_of(plan), after(plan, linked())
    for statement in (undo.statement, *undo.warning.partition("afterwards: ")[2].split("; ")):
        tables = after(planned(statement, tables), tables)
    left, there = named("trips", tables), named("trips", linked())
    assert {one.name for one in left.foreign_keys} == {one.name for one in there.foreign_keys}
    assert {one.name for one in left.indexes} == {one.name for one in there.indexes}


def test_the_undo_says_what_the_other_table_is_called_today() -> None:
    plan = PLANS["dropped"]
    renamed = after(planned("ALTER TABLE airports RENAME TO places", after(plan, linked())), linked())
    assert 'REFERENCES "places" ("code")' in undo_of(plan, KnownTables(renamed)).statement


def test_a_dropped_tables_foreign_keys_are_statements_of_their_own() -> None:
    plan = PLANS["its table dropped"]
    undo = undo_of(plan)
    assert "FOREIGN" not in undo.statement
    assert "Its indexes and foreign keys are statements of their own: CREATE" in undo.warning
    assert 'ALTER TABLE "trips" ADD CONSTRAINT "trips_boss_fkey" FOREIGN KEY ("boss") REFERENCES "trips" ("id")' in (
        undo.warning
    )
    tables = after(planned(undo.statement, after(plan, linked())[:1]), after(plan, linked())[:1])
    for statement in undo.warning.partition("their own: ")[2].split("; "):
        tables = after(planned(statement, tables), tables)
    assert {one.name for one in named("trips", tables).foreign_keys} == {
        one.name for one in named("trips", linked()).foreign_keys
    }


def test_a_table_in_words_leaves_out_what_refers_and_is_referred_to() -> None:
    trips, airports = named("trips", linked()), named("airports", linked())
    assert "REFERENCES" not in create_table(trips) + create_table(airports)
    said = [f"ALTER TABLE trips {add_foreign_key(trips, one, airports)}" for one in trips.foreign_keys[:2]]
    again = planned("ALTER TABLE trips DROP CONSTRAINT in_city, DROP CONSTRAINT trips_code_fkey", linked())
    tables = after(again, linked())
    for statement in said:
        tables = after(planned(statement, tables), tables)
    assert named("trips", tables).foreign_keys[-1].on_delete == "restrict"
