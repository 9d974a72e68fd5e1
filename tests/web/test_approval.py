"""Approval on the pages: who is offered it, who may decide, and what is shown of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from catalog.models import Table
from changes import services
from changes.models import Change
from changes.submission import approval

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
    assert f"Change {change.pk} of flights awaits approval." in lea.get("/").content.decode()
    assert "awaiting approval" in lea.get("/changes/?status=awaiting").content.decode()
    assert "It awaits approval" in lea.get(f"/changes/{change.pk}/").content.decode()
    assert f"Change {change.pk} waits until somebody other than sam approves it." in lea.get("/story/").content.decode()
    assert "data-may-approve" not in lea.get(f"/changes/{change.pk}/").content.decode()
    assert "data-may-approve" in client_of("olga").get(f"/changes/{change.pk}/").content.decode()


@pytest.mark.parametrize("page", ["/", "/changes/", "/changes/{change}/"])
def test_a_submitter_is_not_offered_to_approve_their_own(
    client_of: ClientOf, people: dict[str, User], change: Change, page: str
) -> None:
    """Parts are drawn once for all: a style of each reader's own hides the buttons of their own changes."""
    name = "o.olga"
    User.objects.filter(pk=people["olga"].pk).update(username=name)
    Change.objects.filter(pk=change.pk).update(who=name)
    olga = client_of("olga")
    shown = olga.get(page.format(change=change.pk)).content.decode()
    address = re.search(r'<link rel="stylesheet" href="(/account/own.css[^"]*)">', shown)
    assert address is not None
    style = olga.get(address[1])
    assert style["Content-Type"].startswith("text/css")
    assert style.content.decode() == '.may-approve[data-by="o\\2e olga"] { display: none; }\n'
    buttons = re.findall(r'<[^<]*class="[^"]*may-approve[^>]*>', shown)
    assert [button for button in buttons if f'data-by="{name}"' not in button] == []
    assert bool(buttons) == (page != "/"), "the cluster's page has none"


def test_a_name_is_harmless_in_a_style(client_of: ClientOf, people: dict[str, User]) -> None:
    User.objects.filter(pk=people["olga"].pk).update(username='a"]</style>')
    style = client_of("olga").get("/account/own.css").content.decode()
    assert style == '.may-approve[data-by="a\\22 \\5d \\3c \\2f style\\3e "] { display: none; }\n'


def test_who_submits_reads_that_somebody_else_has_to_approve(client_of: ClientOf, flights: Table) -> None:
    """Before, in the plan; afterwards, above the change."""
    statement = "CREATE INDEX by_id_dest ON flights (id, dest)"
    for asked in (statement, "CREATE TABLE pets (id bigint PRIMARY KEY)"):
        plan = client_of("sam").post("/changes/new/plan/", {"statement": asked}).content.decode()
        assert "It will await approval" in plan
    page = client_of("sam").post("/changes/new/submit/", {"statement": statement}, follow=True).content.decode()
    assert "somebody other than you has to approve it" in page
    assert "Approved, it begins by itself, and sam need not come back" in page


def test_nobody_reads_of_approval_where_none_is_needed(client_of: ClientOf, flights: Table, settings: Any) -> None:
    settings.CHANGES_NEED_APPROVAL = False
    plan = client_of("sam").post("/changes/new/plan/", {"statement": "CREATE INDEX i ON flights (id, dest)"})
    assert "approval" not in plan.content.decode()
