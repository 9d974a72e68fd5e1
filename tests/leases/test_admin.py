"""Leases and nodes in Django's admin: to look at, and to act on with permission and a row in the log."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client

from catalog.admin import CHOSEN_MAX
from catalog.services import OutOfTime
from leases import services
from leases.admin import deciding_first as admin_order
from leases.models import Lease, Node
from leases.ranking import deciding_first
from leases.selectors import leases_on
from tests.leases.rows import Connection, acquire, leased, make_table, publish, register, users, using

LEASES, NODES = "/admin/leases/lease/", "/admin/leases/node/"
CATALOG = ("/admin/catalog/table/", "/admin/catalog/descriptor/", "/admin/catalog/storyevent/")


@pytest.fixture
def staff(client: Client, node: None) -> Callable[..., Client]:
    """Signed in as ada, who may look and do what is named."""

    def signed_in(*codenames: str) -> Client:
        ada = User.objects.create_user("ada", is_staff=True)
        ada.user_permissions.set(Permission.objects.filter(codename__in=("view_lease", "view_node", *codenames)))
        client.force_login(ada)
        return client

    return signed_in


def ask(client: Client, page: str, action: str, *chosen: object) -> str:
    response = client.post(page, {"action": action, "_selected_action": list(chosen)}, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def act(client: Client, page: str, action: str, *chosen: object) -> str:
    """Ask, and answer that it is meant."""
    assert 'name="confirmed"' in ask(client, page, action, *chosen) or action not in offered(client, page)
    wish = {"action": action, "_selected_action": list(chosen), "confirmed": "yes"}
    response = client.post(page, wish, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def offered(client: Client, page: str) -> set[str]:
    return set(re.findall(r'<option value="(\w+)">', client.get(page).content.decode()))


def test_revoking_deletes_the_lease_and_is_logged(staff: Callable[..., Client], database: Connection) -> None:
    page = act(staff("revoke_lease"), LEASES, "revoke", Lease.objects.get().pk)
    assert "Revoked: 1" in page
    assert leased(database) == []
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.change_message) == ("ada", "Revoked")
    assert entry.object_repr == "n1 leases version 1 of table users"


def test_releasing_deletes_the_lease_and_is_logged(staff: Callable[..., Client], database: Connection) -> None:
    assert "Released: 1" in act(staff("release_lease"), LEASES, "release", Lease.objects.get().pk)
    assert leased(database) == []
    assert LogEntry.objects.get().change_message == "Released"


@pytest.mark.parametrize("action", ["release", "revoke"])
def test_nothing_is_done_before_it_is_confirmed(
    staff: Callable[..., Client], database: Connection, dsn: str, action: str
) -> None:
    with using(dsn) as session:
        shown = ask(staff(f"{action}_lease"), LEASES, action, Lease.objects.get().pk)
        session.execute("COMMIT")
    assert "n1 leases version 1 of table users" in shown
    says = "1 more transaction uses it at the database" if action == "revoke" else "Transactions run under it"
    assert says in shown
    assert len(leased(database)) == 1
    assert not LogEntry.objects.exists()


def test_the_list_names_tables_and_shows_seconds_what_decides_first(
    staff: Callable[..., Client], database: Connection, publisher: Connection
) -> None:
    """In the order of `leases.ranking`, which SQL says again here."""
    publish(publisher, users(2))
    register(database, "n2")
    acquire(database, "n2")
    make_table(database, users(table_id=8, name="aliens"))
    acquire(database, "n2", table_id=8)
    register(database, "n3")
    acquire(database, "n3", table_id=8)
    publish(publisher, users(2, table_id=8, name="aliens"))
    acquire(database, "n3", table_id=8)
    expected = [(lease.table, lease.version, lease.node) for lease in deciding_first(leases_on())]
    listed = [(one.table_name, one.version, one.node) for one in admin_order(Lease.objects.all())]
    assert listed == expected
    assert [one[1] for one in expected] == [1, 1, 1, 2, 2]
    page = staff().get(LEASES).content.decode()
    assert "v1, newest: v2" in page
    assert re.search(r'class="field-left">2\d\.\d<', page)
    assert page.index(">users<") < page.index(">aliens<") or expected[0][0] == "aliens"


@pytest.mark.parametrize("action", ["release", "revoke"])
def test_without_the_permission_an_action_is_not_there(
    staff: Callable[..., Client], database: Connection, action: str
) -> None:
    client = staff()
    assert f'value="{action}"' not in client.get(LEASES).content.decode()
    act(client, LEASES, action, Lease.objects.get().pk)
    assert len(leased(database)) == 1
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("confirmed", [{}, {"confirmed": "yes"}])
def test_more_than_a_page_can_ask_about_are_not_taken(staff: Callable[..., Client], confirmed: dict[str, str]) -> None:
    many = (Node(name=f"m{number}", incarnation=1, host="::1", port=1, pid=1) for number in range(CHOSEN_MAX - 1))
    Node.objects.bulk_create(many)
    wish = {"action": "drain", "_selected_action": "n1", "select_across": "1"}
    client = staff("drain_node")
    assert 'name="confirmed"' in client.post(NODES, wish).content.decode()
    Node.objects.create(name="one-more", incarnation=1, host="::1", port=1, pid=1)
    page = client.post(NODES, wish | confirmed, follow=True).content.decode()
    assert f"Nothing was done: choose at most {CHOSEN_MAX} at a time." in page
    assert 'name="confirmed"' not in page
    assert not Node.objects.filter(is_drain_asked=True).exists()


def test_draining_and_undraining_are_logged(staff: Callable[..., Client]) -> None:
    client = staff("drain_node")
    assert "Drained: 1" in act(client, NODES, "drain", "n1")
    assert Node.objects.get().state == Node.State.DRAINING
    assert "Undrained: 1" in act(client, NODES, "undrain", "n1")
    assert [entry.change_message for entry in LogEntry.objects.order_by("id")] == ["Drained", "Undrained"]


@pytest.mark.parametrize(("page", "action", "permission", "said"), [
    (LEASES, "release", "release_lease", "Released: 1"),
    (LEASES, "revoke", "revoke_lease", "Revoked: 1"),
    (NODES, "drain", "drain_node", "Drained: 1"),
])  # fmt: skip
def test_what_takes_too_long_is_said_and_the_others_are_done(
    staff: Callable[..., Client],
    database: Connection,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    action: str,
    permission: str,
    said: str,
) -> None:
    register(database, "n2")
    acquire(database, "n2")
    work, calls = services.control_transaction, iter((True, False))

    def late_at_first() -> AbstractContextManager[Any]:
        if next(calls):
            raise OutOfTime("a control transaction was not over within 2 s")
        return work()

    chosen = Lease.objects.values_list("pk", flat=True) if page == LEASES else ("n1", "n2")
    monkeypatch.setattr(services, "control_transaction", late_at_first)
    shown = act(staff(permission), page, action, *chosen)
    assert said in shown
    assert "control transaction was not over within 2 s" in shown
    assert LogEntry.objects.count() == 1


@pytest.mark.parametrize("rows", [LEASES, NODES, *CATALOG])
def test_nothing_is_added_changed_or_deleted_here(node: None, admin_client: Client, rows: str) -> None:
    assert admin_client.get(rows).status_code == 200
    assert admin_client.get(f"{rows}add/").status_code == 403
    assert 'value="delete_selected"' not in admin_client.get(rows).content.decode()


def test_lists_can_be_filtered(staff: Callable[..., Client]) -> None:
    client = staff()
    assert "1 lease" in client.get(f"{LEASES}?table=7").content.decode()
    assert "0 leases" in client.get(f"{LEASES}?table=8").content.decode()
    assert "1 lease" in client.get(f"{LEASES}?q=user").content.decode()
    assert "1 lease" in client.get(f"{LEASES}?node=n1").content.decode()
    assert "0 leases" in client.get(f"{LEASES}?node=n2").content.decode()
