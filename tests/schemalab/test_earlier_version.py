"""A database whose migrations this code does not have was made by an earlier version: it is refused, and left alone."""

from collections.abc import Iterator
from dataclasses import dataclass

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import connection

from schemalab.checks import check_earlier_version
from schemalab.connections.reachable import Unusable, check_migrations

pytestmark = pytest.mark.django_db(transaction=True)
SAID = (
    "cannot use this database: an earlier version of Schema Lab made it ({}). Nothing was changed."
    " `make clean` removes the data of this clone; or set DATABASE_URL to an empty database."
)
FIRST = {"storage": "0001_pairs"}
"""First migrations whose names say which layout of the data they begin with."""


@dataclass(frozen=True, slots=True)
class Earlier:
    dsn: str
    said: str


@pytest.fixture(
    params=[
        pytest.param(("catalog", "0001_catalog_and_story"), id="several migrations of each app"),
        pytest.param(("storage", "0001_storages_enter_and_spare_tables"), id="pairs as key and value"),
        pytest.param(("storage", "0001_schema"), id="two digits of a numeric as one number"),
    ]
)
def earlier(dsn: str, request: pytest.FixtureRequest) -> Iterator[Earlier]:
    """Its first migration has the name of that time."""
    app, name = request.param
    first = FIRST.get(app, "0001_schema")
    rename = "UPDATE django_migrations SET name = %s WHERE app = %s AND name = %s"
    with connection.cursor() as cursor:
        cursor.execute(rename, (name, app, first))
        assert cursor.rowcount == 1
    yield Earlier(dsn, SAID.format(f"{app}.{name}"))
    with connection.cursor() as cursor:
        cursor.execute(rename, (first, app, name))


def kept(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as other:
        made = "SELECT relname, xmin::text FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY relname"
        return [*other.execute(made).fetchall(), *other.execute("SELECT * FROM django_migrations").fetchall()]


def test_up_refuses_it_with_one_line(earlier: Earlier) -> None:
    with pytest.raises(Unusable) as refused:
        check_migrations(earlier.dsn)
    assert str(refused.value) == earlier.said
    assert "\n" not in earlier.said


def test_migrate_refuses_it_and_changes_nothing(earlier: Earlier) -> None:
    before = kept(earlier.dsn)
    with pytest.raises((CommandError, SystemCheckError), match="an earlier version of Schema Lab made it"):
        call_command("migrate", verbosity=0, skip_checks=False)
    assert kept(earlier.dsn) == before
    [found] = check_earlier_version(databases=["default"])
    assert (found.id, found.msg) == ("schemalab.E010", earlier.said)


def test_a_database_of_ours_and_an_empty_one_are_welcome(dsn: str) -> None:
    check_migrations(dsn)
    assert check_earlier_version(databases=["default"]) == []
    with psycopg.connect(dsn) as other:
        other.execute("ALTER TABLE django_migrations RENAME TO away")
        other.commit()
        try:
            check_migrations(dsn)
        finally:
            other.execute("ALTER TABLE away RENAME TO django_migrations")
