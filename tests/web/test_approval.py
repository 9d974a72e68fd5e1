"""Approval on the pages: who is offered it, who may decide, and what is shown of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from catalog.models import Table
from changes import approval, services
from changes.models import Change

ClientOf = Callable[[str], Client]


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.CHANGES_NEED_APPROVAL = True
    for module in (services, approval):
        monkeypatch.setattr(module, "send_driver", lambda _change_id: None)


@pytest.fixture
def change(flights: Table) -> Change:
    return services.submit("CREATE INDEX by_id_dest ON flights (id, dest)", who="sam")


@pytest.mark.parametrize(("who", "status"), [("lea", 403), ("sam", 403), ("ines", 403), ("nobody", 302), ("olga", 200)])
@pytest.mark.parametrize("act", ["approve", "reject"])
def test_operators_alone_may_decide(client_of: ClientOf, change: Change, who: str, status: int, act: str) -> None:
    client = Client() if who == "nobody" else client_of(who)
    address = f"/changes/{change.pk}/{act}/"
    assert client.get(address).status_code == status
    assert client.post(address, {"why": "so"}).status_code == (302 if status in (200, 302) else 403)
    change.refresh_from_db()
    decided = {"approve": "queued", "reject": "cancelled"}[act]
    assert change.status == (decided if who == "olga" else "awaiting")
    page = client_of("lea").get(f"/changes/{change.pk}/").content.decode()
    assert (f"{'Approved' if act == 'approve' else 'Rejected'} by olga" in page) == (who == "olga")


def test_nobody_decides_about_their_own(client_of: ClientOf, flights: Table) -> None:
    own = services.submit("CREATE INDEX by_id_dest ON flights (id, dest)", who="olga")
    answer = client_of("olga").post(f"/changes/{own.pk}/approve/")
    assert answer.status_code == 409
    assert "somebody else has to decide" in answer.content.decode()


def test_a_rejection_without_a_reason_is_asked_again(client_of: ClientOf, change: Change) -> None:
    answer = client_of("olga").post(f"/changes/{change.pk}/reject/", {"why": " "})
    assert answer.status_code == 422
    assert "A rejection needs a reason" in answer.content.decode()


def test_it_is_shown_wherever_changes_are(client_of: ClientOf, change: Change) -> None:
    lea = client_of("lea")
    assert "flights: add index by_id_dest awaits approval" in lea.get("/").content.decode()
    assert "awaiting approval" in lea.get("/changes/?status=awaiting").content.decode()
    assert "It awaits approval" in lea.get(f"/changes/{change.pk}/").content.decode()
    assert f"Change {change.pk} waits until somebody other than sam approves it." in lea.get("/story/").content.decode()
    assert "data-may-approve" not in lea.get(f"/changes/{change.pk}/").content.decode()
    assert "data-may-approve" in client_of("olga").get(f"/changes/{change.pk}/").content.decode()
    Change.objects.filter(pk=change.pk).update(who="olga")
    assert "data-may-approve" not in client_of("olga").get(f"/changes/{change.pk}/").content.decode(), "it is her own"
