"""What the console shows of a statement comes from its node's trace; a pane keeps its answer, history and transaction.
PostgreSQL itself plays the node, and raises its notices."""

from __future__ import annotations

import html
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.test import Client
from psycopg import pq

from catalog.text.sentence import Sentence
from leases.models import Lease, Node
from nodes.console import held
from nodes.console.sessions import HISTORY_MAX, Answer, Grid, Pane, Panes, panes
from nodes.console.words import described
from tests.web.layout import flat

Json = dict[str, Any]
SCAN = {
    "table": "flights", "version": 14, "by": "all rows", "index": None, "storages": [1, 2],
    "not_used": [{"name": "flights_by_dest", "state": "write-only", "filling": True}],
}  # fmt: skip
HIDDEN = {
    "table": "flights", "version": 14, "element": "index", "name": "flights_by_dest", "state": "write-only",
    "filling": True, "does": "not used",
}  # fmt: skip
PAIR = {
    "sign": "+", "table": "flights", "table_id": 7, "of": "index", "name": "flights_by_dest", "state": "write-only",
    "row": "id=1", "row_key": "01", "says": "dest=BOS", "was": "", "tombstone": False, "over_tombstone": False,
    "storage": 2,
}  # fmt: skip


def trace(**more: Any) -> Json:
    whole: Json = {
        "kind": "update", "sql": "UPDATE flights ..", "ms": 4.2, "scans": [], "hidden": [], "pairs": [], "steps": [],
        "tables": [{"id": 7, "name": "flights", "version": 14, "until": None}], "operations": 0, "keys": 0,
        "transaction": {"status": "idle", "since": None, "has_written": False, "tables": []},
    }  # fmt: skip
    return whole | more


def telling(told: Json) -> str:
    """A statement whose node tells this of it."""
    return f"DO $do$ BEGIN RAISE INFO 'told' USING ERRCODE = '00SL1', DETAIL = $t${json.dumps(told)}$t$; END $do$"


def words(text: str) -> str:
    plain = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())
    return re.sub(r" ([.,:;])(?=\s|$)", r"\1", plain)


@pytest.fixture
def browser(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    monkeypatch.setattr("nodes.views._connect", lambda _node, _user: psycopg.connect(dsn, autocommit=True))
    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=5432, pid=1)
    client = Client()
    client.force_login(User.objects.create_superuser("olga"))
    yield client
    panes.close_all_of(client.session.session_key or "")


@pytest.fixture
def run(browser: Client) -> Callable[..., str]:
    """Run SQL in a pane; the words of the answer."""

    def in_pane(sql: str, number: str = "1", **headers: str) -> str:
        return browser.post(
            f"/console/{number}/run/", {"sql": sql, "node": "n1", "panes": "2"}, headers=headers
        ).content.decode()

    return in_pane


def test_a_statement_says_its_version_what_it_could_not_use_and_what_it_wrote(run: Callable[..., str]) -> None:
    told = trace(scans=[SCAN], hidden=[HIDDEN], pairs=[PAIR], operations=3, keys=2, left_out=1)
    said = words(run(telling(told)))
    assert "uses flights v14 + 1" in said
    assert "flights v14 was read row by row: no index that may be used serves." in said
    assert "flights_by_dest is write-only in v14: this scan may not use it." in said
    assert "index flights_by_dest is write-only in v14: queries may not use it" in said
    assert "+ put index flights_by_dest write-only id=1 dest=BOS 2" in said
    assert "1 pair was touched and is as it was." in said
    assert "1 further operation is not shown." in said


def test_what_a_statement_wrote_is_told_in_the_language_of_the_page(browser: Client, run: Callable[..., str]) -> None:
    browser.cookies["django_language"] = "zh-hans"
    step = {"do": "sent", "ms": 1.5}
    said = words(run(telling(trace(pairs=[PAIR], operations=1, steps=[step]))))
    assert "索引 flights_by_dest" in said
    assert re.search(r"请求轨迹 [\d.]+ 毫秒", said)
    assert " ms" not in said


