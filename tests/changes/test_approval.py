"""Approval by a second person: who may, what waits meanwhile, and on what the change is planned then."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction

from catalog.models import Table
from catalog.selectors import events_since, newest_descriptor, table_named
from catalog.story import change_stream
from changes import selectors, services
from changes.ddl.errors import DdlError
from changes.ddl.statements import parse
from changes.driver import driver
from changes.models import Approval, Change, Status
from changes.submission import approval
from changes.submission.new_tables import reserve_table
from changes.submission.tables_ahead import catalog_view
from nodes.session.schema.ddl import story_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]


@pytest.fixture(autouse=True)
def asked(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Changes need approval; nobody drives them but the test. The changes for which a driver was asked."""
    settings.CHANGES_NEED_APPROVAL = True
    sent: list[int] = []
    for module in (services, approval, driver):
        monkeypatch.setattr(module, "send_driver", sent.append)
    return sent


@pytest.fixture
def users(asked: list[int], settings: Any) -> Table:
    """An empty table, made before approval was asked for."""
    made = services.submit("CREATE TABLE users (id bigint PRIMARY KEY, age int)", who="sam", is_approved=True)
    assert driver.drive(made.pk, holder="w") == Status.DONE
    asked.clear()
    return Table.objects.get(name="users")


def told(change: Change) -> list[str]:
    return [event["sentence"] for event in events_since(change_stream(change.pk), 0)]


def refused(act: Callable[..., None], change: Change, **by: str) -> str:
    with pytest.raises(services.ChangeError) as refusal:
        act(change.pk, **by)
    change.refresh_from_db()
    assert change.status == Status.AWAITING
    return str(refusal.value)


def test_it_waits_for_somebody_else_and_then_runs(users: Table, asked: list[int]) -> None:
    change = services.submit("ALTER TABLE users ADD COLUMN city text", who="sam")
    assert (change.status, asked, selectors.places()) == (Status.AWAITING, [], [])
    assert driver.drive(change.pk, holder="w") is None
    assert "somebody else has to decide" in refused(approval.approve, change, who="sam")
    approval.approve(change.pk, who="olga", why="seen")
    assert asked == [change.pk]
    assert driver.drive(change.pk, holder="w") == Status.DONE
    assert told(change)[1:3] == [
        f"Change {change.pk} waits until somebody other than sam approves it.",
        f"olga approved change {change.pk}: seen.",
    ]
    decided = Approval.objects.get()
    assert (decided.is_approved, decided.who, decided.why) == (True, "olga", "seen")


def test_nobody_waits_for_it_and_it_is_planned_again_on_what_came_meanwhile(users: Table) -> None:
    early = services.submit("ALTER TABLE users ADD COLUMN city text", who="sam")
    meanwhile = services.submit("ALTER TABLE users ADD COLUMN mail text", who="ann", is_approved=True)
    assert selectors.is_its_turn(meanwhile)
    approval.approve(early.pk, who="olga")
    early.refresh_from_db()
    assert (selectors.behind(early), selectors.behind(meanwhile)) == ([meanwhile.pk], [])
    view = catalog_view().table("users")
    assert view is not None
    assert [column.name for column in view.columns] == ["id", "age", "mail", "city"]
    later = services.submit("ALTER TABLE users ADD COLUMN zip text", who="ann", is_approved=True)
    assert selectors.behind(later) == [meanwhile.pk, early.pk]
    for change in (meanwhile, early, later):
        assert driver.drive(change.pk, holder="w") == Status.DONE
    newest = newest_descriptor(users.pk)
    assert newest is not None
    assert [column.name for column in newest.public_columns] == ["id", "age", "mail", "city", "zip"]


def test_what_cannot_be_applied_any_more_is_not_approved(users: Table) -> None:
    column = services.submit("ALTER TABLE users ADD COLUMN city text", who="sam")
    index = services.submit("CREATE INDEX by_age ON users (age)", who="sam")
    for statement in ("ALTER TABLE users ADD COLUMN city text", "CREATE TABLE by_age (id bigint PRIMARY KEY)"):
        made = services.submit(statement, who="ann", is_approved=True)
        assert driver.drive(made.pk, holder="w") == Status.DONE
    assert "can't be approved, only rejected" in refused(approval.approve, column, who="olga")
    assert "the name by_age is taken" in refused(approval.approve, index, who="olga")
    approval.reject(column.pk, who="olga", why="it is there")


def test_a_rejection_has_a_reason_and_frees_the_name(users: Table) -> None:
    change = services.submit("CREATE TABLE trips (id bigint PRIMARY KEY)", who="sam")
    with pytest.raises(DdlError, match="trips") as taken:
        services.submit("CREATE TABLE trips (id bigint PRIMARY KEY)", who="ann")
    assert f"Change {change.pk}, which awaits approval" in str(taken.value.hint or taken.value)
    assert "needs a reason" in refused(approval.reject, change, who="olga", why="  ")
    approval.reject(change.pk, who="olga", why="we have one")
    change.refresh_from_db()
    assert (change.status, table_named("trips")) == (Status.CANCELLED, None)
    assert told(change)[-2:] == [
        f"olga rejected change {change.pk}: we have one.",
        f"Change {change.pk} was cancelled and cleaned up.",
    ]
    with pytest.raises(services.ChangeError, match="has ended"):
        approval.approve(change.pk, who="olga")


