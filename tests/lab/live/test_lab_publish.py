"""The one door past L7 and the fence: for sandboxes only, whoever tries, and the only one there is."""

import json
import re
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import DatabaseError, connection

from catalog.elements import State
from catalog.models import StoryEvent, Table
from catalog.selectors import descriptor_at
from catalog.services import control_transaction
from changes import services
from changes.driver.publish import close_last_but_one, drain, publish
from changes.models import Change, Status
from lab.live import sandbox
from lab.live.publish import NotPublished, lab_publish
from storage import postgres as store
from tests.changes.driven import drive
from tests.lab.live.boxes import box, newest, ordinary, with_index

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
ROOT = Path(__file__).parents[3]
PRODUCT = ("catalog", "changes", "expressions", "lab", "leases", "nodes", "schemalab", "spark_tasks", "storage")


def call(table_id: int, body: object, *, who: str = "ann") -> str:
    """The SQLSTATE with which the function itself refuses."""
    with pytest.raises(DatabaseError) as refused, connection.cursor() as cursor:
        cursor.execute("SELECT lab_publish(%s, %s, %s, 'x', 'x', 'test')", [table_id, who, json.dumps(body)])
    cause = refused.value.__cause__
    assert isinstance(cause, psycopg.Error)
    return cause.sqlstate or ""


def test_it_publishes_what_the_rules_would_not() -> None:
    """An index in one jump, then a third version while the first is in use; the fence stays where it was."""
    table = box("ann")
    one = with_index(table)
    lab_publish(one, who="ann", what="by_a is public")
    assert descriptor_at(one.table_id, one.version) == one
    with connection.cursor() as cursor:
        before = store.fence(cursor, settings.STORAGE_COUNT, table.table_id)
        cursor.execute("SELECT pg_advisory_lock_shared(%s, %s)", [table.table_id, table.version])  # in use
    two = replace(one, version=one.version + 1)
    other = psycopg.connect(**_parameters(), autocommit=True)
    with other, other.cursor() as cur, other.transaction():
        blocked = publish(cur, [two], storages=settings.STORAGE_COUNT)
        assert blocked is not None
        assert blocked.hindrance.locked == (table.version,)
    lab_publish(two, who="ann", what="a third version")
    with connection.cursor() as cursor:
        assert store.fence(cursor, settings.STORAGE_COUNT, table.table_id) == before
        cursor.execute("SELECT pg_advisory_unlock_shared(%s, %s)", [table.table_id, table.version])
        for storage in range(1, settings.STORAGE_COUNT + 1):
            cursor.execute(f"SELECT max(version) FROM storage_{storage}.versions WHERE table_id = %s", [table.table_id])
            assert cursor.fetchone() == (two.version,)
    told = StoryEvent.objects.filter(kind="version published by the lab", stream=f"table:{table.table_id}")
    assert [event.payload["version"] for event in told] == [one.version, two.version]


def _parameters() -> dict[str, object]:
    parameters = connection.get_connection_params()
    return {name: parameters[name] for name in ("dbname", "user", "host", "port") if name in parameters}


# --- every other way


def test_l9_a_drain_after_it_waits_for_who_runs_under_a_version_long_past() -> None:
    """Only neighbours meet where every publish obeys L7; here two lie between, and the fence is past them."""
    table = box("ann")
    for past in (1, 2):
        lab_publish(replace(table, version=table.version + past), who="ann", what="a version")
    new = replace(table, version=table.version + 3)
    other = psycopg.connect(**_parameters(), autocommit=True)
    with other, other.cursor() as cur, connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock_shared(%s, %s)", [table.table_id, table.version])  # in use
        with other.transaction():
            assert publish(cur, [new], storages=settings.STORAGE_COUNT) is None
            close_last_but_one(cur, [new], storages=settings.STORAGE_COUNT)
        with other.transaction():
            blocked = drain(cur, {new.table_id: new.version}, storages=settings.STORAGE_COUNT)
            assert blocked is not None
            assert blocked.hindrance.locked == (table.version,)
        cursor.execute("SELECT pg_advisory_unlock_shared(%s, %s)", [table.table_id, table.version])
        with other.transaction():
            assert drain(cur, {new.table_id: new.version}, storages=settings.STORAGE_COUNT) is None


