"""Panes of the console: a session each, on a node."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client

from catalog.models import Descriptor, Table
from leases.models import Node
from tests.web.layout import flat

ClientOf = Callable[[str], Client]


@pytest.fixture
def shell_of(client_of: ClientOf) -> Iterator[Callable[..., Any]]:
    """Run SQL in a pane as sam, on a node that is PostgreSQL itself."""
    from nodes.console.sessions import panes

    sam = client_of("sam")
    chosen = connection.settings_dict

    def run(sql: str, **more: str) -> str:
        answer = sam.post("/console/1/run/", {"sql": sql, "node": "n1"} | more, headers={"HX-Request": "true"})
        return answer.content.decode()

    Node.objects.create(name="n1", incarnation=1, host=chosen["HOST"], port=chosen["PORT"] or 5432, pid=1)
    yield run
    panes.close(sam.session.session_key, "1")


@pytest.fixture
def as_ourselves(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    """The pane's node is the test database."""
    chosen = connection.settings_dict
    where = {"host": chosen["HOST"], "port": chosen["PORT"] or None, "user": chosen["USER"], "dbname": chosen["NAME"]}
    monkeypatch.setattr("nodes.views._connect", lambda _node, _user: psycopg.connect(**where, autocommit=True))


def test_a_pane_keeps_its_transaction(as_ourselves: None, shell_of: Callable[..., Any]) -> None:
    assert "A transaction is open" in shell_of("BEGIN; CREATE TEMP TABLE t (a int)")
    assert "A transaction is open" in shell_of("INSERT INTO t VALUES (42)")
    answer = shell_of("SELECT a, NULL AS b FROM t; COMMIT")
    assert re.search(r"<td[^>]*>42</td>", flat(answer))
    assert "A transaction is open" not in answer


def test_a_pane_marks_an_error(as_ourselves: None, shell_of: Callable[..., Any]) -> None:
    answer = shell_of("SELECT 1;\nSELECT nope")
    assert '<mark class="at">nope</mark>' in answer
    assert "ERROR 42703" in answer


def test_a_pane_shows_the_first_rows_of_many(as_ourselves: None, shell_of: Callable[..., Any]) -> None:
    answer = shell_of("SELECT * FROM generate_series(1, 1000)")
    assert "1,000 rows" in answer
    assert "the first 200 are shown" in answer


def test_a_pane_brings_the_tables_along_once_they_are_others(
    as_ourselves: None, shell_of: Callable[..., Any], flights: Table
) -> None:
    """A table that was just created stands in the list of tables; a list that is shown already is not sent again."""
    answer = shell_of("SELECT 1")
    seen = re.search(r'id="tables-seen" name="tables_seen" value="(\w+)"', answer)
    assert seen is not None
    assert 'id="console-tables" hx-swap-oob="true"' in answer
    assert "console-tables" not in shell_of("SELECT 1", tables_seen=seen[1])
    newest = Descriptor.objects.get(table=flights, version=flights.version)
    Descriptor.objects.filter(pk=newest.pk).update(body=newest.body | {"name": "trips"})
    assert "trips" in shell_of("SELECT 1", tables_seen=seen[1])


def test_a_pane_says_when_its_node_does_not_answer(client_of: ClientOf) -> None:
    Node.objects.create(name="n9", incarnation=1, host="127.0.0.1", port=1, pid=1)
    answer = client_of("sam").post("/console/1/run/", {"sql": "SELECT 1", "node": "n9"}, headers={"HX-Request": "true"})
    assert "n9 does not answer" in answer.content.decode()


def _end_session(shell: Callable[..., Any]) -> None:
    """The pane's session ends, as that of a node that is restarted."""
    found = re.search(r"<td[^>]*>(\d+)</td>", flat(shell("SELECT pg_backend_pid() AS pid")))
    assert found is not None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [int(found[1])])


def test_after_its_node_was_restarted_a_pane_runs_on_a_new_connection(
    as_ourselves: None, shell_of: Callable[..., Any]
) -> None:
    shell_of("SELECT 1")
    _end_session(shell_of)
    answer = flat(shell_of("SELECT 40 + 2 AS answer"))
    assert re.search(r"<td[^>]*>42</td>", answer)
    assert "FATAL" not in answer


def test_a_transaction_that_was_lost_with_its_node_is_told_before_anything_runs_alone(
    as_ourselves: None, shell_of: Callable[..., Any]
) -> None:
    shell_of("BEGIN")
    _end_session(shell_of)
    answer = flat(shell_of("SELECT 40 + 2 AS answer"))
    assert "Its open transaction is lost: nothing of it was kept." in answer
    assert "libpq" not in answer
    assert "server closed the connection" not in answer
    assert not re.search(r"<td[^>]*>42</td>", answer)
    assert re.search(r"<td[^>]*>42</td>", flat(shell_of("SELECT 40 + 2 AS answer"))), "and then it goes on"


@pytest.mark.parametrize(
    ("text", "is_unknown"),
    [
        pytest.param("COMMIT", True, id="the node may have committed before it ended"),
        pytest.param("UPDATE t SET a = 2; END", True, id="so may it within several statements"),
        pytest.param("ROLLBACK; INSERT INTO t VALUES (1)", True, id="what follows the transaction ran alone"),
        pytest.param("SELECT CASE WHEN true THEN 'COMMIT' END", False, id="a word is no statement"),
        pytest.param("ROLLBACK TO SAVEPOINT s; SELECT 1", False, id="a savepoint ends nothing"),
        pytest.param("ROLLBACK", False, id="a ROLLBACK keeps nothing"),
    ],
)
def test_a_pane_says_when_it_cannot_know_whether_its_transaction_was_committed(
    as_ourselves: None, shell_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, text: str, is_unknown: bool
) -> None:
    def lose(*_: object) -> None:
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    shell_of("BEGIN")
    monkeypatch.setattr("nodes.console.sessions._exchange", lose)
    answer = flat(shell_of(text))
    assert ("The outcome of the transaction is unknown." in answer) is is_unknown
    assert ("Its open transaction is lost: nothing of it was kept." in answer) is not is_unknown


def test_a_commit_that_was_never_sent_has_kept_nothing(as_ourselves: None, shell_of: Callable[..., Any]) -> None:
    shell_of("BEGIN")
    _end_session(shell_of)
    assert "Its open transaction is lost: nothing of it was kept." in flat(shell_of("COMMIT"))
