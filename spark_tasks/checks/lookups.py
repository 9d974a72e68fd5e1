"""Looks up pairs and rows by key, in the caller's snapshot."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, ColumnId
from spark_tasks.checks import entry_merge
from spark_tasks.checks.entry_merge import SPARSE
from spark_tasks.chunks import snapshot_reads
from spark_tasks.chunks.chunk import no_break
from spark_tasks.runs.ranges import KeyRange
from storage.answering import asking
from storage.arrow.encoding import Pairs
from storage.asking import questions_of_entries, with_answers
from storage.pairs import StoredRow, column_key, prefix
from storage.postgres import get_sql, kv, next_low
from storage.statements import columns_of, lookup

Connection = psycopg.Connection[Any]
LOOKED_UP_AT_ONCE = 20_000
"""Pairs that one statement looks up: their keys are parameters."""


def there(connection: Connection, table_id: int, storage: int, keys: list[bytes]) -> dict[bytes, bytes]:
    """The live pairs among these keys, or with the key of one and the column of another."""
    return dict(connection.cursor(binary=True).execute(get_sql(storage, table_id), lookup(keys)).fetchall())


def count_there(connection: Connection, table_id: int, storage: int, ordered: Pairs, *, keys_only: bool) -> int:
    """The number of sorted pairs that exist with their content; `keys_only`: all values are empty."""
    asked = f"unnest(%b::bytea[], %b::int2[]) AS asked (k, c) JOIN {kv(storage, table_id)} USING (k, c)"
    if keys_only:
        sql = f"SELECT count(*), NULL::bytea FROM {asked} WHERE v = ''"
    else:
        sql = f"SELECT count(v), string_agg(v, '' ORDER BY k, c) FROM {asked}"
    keys, values = ordered.keys.to_pylist(), ordered.values.to_pylist()
    row = connection.cursor(binary=True).execute(sql, columns_of(keys)).fetchone()
    assert row is not None
    if keys_only or (row[0] == len(keys) and (row[1] or b"") == b"".join(values)):
        return int(row[0])  # values tell where they end: K(r), an encoding, or nothing
    found = there(connection, table_id, storage, keys)
    return sum(found.get(key) == value for key, value in zip(keys, values, strict=True))


def matched(
    connection: Connection,
    table_id: int,
    storage: int,
    ordered: Pairs,
    *,
    of: int,
    keys_only: bool = False,
    within: tuple[bytes, bytes] | None = None,
    breaks: Callable[[], None] = no_break,
) -> tuple[int, int | None]:
    """The same for many pairs: looked up where they are few of the `of` around them, else read beside them. `within`
    [low, high): counts all that is stored there on the way, None where it did not. `breaks` is called between pages."""
    if not len(ordered):
        return 0, None
    if len(ordered) * SPARSE < of:
        slices = (ordered.slice(first, LOOKED_UP_AT_ONCE) for first in range(0, len(ordered), LOOKED_UP_AT_ONCE))
        found = (count_there(connection, table_id, storage, s, keys_only=keys_only) for s in _with(breaks, slices))
        return sum(found), None
    low, high = within or (ordered.keys[0].as_py(), next_low(ordered.keys[-1].as_py()))
    stored = snapshot_reads.pages(connection, table_id, KeyRange(storage, low, high, 0))
    found_here, there = entry_merge.matched(ordered, _with(breaks, stored))
    return found_here, there if within else None


def _with(breaks: Callable[[], None], pages: Iterable[Pairs]) -> Iterator[Pairs]:
    for page in pages:
        yield page
        breaks()


def rows_by_key(
    connection: Connection,
    descriptor: Descriptor,
    row_keys: Collection[bytes],
    columns: Sequence[ColumnId],
    *,
    storages: Iterable[int],
) -> dict[bytes, tuple[int, StoredRow]]:
    """The existing rows among `row_keys` on the storage where each is read."""
    found = copies_by_key(connection, descriptor, row_keys, columns, storages=storages)
    return {row_key: max(copies.items(), key=lambda copy: copy[0]) for row_key, copies in found.items()}


def copies_by_key(
    connection: Connection,
    descriptor: Descriptor,
    row_keys: Collection[bytes],
    columns: Sequence[ColumnId],
    *,
    storages: Iterable[int],
) -> dict[bytes, dict[int, StoredRow]]:
    """The same on all storages on which each lies."""
    start = prefix(descriptor, descriptor.placement.id)
    wanted = sorted(column_key(start, k, c) for k in row_keys for c in (EXISTS, *columns))
    rows: dict[bytes, dict[int, StoredRow]] = {}
    ask = asking(connection)
    for storage in storages:
        found = there(connection, descriptor.table_id, storage, wanted)
        for row_key in row_keys:
            if column_key(start, row_key) in found:
                values = {c: found.get(column_key(start, row_key, c)) for c in columns}
                row = StoredRow(row_key, {c: v for c, v in values.items() if v is not None})
                row = with_answers(descriptor, row, questions_of_entries, ask)
                rows.setdefault(row_key, {})[storage] = row
    return rows