def test_several_statements_are_told_each_with_its_own(run: Callable[..., str]) -> None:
    first, second = trace(sql="UPDATE one"), trace(sql="UPDATE two", pairs=[PAIR], operations=1, keys=1)
    answer = run(f"{telling(first)}; {telling(second)}")
    assert answer.index("UPDATE one") < answer.index("UPDATE two") < answer.index("Pairs written")
    assert answer.count("Pairs written") == 2, "a caption, and the name of its region"


def test_what_stood_before_a_failing_statement_is_reported_as_undone(run: Callable[..., str]) -> None:
    failing = telling(trace(sql="UPDATE two")).replace("; END", "; RAISE EXCEPTION 'no'; END")
    assert "had written, and not committed, was undone" in words(run(f"{telling(trace(sql='UPDATE one'))}; {failing}"))
    assert "was undone" not in words(run(failing))


def test_a_statement_that_fails_is_told_with_its_tries(run: Callable[..., str]) -> None:
    steps = [
        {"do": "lease", "ms": 0.1, "table": "flights", "version": 13, "until": "", "was_held": True, "fresh": False},
        {"do": "plan", "ms": 0.2, "versions": [["flights", 13]]},
        {"do": "retry", "ms": 1.0, "sqlstate": "40001", "message": "version 13 is closed", "fresh": True},
        {"do": "lease", "ms": 1.5, "table": "flights", "version": 14, "until": "", "was_held": False, "fresh": True},
        {"do": "plan", "ms": 1.6, "versions": [["flights", 14]]},
        {"do": "write", "ms": 1.7, "operations": 3},
    ]
    failing = telling(trace(steps=steps)).replace("; END", "; RAISE EXCEPTION 'no'; END")
    said = words(run(failing))
    assert "Planned with flights v13." in said
    assert "Refused (40001): version 13 is closed. Tried again with the newest versions." in said
    assert "The node asked for the newest version: flights v14." in said
    assert "ERROR P0001" in said


@pytest.mark.parametrize(("element", "does", "said"), [
    ("column", "refused as unknown", "statements do not know it"),
    ("constraint", "not relied on", "queries do not rely on it"),
    ("constraint", "enforced", "it is enforced already"),
    ("placement", "not used", "queries do not read there"),
    ("column", "not used", "queries may not use it"),
    ("index", "-", "puts nothing there"),
    ("index", "put", "keeps it, and no query sees it"),
    ("column", "put its default", "its default is put"),
    ("index", "del the old pair when its source changes, never put", "only removes there"),
    ("index", "del", "only removes there"),
])  # fmt: skip
def test_why_an_element_is_invisible(element: str, does: str, said: str) -> None:
    [one] = described(trace(hidden=[HIDDEN | {"element": element, "does": does}]))["hidden"]
    assert said in one["words"]
    assert "write-only in v14" in one["words"]


def test_results_stay_beside_each_other_when_the_page_is_loaded_again(browser: Client, run: Callable[..., str]) -> None:
    run("SELECT 'left'", "1")
    page = flat(run("SELECT 'right'", "2"))
    assert '<td class="mono">left</td>' in page
    assert '<td class="mono">right</td>' in page
    again = flat(browser.get("/console/?panes=2").content.decode())
    assert '<td class="mono">left</td>' in again


def test_a_pane_remembers_its_statements_newest_first_and_each_once(browser: Client, run: Callable[..., str]) -> None:
    for sql in ("SELECT 1", "SELECT 2", "SELECT 1", "  "):
        answer = run(sql, **{"HX-Request": "true"})
    history = answer[answer.index('id="history-1" hx-swap-oob="true"') :]
    history = history[: history.index("</ol>")]
    assert re.findall(r"data-recall[^>]*>([^<]*)<", history) == ["SELECT 1", "SELECT 2"]
    browser.post("/console/1/end/")
    assert "SELECT 2" in browser.get("/console/").content.decode(), "the history outlives the session"
    owner = browser.session.session_key or ""
    browser.post("/sign-out/")
    assert panes.history(owner, "1") == {}


