"""One greedy or hostile line at a time: it gets an answer, and the node goes on answering others meanwhile."""

import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from tests.nodes.conftest import Cluster

PATIENCE_S = 20.0
"""For a machine that is busy with other things; a node that hangs needs for ever."""
WAIT_S_MAX = 1.0
"""For others, who read a row by its key meanwhile."""
TRIES = 3
"""The machine may be busy with something else: the best of so many counts."""

ROWS = 500
HOSTILE = {
    "operators that nest to the left": ("SELECT 1" + "+1" * 100_000, "54001"),
    "casts that nest to the left": ("SELECT 1" + "::int" * 50_000, "54001"),
    "set operations that nest to the left": ("SELECT 1" + " UNION SELECT 1" * 40_000, "54001"),
    "joins that nest to the left": ("SELECT 1 FROM v" + " JOIN v ON true" * 40_000, "54001"),
    "joins behind numbers that end with a point": ("SELECT 1 FROM v" + " JOIN v ON 1." * 40_000, "54001"),
    "a pattern that can be laid in countless ways": ("SELECT count(*) FROM {t} WHERE v LIKE '" + "%a" * 30 + "%b'",
        None),
    "the same pattern, row by row": ("UPDATE {t} SET n = 1 WHERE v LIKE '" + "%a_" * 30 + "%b'", None),
    "casts there and back": ("SELECT random()" + "::text::float8" * 12, None),
    "a text of two billion characters": ("SELECT repeat('ab', 2147483647)", "54000"),
    "text that is replaced by more": ("SELECT " + "replace(" * 20 + "v" + ", 'a', 'aaaa')" * 20 + " FROM {t}", "53200"),
    "comments left open in each other": ("SELECT 1 " + "/*" * 500_000, "54000"),
    "operators and comments left open": ("SELECT 1 " + "+/*" * 300_000, "54000"),
    "a padded text for each row": ("INSERT INTO {t} SELECT id + 10000, lpad(v, 1000000), 1 FROM {t}", "54000"),
    "a list of many values": ("SELECT count(*) FROM {t} WHERE id IN (" + "1," * 300_000 + "1)", "54000"),
    "a list that is long but may be": ("UPDATE {t} SET n = 2 WHERE n IN (" + "7," * 19_000 + "7)", None),
    "many rows of constants": ("SELECT count(*) FROM (VALUES " + "(1)," * 30_000 + "(1)) x", None),
    "a choice among many": (
        "SELECT CASE n " + "".join(f"WHEN {i} THEN {i} " for i in range(9_000)) + "END FROM {t} ORDER BY 1", None),
    "the same for rows that are written": (
        "UPDATE {t} SET n = (SELECT CASE n " + "".join(f"WHEN {i} THEN {i} " for i in range(9_000)) + "END)"
        " WHERE id <= 50",
        None,
    ),
    "subqueries that look around": (
        "SELECT 1 FROM {t} x WHERE "
        + " OR ".join(f"EXISTS (SELECT 1 FROM {{t}} WHERE n = x.n + {i})" for i in range(60)),
        "54001",
    ),
    "lateral subqueries, each of the one before": (
        "SELECT 1 FROM {t} s0" + "".join(f", LATERAL (SELECT s{i}.n + 1 AS n) s{i + 1}" for i in range(100)), "54001"),
    "a join of many": (
        "SELECT 1 FROM "
        + ", ".join(f"{{t}} x{i}" for i in range(190))
        + " WHERE "
        + " AND ".join(f"x{i}.n = x{i + 1}.n" for i in range(189)),
        "54000",
    ),
    "queries that use each the one before": (
        "WITH w0 AS (SELECT 1 AS n)"
        + "".join(f", w{i} AS (SELECT n FROM w{i - 1})" for i in range(1, 2_000))
        + " TABLE w0",
        "54001",
    ),
    "a value that is too long": ("INSERT INTO {t} VALUES (1, " + " || ".join(["repeat('a', 100000)"] * 11) + ", 1)",
        "54000"),
    "a result of many columns": ("SELECT " + "1," * 40_000 + "1", "54011"),
    "a result of all columns many times": ("SELECT " + "x.*," * 20_000 + "1 FROM {t} x", "54011"),
    "a number of 400 digits": ("SELECT " + "1" * 400, None),
    "a number of 400 digits as a double": ("SELECT " + "1" * 400 + "::float8", "22003"),
    "a call of a procedure": ("CALL x(" + "1," * 90 + "1)", "42883"),
    "a password in SQL": ("ALTER USER tester PASSWORD '" + "x" * 60_000 + "'", "0A000"),
    "a number that nearly is one": ("SELECT '" + "1" * 900_000 + "x'::float8", "22003"),
}  # fmt: skip


@pytest.fixture(scope="module")
def table(cluster: Cluster) -> str:
    name = cluster.table("id int PRIMARY KEY, v text, n int")
    rows = ", ".join(f"({i}, '{'a' * 60}', {i})" for i in range(ROWS))
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {name} VALUES {rows}")
    return name


