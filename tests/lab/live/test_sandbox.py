"""A sandbox: its mark comes with its row and stays, no foreign key touches it, it is dropped in time."""

import json
from datetime import timedelta
from io import StringIO

import psycopg
import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.utils.timezone import now

from catalog.models import Table
from changes import services
from changes.ddl.errors import NOT_SUPPORTED, DdlError
from changes.models import Change
from changes.services import NotYours, TooMany
from lab.live import sandbox
from lab.live.sandbox import NoSuchSandbox
from tests.changes.driven import drive, made
from tests.lab.live.boxes import box, done, ordinary

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]


def run(sql: str, *parameters: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, parameters)


def refusal(sql: str, *parameters: object) -> str:
    """The SQLSTATE with which the database refuses a statement."""
    with pytest.raises(DatabaseError) as refused:
        run(sql, *parameters)
    cause = refused.value.__cause__
    assert isinstance(cause, psycopg.Error)
    return cause.sqlstate or ""


# --- the mark


def test_the_mark_comes_with_the_row() -> None:
    table = Table.objects.get(pk=box("ann").table_id)
    assert (table.sandbox_of, table.state) == ("ann", "live")
    assert Table.objects.get(pk=ordinary().table_id).sandbox_of is None


def test_no_table_becomes_a_sandbox() -> None:
    table = ordinary()
    assert refusal("UPDATE catalog_table SET sandbox_of = 'ann' WHERE id = %s", table.table_id) == "SL201"


@pytest.mark.parametrize("value", ["NULL", "'bo'"])
def test_no_sandbox_becomes_another_table(value: str) -> None:
    table = box("ann")
    assert refusal(f"UPDATE catalog_table SET sandbox_of = {value} WHERE id = %s", table.table_id) == "SL201"
    assert refusal("UPDATE catalog_table SET id = id + 1000 WHERE id = %s", table.table_id) == "SL201"


def test_a_table_that_has_versions_is_not_marked_by_a_new_row() -> None:
    table = ordinary()
    taken_away = "DELETE FROM catalog_table WHERE id = %s"
    assert refusal(taken_away, table.table_id) == "23503"
    again = (
        "INSERT INTO catalog_table (id, name, version, state, created_at, sandbox_of)"
        " VALUES (%s, 'other', %s, %s, now(), 'ann')"
    )
    assert refusal(again, table.table_id + 1000, 2, "live") == "SL201"
    assert refusal(again, table.table_id + 1000, 0, "live") == "SL201"


# --- alone


def test_no_foreign_key_leads_to_a_sandbox() -> None:
    box("ann", "sand")
    ordinary("trips")
    with pytest.raises(DdlError) as refused:
        services.submit("ALTER TABLE trips ADD FOREIGN KEY (a) REFERENCES sand (id)", who="ann")
    assert refused.value.message == "table sand is a sandbox: no foreign key leads from or to it"
    assert (refused.value.sqlstate, refused.value.position) == (NOT_SUPPORTED, 23)


@pytest.mark.parametrize("to", ["trips", "sand"])
def test_no_foreign_key_leads_from_a_sandbox(to: str) -> None:
    box("ann", "sand")
    ordinary("trips")
    with pytest.raises(DdlError, match="table sand is a sandbox"):
        services.submit(f"ALTER TABLE sand ADD FOREIGN KEY (a) REFERENCES {to} (id)", who="ann")


def test_the_database_refuses_a_version_with_a_foreign_key() -> None:
    """Whoever writes it: neither the sandbox's own versions nor another table's may name one."""
    target = box("ann", "sand")
    made("CREATE TABLE airports (id bigint PRIMARY KEY)")
    child = ordinary("trips")
    done(services.submit("ALTER TABLE trips ADD CONSTRAINT away FOREIGN KEY (a) REFERENCES airports (id)", who="bo"))
    body = "SELECT body FROM catalog_descriptor WHERE table_id = %s ORDER BY version DESC LIMIT 1"
    with connection.cursor() as cursor:
        cursor.execute(body, [child.table_id])
        foreign = json.loads(cursor.fetchone()[0])
    insert = (
        "INSERT INTO catalog_descriptor (table_id, version, body, schema_hash, sharding_hash, modified_at)"
        " VALUES (%s, 99, %s, '', '', now())"
    )
    assert refusal(insert, target.table_id, json.dumps(foreign)) == "SL202"
    foreign["constraints"][0]["references"] = target.table_id
    assert refusal(insert, child.table_id, json.dumps(foreign)) == "SL202"


