"""The rows of a batch that refer to nothing (C6): one count of their places on each storage, and names only if it falls
short. The other table is read in the caller's snapshot or transaction."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor, from_json
from catalog.elements import Constraint, TableId
from spark_tasks.chunks.packed_keys import execute_with_keys
from storage.arrow.encoding import stored_keys
from storage.arrow.references import Places, places_of
from storage.arrow.rows import StoredRows
from storage.integrity.offenders import dangling_words
from storage.integrity.references import refers_to
from storage.pairs import StoredRow
from storage.postgres import kv

Connection = psycopg.Connection[Any]

NEWEST = """SELECT DISTINCT ON (table_id) body FROM catalog_descriptor WHERE table_id = ANY(%s)
ORDER BY table_id, version DESC"""


@dataclass(frozen=True, slots=True)
class Reference:
    descriptor: Descriptor
    foreign_key: Constraint
    referenced: Descriptor
    storages: int
    buckets: int

    def dangling(self, connection: Connection, rows: StoredRows) -> pa.Array:
        """Rows whose reference is missing, as the connection's transaction sees it."""
        places = places_of(
            self.descriptor, self.referenced, self.foreign_key, rows, storages=self.storages, buckets=self.buckets
        )
        return places.rows_of(self._absent(connection, places))

    def words(self, row: StoredRow) -> str:
        values = refers_to(self.descriptor, self.foreign_key, row)
        assert values is not None, f"{self.foreign_key.name}: a row that refers to nothing breaks no foreign key"
        return dangling_words(self.descriptor, self.referenced, self.foreign_key, row, values)

    def _absent(self, connection: Connection, places: Places) -> pa.Array:
        absent, (ks, _) = pa.repeat(pa.scalar(False), len(places)), stored_keys(places.keys)
        for home in pc.unique(places.homes).to_pylist():
            here = pc.equal(places.homes, home)
            keys = places.keys.filter(here)
            asked, _ = stored_keys(keys.take(pc.sort_indices(keys)))
            row = execute_with_keys(connection, self._sql("count(*)", home), asked).fetchone()
            assert row is not None
            if int(row[0]) < len(asked):
                there = pa.array(self._there(connection, home, asked), pa.binary())
                absent = pc.or_(absent, pc.and_(here, pc.invert(pc.is_in(ks, value_set=there))))
        return absent

    def _there(self, connection: Connection, storage: int, ks: pa.Array) -> Iterator[bytes]:
        found = execute_with_keys(connection, self._sql("k", storage), ks)
        return (k for (k,) in found.fetchall())

    def _sql(self, what: str, storage: int) -> str:
        table = kv(storage, self.referenced.table_id)
        return f"SELECT {what} FROM {table} WHERE k = ANY(%b::bytea[]) AND c = 0 AND v IS NOT NULL"


def references_of(
    descriptor: Descriptor,
    foreign_keys: Iterable[Constraint],
    tables: Iterable[Descriptor],
    *,
    storages: int,
    buckets: int,
) -> tuple[Reference, ...]:
    known = {table.table_id: table for table in tables} | {descriptor.table_id: descriptor}
    return tuple(Reference(descriptor, one, known[table_referenced(one)], storages, buckets) for one in foreign_keys)


def newest_versions(connection: Connection, table_ids: Iterable[TableId]) -> tuple[Descriptor, ...]:
    """The newest version of each table in the connection's snapshot; what foreign keys need is the same in all."""
    found = connection.execute(NEWEST, (sorted(table_ids),)).fetchall()
    return tuple(from_json(body) for (body,) in found)


def table_referenced(foreign_key: Constraint) -> TableId:
    assert foreign_key.references is not None, foreign_key
    return foreign_key.references
