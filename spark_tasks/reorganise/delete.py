"""Removes unused elements in delete-only: entries of indexes, values of columns, rows of a table.

An index or a placement is emptied by keys (R8), a table row by row, each with its entries in one transaction (R9), so
that the rest is always consistent. A chunk gives way to writers, as a fill's does. Values of a column lie among all
others: a walk goes a few blocks of the pair table at a time, and leaves a pair that moves to another block to the next
pass (`jobs.phases`).
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from struct import Struct
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, ColumnId, Index, PlacementId, State
from spark_tasks.chunks import chunk
from spark_tasks.chunks.entry_placement import by_home
from spark_tasks.runs.pacing import Pace
from spark_tasks.runs.ranges import KeyRange, Reached, is_among_rows, placement_of
from storage.answering import asking
from storage.arrow.encoding import unpack
from storage.arrow.rows import accepted, chosen, entries_of, stored_rows
from storage.mutations import source_columns
from storage.page_sizes import runs
from storage.pairs import COLUMN, stored_key
from storage.postgres import kv, next_low, packed_scan_sql
from storage.statements import AMONG, WITHIN, WITHIN_INDEX, bounds, key_sql, lookup, of_columns_sql


@dataclass(frozen=True, slots=True)
class Removed:
    """The work of one chunk: pairs removed, pairs read, and where it ended (None: at the range's end)."""

    pairs: int
    looked_at: int
    reached: bytes | None


Step = Callable[[chunk.Connection, KeyRange, bytes | None, int], Removed]
"""Removes pairs of a range from where the last chunk ended, looking at about so many."""

PAIRS_PER_BLOCK = 100
"""About so many pairs lie in a block of a pair table."""

SCANNED_MAX = 200_000
"""Pairs that a chunk looks at in search of those it removes: a range may have grown to any number since it was cut."""

WITHIN_NAMED = "(k, c) >= (%(low_k)b, %(low_c)b::int2) AND (k, c) < (%(high_k)b, %(high_c)b::int2)"
DELETE_PAGE = f"""WITH page AS MATERIALIZED (
    SELECT k, c FROM (
        SELECT k, c, v IS NULL AS is_tombstone FROM {{kv}} WHERE {WITHIN_NAMED} ORDER BY k, c LIMIT %(scanned)b
    ) AS seen WHERE {{only}} ORDER BY k, c LIMIT %(size)b
), gone AS (
    DELETE FROM {{kv}} AS kv WHERE k = ANY(ARRAY(SELECT k FROM page)) AND c = ANY(ARRAY(SELECT c FROM page))
    AND (k, c) IN (SELECT k, c FROM page) AND kv.v IS NULL
) SELECT count(*), CASE WHEN count(*) = %(size)b THEN (SELECT {{key}} FROM page ORDER BY k DESC, c DESC LIMIT 1) ELSE (
    SELECT {{key}} FROM {{kv}} WHERE {WITHIN_NAMED} ORDER BY k, c OFFSET %(scanned)b - 1 LIMIT 1
) END FROM page"""
"""The last key is that of the last pair removed, or looked at; none when nothing is left."""


LAST_OF_PAGE = "SELECT {key} FROM {kv} WHERE {within} ORDER BY k, c OFFSET %b::bigint - 1 LIMIT 1"
DELETE_ALL = "DELETE FROM {kv} WHERE {within}"
"""Entries of an index, or pairs of a placement, lie side by side and all go: one walk, without a look-up of each."""

DELETE_VALUES = """DELETE FROM {kv} WHERE ctid >= '({first},0)' AND ctid < '({last},0)'
 AND (k, c) >= ('\\x{low}'::bytea, {low_c}::int2) AND (k, c) < ('\\x{high}'::bytea, {high_c}::int2) AND {columns};
SELECT {last} >= pg_relation_size('{kv}'::regclass) / current_setting('block_size')::int"""


@dataclass(frozen=True, slots=True)
class DeleteKeys:
    """Removes every entry of the ranges, among rows the pairs of `columns`, of `placements` all; or tombstones only
    (R8)."""

    run_token: chunk.RunToken
    table_id: int
    columns: tuple[ColumnId, ...] = ()
    tombstones_only: bool = False
    placements: tuple[PlacementId, ...] = ()

    def __call__(self, key_ranges: Iterable[KeyRange]) -> Iterator[int]:
        return empty(self.run_token, key_ranges, self._step)

    def _step(self, connection: chunk.Connection, key_range: KeyRange, reached: bytes | None, size: int) -> Removed:
        if self.tombstones_only:
            return self._tombstones(connection, rest_of(key_range, reached), size)
        if is_among_rows(key_range) and placement_of(key_range.low) not in self.placements:
            return self._values(connection, key_range, reached, size)
        return self._all(connection, rest_of(key_range, reached), size)

    def _all(self, connection: chunk.Connection, key_range: KeyRange, size: int) -> Removed:
        cursor, names = connection.cursor(binary=True), self._names(key_range)
        within, ends_of = (WITHIN, bounds) if is_among_rows(key_range) else (WITHIN_INDEX, _ks)
        asked = (*ends_of(key_range.low, key_range.high), size)
        found = cursor.execute(LAST_OF_PAGE.format(within=within, **names), asked).fetchone()
        last = None if found is None else found[0]
        high = key_range.high if last is None else next_low(last)
        count = cursor.execute(DELETE_ALL.format(within=within, **names), ends_of(key_range.low, high)).rowcount
        return Removed(count, count, last)

    def _names(self, key_range: KeyRange) -> dict[str, str]:
        return {"kv": kv(key_range.storage, self.table_id), "key": key_sql(self.table_id)}

    def _values(self, connection: chunk.Connection, key_range: KeyRange, reached: bytes | None, size: int) -> Removed:
        # the block at which a walk goes on; the first, where there is no mark
        first = 0 if reached is None else int(BLOCK.unpack(reached)[0])
        last = first + max(1, size // PAIRS_PER_BLOCK)
        table, columns = kv(key_range.storage, self.table_id), of_columns_sql(self.columns)
        low, low_c, high, high_c = bounds(key_range.low, key_range.high)
        ends = {"low": low.hex(), "low_c": low_c, "high": high.hex(), "high_c": high_c}
        cursor = connection.execute(DELETE_VALUES.format(kv=table, columns=columns, first=first, last=last, **ends))
        count = cursor.rowcount
        cursor.nextset()
        row = cursor.fetchone()
        assert row is not None
        return Removed(count, size, None if row[0] else BLOCK.pack(last))

    def _tombstones(self, connection: chunk.Connection, key_range: KeyRange, size: int) -> Removed:
        only = "is_tombstone"
        ends = zip(("low_k", "low_c", "high_k", "high_c"), bounds(key_range.low, key_range.high), strict=True)
        params: dict[str, Any] = {**dict(ends), "size": size, "scanned": SCANNED_MAX}
        if is_among_rows(key_range) and placement_of(key_range.low) not in self.placements:
            only = f"is_tombstone AND {of_columns_sql(self.columns)}"
        sql = DELETE_PAGE.format(only=only, **self._names(key_range))
        row = connection.cursor(binary=True).execute(sql, params).fetchone()
        assert row is not None
        return Removed(int(row[0]), int(row[0]), row[1])


BLOCK = Struct(">Q")
"""The block that a walk comes to next, as the mark of a chunk keeps it: a key is longer."""


def _ks(low: bytes, high: bytes) -> tuple[bytes, bytes]:
    return stored_key(low)[0], stored_key(high)[0]


def rest_of(key_range: KeyRange, reached: bytes | None) -> KeyRange:
    return key_range if reached is None else replace(key_range, low=next_low(reached))


@dataclass(frozen=True, slots=True)
class DeleteRows:
    """Removes the rows of the ranges with their entries (`mutations.delete_row`)."""

    run_token: chunk.RunToken
    descriptor: Descriptor
    storages: int
    buckets: int

    def __call__(self, key_ranges: Iterable[KeyRange]) -> Iterator[int]:
        return empty(self.run_token, key_ranges, self._step)

    def _step(self, connection: chunk.Connection, key_range: KeyRange, reached: bytes | None, size: int) -> Removed:
        size = max(size, 4 * (len(self.descriptor.columns) + 1))  # some whole rows fit
        keys, is_last = self._keys(connection, rest_of(key_range, reached), size)
        # whole rows: of no key in it another column stays
        for storage, doomed in self._doomed(connection, key_range.storage, keys).items():
            sql = f"DELETE FROM {kv(storage, self.descriptor.table_id)} WHERE {AMONG}"
            connection.execute(sql, lookup(doomed))
        return Removed(len(keys), len(keys), None if is_last else keys[-1])

    @property
    def _columns(self) -> list[ColumnId]:
        sources = (source_columns(self.descriptor, index) for index in self._indexes)
        return sorted({EXISTS}.union(*sources) - set(self.descriptor.primary_key))

    @property
    def _indexes(self) -> list[Index]:
        return [index for index in self.descriptor.indexes if index.state is not State.ABSENT]

    def _keys(self, connection: chunk.Connection, key_range: KeyRange, size: int) -> tuple[list[bytes], bool]:
        """Keys of some whole rows, of a page's size or one larger row; and whether none are left."""
        table_id = self.descriptor.table_id
        live = f"FROM {kv(key_range.storage, table_id)} WHERE {WITHIN} AND v IS NOT NULL ORDER BY k, c LIMIT %b"
        sql, params = f"SELECT {key_sql(table_id)}, octet_length(v) {live}", bounds(key_range.low, key_range.high)
        cursor = connection.cursor(binary=True).execute(sql, (*params, size))
        found: list[tuple[bytes, int]] = cursor.fetchall()
        keys, first = [key for key, _ in found], next(runs([length for _, length in found]), slice(0, 0))
        if first.stop < len(keys):
            count = max(
                _whole_rows(keys[: first.stop + 1]),
                next((n for n, key in enumerate(keys) if key[: -COLUMN.size] != keys[0][: -COLUMN.size]), len(keys)),
            )
        else:
            count = len(keys) if len(keys) < size else _whole_rows(keys)
        return keys[:count], count == len(keys) < size

    def _doomed(self, connection: chunk.Connection, storage: int, keys: list[bytes]) -> dict[int, list[bytes]]:
        doomed: dict[int, list[bytes]] = {storage: [*keys]}
        if not keys or not self._indexes:
            return doomed
        sql = packed_scan_sql(storage, self.descriptor.table_id, of_columns=self._columns)
        params = (*bounds(keys[0], next_low(keys[-1])), len(keys))
        row = connection.cursor(binary=True).execute(sql, params).fetchone()
        assert row is not None
        page = unpack(self.descriptor.table_id, *row)
        columns = [column for column in self._columns if column != EXISTS]
        rows = stored_rows(page, columns, asking(connection))
        count = self.descriptor.placement.storage_count(self.storages)
        for index in self._indexes:
            those = chosen(rows, accepted(self.descriptor, index, rows, now=True))
            entries = entries_of(self.descriptor, self.descriptor.placement.id, index, those)
            for home, here in by_home(index, entries, storage, storages=count, buckets=self.buckets):
                doomed.setdefault(home, []).extend(here.keys.to_pylist())
        return {home: sorted(some) for home, some in doomed.items()}


def _whole_rows(keys: Sequence[bytes]) -> int:
    last, count = keys[-1][: -COLUMN.size], len(keys)
    while count and keys[count - 1][: -COLUMN.size] == last:
        count -= 1
    return count


def empty(run_token: chunk.RunToken, key_ranges: Iterable[KeyRange], step: Step) -> Iterator[int]:
    """Repeats `step` in chunks until each range is empty; yields the pairs removed."""
    pace, control = Pace(), chunk.RunControl()
    with run_token.connect() as connection:
        for key_range in key_ranges:
            chunk.listen(connection, run_token, control)
            removed, is_done = 0, False
            try:
                progress = chunk.progress_of(connection, run_token, key_range)
                while not is_done:
                    began = time.perf_counter()
                    done, pace = _chunk(connection, run_token, key_range, progress, step, pace, control)
                    removed, is_done = removed + done.pairs, done.reached is None
                    if not is_done:
                        seconds = time.perf_counter() - began
                        chunk.keep_pace(connection, run_token, control, rows=done.pairs, seconds=seconds)
            except chunk.RangeDone:
                pass  # by another attempt: what was to be removed has been removed
            yield removed


def _chunk(
    connection: chunk.Connection,
    run_token: chunk.RunToken,
    key_range: KeyRange,
    progress: chunk.Progress,
    step: Step,
    pace: Pace,
    control: chunk.RunControl,
) -> tuple[Removed, Pace]:
    reached = None if progress.reached is None else progress.reached.key
    for _ in chunk.tries(f"range {key_range.id} of run {run_token.run_id}"):
        began = time.perf_counter()
        try:
            with chunk.chunk(connection, run_token, key_range, control, progress) as this_chunk:
                done = step(connection, key_range, reached, chunk.pairs_of_chunk(run_token, control, pace))
                removed = progress.rows_done + done.pairs  # by all attempts together: all there were when none is left
                this_chunk.mark = chunk.Mark(removed, removed, is_done=True)
                if done.reached is not None:
                    total = max(removed, key_range.rows)
                    this_chunk.mark = chunk.Mark(
                        removed, total, is_done=False, reached=Reached(key_range.storage, done.reached)
                    )
        except chunk.GIVES_WAY:
            pace = pace.after_giving_way()
        else:
            seconds = time.perf_counter() - began
            return done, pace.after(pairs=done.looked_at, seconds=seconds, is_quiet=control.is_quiet)
    raise AssertionError("tries() raises before this")
