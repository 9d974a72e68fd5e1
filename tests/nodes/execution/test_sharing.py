"""Reads of whole tables: with one process for each of two storages, if nothing is open beside them."""

from typing import Any

import psycopg
import pytest

from nodes.sql.conditions.access_paths import Access
from nodes.sql.pair_queries import Given, rows_sql
from storage import statements
from storage.statements import kv, remember_whole_sql, share_sql
from tests.nodes.conftest import STORAGES, Cluster

BOTH = range(1, STORAGES + 1)
CHEAP = "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0"
LONG_S = 0.2


def processes(store: "psycopg.Connection[Any]", table_id: int) -> str:
    """How many may help in a transaction that reads a table as a node does."""
    found = store.execute(share_sql([(storage, table_id) for storage in BOTH]).encode()).fetchone()
    assert found is not None
    return str(found[0])


def test_each_storage_is_read_by_a_process_of_its_own_unless_something_is_open_beside(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = cluster.descriptor(cluster.table("id bigint PRIMARY KEY, dest text"))
    with cluster.connect() as node:
        node.execute(f"INSERT INTO {version.name} SELECT n, 'x' FROM generate_series(1, 500) AS n")
    columns = {"dest": version.column_named("dest")}
    rows = rows_sql(version, columns, Access(None, (), tuple(BOTH)), None, Given(1))
    question = f"SELECT count(*), max(dest) FROM ({rows}) AS t".encode()
    with cluster.store() as store:
        store.execute(CHEAP)
        store.execute("; ".join(f"ANALYZE {kv(storage, version.table_id)}" for storage in BOTH).encode())
        with store.transaction():
            assert processes(store, version.table_id) == "0"  # it is small
        monkeypatch.setattr(statements, "SHARED_BYTES", -1)
        with store.transaction():
            for storage in BOTH:
                store.execute(remember_whole_sql(storage, version.table_id).encode())
            assert processes(store, version.table_id) == "1"
            plan = "\n".join(line for (line,) in store.execute(b"EXPLAIN " + question))
            assert "Parallel Append" in plan
            assert store.execute(question).fetchone() == (500, "x")
        with cluster.connect() as beside, beside.transaction():
            beside.execute(f"INSERT INTO {version.name} VALUES (0, 'y')")
            store.execute("SELECT pg_sleep(%s)", [LONG_S])
            with store.transaction():
                assert processes(store, version.table_id) == "0"