# --- made and dropped


def test_a_person_has_three_at_most() -> None:
    first = box("ann")
    for _ in range(services.SANDBOXES_MAX - 1):
        sandbox.make("ann")  # those that are only being made count
    with pytest.raises(TooMany, match="ann has 3 sandbox tables, which is the limit"):
        sandbox.make("ann")
    sandbox.make("bo")
    done(sandbox.drop(first.name, who="ann"))
    sandbox.make("ann")


def test_only_its_owner_drops_it() -> None:
    box("ann", "sand")
    ordinary("users")
    for who, name in (("bo", "sand"), ("ann", "users"), ("ann", "nothing")):
        with pytest.raises(NoSuchSandbox, match=f"{who} has no sandbox called {name}"):
            sandbox.drop(name, who=who)
    change = sandbox.drop("sand", who="ann")
    assert sandbox.drop("sand", who="ann").pk == change.pk  # asked for twice, dropped once
    done(change)
    assert sandbox.sandboxes() == []


def test_the_timetable_drops_it_after_an_hour() -> None:
    table, other = box("ann"), ordinary()
    assert sandbox.drop_one_that_is_over() is None
    an_hour_ago = Table.objects.get(pk=table.table_id).created_at - sandbox.LIFE - timedelta(seconds=1)
    Table.objects.filter(pk__in=[table.table_id, other.table_id]).update(created_at=an_hour_ago)
    change_id = sandbox.drop_one_that_is_over()
    assert sandbox.drop_one_that_is_over() is None
    assert str(drive(Change.objects.get(pk=change_id))) == "done"
    assert Table.objects.get(pk=table.table_id).state == "dropped"
    assert Table.objects.get(pk=other.table_id).state == "live"


def test_one_that_cannot_be_dropped_does_not_keep_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = box("ann"), box("bo")
    Table.objects.filter(pk__in=[first.table_id, second.table_id]).update(created_at=now() - 2 * sandbox.LIFE)
    submit = services.submit

    def refuses(statement: str, **how: object) -> Change:
        if first.name in statement:
            raise services.ChangeError("not now")
        return submit(statement, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(services, "submit", refuses)
    change_id = sandbox.drop_one_that_is_over()
    assert Change.objects.get(pk=change_id).table_id == second.table_id


def test_the_command_lists_them() -> None:
    box("ann", "sand")
    out = StringIO()
    call_command("lab", "sandbox", "list", "--json", stdout=out)
    (found,) = json.loads(out.getvalue())
    assert (found["table"], found["owner"], found["state"]) == ("sand", "ann", "live")


# --- whose it is


@pytest.mark.parametrize("statement", ["CREATE INDEX ON {} (a)", "DROP TABLE {}", "ALTER TABLE {} RENAME TO other"])
def test_only_its_owner_changes_it(statement: str) -> None:
    """They are in the middle of something; the timetable drops it when its hour is over."""
    name = box("ann").name
    with pytest.raises(NotYours, match=f"{name} is a sandbox of ann: only ann may change it; make one of your own"):
        services.submit(statement.format(name), who="bo")
    assert Change.objects.filter(who="bo").count() == 0
    assert services.submit(statement.format(name), who="ann").pk


def test_what_is_asked_for_before_has_the_same_refusal() -> None:
    with pytest.raises(NotYours):
        services.check_sandbox_is_of("bo", services.plan_ahead(f"DROP TABLE {box('ann').name}").plan)
    services.check_sandbox_is_of("bo", services.plan_ahead(f"DROP TABLE {ordinary().name}").plan)
