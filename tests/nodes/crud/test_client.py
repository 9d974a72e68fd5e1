"""The Python client: every operation, blocking and with asyncio; and that it needs nothing else of the tree."""

import asyncio
import datetime as dt
import subprocess
import sys
import uuid

import psycopg
import pytest

from nodes.client import AsyncCrud, Crud, CrudError
from tests.nodes.conftest import Cluster


def test_it_needs_psycopg_and_nothing_else_of_the_tree():
    code = (
        "import sys, nodes.client; ours = {'django', 'catalog', 'storage', 'leases', 'expressions', 'changes'};"
        "others = {m for m in sys.modules if m.startswith('nodes.') and not m.startswith('nodes.client')};"
        "print(sorted(ours & {m.split('.')[0] for m in sys.modules} | others))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_operation(cluster: Cluster):
    table = cluster.table("id int PRIMARY KEY, day date, at timestamptz, u uuid, x double precision, n int DEFAULT 0")
    key, day = uuid.uuid4(), dt.date(2026, 11, 23)
    with Crud(cluster.address(), timeout=60) as crud:
        put = crud.insert(table, [1, day, dt.datetime(2026, 1, 1, tzinfo=dt.UTC), key, float("nan")])
        assert put.rows == [[1, "2026-11-23", "2026-01-01 00:00:00+00", str(key), "NaN", 0]]
        assert crud.insert_object(table, {"id": 2}, fields=["id"]).objects() == [{"id": 2}]
        assert crud.unflatten_rows(put.rows, put.metadata) == put.objects()
        assert crud.replace(table, [2, None], noreturn=True).rows == []
        assert crud.replace_object(table, {"id": 2, "n": 5}).objects()[0]["n"] == 5
        assert (
            len(crud.upsert(table, [2], [("+", "n", 2)]))
            == len(crud.upsert_object(table, {"id": 3}, [("=", "n", 1)]))
            == 0
        )
        assert crud.insert_many(table, [[4], [5]]).done == crud.insert_object_many(table, [{"id": 6}, {"id": 7}]).done
        batch = crud.insert_many(table, [[8], [4], [9]], fields=["id"])
        assert (batch.done, [f.index for f in batch.failed], batch.rows) == ([0, 2], [1], [[8], [9]])
        assert batch.failed[0].error.kind == "DuplicateKeyError"
        assert not batch.is_complete
        assert crud.replace_many(table, [[8]]).is_complete
        assert crud.replace_object_many(table, [{"id": 8}]).is_complete
        assert crud.upsert_many(table, [([8], [("+", "n", 1)])]).is_complete
        assert crud.upsert_object_many(table, [({"id": 8}, [("+", "n", 1)])]).is_complete
        assert crud.get(table, 8).objects()[0]["n"] == 2
        assert crud.update(table, {"id": 8}, [("-", "n", 1)]).objects()[0]["n"] == 1
        assert crud.delete(table, [9]).rows[0][0] == 9
        assert [row[0] for row in crud.select(table, [(">=", "id", 2)], first=2)] == [2, 3]
        assert [row[0] for row in crud.pairs(table, batch_size=3)] == [1, 2, 3, 4, 5, 6, 7, 8]
        assert crud.count(table, [("=", "u", key)]) == 1
        assert crud.len(table) == 8
        assert (crud.min(table).rows[0][0], crud.max(table, fields=["id"]).rows) == (1, [[8]])
        assert crud.schema(table)["primary_key"] == ["id"]
        assert set(crud.storage_info()) == {"storage_1", "storage_2"}
        assert crud.stats(table)["requests"] > 20
        crud.truncate(table)
        assert crud.len(table) == 0
        crud.insert_many(table, [[1]])
        with pytest.raises(CrudError, match="DuplicateKeyError: duplicate key value") as refused:
            crud.insert(table, [1])
        assert (refused.value.code, refused.value.constraint) == ("23505", f"{table}_pkey")
        with pytest.raises(CrudError, match="OptionsError: crud.get has no option bogus"):
            crud.get(table, 1, bogus=1)  # type: ignore[call-arg]
    with psycopg.connect(cluster.address()) as connection, pytest.raises(ValueError, match="autocommit"):
        Crud(connection)


def test_with_asyncio(cluster: Cluster):
    table = cluster.table("id int PRIMARY KEY, n int")

    async def work() -> None:
        async with await AsyncCrud.connect(cluster.address(), timeout=60) as crud:
            assert (await crud.insert_many(table, [[i, i] for i in range(30)])).is_complete
            assert (await crud.get(table, 7)).rows == [[7, 7]]
            assert [row async for row in crud.pairs(table, [("<", "id", 2)])] == [[0, 0], [1, 1]]
            with pytest.raises(CrudError, match="UnknownTableError"):
                await crud.len("nosuch")

    asyncio.run(work())