def test_histories_are_bounded() -> None:
    kept = Panes()
    for number in range(HISTORY_MAX + 10):
        kept.remember("olga", "1", f"SELECT {number}")
    assert len(kept.history("olga", "1")) == HISTORY_MAX
    for number in range(300):
        kept.remember(f"owner {number}", "1", "SELECT 1")
    assert len(kept.histories) == 256
    assert kept.history("olga", "1") == {}


def test_a_history_is_bounded_by_its_characters_and_given_up_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Panes()
    for number in range(10):
        kept.remember("olga", "1", f"SELECT {number} -- {'x' * 15_000}")
    assert [sql[:8] for sql in kept.history("olga", "1").values()] == ["SELECT 9", "SELECT 8"]
    kept.close_idle()
    assert kept.history("olga", "1")
    monkeypatch.setattr("nodes.console.sessions.HISTORY_S", -1.0)
    kept.close_idle()
    assert kept.histories == {}


def test_an_earlier_statement_is_recalled_by_its_name_alone(browser: Client, run: Callable[..., str]) -> None:
    answer = run("SELECT 'a secret'", **{"HX-Request": "true"})
    [link] = re.findall(r'href="([^"]*)"[^>]*>SELECT &#x27;a secret', answer.replace("data-recall ", ""))
    assert "secret" not in link
    page = browser.get(html.unescape(link)).content.decode()
    assert re.search(r'id="sql-1"[^>]*>SELECT &#x27;a secret&#x27;</textarea>', page)
    assert browser.get("/console/?pane=1&earlier=unknown").status_code == 200


def test_an_example_is_put_into_the_pane_it_names(browser: Client) -> None:
    page = browser.get("/console/?panes=2&pane=2&sql=SELECT%207").content.decode()
    assert re.search(r'id="sql-2"[^>]*>SELECT 7</textarea>', page)
    assert re.search(r'id="sql-1"[^>]*></textarea>', page)
    assert "SHOW TABLES" in page


@pytest.fixture
def held_by_n1(db: None) -> Json:
    """The lease of n1 on v14 of table 7, and the transaction that a node tells of under it."""
    Lease.objects.filter(table_id=7).delete()
    return {
        "status": "open",
        "since": "2026-01-01T12:00:00+00:00",
        "has_written": True,
        "tables": [{"id": 7, "name": "flights", "version": 14, "until": "2026-01-01T12:00:30+00:00"}],
    }


def open_in(run: Callable[..., str], transaction: Json) -> str:
    return run(f"BEGIN; {telling(trace(transaction=transaction))}", **{"HX-Request": "true"})