def test_a_table_without_the_mark_is_refused() -> None:
    table = ordinary()
    with pytest.raises(NotPublished, match="table users is no sandbox: its versions are published by the rules"):
        lab_publish(with_index(table), who="ann", what="")
    assert newest(table.table_id) == table
    assert call(table.table_id, with_index(table).to_json()) == "SL201"
    assert call(table.table_id + 1000, with_index(table).to_json()) == "SL201"


def test_the_mark_cannot_be_given_for_it() -> None:
    """Neither before the call nor in its transaction."""
    table = ordinary()
    marked = f"UPDATE catalog_table SET sandbox_of = 'ann' WHERE id = {table.table_id}"
    published = f"SELECT lab_publish({table.table_id}, 'ann', '{{}}', 'x', 'x', '')"
    with control_transaction() as cursor, pytest.raises(DatabaseError, match="never changes"):
        cursor.execute(f"{marked}; {published}")
    assert newest(table.table_id) == table


def test_another_persons_sandbox_is_refused() -> None:
    table = box("ann")
    assert call(table.table_id, with_index(table).to_json(), who="bo") == "SL201"


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"version": 9}, id="a gap between versions"),
        pytest.param({"version": None}, id="no version"),
        pytest.param({"table_id": 1}, id="another table's version"),
        pytest.param({"name": "other"}, id="a table renamed"),
        pytest.param({"state": "absent"}, id="a table dropped"),
    ],
)
def test_only_the_next_version_of_the_same_table(wrong: dict[str, object]) -> None:
    table = box("ann")
    assert call(table.table_id, with_index(table).to_json() | wrong) == "SL203"
    assert newest(table.table_id) == table


def test_a_foreign_key_is_refused_here_too() -> None:
    table, other = box("ann"), ordinary()
    key = {"id": 1, "name": "away", "rule": "foreign key", "columns": [2], "references": other.table_id}
    assert call(table.table_id, with_index(table).to_json() | {"constraints": [key]}) == "SL202"


def test_a_change_on_its_way_is_not_overtaken() -> None:
    """While the executor moves the sandbox, by the rules, nobody else publishes (X1)."""
    table = box("ann")
    change = services.submit(f"CREATE INDEX by_a ON {table.name} (a)", who="ann")
    Change.objects.filter(pk=change.pk).update(status="waiting")
    with pytest.raises(NotPublished, match=f"a change moves sandbox {table.name}"):
        lab_publish(with_index(table), who="ann", what="")


def test_a_dropped_sandbox_is_refused() -> None:
    table = box("ann")
    assert drive(sandbox.drop(table.name, who="ann")) == Status.DONE
    gone = newest(table.table_id)
    assert gone.state is State.ABSENT
    assert call(table.table_id, replace(table, version=gone.version + 1).to_json()) == "SL203"


def test_a_sandbox_with_an_index_half_way_is_dropped() -> None:
    """What the lab has left behind stands in nobody's way, the timetable's least of all."""
    table = box("ann")
    lab_publish(with_index(table, State.DELETE_ONLY), who="ann", what="")
    assert drive(sandbox.drop(table.name, who="ann")) == Status.DONE
    assert Table.objects.get(pk=table.table_id).state == "dropped"
    assert not Change.objects.filter(status="failed").exists()


# --- the only one


def sources_with(pattern: str) -> set[str]:
    files = [path for name in PRODUCT for path in (ROOT / name).rglob("*") if path.suffix in (".py", ".sql")]
    return {str(path.relative_to(ROOT)) for path in files if re.search(pattern, path.read_text(encoding="utf-8"))}


def test_versions_are_written_in_three_places_only() -> None:
    """By the rules (L7), by the transaction that makes the table (T9), and by the lab's function."""
    assert sources_with(r"INSERT INTO catalog_descriptor\b") == {
        "changes/driver/publish.py",
        "changes/planning/table_in_transaction.py",
        "lab/migrations/lab_publish.sql",
    }
    assert sources_with(r"\bDescriptor\.objects\.(create|bulk_create|update|get_or_create)\b") == set()


def test_the_function_is_called_in_one_place_only() -> None:
    assert sources_with(r"SELECT lab_publish\(") == {"lab/live/publish.py"}


def test_only_a_sandbox_that_is_made_gets_the_mark() -> None:
    assert sources_with(r"\bis_sandbox=True\b") == {"lab/live/sandbox.py"}
