"""The door of a transaction: `enter` for each version that it uses, with the hashes that are compared (T2): one command
for each table, on all storages that its rows may lie on, made once between two renewals of a lease."""

import datetime as dt
import functools
import struct
from typing import NamedTuple

from leases.node.uses import Pin
from nodes.store.pipeline import Command, int4
from storage.postgres import arm_deadline_sql, enter_sql

PG_EPOCH = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)
_INT8 = struct.Struct("!q")


class Hashes(NamedTuple):
    """The hashes of a table that `enter` is given to compare; the version it is always given."""

    schema: bool = True
    sharding: bool = True


BOTH_HASHES = Hashes()


NO_DEADLINE = dt.datetime.max.replace(tzinfo=dt.UTC)
"""The expiration of a transaction that only reads (T4): 'infinity' to PostgreSQL."""
_INFINITY = _INT8.pack(2**63 - 1)


def timestamptz(moment: dt.datetime) -> bytes:
    return _INFINITY if moment is NO_DEADLINE else _INT8.pack((moment - PG_EPOCH) // MICROSECOND)


def arm_command(expires_at: dt.datetime) -> Command:
    return Command(arm_deadline_sql(), (timestamptz(expires_at),))


def is_strict(pin: Pin) -> bool:
    """True where the storages may accept a newer version alone by now: who has entered before goes on."""
    return pin.descriptor.coordination.is_strict


def enter_command(
    pin: Pin, expires_at: dt.datetime, storages: int, hashes: Hashes = BOTH_HASHES, only: int | None = None
) -> Command:
    """The door of one table on all storages that its rows may lie on (T2); on one storage `only`, where the transaction
    is one batch that uses no other. The cluster began with `storages`."""
    schema_hash = pin.schema_hash if hashes.schema else None
    sharding_hash = pin.sharding_hash if hashes.sharding else None
    entered = tuple(range(1, pin.descriptor.storage_count(storages) + 1)) if only is None else (only,)
    return _entry(entered, pin.table_id, pin.version, schema_hash, sharding_hash, expires_at)


@functools.lru_cache(maxsize=256)
def _entry(
    storages: tuple[int, ...],
    table_id: int,
    version: int,
    schema_hash: str | None,
    sharding_hash: str | None,
    expires_at: dt.datetime,
) -> Command:
    hashes = (None if text is None else text.encode() for text in (schema_hash, sharding_hash))
    return Command(enter_sql(storages), (int4(table_id), int4(version), *hashes, timestamptz(expires_at)))