def longest_wait(cluster: Cluster, table: str, attack: Callable[[], None]) -> float:
    """Seconds that somebody else waited for a row at most, who asks all the time meanwhile; the node stays the same."""
    waits, is_over = list[float](), threading.Event()
    with cluster.connect() as other:
        (pid,) = other.execute("SELECT pg_backend_pid()").fetchone() or (None,)

        def ask() -> None:
            while True:
                began = time.monotonic()
                other.execute(f"SELECT n FROM {table} WHERE id = 7").fetchone()
                waits.append(time.monotonic() - began)
                if is_over.wait(0.02):
                    return

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            attack()
        finally:
            is_over.set()
            asking.join(PATIENCE_S)
        assert not asking.is_alive()
        assert other.execute("SELECT pg_backend_pid()").fetchone() == (pid,)
    return max(waits)


def disturbs_nobody(cluster: Cluster, table: str, name: str, attack: Callable[[], None]) -> None:
    waits = list[float]()
    while len(waits) < TRIES and min(waits, default=WAIT_S_MAX) >= WAIT_S_MAX:
        waits.append(longest_wait(cluster, table, attack))
    print(f"others waited {min(waits):.2f} s at most: {name}")
    assert min(waits) < WAIT_S_MAX, f"others waited {waits}"


LONG_ONES = ("a result of all columns many times", "a choice among many")
"""Another of the list takes the same way, in less time: they are for the soak."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] if name in LONG_ONES else []) for name in HOSTILE]
)
def test_a_hostile_statement_is_answered_and_disturbs_nobody(cluster: Cluster, table: str, name: str) -> None:
    sql, sqlstate = HOSTILE[name]

    def attack() -> None:
        with cluster.connect() as connection:
            connection.execute(f"SET statement_timeout = {int(PATIENCE_S * 1000)}")
            if sqlstate is None:
                connection.execute(sql.replace("{t}", table))
            else:
                with pytest.raises(psycopg.Error) as caught:
                    connection.execute(sql.replace("{t}", table))
                assert (caught.value.sqlstate or "").startswith(sqlstate), caught.value
            assert connection.execute("SELECT 1").fetchone() == (1,)

    disturbs_nobody(cluster, table, name, attack)


LONG = "a" * 2**20
HOSTILE_VALUES = {
    "a parameter of 15 MB": ("INSERT INTO {t} VALUES (70000, 'v', (%s LIKE '%%a_b%%')::int)", "a" * 15_000_000,
        "54000"),
    "a long text and a long pattern": ("SELECT %s LIKE '%%" + "_a" * 400 + "b%%' FROM {t} WHERE id = 7", LONG, None),
    "a long text and many patterns": (
        "SELECT n FROM {t} WHERE id = 7 AND (%s LIKE '%%a_b%%'" + " OR $1 LIKE '%%a_b%%'" * 80 + ")", LONG, None),
    "the same for rows that are written": (
        "UPDATE {t} SET n = 3 WHERE id < 10 AND (%s LIKE '%%a_b%%'" + " OR $1 LIKE '%%a_b%%'" * 80 + ")", LONG, None),
    "all characters of a long text cut off": ("SELECT btrim(%s, repeat('b', 500) || 'a') FROM {t} WHERE id = 7",
        LONG[1:], None),
    "a long text of accents": ("SELECT upper(%s) FROM {t} WHERE id = 7", "e\u0301" * 340_000, None),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_VALUES)
def test_a_hostile_value_is_answered_and_disturbs_nobody(cluster: Cluster, table: str, name: str) -> None:
    sql, value, sqlstate = HOSTILE_VALUES[name]

    def attack() -> None:
        with cluster.connect() as connection:
            began = time.monotonic()
            if sqlstate is None:
                connection.execute(sql.replace("{t}", table), (value,))
            else:
                with pytest.raises(psycopg.Error) as caught:
                    connection.execute(sql.replace("{t}", table), (value,))
                assert caught.value.sqlstate == sqlstate, caught.value
            assert time.monotonic() - began < PATIENCE_S / 2

    disturbs_nobody(cluster, table, name, attack)


@pytest.mark.soak
def test_a_bulk_insert_does_not_cost_a_node_its_leases(cluster: Cluster, short: str) -> None:
    """A lease of two seconds, and statements whose planning takes longer than that on a busy machine."""
    name = cluster.table("id int PRIMARY KEY, a text, b int, c float8, d timestamp")
    with cluster.connect(short) as connection:
        for start in range(0, 30_000, 5_000):
            rows = ", ".join(
                f"({i}, 'name {i}', {i}, {i}.5, '2024-01-01 10:00:00')" for i in range(start, start + 5_000)
            )
            connection.execute(f"INSERT INTO {name} VALUES {rows}")
        assert connection.execute(f"SELECT count(*) FROM {name}").fetchone() == (30_000,)
