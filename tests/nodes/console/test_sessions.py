"""The console's panes: whose they are, and when they are given up. Their node is PostgreSQL itself here."""

import os
import re
import resource
import threading
import time

import psycopg
import pytest
from django.contrib.auth.models import User
from django.test import Client

from leases.models import Node
from nodes.console.sessions import Answer, Pane, panes


@pytest.fixture
def browser(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr("nodes.views._connect", lambda _node, _user: psycopg.connect(dsn, autocommit=True))
    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=5432, pid=1)
    return signed_in("olga")


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(name))
    return client


def open_pane(browser: Client, number: str) -> Pane:
    browser.post(f"/console/{number}/run/", {"sql": "BEGIN", "node": "n1"})
    pane = panes.get(browser.session.session_key or "", number)
    assert pane is not None
    assert pane.transaction == "open"
    return pane


def test_signing_out_gives_up_what_was_left_open(browser: Client) -> None:
    mine = [open_pane(browser, number) for number in ("1", "2")]
    other_browser = signed_in("paul")
    others = open_pane(other_browser, "1")
    browser.post("/sign-out/")
    assert [pane.transaction for pane in mine] == ["closed", "closed"]
    assert others.transaction == "open"
    other_browser.post("/sign-out/")
    assert others.transaction == "closed"


def test_an_open_transaction_is_not_lost_by_choosing_another_node(browser: Client) -> None:
    Node.objects.create(name="n2", incarnation=1, host="127.0.0.1", port=5432, pid=1)
    mine = open_pane(browser, "1")
    said = browser.post("/console/1/run/", {"sql": "SELECT 1", "node": "n2"}, headers={"HX-Request": "true"})
    assert "This pane has an open transaction on n1." in said.content.decode()
    assert 'name="node" value="n1"' in said.content.decode(), "COMMIT and ROLLBACK are for the node that has it"
    assert mine.transaction == "open"
    browser.post("/console/1/run/", {"sql": "ROLLBACK", "node": "n1"})
    browser.post("/console/1/run/", {"sql": "SELECT 1", "node": "n2"})
    now = panes.get(browser.session.session_key or "", "1")
    assert (mine.transaction, now and now.node) == ("closed", "n2")
    browser.post("/sign-out/")


def test_an_address_chooses_the_node_of_a_pane_that_has_a_session_elsewhere(browser: Client) -> None:
    Node.objects.create(name="n2", incarnation=1, host="127.0.0.1", port=5432, pid=1)
    open_pane(browser, "1")
    chosen = {
        query: re.findall(r'<option value="(\w+)" selected', browser.get(f"/console/{query}").content.decode())
        for query in ("", "?node=n2", "?node=n9", "?panes=2&pane=2&node=n1")
    }
    assert chosen == {"": ["n1"], "?node=n2": ["n2"], "?node=n9": ["n1"], "?panes=2&pane=2&node=n1": ["n1", "n1"]}
    browser.post("/sign-out/")


def test_copy_ends_at_once(dsn: str) -> None:
    """A browser has no data to send: the statement is refused, and the session goes on."""
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    try:
        pane.run("CREATE TEMP TABLE copied (a int, b text)")
        refused = pane.run("COPY copied FROM STDIN").error
        assert refused is not None
        assert "a console has no data to send" in refused.message
        answer = pane.run("INSERT INTO copied VALUES (1, 'x'), (2, NULL); COPY copied TO STDOUT; SELECT 5 AS five")
        assert answer.error is None
        assert [grid.rows for grid in answer.grids[1:]] == [[["1\tx"], ["2\t\\N"]], [["5"]]]
        assert [grid.tag for grid in answer.grids] == ["INSERT 0 2", "COPY 2", "SELECT 1"]
    finally:
        pane.close()


def test_a_person_has_so_many_sessions_however_many_browsers(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.console.sessions.PANES_MAX_EACH", 2)
    for number in ("1", "2"):
        open_pane(browser, number)
    again = Client()
    again.force_login(User.objects.get(username="olga"))
    said = again.post("/console/1/run/", {"sql": "SELECT 1", "node": "n1"}).content.decode()
    assert "2 of them yours; end one first" in said
    others = signed_in("paul")
    assert open_pane(others, "1").transaction == "open"
    for one in (browser, others):
        one.post("/sign-out/")


def test_an_answer_is_bounded(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.console.sessions.ROWS_READ_MAX", 1000)
    monkeypatch.setattr("nodes.console.sessions.ANSWER_CHARS_MAX", 10_000)
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    endless = pane.run("SELECT repeat('x', 499), generate_series(1, 1000000000)")
    assert endless.stopped_after == "rows"
    assert sum(len(cell or "") for row in endless.grids[0].rows for cell in row) < 11_000
    many = pane.run("SELECT 1;" * 100)
    assert (len(many.grids), many.grids_left_out) == (50, 50)
    assert pane.run("SELECT 2").grids[0].rows == [["2"]], "the session goes on"
    pane.close()


def test_a_statement_is_stopped_when_its_time_is_over(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.console.sessions.RUN_S_MAX", 0.2)
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    answer = pane.run("SELECT pg_sleep(600)")
    assert answer.stopped_after == "seconds"
    assert answer.error is not None
    assert answer.error.sqlstate == "57014"
    pane.close()


def test_a_statement_that_runs_holds_nobody_up_and_can_be_stopped(dsn: str) -> None:
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    answers: list[Answer] = []
    running = threading.Thread(target=lambda: answers.append(pane.run("SELECT 1; SELECT pg_sleep(5)")))
    running.start()
    began = time.monotonic()
    time.sleep(0.3)
    assert time.monotonic() - began < 2, "this thread was held up"
    pane.stop()
    running.join(3)
    assert [grid.rows for grid in answers[0].grids] == [[["1"]]]
    assert answers[0].error is not None
    assert answers[0].error.sqlstate == "57014"
    pane.close()


def test_a_session_ends_although_the_first_request_to_stop_came_too_early(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the server has the statement, a request to cancel finds nothing to cancel."""
    monkeypatch.setattr("nodes.console.sessions.STOP_AGAIN_S", 0.1)
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    asked: list[float] = []
    stop = pane.stop

    def stop_from_the_second_time_on() -> None:
        asked.append(time.monotonic())
        if len(asked) > 1:
            stop()

    monkeypatch.setattr(pane, "stop", stop_from_the_second_time_on)
    running = threading.Thread(target=lambda: pane.run("SELECT pg_sleep(60)"))
    running.start()
    while not pane.in_use.locked():
        time.sleep(0.01)
    pane.close()
    running.join(10)
    assert not running.is_alive()
    assert pane.transaction == "closed"
    assert len(asked) > 1


def test_a_statement_that_runs_is_stopped_before_its_session_ends(dsn: str) -> None:
    """Its own thread still waits at the session: taking it away there would end the process."""
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    answers: list[Answer] = []
    running = threading.Thread(target=lambda: answers.append(pane.run("SELECT pg_sleep(20)")))
    running.start()
    time.sleep(0.3)
    pane.close()
    running.join(5)
    assert not running.is_alive()
    assert answers[0].error is not None
    assert answers[0].error.sqlstate == "57014"
    assert pane.transaction == "closed"


def test_a_session_with_a_high_descriptor_is_looked_at(dsn: str) -> None:
    """select() takes none from 1024 on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2048)), hard))
    others: list[int] = []
    try:
        while not others or others[-1] < 1024:
            others.append(os.dup(0))
        pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
        assert pane.connection.fileno() >= 1024
        assert not pane.is_lost()
        pane.close()
    finally:
        for one in others:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
