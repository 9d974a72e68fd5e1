"""The storage of entries: with their row, but a unique entry where its own values say."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from catalog.elements import Index
from storage.arrow.buckets import storage_of, strcrc32
from storage.arrow.encoding import END, Pairs
from storage.pairs import PREFIX


def entry_homes(index: Index, entries: Pairs, rows: pa.Array | int, *, storages: int, buckets: int) -> pa.Array:
    """The storage of each entry (`mutations.entry_bucket`), given that of its row."""
    homes = pa.repeat(pa.scalar(rows, pa.int32()), len(entries)) if isinstance(rows, int) else rows
    if not index.unique or not len(entries):
        return homes
    is_owned = pc.greater(pc.binary_length(entries.values), 0)
    values = pc.binary_slice(entries.keys, PREFIX.size, END)
    own = storage_of(strcrc32(values, buckets), storages=storages, buckets=buckets)
    return pc.if_else(is_owned, own, homes)


def by_home(
    index: Index, entries: Pairs, rows: pa.Array | int, *, storages: int, buckets: int
) -> Iterator[tuple[int, Pairs]]:
    if not index.unique and isinstance(rows, int):
        yield rows, entries
        return
    homes = entry_homes(index, entries, rows, storages=storages, buckets=buckets)
    for home in sorted(pc.unique(homes).to_pylist()):
        yield home, entries.filter(pc.equal(homes, home))