def test_a_new_table_that_is_approved_is_made(users: Table) -> None:
    change = services.submit("CREATE TABLE trips (id bigint PRIMARY KEY)", who="sam")
    approval.approve(change.pk, who="olga")
    assert driver.drive(change.pk, holder="w") == Status.DONE
    assert table_named("trips") is not None


def test_its_submitter_may_cancel_it_and_nobody_may_pause_it(users: Table) -> None:
    change = services.submit("ALTER TABLE users ADD COLUMN city text", who="sam")
    assert "it has not begun" in refused(services.pause, change, who="sam")
    assert "it has not begun" in refused(services.resume, change, who="sam")
    services.cancel(change.pk, who="sam")
    assert Change.objects.get(pk=change.pk).status == Status.CANCELLED


def test_what_runs_needs_no_decision_any_more(users: Table) -> None:
    change = services.submit("ALTER TABLE users ADD COLUMN city text", who="sam", is_approved=True)
    for decide in (approval.approve, approval.reject):
        with pytest.raises(services.ChangeError, match="awaits no approval: it is queued"):
            decide(change.pk, who="olga", why="late")


def test_sandboxes_are_not_asked_about(users: Table) -> None:
    made = services.submit("CREATE TABLE play (id bigint PRIMARY KEY)", who="lea", is_sandbox=True)
    assert made.status == Status.QUEUED
    assert driver.drive(made.pk, holder="w") == Status.DONE
    assert services.submit("ALTER TABLE play ADD COLUMN a text", who="lea").status == Status.QUEUED


def test_a_node_does_not_follow_what_awaits_approval(users: Table) -> None:
    change = services.submit("ALTER TABLE users ADD COLUMN city text", who="sam")
    events, outcome = story_of(change.pk, 0)
    assert ([event["kind"] for event in events][-1], outcome) == ("change awaiting approval", ("awaiting", None))


def test_the_command(users: Table, capsys: pytest.CaptureFixture[str]) -> None:
    here = getpass.getuser()
    mine = services.submit("ALTER TABLE users ADD COLUMN city text", who=here)
    theirs = services.submit("ALTER TABLE users ADD COLUMN zip text", who=f"not {here}")
    with pytest.raises(CommandError, match="somebody else has to decide") as refusal:
        call_command("change", "approve", mine.pk)
    assert refusal.value.returncode == 1
    with pytest.raises(CommandError, match="needs a reason"):
        call_command("change", "reject", theirs.pk)
    call_command("change", "show", theirs.pk)
    call_command("change", "approve", theirs.pk, "--why", "fine")
    call_command("change", "show", theirs.pk)
    printed = capsys.readouterr().out
    assert f"awaits approval by somebody other than not {here}: `change approve {theirs.pk}`" in printed
    assert f"change {theirs.pk} is approved" in printed
    assert f"approved by {here}: fine" in printed


@pytest.mark.parametrize(
    "decision",
    [
        pytest.param("is_approved = true, decided_at = now()", id="by nobody"),
        pytest.param("is_approved = true, who = 'olga'", id="at no time"),
        pytest.param("who = 'olga'", id="of nothing"),
        pytest.param("is_approved = false, who = 'olga', decided_at = now()", id="a rejection without a reason"),
    ],
)
def test_the_database_refuses_half_a_decision(users: Table, decision: str) -> None:
    services.submit("ALTER TABLE users ADD COLUMN city text", who="sam")
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE changes_approval SET {decision}")


def test_a_table_made_inside_a_transaction_is_no_way_around_it() -> None:
    statement = parse("CREATE TABLE inside (id bigint PRIMARY KEY)")
    with pytest.raises(DdlError) as refusal:
        reserve_table(statement, node="n1", incarnation=1)
    assert refusal.value.sqlstate == "55000"
    assert not Table.objects.filter(name="inside").exists()


def test_what_awaits_approval_is_bounded(users: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "AWAITING_MAX", 1)
    services.submit("CREATE INDEX one ON users (age)", who="sam")
    with pytest.raises(services.TooMany, match="1 changes await approval already"):
        services.submit("CREATE INDEX two ON users (age)", who="sam")
    assert Change.objects.filter(status=Status.AWAITING).count() == 1


def test_an_approved_change_finds_no_room_in_a_full_queue(users: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    services.submit("CREATE INDEX one ON users (age)", who="sam", is_approved=True)
    second = services.submit("CREATE INDEX two ON users (age)", who="sam")
    monkeypatch.setattr(services, "QUEUED_MAX", 1)
    assert "are waiting already" in refused(approval.approve, second, who="olga")
