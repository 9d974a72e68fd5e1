"""A database whose migrations this code does not have was made by an earlier version: it is refused, and left alone."""

from collections.abc import Iterator

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import connection

from schemalab.checks import check_earlier_version
from schemalab.connections.reachable import Unusable, check_migrations

pytestmark = pytest.mark.django_db(transaction=True)
SAID = (
    "cannot use this database: an earlier version of Schema Lab made it (catalog.0001_catalog_and_story). Nothing was"
    " changed. `make clean` removes the data of this clone; or set DATABASE_URL to an empty database."
)


@pytest.fixture
def earlier(dsn: str) -> Iterator[str]:
    """Its first migration has the name of before the migrations of each app became one."""
    rename = "UPDATE django_migrations SET name = %s WHERE app = 'catalog' AND name = %s"
    names = ("0001_catalog_and_story", "0001_schema")
    with connection.cursor() as cursor:
        cursor.execute(rename, names)
        assert cursor.rowcount == 1
    yield dsn
    with connection.cursor() as cursor:
        cursor.execute(rename, names[::-1])


def kept(dsn: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as other:
        made = "SELECT relname, xmin::text FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY relname"
        return [*other.execute(made).fetchall(), *other.execute("SELECT * FROM django_migrations").fetchall()]


def test_up_refuses_it_with_one_line(earlier: str) -> None:
    with pytest.raises(Unusable) as refused:
        check_migrations(earlier)
    assert str(refused.value) == SAID
    assert "\n" not in SAID


def test_migrate_refuses_it_and_changes_nothing(earlier: str) -> None:
    before = kept(earlier)
    with pytest.raises((CommandError, SystemCheckError), match="an earlier version of Schema Lab made it"):
        call_command("migrate", verbosity=0, skip_checks=False)
    assert kept(earlier) == before
    [found] = check_earlier_version(databases=["default"])
    assert (found.id, found.msg) == ("schemalab.E010", SAID)


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
