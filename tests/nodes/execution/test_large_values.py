"""Large values are read a few at a time, however many rows a statement is about."""

from typing import Any

import pytest

from nodes.clients.portals import Portal
from tests.nodes.conftest import Cluster
from tests.nodes.within import Within, within

ROWS, LENGTH = 120, 100_000
PAGE_BYTES = 2**20
"""Of a page in these tests; eight times as much otherwise."""
IDS = ", ".join(map(str, range(ROWS)))
ALL = "sum(length(v)), count(*)"
TOTAL = [(str(ROWS * LENGTH).encode(), str(ROWS).encode())]


@pytest.fixture(scope="module")
def table(cluster: Cluster) -> str:
    """Every second row has a short text in another column, so that sizes change from pair to pair."""
    name = cluster.table("id int PRIMARY KEY, v text, kind int, n int, w text")
    with cluster.connect() as connection:
        for start in range(0, ROWS, 40):
            connection.execute(
                f"INSERT INTO {name} SELECT g, repeat(chr(65 + g % 26), {LENGTH}), 1, 0, repeat('x', g % 2)"
                f" FROM generate_series({start}, {start + 39}) g"
            )
    return name


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.page_sizes.PAGE_BYTES", PAGE_BYTES)


def answers(cluster: Cluster, sql: str) -> tuple[list[Any], int]:
    """A statement's rows, and the most bytes that the store sent at once."""

    async def work(node: Within) -> tuple[list[Any], int]:
        (statement,) = await node.session.parse(sql)
        prepared = await node.session.prepare(sql, statement, [])
        node.answers.clear()
        result = await node.session.execute(Portal(prepared), alone=True)
        rows = list(result.rows)
        if result.more is not None:
            rows += [row async for batch in result.more for row in batch]
        return [tuple(row) for row in rows], max(node.answers)

    return within(cluster, work)


@pytest.mark.parametrize("where", [
    pytest.param("", id="all of them"),
    pytest.param(" WHERE n + 0 = 0", id="those that a filter finds"),
    pytest.param(f" WHERE id IN ({IDS})", id="those of given keys"),
])  # fmt: skip
def test_a_query_reads_large_values_a_few_at_a_time(cluster: Cluster, table: str, where: str) -> None:
    rows, largest = answers(cluster, f"SELECT {ALL} FROM {table}{where}")
    assert rows == TOTAL
    assert largest < 4 * PAGE_BYTES


@pytest.mark.parametrize("where", [
    pytest.param("", id="all of them"),
    pytest.param(f" WHERE id IN ({IDS})", id="those of given keys"),
    pytest.param(" WHERE id = 7", id="one of them"),
])  # fmt: skip
def test_large_values_reach_the_client_whole(cluster: Cluster, table: str, where: str) -> None:
    rows, largest = answers(cluster, f"SELECT id, v, w FROM {table}{where}")
    assert len(rows) == (1 if where.endswith("7") else ROWS)
    for number, value, short in rows:
        assert value == bytes([65 + int(number) % 26]) * LENGTH
        assert short == b"x" * (int(number) % 2)
    assert largest < 4 * PAGE_BYTES


@pytest.mark.parametrize("sql", [
    pytest.param("UPDATE {t} SET n = 1 WHERE n = 0 AND kind = 1", id="an update of all"),
    pytest.param(f"UPDATE {{t}} SET n = 2 WHERE id IN ({IDS})", id="an update by keys", marks=pytest.mark.soak),
    pytest.param("DELETE FROM {t} WHERE kind = 2", id="a deletion that finds none", marks=pytest.mark.soak),
    pytest.param("INSERT INTO {t} SELECT id, 'new', 1, 3, '' FROM {t} ON CONFLICT (id) DO NOTHING", id="no upsert"),
    pytest.param(
        "INSERT INTO {t} SELECT id, 'new', 1, 3, '' FROM {t} ON CONFLICT (id) DO UPDATE SET n = 4", id="an upsert"
    ),
])  # fmt: skip
def test_a_statement_that_writes_reads_large_values_a_few_at_a_time(cluster: Cluster, table: str, sql: str) -> None:
    _, largest = answers(cluster, sql.replace("{t}", table))
    assert largest < 4 * PAGE_BYTES
    assert answers(cluster, f"SELECT {ALL} FROM {table}")[0] == TOTAL


@pytest.mark.parametrize("sql", [
    pytest.param("UPDATE {t} SET n = 5 WHERE n >= 0", id="an update"),
    pytest.param("DELETE FROM {t} WHERE n >= 0", id="a deletion"),
    pytest.param("INSERT INTO {t} SELECT id, '', 1, 3, '' FROM {t} ON CONFLICT (id) DO UPDATE SET n = 4", id="upserts"),
])  # fmt: skip
def test_the_values_of_rows_that_a_statement_holds_count(
    cluster: Cluster, table: str, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodes.execution.held_rows.HeldRows.bytes_max", ROWS * LENGTH // 2)

    async def work(node: Within) -> str | None:
        return await node.run(sql.replace("{t}", table))

    assert within(cluster, work) == "54000"


def test_a_row_that_is_too_large_is_refused_and_its_columns_are_not(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("storage.page_sizes", "nodes.store.relay", "nodes.store.pipeline"):
        monkeypatch.setattr(f"{module}.ROW_BYTES_MAX", 500_000)
    monkeypatch.setattr("storage.page_sizes.PAGE_BYTES", 200_000)
    columns = [f"c{i}" for i in range(10)]
    name = cluster.table("id int PRIMARY KEY, " + ", ".join(f"{c} text" for c in columns))
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {name} (id) VALUES (1)")
        for column in columns:
            connection.execute(f"UPDATE {name} SET {column} = repeat('x', 100000)")

    async def work(node: Within) -> list[str | None]:
        ways = ("", " WHERE id = 1", " WHERE id IN (1, 2, 3)")
        return [await node.run(f"SELECT * FROM {name}{way}") for way in ways]

    assert within(cluster, work) == ["54000"] * 3
    assert len(answers(cluster, f"SELECT c1, c2 FROM {name}")[0]) == 1
