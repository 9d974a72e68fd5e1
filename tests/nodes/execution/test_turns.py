"""A statement over many rows lets others go between any two of them (`nodes.execution.fairness`)."""

import asyncio
from contextvars import copy_context

import pytest

from expressions.limits import VALUE_BYTES_MAX, begin_anew
from expressions.values import texts
from nodes.execution import fairness
from nodes.execution.fairness import Turns
from tests.nodes.conftest import Cluster
from tests.nodes.within import Within, within

ROWS = 300


@pytest.mark.parametrize(("sql", "times"), [
    pytest.param("INSERT INTO {t} SELECT id + 1000, n, w || 'x' FROM {t}", 2, id="an insert"),
    pytest.param("INSERT INTO {t} SELECT id, n, w FROM {t} ON CONFLICT (w) DO UPDATE SET n = 1", 4, id="an upsert"),
    pytest.param("UPDATE {t} SET n = n + 1 RETURNING n", 3, id="an update with an answer"),
    pytest.param("DELETE FROM {t} WHERE id > 0", 1, id="a deletion"),
])  # fmt: skip
def test_each_row_may_be_the_last_before_others(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, sql: str, times: int
) -> None:
    """`times`: how often a row is looked at."""
    table, given = cluster.table("id int PRIMARY KEY, n int, w text UNIQUE"), 0
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} SELECT g, 0, 'w' || g FROM generate_series(1, {ROWS}) g")

    async def give(_: Turns) -> None:
        nonlocal given
        given += 1

    async def work(node: Within) -> str | None:
        monkeypatch.setattr(Turns, "give", give)
        return await node.run(sql.replace("{t}", table))

    assert within(cluster, work) is None
    assert given >= times * ROWS


def test_each_row_of_values_may_be_the_last_one_when_a_turn_is_due(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short values may take long to compute: what is counted is time, not only bytes."""
    table, given, rows = cluster.table("id int PRIMARY KEY, n int"), 0, 50

    async def give(_: Turns) -> None:
        nonlocal given
        given += 1

    async def work(node: Within) -> str | None:
        monkeypatch.setattr(Turns, "give", give)
        monkeypatch.setattr(fairness, "SLICE_S", -1)
        values = ", ".join(f"({i}, {i} + 1)" for i in range(rows))
        return await node.run(f"INSERT INTO {table} VALUES {values}")

    assert within(cluster, work) is None
    assert given >= 3 * rows  # computed, checked, put


def test_what_rows_look_at_is_not_added_up() -> None:
    """A machine may be so fast, or pages so small, that a turn is never due."""
    text = "a" * VALUE_BYTES_MAX

    async def rows() -> None:
        begin_anew()
        for _ in range(150):  # at 32 characters for one, 128 of these are as many as one row may look at
            turns = Turns()
            turns._since += 3600
            assert not texts.like(text, "%zz%")
            await turns.give()

    copy_context().run(asyncio.run, rows())
