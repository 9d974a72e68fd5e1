"""STORAGE_COUNT and BUCKET_COUNT say where rows lie: changed on data there is, they would silently lose rows."""

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from schemalab.celery import refuse_another_layout
from schemalab.checks import check_layout as system_check
from schemalab.connections.reachable import Unusable, check_layout
from storage.postgres import kv, layout_mistake, take_spare_table

pytestmark = pytest.mark.django_db(transaction=True)

CHANGED = pytest.mark.parametrize(
    ("changed", "said"),
    [
        pytest.param(
            {"STORAGE_COUNT": 3},
            "STORAGE_COUNT=3, but the rows of this database were laid out with STORAGE_COUNT=2 and would not be"
            " found: set STORAGE_COUNT=2, or begin with an empty database",
            id="storages",
        ),
        pytest.param(
            {"BUCKET_COUNT": 16},
            "BUCKET_COUNT=16, but the rows of this database were laid out with BUCKET_COUNT=3000 and would not be"
            " found: set BUCKET_COUNT=3000, or begin with an empty database",
            id="buckets",
        ),
    ],
)


@CHANGED
def test_up_nodes_and_workers_refuse_to_start_on_another_layout(
    settings: Settings, dsn: str, changed: dict[str, int], said: str
) -> None:
    for name, value in changed.items():
        setattr(settings, name, value)
    with pytest.raises(Unusable) as of_up:
        check_layout(dsn)
    with pytest.raises(CommandError) as of_node:
        call_command("node", "n9")
    with pytest.raises(SystemExit) as of_worker:
        refuse_another_layout()
    assert [str(of_up.value), str(of_node.value), str(of_worker.value)] == [said] * 3
    [found] = system_check(databases=["default"])
    assert (found.id, f"{found.msg}: ") == ("schemalab.E008", said[: len(found.msg) + 2])
    assert found.hint is not None
    assert found.hint.startswith("Set ")


def test_the_settings_the_data_was_made_with_are_welcome(dsn: str) -> None:
    check_layout(dsn)
    refuse_another_layout()
    assert system_check(databases=["default"]) == []


def test_a_database_without_storages_is_welcome(dsn: str) -> None:
    """The migrations make them, with the settings of that moment."""
    with psycopg.connect(dsn) as empty:
        empty.execute("DROP TABLE storage_layout")
        assert layout_mistake(empty.cursor(), storages=3, buckets=16) is None
        empty.rollback()


def test_the_layout_is_written_when_the_storages_are_made_and_goes_with_them() -> None:
    call_command("migrate", "storage", "zero", verbosity=0)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT to_regclass('storage_layout')")
            assert cursor.fetchone() == (None,)
    finally:
        call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT storages, buckets FROM storage_layout")
        assert cursor.fetchall() == [(2, 3000)]


def test_a_pair_table_has_k_c_and_v(dsn: str) -> None:
    """Every storage's: k and c are the key, and only v may be NULL, which is a tombstone."""
    columns = (
        "SELECT attname, atttypid::regtype::text, attnotnull FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum"
    )
    key = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'p'"
    with psycopg.connect(dsn) as made:
        table_id = take_spare_table(made.cursor())
        for storage in (1, 2):
            name = [kv(storage, table_id)]
            assert made.execute(columns, name).fetchall() == [
                ("k", "bytea", True), ("c", "smallint", True), ("v", "bytea", False),
            ]  # fmt: skip
            assert made.execute(key, name).fetchall() == [("PRIMARY KEY (k, c)",)]
        made.rollback()