def test_an_open_transaction_says_what_it_holds_and_who_waits(
    browser: Client, run: Callable[..., str], held_by_n1: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Leased:
        table_id, version, expires_at = 7, 14, datetime.now(UTC) + timedelta(seconds=20)

    waiting = {
        "id": 12, "table": "flights", "partners": [], "element": Sentence("index {name}", name="by_dest"),
        "blockers": [{"node": "n1", "table_id": 7, "version": 14}],
    }  # fmt: skip
    monkeypatch.setattr(held, "leases_on", lambda node: [Leased])
    monkeypatch.setattr(held, "waits_for_leases", lambda _tables: [waiting])
    said = words(open_in(run, held_by_n1))
    assert "A transaction is open on n1 Since 2026-01-01 12:00:00. It has written: ROLLBACK undoes that." in said
    assert "uses flights v14, its lease is not renewed any more: this hold ends by itself at" in said
    assert "change 12 waits for it: flights: index by_dest" in said
    browser.cookies["django_language"] = "zh-hans"
    assert "flights: 索引 by_dest" in words(browser.get("/console/1/transaction/").content.decode())
    browser.cookies["django_language"] = "en"
    assert "COMMIT ROLLBACK" in said
    elsewhere = waiting | {"blockers": [{"node": "n2", "table_id": 7, "version": 14}]}
    monkeypatch.setattr(held, "waits_for_leases", lambda _tables: [elsewhere])
    assert "waits for it" not in words(browser.get("/console/1/transaction/").content.decode())


def test_a_transaction_whose_lease_is_over_says_so(run: Callable[..., str], held_by_n1: Json) -> None:
    assert "its lease is over: the next statement will be refused" in words(open_in(run, held_by_n1))


def test_the_page_asks_what_is_held_and_is_answered_only_when_that_is_new(
    browser: Client, run: Callable[..., str], held_by_n1: Json
) -> None:
    answer = open_in(run, held_by_n1)
    [ask] = re.findall(r'hx-get="([^"]*transaction/[^"]*)"', answer)
    assert browser.get(html.unescape(ask)).status_code == 204
    run("ROLLBACK")
    later = browser.get(html.unescape(ask))
    assert later.status_code == 200
    assert "A transaction is open" not in later.content.decode()


def test_a_transaction_is_ended_by_a_button(browser: Client, run: Callable[..., str], held_by_n1: Json) -> None:
    answer = open_in(run, held_by_n1)
    assert re.search(r'<button id="rollback-1" name="sql" value="ROLLBACK">', answer)
    into = re.search(r'hx-target="#answer-1" hx-swap="(\w+)"', answer)
    assert into is not None
    assert into[1] == "innerHTML", (
        "the transaction's own outerHTML would be inherited, and take the answer's place away"
    )
    assert "A transaction is open" not in run("ROLLBACK", **{"HX-Request": "true"})


def test_a_pane_that_has_only_begun_holds_nothing(run: Callable[..., str]) -> None:
    began = {"status": "open", "since": "2026-01-01T12:00:00+00:00", "has_written": False, "tables": []}
    assert "It uses no table yet, and holds nothing back." in words(open_in(run, began))


def test_a_transaction_stays_in_sight_while_its_next_statement_runs(dsn: str) -> None:
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    pane.run("BEGIN")
    running = threading.Thread(target=lambda: pane.run("SELECT pg_sleep(20)"))
    running.start()
    deadline = time.monotonic() + 10
    while pane.connection.info.transaction_status != pq.TransactionStatus.ACTIVE and time.monotonic() < deadline:
        time.sleep(0.01)
    assert held.shown(pane)["status"] == "open"
    pane.close()
    running.join(10)
    assert held.shown(pane)["status"] == "closed"


def test_a_transaction_is_described_after_a_statement_that_is_not_told_of(dsn: str, held_by_n1: Json) -> None:
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    pane.run(f"BEGIN; {telling(trace(transaction=held_by_n1))}")
    assert pane.held == held_by_n1
    pane.run("")
    assert pane.held == held_by_n1, "an empty text has no trace"
    later = held_by_n1 | {"has_written": False}
    pane.run("; ".join([*[telling(trace())] * 60, telling(trace(transaction=later))]))
    assert pane.held == later, "of very many statements the last one counts too"
    assert pane.last is not None
    assert len(pane.last.statements) == 50
    pane.run("ROLLBACK")
    assert pane.held is None
    pane.close()


def test_traces_count_towards_what_an_answer_may_hold(dsn: str) -> None:
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    answer = pane.run("; ".join([telling(trace(sql="x" * 2**19))] * 5))
    assert (len(answer.traces), len(answer.statements)) == (2, 5)
    pane.close()


def test_a_trace_that_is_read_before_the_result_that_came_first_is_of_the_next_statement() -> None:
    answer, first, second = Answer("n1", ""), Grid(), Grid()
    for sql in ("first", "second"):
        answer.trace(json.dumps(trace(sql=sql)))
    answer.add(first)
    answer.add(second)
    assert [(grid, told and told["sql"]) for grid, told in answer.statements] == [(first, "first"), (second, "second")]


def test_a_session_that_is_not_told_of_shows_its_transaction_all_the_same(dsn: str) -> None:
    pane = Pane("n1", lambda: psycopg.connect(dsn, autocommit=True))
    pane.run("BEGIN")
    assert held.shown(pane)["status"] == "open"
    assert held.shown(pane)["tables"] == []
    pane.close()
    assert held.shown(pane)["status"] == "closed"
    assert held.shown(None)["status"] == "idle"
