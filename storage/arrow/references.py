"""References of many rows: the vectorised twin of `storage.integrity.references`. Each place to look up comes once."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, ColumnId, Constraint, Index
from storage import encoding
from storage.arrow.buckets import storage_of, strcrc32
from storage.arrow.encoding import concat, inverted, join, key_of
from storage.arrow.rows import StoredRows, encoded_column, row_storages
from storage.integrity.references import index_referred_by
from storage.pairs import COLUMN, prefix

_NULL = pa.scalar(encoding.NULL, pa.binary())
_NOTHING = pa.scalar(None, pa.binary())


@dataclass(frozen=True, slots=True)
class Places:
    """The different pairs that rows refer to: `keys`, on the storages `homes`. `of_rows`: each row's place, or null."""

    keys: pa.Array
    homes: pa.Array
    of_rows: pa.Array

    def __len__(self) -> int:
        return len(self.keys)

    def rows_of(self, mask: pa.Array) -> pa.Array:
        return pc.fill_null(mask.take(self.of_rows), False)


def places_of(
    descriptor: Descriptor,
    referenced: Descriptor,
    foreign_key: Constraint,
    rows: StoredRows,
    *,
    storages: int,
    buckets: int,
) -> Places:
    """`references.place_of` for all rows."""
    index = index_referred_by(referenced, foreign_key)
    found = _tails(descriptor, referenced, foreign_key, index, rows).dictionary_encode()
    tails, placement = found.dictionary, referenced.placement.id
    if index is None:
        keys = join(prefix(referenced, placement), tails, COLUMN.pack(EXISTS))
        homes = row_storages(referenced, StoredRows(tails, {}, concat([])), storages=storages, buckets=buckets)
    else:
        keys = join(prefix(referenced, placement, index.id), tails)
        count = referenced.placement.storage_count(storages)
        homes = storage_of(strcrc32(tails, buckets), storages=count, buckets=buckets)
    return Places(keys, homes, found.indices)


def _tails(
    descriptor: Descriptor, referenced: Descriptor, foreign_key: Constraint, index: Index | None, rows: StoredRows
) -> pa.Array:
    """The end of each row's place: K(r) or the values of its entry; null: none."""
    columns = [descriptor.column(column) for column in foreign_key.columns]
    values = [key_of(column.type, encoded_column(descriptor, rows, column)) for column in columns]
    given = dict(zip(foreign_key.reference_columns, values, strict=True))
    tails = join(*_in_order(referenced, index, given))
    for given_values in values:
        tails = pc.if_else(pc.equal(given_values, _NULL), _NOTHING, tails)
    return tails


def _in_order(referenced: Descriptor, index: Index | None, given: dict[ColumnId, pa.Array]) -> list[pa.Array]:
    if index is None:
        return [given[column] for column in referenced.primary_key]
    return [inverted(given[part.column]) if part.descending else given[part.column] for part in index.columns]
