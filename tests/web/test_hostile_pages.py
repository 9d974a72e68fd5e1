"""Whatever somebody writes into a statement or a link, the page that plans it answers within a second, and others are
answered within a second meanwhile."""

import http.client
import threading
import time
from collections.abc import Callable
from itertools import cycle
from urllib.parse import urlencode

import pytest
from django.test import Client

from catalog.models import Table
from tests.web.conftest import Site

ANSWER_S_MAX = 1.0
TRIES = 3
"""The machine may be busy with something else: the best of so many counts."""
CHARS = 19_000
HOSTILE = [
    pytest.param("CHECK (" + "(" * (CHARS // 2) + "id" + ")" * (CHARS // 2) + " > 0)", id="brackets in brackets"),
    pytest.param("CHECK (" + "NOT " * (CHARS // 4) + "true)", id="a word on a word"),
    pytest.param("CHECK (dest LIKE '" + "%_" * (CHARS // 2) + "x')", id="a pattern of wildcards"),
    pytest.param("CHECK (id IN (" + ", ".join(map(str, range(1000))) + "))", id="a long list"),
    pytest.param("CHECK (" + " OR ".join(f"id = {n}" for n in range(300)) + ")", id="many alternatives"),
    pytest.param("CHECK (dest || " + " || ".join(["dest"] * 2000) + " <> '')", id="a long sum of texts"),
]
DEFAULTS = [
    pytest.param("repeat('x', 1000000000)", id="a text of a gigabyte"),
    pytest.param("repeat('x', 100000000)", id="a text that a session can hold"),
    pytest.param("repeat(repeat(repeat('x', 10000), 10000), 10000)", id="a text beyond every size"),
    pytest.param("lpad('x', 2000000000, 'y')", id="a padded text"),
    pytest.param("'" + "x" * CHARS + "'", id="a literal as long as a statement may be"),
]

NO_STATEMENTS = [
    pytest.param("SELECT " + "(" * CHARS, id="brackets that stay open"),
    pytest.param("/*" * (CHARS // 8), id="comments in comments"),
    pytest.param("'" + "''" * (CHARS // 2), id="quotes"),
    pytest.param("$a$" * (CHARS // 3), id="dollars"),
    pytest.param("\x00" * CHARS, id="zero bytes"),
    pytest.param("CREATE TABLE odd (" + ", ".join(f"c{n} int" for n in range(1600)) + ")", id="many columns"),
    pytest.param("ALTER TABLE flights " + ", ".join(f"ADD c{n} int" for n in range(1300)), id="many new columns"),
    pytest.param("ALTER TABLE flights ADD odd int" + " CHECK (odd > 0)" * 1100, id="many rules of a new column"),
    pytest.param("x" * 200_000, id="longer than the limit"),
]


def statements(clause: str) -> list[str]:
    return [f"ALTER TABLE flights ADD CONSTRAINT odd {clause}", f"CREATE TABLE odd (id bigint PRIMARY KEY, {clause})"]


def answered(ask: Callable[[], object]) -> float:
    """Seconds of the best try."""
    seconds = []
    for _ in range(TRIES):
        began = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - began)
        if seconds[-1] < ANSWER_S_MAX:
            break
    return min(seconds)


def is_answered(client: Client, statement: str) -> None:
    def preview() -> None:
        assert client.post("/changes/new/plan/", {"statement": statement}).status_code == 200

    def link() -> None:
        assert client.get(f"/changes/new/?{urlencode({'statement': statement})}").status_code == 200

    assert answered(preview) < ANSWER_S_MAX
    assert answered(link) < ANSWER_S_MAX


@pytest.mark.parametrize("clause", HOSTILE)
def test_a_hostile_rule_is_answered_at_once(client_of: Callable[[str], Client], flights: Table, clause: str) -> None:
    for statement in statements(clause):
        is_answered(client_of("sam"), statement)


@pytest.mark.parametrize("default", DEFAULTS)
def test_a_hostile_default_is_answered_at_once(
    client_of: Callable[[str], Client], flights: Table, default: str
) -> None:
    is_answered(client_of("sam"), f"ALTER TABLE flights ADD COLUMN odd text NOT NULL DEFAULT {default}")


@pytest.mark.parametrize("statement", NO_STATEMENTS)
def test_what_is_no_statement_is_answered_at_once(
    client_of: Callable[[str], Client], flights: Table, statement: str
) -> None:
    is_answered(client_of("sam"), statement)


SENDERS, SECONDS = 20, 3.0
ALL = [
    *(param.values[0] for param in NO_STATEMENTS),
    *(statement for param in HOSTILE for statement in statements(param.values[0])),
    *(f"ALTER TABLE flights ADD odd text NOT NULL DEFAULT {param.values[0]}" for param in DEFAULTS),
    "/*" * (CHARS // 2),
    "SELECT " + "+/*" * (CHARS // 3),
    "SELECT 1 " + "+" * CHARS + " 1",
]


@pytest.mark.alone
@pytest.mark.parametrize(
    ("sender", "where"),
    [
        pytest.param("sam", "/changes/new/plan/", id="plans of a submitter"),
        pytest.param("lea", "/lab/own/", id="invented tables of a learner"),
        pytest.param("", "/lab/own/", id="invented tables of a visitor without a sign-in"),
    ],
)
def test_others_are_answered_within_a_second_meanwhile(
    site: Site, client_of: Callable[[str], Client], flights: Table, sender: str, where: str
) -> None:
    """Twenty hostile requests at a time; the home page of somebody else, again and again."""
    token = "t" * 32
    mine, others = (site.cookie(client_of(name)) if name else "" for name in (sender, "olga"))
    left, stop, answered_with = cycle(ALL), threading.Event(), []

    def ask(method: str, path: str, cookie: str, body: str = "") -> int:
        connection = http.client.HTTPConnection(site.host, timeout=60)
        headers = {"Cookie": f"{cookie}; csrftoken={token}", "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, body, headers | {"X-CSRFToken": token})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    def send() -> None:
        while not stop.is_set():
            answered_with.append(ask("POST", where, mine, urlencode({"statement": next(left)})))

    assert ask("GET", "/", others) == 200
    senders = [threading.Thread(target=send) for _ in range(SENDERS)]
    for thread in senders:
        thread.start()
    seconds, until = [], time.monotonic() + SECONDS
    try:
        while time.monotonic() < until or len(answered_with) < len(ALL):
            began = time.monotonic()
            assert ask("GET", "/", others) == 200
            seconds.append(time.monotonic() - began)
    finally:
        stop.set()
        for thread in senders:
            thread.join()
    assert set(answered_with) <= {200, 422, 429}
    assert max(seconds) < ANSWER_S_MAX
