"""A pane whose transaction was ended from outside says by whom, why, what was lost, and what to do. PostgreSQL itself
plays the node, and raises its notices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from catalog.services import append_event
from catalog.story import CLUSTER
from leases.models import Node
from nodes.console.sessions import panes
from nodes.console.unfinished import CHARS_MAX, Unfinished, follow
from tests.nodes.console.test_told import telling, trace, words

Json = dict[str, Any]
OPEN: Json = {
    "status": "open",
    "since": "2026-01-01T12:00:00+00:00",
    "has_written": True,
    "tables": [{"id": 7, "name": "flights", "version": 14, "until": "2026-01-01T12:00:30+00:00"}],
}
REVOKED: Json = {"who": "olga", "node": "n1", "table": "flights", "table_id": 7, "version": 14}
ENDED: Json = {"whom": "n1, n2", "table": "flights", "table_id": 7, "version": 14, "change": 4}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def pane(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A browser whose first pane has written within a transaction that is open on n1."""
    monkeypatch.setattr("nodes.views._connect", lambda _node, _user: psycopg.connect(dsn, autocommit=True))
    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=5432, pid=1)
    client = Client()
    client.force_login(User.objects.create_superuser("sam"))
    begin, wrote = trace(sql="BEGIN", transaction=OPEN | {"tables": []}), trace(sql="UPDATE one", operations=2)
    run(client, f"BEGIN; {telling(begin)}; {telling(wrote | {'transaction': OPEN})}")
    run(client, telling(trace(sql="SELECT two", transaction=OPEN)))
    yield client
    panes.close_all_of(client.session.session_key or "")


def run(client: Client, sql: str) -> str:
    answer = client.post("/console/1/run/", {"sql": sql, "node": "n1", "panes": "1"}, headers=HTMX)
    return words(answer.content.decode())


def happens(kind: str, payload: Json) -> None:
    with transaction.atomic():
        append_event(kind, str(payload.get("table", "n1")), payload, [CLUSTER])


def shown(client: Client) -> str:
    return words(client.get("/console/1/transaction/?panes=1").content.decode())


def test_a_revoked_lease_is_named_with_what_was_lost_and_what_to_do(pane: Client) -> None:
    assert "A transaction is open on n1" in shown(pane)
    happens("lease revoked", REVOKED)
    said = shown(pane)
    assert "Revoked: olga took the lease of n1 on flights v14 away" in said
    assert "Lost: all since 2026-01-01 12:00:00, 3 statements. 1 of them had written; nothing of it was kept." in said
    assert "BEGIN; UPDATE one; SELECT two" in said
    assert "ROLLBACK ends what is left of it here; then run the statements anew." in said
    assert "A transaction is open" not in said
    page = pane.get("/console/?pane=1&lost=1").content.decode()
    assert "BEGIN;\nUPDATE one;\nSELECT two</textarea>" in page, "without JavaScript the address brings them back"


def test_it_is_still_said_after_the_next_statement_was_refused_and_until_rollback(pane: Client) -> None:
    happens("lease revoked", REVOKED)
    failing = telling(trace(sql="SELECT three", transaction=OPEN | {"status": "failed", "tables": []}))
    assert "Revoked: olga" in run(pane, failing.replace("; END", "; RAISE EXCEPTION 'it had to end'; END"))
    assert "Revoked: olga" not in run(pane, "ROLLBACK")
    assert "Revoked" not in shown(pane)


RAN_OUT = "RAISE EXCEPTION USING ERRCODE = '40001', MESSAGE = 'the transaction had to end: {}'"


@pytest.mark.parametrize(
    ("is_revoked", "why"), [(True, "olga revoked its lease on flights v14"), (False, "its lease on version 14 ran out")]
)
def test_a_refusal_goes_on_naming_the_revocation(pane: Client, is_revoked: bool, why: str) -> None:
    """Its node may know only that the lease is over by now: an older version is not renewed, and so not missed."""
    failing = telling(trace(sql="SELECT three", transaction=OPEN | {"status": "failed", "tables": []}))
    if is_revoked:
        happens("lease revoked", REVOKED)
    refused = run(pane, failing.replace("; END", f"; {RAN_OUT.format('its lease on version 14 ran out')}; END"))
    for said in (refused, words(pane.get("/console/").content.decode())):
        assert f"ERROR 40001 the transaction had to end: {why}" in said


def test_a_change_that_ended_it_is_named(pane: Client) -> None:
    happens("sessions ended", ENDED)
    said = shown(pane)
    assert "Change 4 ended this transaction" in said
    assert "It still used flights v14 after the lease of n1 had ended, and change 4 waited for it." in said


def test_a_transaction_whose_commit_was_not_answered_is_not_called_lost(
    pane: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object) -> None:
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr("nodes.console.sessions._exchange", lose)
    happens("process killed", {"who": "olga", "process": "n1"})
    said = run(pane, "COMMIT") + shown(pane)
    assert "The outcome of the transaction is unknown." in said
    assert "nothing of it was kept" not in said


def test_a_node_that_was_killed_is_named(pane: Client) -> None:
    happens("process killed", {"who": "olga", "process": "n1"})
    assert "olga killed n1" in shown(pane)


@pytest.mark.parametrize(("kind", "payload"), [
    pytest.param("lease revoked", REVOKED | {"node": "n2"}, id="another node's lease"),
    pytest.param("lease revoked", REVOKED | {"version": 13}, id="another version"),
    pytest.param("lease revoked", REVOKED | {"table_id": 8}, id="another table"),
    pytest.param("sessions ended", ENDED | {"whom": "n10, n2"}, id="sessions of others"),
    pytest.param("process killed", {"who": "olga", "process": "n2"}, id="another node"),
])  # fmt: skip
def test_what_happened_to_others_ends_nothing_here(pane: Client, kind: str, payload: Json) -> None:
    happens(kind, payload)
    assert "A transaction is open on n1" in shown(pane)


def test_a_version_used_since_the_revocation_is_not_the_one_that_was_lost(pane: Client) -> None:
    """The transaction had begun, and came to the table only under the node's next lease."""
    run(pane, f"ROLLBACK; {telling(trace(transaction=OPEN | {'status': 'idle'}))}")
    run(pane, f"BEGIN; {telling(trace(transaction=OPEN | {'tables': []}))}")
    happens("lease revoked", REVOKED)
    run(pane, telling(trace(transaction=OPEN)))
    assert "A transaction is open on n1" in shown(pane)


def test_of_very_many_statements_the_first_are_kept_and_the_others_counted() -> None:
    found: Unfinished | None = None
    for number in range(30):
        found = follow(found, trace(sql=f"{number:03}".ljust(1000, "x"), transaction=OPEN), heard=number)
    assert found is not None
    assert (len(found.statements), found.left_out) == (CHARS_MAX // 1000, 10)
    assert follow(found, trace(transaction=OPEN | {"since": "2026-01-01T13:00:00+00:00"}), heard=9) is not found
    assert follow(found, trace(), heard=9) is None
