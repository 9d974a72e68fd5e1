"""Whatever somebody writes into a statement or a link, the page that plans it answers within a second."""

import time
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.test import Client

from catalog.models import Table

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
    pytest.param("repeat(repeat(repeat('x', 10000), 10000), 10000)", id="a text beyond every size"),
    pytest.param("lpad('x', 2000000000, 'y')", id="a padded text"),
    pytest.param("'" + "x" * CHARS + "'", id="a literal as long as a statement may be"),
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


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("SELECT " + "(" * CHARS, id="brackets that stay open"),
        pytest.param("/*" * (CHARS // 8), id="comments in comments"),
        pytest.param("'" + "''" * (CHARS // 2), id="quotes"),
        pytest.param("$a$" * (CHARS // 3), id="dollars"),
        pytest.param("\x00" * CHARS, id="zero bytes"),
        pytest.param("CREATE TABLE odd (" + ", ".join(f"c{n} int" for n in range(1600)) + ")", id="many columns"),
        pytest.param("ALTER TABLE flights " + ", ".join(f"ADD c{n} int" for n in range(1300)), id="many new columns"),
        pytest.param("ALTER TABLE flights ADD odd int" + " CHECK (odd > 0)" * 1100, id="many rules of a new column"),
        pytest.param("x" * 200_000, id="longer than the limit"),
    ],
)
def test_what_is_no_statement_is_answered_at_once(
    client_of: Callable[[str], Client], flights: Table, statement: str
) -> None:
    is_answered(client_of("sam"), statement)
