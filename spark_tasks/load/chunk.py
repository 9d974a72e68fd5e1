"""One chunk of a bulk load: some thousand rows in one SERIALIZABLE transaction, with its mark (T1).

It leases the newest versions, makes pairs under them (again when a version moved), enters, marks, and copies to each
storage. A key taken by a live row fails the load; a tombstone is put over, as a statement would. A missing reference
fails it, too; referring tables need no check, since a load only adds rows. No Django here.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import errors

from catalog.descriptor import Descriptor
from catalog.text.job_nodes import loader_name
from spark_tasks.chunks.chunk import spaced
from spark_tasks.load.file_pairs import Duplicates, by_act, pairs_of, refuse_dangling, refuse_taken, twice_in_file
from spark_tasks.load.file_rows import CannotLoad, typed_rows
from spark_tasks.load.leased_versions import Pinned, Pins
from spark_tasks.load.loader_node import Membership, NotLeasable, PseudoNode
from storage import postgres
from storage.answering import asking
from storage.arrow.encoding import Pairs, copy_payload
from storage.arrow.rows import StoredRows
from storage.mutations import Act
from storage.statements import act_sql, columns_of

TRIES_MAX = 100
PAUSE_S_MAX = 0.2
MARKS = "spark_tasks_loadmark"
STALE = (
    postgres.BELOW_FENCE,
    postgres.VERSION_NOT_VISIBLE,
    postgres.HASH_DIFFERS,
    postgres.LEASE_OVER,
    *postgres.STORAGE_REMOVED,
)
RETRIED = frozenset({"40001", "40P01", "25P04", "57P01", *STALE})


@dataclass(frozen=True, slots=True)
class PartResult:
    rows: int = 0
    retries: int = 0
    error: str = ""
    duplicates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Load:
    dsn: str
    job_id: int
    table_id: int
    storages: int
    buckets: int
    lease_s: float


@contextmanager
def loader_of(load: Load, part: int) -> "Iterator[Loader]":
    """A loader that is a node: it releases a version when it no longer uses it (L4)."""
    node = PseudoNode(load.dsn, loader_name(load.job_id, part), pid=os.getpid(), lease_s=load.lease_s)
    with node as member, Loader(member, load.job_id, load.table_id, load.storages, load.buckets) as loader:
        yield loader


@dataclass
class Loader:
    """Loads chunks for one job, with one session for leases and one for rows."""

    node: Membership
    job_id: int
    table_id: int
    storages: int
    buckets: int
    _pins: Pins = field(init=False)
    _leases: psycopg.Connection[Any] = field(init=False)
    _rows: psycopg.Connection[Any] = field(init=False)

    def __enter__(self) -> "Loader":
        name = self.node.session_name
        self._leases = psycopg.connect(self.node.dsn, autocommit=True, application_name=name)
        self._pins = Pins(self._leases, self.node, self.table_id)
        self._rows = self.node.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self._leases.close()
        self._rows.close()

    def marks(self) -> dict[int, int]:
        sql = f"SELECT first, rows FROM {MARKS} WHERE job_id = %s"
        return dict(self._leases.execute(sql, (self.job_id,)).fetchall())

    def load(self, first: int, texts: Mapping[str, pa.Array]) -> int:
        """Puts the rows in; returns the number of tries. Raises `CannotLoad`."""
        for attempt in spaced(TRIES_MAX, first_s=0.004, longest_s=PAUSE_S_MAX):
            pinned = self._pins.newest()
            rows = typed_rows(pinned.descriptor, texts, first, asking(self._rows))
            try:
                self._put(pinned, rows, first)
            except psycopg.Error as error:
                if error.sqlstate not in RETRIED and not self._rows.closed:
                    raise
                if self._rows.closed:
                    self._rows = self.node.connect()
                continue
            return attempt
        raise CannotLoad(f"rows from {first + 1}: {TRIES_MAX} tries met other transactions each time")

    def _put(self, pinned: Pinned, rows: StoredRows, first: int) -> None:
        """By COPY, or looking at what holds a key. An existing mark: another attempt was here."""
        try:
            self._write(pinned, rows, first)
        except errors.UniqueViolation as violation:
            if violation.diag.table_name == MARKS:
                return
        else:
            return
        try:
            self._put_over_tombstones(pinned, rows, first)
        except errors.UniqueViolation as violation:
            if violation.diag.table_name != MARKS:
                raise

    def _write(self, pinned: Pinned, rows: StoredRows, first: int) -> None:
        with self._rows.transaction():
            pinned.enter(self._rows, self.storages)
            self._mark(first, len(rows))
            for storage, pairs in self._pairs(pinned.descriptor, rows):
                table = postgres.kv(storage, self.table_id)
                with self._rows.cursor().copy(f"COPY {table} (k, c, v) FROM STDIN (FORMAT BINARY)") as copy:
                    copy.write(copy_payload(pairs.sorted()))
            self._require_referenced(pinned, rows, first)

    def _mark(self, first: int, count: int) -> None:
        self._rows.execute(
            f"INSERT INTO {MARKS} (job_id, first, rows) VALUES (%s, %s, %s)", (self.job_id, first, count)
        )

    def _put_over_tombstones(self, pinned: Pinned, rows: StoredRows, first: int) -> None:
        """As a statement: refuses live existence pairs and unique entries, replaces the rest."""
        with self._rows.transaction():
            pinned.enter(self._rows, self.storages)
            self._mark(first, len(rows))
            for storage, pairs in self._pairs(pinned.descriptor, rows):
                for act, part in by_act(pinned.descriptor, pairs):
                    keys = part.keys.to_pylist()
                    params = (*columns_of(keys), part.values.to_pylist())
                    try:
                        result = self._rows.execute(act_sql(act, storage, self.table_id), params)
                    except errors.CardinalityViolation:
                        raise twice_in_file(pinned.descriptor, rows) from None
                    if act is not Act.PUT:
                        taken = set(keys) - {key for (key,) in result.fetchall()}
                        refuse_taken(pinned.descriptor, rows, taken)
            self._require_referenced(pinned, rows, first)

    def _require_referenced(self, pinned: Pinned, rows: StoredRows, first: int) -> None:
        """Checked after the put, since a row may refer to one of its own chunk."""
        for reference in pinned.references(storages=self.storages, buckets=self.buckets):
            refuse_dangling(reference, rows, reference.dangling(self._rows, rows), first)

    def _pairs(self, descriptor: Descriptor, rows: StoredRows) -> Iterator[tuple[int, Pairs]]:
        return pairs_of(descriptor, rows, storages=self.storages, buckets=self.buckets)


def load_chunks(loader: Loader, chunks: Iterable[tuple[int, pa.RecordBatch]]) -> PartResult:
    """Loads these chunks, each with its first row's number, unless marked."""
    rows = retries = 0
    done = loader.marks()
    try:
        for first, batch in chunks:
            if first in done:
                # a chunk must have as many rows as its mark: another file's rows would be lost
                marked = done[first]
                if marked != batch.num_rows:
                    was = f"{marked} rows from row {first + 1} on are in the table, now there are {batch.num_rows}"
                    raise CannotLoad(
                        f"the file is not the one whose load began, or was cut otherwise: {was}; begin another load"
                    )
            else:
                retries += loader.load(first, dict(zip(batch.schema.names, batch.columns, strict=True)))
            rows += batch.num_rows
    except Duplicates as duplicates:
        return PartResult(error=str(duplicates), duplicates=tuple(duplicates.words))
    except (CannotLoad, NotLeasable) as refusal:
        return PartResult(error=str(refusal))
    return PartResult(rows=rows, retries=retries)
