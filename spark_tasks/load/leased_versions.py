"""The versions that a chunk uses: its table's, and those of referenced tables (T1). The lease on the table keeps its
foreign keys as they are; the transaction enters both until the earlier expiration (T4). It reads referenced rows, and a
node that deletes one looks for rows here: each reads what the other writes, and PostgreSQL lets one commit."""

from dataclasses import dataclass, field
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import Constraint
from spark_tasks.checks.foreign_key_checks import Reference, references_of, table_referenced
from spark_tasks.load.loader_node import Lease, Membership, acquire, release
from storage.integrity.references import enforced

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Pinned:
    """Leases for one transaction: on the table it writes, and those it reads."""

    own: Lease
    others: tuple[Lease, ...] = ()

    @property
    def descriptor(self) -> Descriptor:
        return self.own.descriptor

    @property
    def leases(self) -> tuple[Lease, ...]:
        return (self.own, *self.others)

    def enter(self, connection: Connection, storages: int) -> None:
        """The new transaction enters every table (T2)."""
        expires_at = min(lease.expires_at for lease in self.leases)
        for lease in self.leases:
            lease.enter(connection, storages, expires_at)

    def references(self, *, storages: int, buckets: int) -> tuple[Reference, ...]:
        tables = [lease.descriptor for lease in self.others]
        return references_of(
            self.descriptor, enforced_foreign_keys(self.descriptor), tables, storages=storages, buckets=buckets
        )


@dataclass
class Pins:
    """The leases that a loader holds, renewed for each transaction."""

    connection: Connection
    node: Membership
    table_id: int
    _held: dict[int, Lease] = field(default_factory=dict)

    def newest(self) -> Pinned:
        """Leases on the newest versions; releases unused ones. Raises `NotLeasable`."""
        own = self._acquire(self.table_id)
        others = {table_referenced(one) for one in enforced_foreign_keys(own.descriptor)} - {own.descriptor.table_id}
        found = Pinned(own, tuple(self._acquire(table_id) for table_id in sorted(others)))
        for table_id in self._held.keys() - others - {self.table_id}:
            release(self.connection, self.node, self._held.pop(table_id))
        return found

    def _acquire(self, table_id: int) -> Lease:
        lease, held = acquire(self.connection, self.node, table_id), self._held.get(table_id)
        if held is not None and held.descriptor.version != lease.descriptor.version:
            release(self.connection, self.node, held)
        self._held[table_id] = lease
        return lease


def enforced_foreign_keys(descriptor: Descriptor) -> tuple[Constraint, ...]:
    return enforced(descriptor.foreign_keys)
