"""A name that a node has not met yet costs one lease, however many ask for it at the same time (L3, L12)."""

import asyncio
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from nodes.context import Environment
from nodes.store.name_resolution import Names
from nodes.store.transaction import Transaction
from tests.nodes.conftest import Cluster
from tests.nodes.within import Keeper, Pin


class Cold(Keeper):
    """Holds nothing yet. Who asks while an acquisition is under way shares it, unless it must be a fresh one (L3)."""

    acquired = 0
    under_way: "asyncio.Future[Pin] | None" = None

    def pin_held(self, table_id: int) -> Pin | None:  # type: ignore[override]
        return None

    async def pin(self, table_id: int, fresh: bool, at_most: int | None = None) -> Pin:
        if self.under_way is None or fresh:
            self.under_way = asyncio.ensure_future(self.acquire(table_id))
        return await self.under_way

    async def acquire(self, table_id: int) -> Pin:
        self.acquired += 1
        await asyncio.sleep(0.05)
        return Pin(self.cluster.descriptor(table_id))


def test_many_who_meet_a_name_for_the_first_time_share_one_lease(cluster: Cluster) -> None:
    table = cluster.table("id int primary key")
    table_id, keeper = cluster.descriptor(table).table_id, Cold(cluster)
    directory = SimpleNamespace(known=lambda name: None, forget=lambda name: None)

    async def find(name: str) -> int:
        return table_id

    directory.find = find
    env = Environment("cold", 1, 2, 3000, None, directory, keeper)  # type: ignore[arg-type]

    async def meet() -> list[Any]:
        uses = [Names(env).versions(Transaction(None, 2, env._settle), [table]) for _ in range(5)]  # type: ignore[arg-type]
        return await asyncio.gather(*uses)

    assert [found[table].name for found in asyncio.run(meet())] == [table] * 5
    assert keeper.acquired == 1


def test_a_misspelt_table_is_refused_with_the_one_that_was_meant(cluster: Cluster) -> None:
    table = cluster.table("id int primary key")
    hint = f'Perhaps you meant the table "{table}".'
    with cluster.connect("n1") as connection:
        connection.autocommit = True
        connection.execute(f"SELECT * FROM {table}")
        for sql in (f"SELECT * FROM {table}x", f"INSERT INTO {table}x VALUES (1)", f"DROP TABLE {table}x"):
            with pytest.raises(psycopg.errors.UndefinedTable) as refused:
                connection.execute(sql)
            assert refused.value.diag.message_hint == hint, sql
        [answer] = connection.execute(f"SELECT crud.get('{table}x', '1')").fetchone() or ()
        assert (answer["class"], answer["hint"]) == ("UnknownTableError", hint)
