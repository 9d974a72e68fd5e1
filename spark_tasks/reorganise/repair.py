"""Puts a unique entry that a fill could not, because another row had its key and gave it up since (R10): its tombstone
keeps the fill out. A data transaction may put over it: it reads the row again, and is refused when another row has the
key. It begins with the run's token (R7)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, Index, IndexId
from spark_tasks.chunks import chunk
from spark_tasks.chunks.chunk import RunClosed, RunToken
from spark_tasks.load.loader_node import Lease, Membership, acquire
from storage import postgres
from storage.answering import asking
from storage.asking import questions_of_entries, with_answers
from storage.integrity.clauses import Violation, row_words
from storage.integrity.offenders import duplicate_rows, duplicate_words, values_of_entry
from storage.mutations import Act, Op, columns_of_entry_home, entry_bucket
from storage.pairs import StoredRow, column_key, entry_now, prefix
from storage.statements import lookup

Connection = psycopg.Connection[Any]

TRIES_MAX = 100
PAUSE_S_MAX = 0.1
RETRIED = frozenset({"40001", "40P01", postgres.VERSION_NOT_VISIBLE})


@dataclass(frozen=True, slots=True)
class Repair:
    """Puts missing entries, as `node` under the version that fills."""

    node: Membership
    run_token: RunToken
    descriptor: Descriptor
    storages: int
    buckets: int

    def __call__(self, lacking: Iterable[tuple[int, str]]) -> Iterator[tuple[str, Violation]]:
        """Puts the entry of each (index, K(r) in hex); yields duplicates and index. Raises `RunClosed`,
        `NotLeasable`."""
        name = self.node.session_name
        with (
            psycopg.connect(self.node.dsn, autocommit=True, application_name=name) as leases,
            self.node.connect() as connection,
        ):
            for index_id, row_key in lacking:
                index = self.descriptor.index(IndexId(index_id))
                refused = self._retried(connection, leases, index, bytes.fromhex(row_key))
                if refused is not None:
                    yield index.name, refused

    def _lease(self, leases: Connection) -> Lease:
        """A lease for one more transaction, while the version is the newest."""
        lease = acquire(leases, self.node, self.descriptor.table_id)
        if lease.descriptor.version != self.descriptor.version:
            raise RunClosed(f"run {self.run_token.run_id} fills {self.descriptor}, the table is at {lease.descriptor}")
        return lease

    def _retried(self, connection: Connection, leases: Connection, index: Index, row_key: bytes) -> Violation | None:
        for _ in chunk.spaced(TRIES_MAX, first_s=0.002, longest_s=PAUSE_S_MAX):
            lease = self._lease(leases)
            try:
                with connection.transaction():
                    chunk.hold_token(connection, self.run_token)
                    lease.enter(connection, self.storages)
                    return self._put(connection, index, row_key)
            except psycopg.Error as error:
                if error.sqlstate not in RETRIED:
                    raise
        words = row_words(self.descriptor, row_key)
        raise RuntimeError(f"the entry of {words} in index {index.name}: {TRIES_MAX} tries met other transactions")

    def _put(self, connection: Connection, index: Index, row_key: bytes) -> Violation | None:
        row = self._read(connection, index, row_key)
        entry = None if row is None else entry_now(self.descriptor, self.descriptor.placement, index, row)
        if row is None or entry is None:
            return None
        bucket = entry_bucket(self.descriptor, self.descriptor.placement, index, row, self.buckets)
        op = Op(Act.PUT_UNIQUE if entry[1] else Act.PUT, bucket, *entry, self.descriptor.placement.storages)
        [put] = postgres.statements_for([op], self.descriptor.table_id, self.storages, buckets=self.buckets)
        result = connection.execute(put.sql, put.params)
        if not put.returns_keys or not put.refused(key for (key,) in result.fetchall()):
            return None
        return self._duplicate(connection, put.storage, index, row_key, entry[0])

    def _read(self, connection: Connection, index: Index, row_key: bytes) -> StoredRow | None:
        start = prefix(self.descriptor, self.descriptor.placement.id)
        columns = sorted(columns_of_entry_home(self.descriptor, index) - {EXISTS, *self.descriptor.primary_key})
        wanted = {column_key(start, row_key, column): column for column in (EXISTS, *columns)}
        for storage in range(1, self.descriptor.placement.storage_count(self.storages) + 1):
            sql = postgres.get_sql(storage, self.descriptor.table_id)
            there = dict(connection.cursor(binary=True).execute(sql, lookup(wanted)).fetchall())
            if column_key(start, row_key) in there:
                values = {wanted[key]: value for key, value in there.items() if wanted[key] != EXISTS}
                row = StoredRow(row_key, values)
                return with_answers(self.descriptor, row, questions_of_entries, asking(connection))
        return None

    def _duplicate(self, connection: Connection, storage: int, index: Index, row_key: bytes, key: bytes) -> Violation:
        sql = postgres.get_sql(storage, self.descriptor.table_id)
        found = connection.cursor(binary=True).execute(sql, lookup([key])).fetchone()
        assert found is not None, "a refused entry is another row's"
        first, second = sorted((found[1], row_key))
        values = values_of_entry(key)
        both = self.descriptor, index, first, second, values
        return Violation("C6", storage, values, duplicate_words(*both), duplicate_rows(*both))
