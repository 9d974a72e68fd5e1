"""DROP of several, and with CASCADE: which statements, in which order, and what is refused before any of them."""

import re

import pytest

from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView
from changes.ddl.statements import read_drop
from changes.planning.drops import Drops, drops_of
from tests.changes.referring import Tables, done, linked

CIRCLE = done(
    (
        "CREATE TABLE a (id int PRIMARY KEY, b int)",
        "CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a)",
        "ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b",
        'CREATE TABLE "C c" (id int PRIMARY KEY, n int UNIQUE, self int REFERENCES "C c", a int REFERENCES a)',
    )
)


def drops(sql: str, tables: Tables | None = None) -> Drops:
    """With names bare that need no quotes."""
    found = drops_of(read_drop(sql), CatalogView(linked() if tables is None else tables))
    return Drops(tuple(re.sub(r'"([a-z_]+)"', r"\1", one) for one in found.statements), found.notices)


@pytest.mark.parametrize(
    "sql", ["DROP TABLE airports, trips", "DROP TABLE trips, airports", "DROP TABLE trips, airports, trips CASCADE"]
)
def test_what_refers_goes_first(sql: str) -> None:
    assert drops(sql) == Drops(("DROP TABLE trips", "DROP TABLE airports"), ())


def test_cascade_takes_foreign_keys_of_tables_that_stay() -> None:
    assert drops("DROP TABLE airports CASCADE") == Drops(
        (
            "ALTER TABLE trips DROP CONSTRAINT trips_code_fkey",
            "ALTER TABLE trips DROP CONSTRAINT in_city",
            "DROP TABLE airports",
        ),
        (
            "drop cascades to constraint trips_code_fkey on table trips",
            "drop cascades to constraint in_city on table trips",
        ),
    )


def test_a_circle_is_opened() -> None:
    assert drops('DROP TABLE "C c", a, b', CIRCLE).statements == (
        'DROP TABLE "C c"',
        "ALTER TABLE b DROP CONSTRAINT b_a_fkey",
        "DROP TABLE a",
        "DROP TABLE b",
    )


def test_what_is_not_there_may_be_forgiven() -> None:
    found = drops("DROP TABLE IF EXISTS nowhere, trips, noway")
    assert found.statements == ("DROP TABLE trips",)
    assert found.notices == ('table "nowhere" does not exist, skipping', 'table "noway" does not exist, skipping')


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("DROP TABLE trips, |nowhere", "42P01"),
        ("DROP TABLE |airports, nothing", "42P01"),
        ("DROP TABLE by_city, trips", "42809"),
        ("DROP INDEX by_city_of, by_city", "2BP01"),
        ("DROP INDEX by_city_of, trips", "42809"),
    ],
)
def test_one_refusal_refuses_all(sql: str, sqlstate: str) -> None:
    with pytest.raises(DdlError) as refused:
        drops(sql.replace("|", ""))
    assert refused.value.sqlstate == sqlstate


def test_without_cascade_what_others_refer_to_stays() -> None:
    with pytest.raises(DdlError, match="other objects depend on it") as refused:
        drops("DROP TABLE a, b", CIRCLE)
    assert refused.value.sqlstate == "2BP01"


def test_indexes_go_one_after_the_other() -> None:
    two = done(("CREATE INDEX other ON trips (n)",), linked())
    assert drops("DROP INDEX other, by_city_of", two).statements == ("DROP INDEX other", "DROP INDEX by_city_of")
