"""The page of notifications, and the administration's form: for operators alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.test import Client

from changes.admin import mistake_in
from changes.models import Delivery, Destination
from changes.notifications.views import TESTS_PENDING_MAX

ClientOf = Callable[[str], Client]
FORM = {
    "name": "chat",
    "kind": "webhook",
    "address": "https://chat.example.org/hook",
    "occasions": ["failed", "waiting"],
    "wait_s": "30",
    "is_on": "on",
}


@pytest.fixture
def chat(db: None) -> Destination:
    return Destination.objects.create(name="chat", address="http://127.0.0.1:9/", occasions=["done"], secret="s")


@pytest.mark.parametrize(("who", "status"), [("lea", 403), ("sam", 403), ("ines", 403), ("nobody", 302), ("olga", 200)])
def test_operators_alone_have_it(client_of: ClientOf, chat: Destination, who: str, status: int) -> None:
    client = Client() if who == "nobody" else client_of(who)
    assert client.get("/notifications/").status_code == status
    asked = client.post(f"/notifications/{chat.pk}/test/")
    assert asked.status_code == (302 if status in (200, 302) else status)
    assert Delivery.objects.exists() == (who == "olga")
    added = client.post("/admin/changes/destination/add/", FORM | {"name": "other"})
    assert added.status_code == 302
    assert Destination.objects.filter(name="other").exists() == (who == "olga")


def test_a_test_message_is_shown_and_logged_and_bounded(client_of: ClientOf, chat: Destination) -> None:
    olga = client_of("olga")
    for _ in range(TESTS_PENDING_MAX + 2):
        olga.post(f"/notifications/{chat.pk}/test/")
    assert chat.deliveries.count() == TESTS_PENDING_MAX == LogEntry.objects.count()
    page = olga.get("/notifications/").content.decode()
    assert "olga tries out notifications of this Schema Lab" in page
    assert "data-busy" in page
    assert "destination of notifications chat: Test message" in olga.get("/audit-trail/").content.decode()


def test_the_secret_is_made_and_shown_once(client_of: ClientOf) -> None:
    olga = client_of("olga")
    answer = olga.post("/admin/changes/destination/add/", FORM)
    made = Destination.objects.get()
    assert len(made.secret) > 40
    assert next(made.secret in str(message) for message in get_messages(answer.wsgi_request))
    olga.get("/admin/changes/destination/")
    for address in (f"/admin/changes/destination/{made.pk}/change/", "/notifications/"):
        assert made.secret not in olga.get(address).content.decode()
    olga.post(f"/admin/changes/destination/{made.pk}/change/", FORM | {"name": "talk"})
    again = Destination.objects.get()
    assert (again.name, again.secret) == ("talk", made.secret)


@pytest.mark.parametrize(
    ("kind", "address", "is_right"),
    [
        ("webhook", "https://chat.example.org/hook?a=b", True),
        ("webhook", "http://receiver:8080/x", True),
        ("webhook", "http://127.0.0.1:9000/", True),
        ("webhook", "ftp://chat.example.org/", False),
        ("webhook", "file:///etc/passwd", False),
        ("webhook", "http://", False),
        ("webhook", "chat.example.org", False),
        ("email", "ann@example.org, bob@example.org", True),
        ("email", "ann", False),
        ("email", "", False),
        ("email", "ann@example.org\nBcc: eve@example.org", False),
    ],
)
def test_addresses(kind: str, address: str, is_right: bool) -> None:
    assert (mistake_in(kind, address) is None) == is_right


def test_a_staff_member_without_the_permission_may_not(client: Client, chat: Destination) -> None:
    tom = User.objects.create_user("tom", is_staff=True)
    tom.user_permissions.add(Permission.objects.get(codename="view_destination"))
    client.force_login(tom)
    assert client.get("/notifications/").status_code == 403
