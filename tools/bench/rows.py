"""A table of many rows, made quickly: pairs built with Arrow, copied past every rule before anybody uses it."""

import datetime as dt
import random
from collections.abc import Iterator

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor, from_json
from catalog.elements import ColumnId
from storage.arrow.encoding import Pairs, copy_payload
from storage.arrow.rows import chosen, row_pairs, row_storages, rows_of_batch
from storage.postgres import kv
from tests.harness.cluster import RunningCluster

STORAGES, BUCKETS = 2, 3000
BATCH = 100_000
COLUMNS = "id bigint PRIMARY KEY, name text, age integer, score double precision, note text, born date"


def make_table(cluster: RunningCluster, name: str, rows: int) -> Descriptor:
    """A new table with `rows` rows, ids from 0, names in no order."""
    with psycopg.connect(next(iter(cluster.nodes.values())).dsn, autocommit=True) as node:
        node.execute(f"CREATE TABLE {name} ({COLUMNS})")
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        descriptor = newest(database, name)
        for storage, pairs in batches(descriptor, rows):
            copy(database, kv(storage, descriptor.table_id), pairs)
        for storage in range(1, STORAGES + 1):
            database.execute(f"VACUUM ANALYZE {kv(storage, descriptor.table_id)}")
    return descriptor


def newest(database: psycopg.Connection, name: str) -> Descriptor:
    row = database.execute(
        "SELECT d.body FROM catalog_descriptor d JOIN catalog_table t ON t.id = d.table_id"
        " WHERE t.name = %s AND t.state = 'live' ORDER BY d.version DESC LIMIT 1",
        (name,),
    ).fetchone()
    assert row is not None, f"there is no table {name}"
    return from_json(row[0])


def batches(descriptor: Descriptor, rows: int) -> Iterator[tuple[int, Pairs]]:
    chance = random.Random(7)
    for first in range(0, rows, BATCH):
        made = rows_of_batch(descriptor, values(range(first, min(first + BATCH, rows)), chance))
        homes = row_storages(descriptor, made, storages=STORAGES, buckets=BUCKETS)
        for storage in range(1, STORAGES + 1):
            here = chosen(made, pc.equal(homes, storage))
            yield storage, row_pairs(descriptor, descriptor.placement.id, here).sorted()


def values(ids: range, chance: random.Random) -> dict[ColumnId, pa.Array]:
    day = dt.date(2000, 1, 1)
    columns = [
        pa.array(ids, pa.int64()),
        pa.array([f"name {chance.randrange(10**6)}" for _ in ids]),
        pa.array([chance.randrange(100) for _ in ids], pa.int32()),
        pa.array([chance.random() for _ in ids]),
        pa.array([f"a note of some length {number}" for number in ids]),
        pa.array([day + dt.timedelta(days=chance.randrange(9000)) for _ in ids], pa.date32()),
    ]
    return {ColumnId(number): column for number, column in enumerate(columns, 1)}


def copy(database: psycopg.Connection, table: str, pairs: Pairs) -> None:
    with database.cursor().copy(f"COPY {table} (k, c, v) FROM STDIN (FORMAT BINARY)") as into:
        into.write(copy_payload(pairs))
