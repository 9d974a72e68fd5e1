"""Relations of the catalog are made once for all who ask at the same time, beside the event loop, and kept with a
limit; all tables are there, however many, or none."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.types import SqlType
from nodes.execution.engine import catalog_batches
from nodes.execution.engine.catalog_batches import CatalogBatches
from nodes.store.name_cache import TABLES_MAX
from tests.nodes.conftest import Cluster

ONE = Descriptor(TableId(7), "one", 1, (Column(ColumnId(1), "id", SqlType.BIGINT),), (ColumnId(1),))


class Made:
    """Counts what is made, and where."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.threads: set[int] = set()
        made = catalog_batches.rows_of

        def counted(name: str, *given: Any) -> Any:
            self.names.append(name)
            self.threads.add(threading.get_ident())
            return made(name, *given)

        monkeypatch.setattr(catalog_batches, "rows_of", counted)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(monkeypatch)


def test_a_relation_is_made_once_for_the_same_versions(made: Made) -> None:
    async def ask() -> None:
        batches = CatalogBatches()
        first, second = await asyncio.gather(*(batches.get("pg_class", (ONE,), "") for _ in range(2)))
        assert first is second is await batches.get("pg_class", (replace(ONE),), "")
        assert made.names == ["pg_class"]
        assert threading.get_ident() not in made.threads
        assert await batches.get("pg_class", (replace(ONE, version=2),), "") is not first
        changed = replace(ONE, name="changed")
        batch = await batches.get("pg_class", (changed,), "", {ONE.table_id: changed})
        assert batch is not first, "a transaction may change its own table within the version"
        assert (await batches.get("pg_roles", (ONE,), "ann")).num_rows == 2
        assert (await batches.get("pg_roles", (ONE,), "")).num_rows == 1

    asyncio.run(ask())
    assert made.names == ["pg_class", "pg_class", "pg_class", "pg_roles", "pg_roles"]


def test_one_who_gives_up_does_not_take_it_from_the_others(made: Made) -> None:
    async def ask() -> int:
        batches = CatalogBatches()
        asking = [asyncio.create_task(batches.get("pg_class", (ONE,), "")) for _ in range(2)]
        await asyncio.sleep(0)
        asking[0].cancel()
        rows: int = (await asking[1]).num_rows
        return rows

    async def undisturbed() -> int:
        return int((await CatalogBatches().get("pg_class", (ONE,), "")).num_rows)

    found = asyncio.run(ask())
    assert made.names == ["pg_class"]
    assert found == asyncio.run(undisturbed())


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch, made: Made) -> None:
    async def ask() -> None:
        batches = CatalogBatches()
        for version in range(1, 9):
            await batches.get("pg_class", (replace(ONE, version=version),), "")
        await batches.get("pg_class", (replace(ONE, version=8),), "")
        assert len(made.names) == 8
        await batches.get("pg_class", (replace(ONE, version=1),), "")
        assert len(made.names) == 9

    monkeypatch.setattr(catalog_batches, "KEPT_MAX", 3)
    asyncio.run(ask())


COPY = """
WITH made AS (
  INSERT INTO catalog_table (id, name, state, version, created_at)
  SELECT 1000000 + n, 'many_' || n, 'live', 1, now() FROM generate_series(1, %s) n RETURNING id, name)
INSERT INTO catalog_descriptor (table_id, version, body, schema_hash, sharding_hash, modified_at)
SELECT m.id, 1, d.body || jsonb_build_object('table_id', m.id, 'name', m.name), d.schema_hash, d.sharding_hash,
  d.modified_at
FROM made m, catalog_descriptor d JOIN catalog_table t ON t.id = d.table_id AND t.version = d.version
WHERE t.name = %s
"""
REMOVE = (
    "DELETE FROM catalog_descriptor WHERE table_id IN (SELECT id FROM catalog_table WHERE name LIKE 'many\\_%')",
    "DELETE FROM catalog_table WHERE name LIKE 'many\\_%'",
)


def test_all_tables_are_listed_or_none(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    model, count = cluster.table("id int primary key, v text"), 1200
    counted = "SELECT count(*) FROM {} WHERE {} LIKE 'many\\_%' AND {}"
    with cluster.store() as store:
        try:
            store.execute(COPY, [count, model])
            for relation, name, which in (
                ("pg_class", "relname", "relkind = 'r'"), ("information_schema.tables", "table_name", "true"),
            ):  # fmt: skip
                assert n1.execute(counted.format(relation, name, which)).fetchone() == (count,)
            assert len([1 for row in n1.execute("SHOW TABLES").fetchall() if row[0].startswith("many_")]) == count
            store.execute(
                "INSERT INTO catalog_table (id, name, state, version, created_at) SELECT 1100000 + n,"
                " 'many_x' || n, 'live', 1, now() FROM generate_series(1, %s) n", [TABLES_MAX],
            )  # fmt: skip
            with pytest.raises(psycopg.errors.ProgramLimitExceeded, match=f"more than {TABLES_MAX} tables"):
                n1.execute("SELECT count(*) FROM pg_class")
        finally:
            for sql in REMOVE:
                store.execute(sql)
    assert n1.execute(counted.format("pg_class", "relname", "true")).fetchone() == (0,)
