"""Reorganisation in the lab: clear, fill in chunks, verify, delete, purge (protocol section 7), in small steps.

    clear     tombstones of before the drain go (R6)
    read      a chunk of rows is read in a short snapshot, in key order
    put       its entries are put where there is neither a pair nor a tombstone (R2);
              refused when the run is closed (R7) or the range is done already (R3)
    verify    every row has its entry, every entry its row (R10)

Between read and put anything may happen: that is what the rules are for.
"""

from dataclasses import dataclass, field

from catalog.descriptor import Descriptor
from catalog.elements import Index, State, TableId
from changes.movement import moved
from changes.plan import Element
from lab.control import LabError, Without
from lab.rows import key_text
from lab.world import World
from storage.clauses import element_label
from storage.mutations import Act, Op, delete_row, entry_bucket
from storage.pairs import StoredRow, index_entry, prefix, rows_of


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that an attempt has read and not put yet; `token` and `cursor` are the run's when it read them."""

    token: int
    cursor: bytes
    rows: tuple[StoredRow, ...]


@dataclass
class Run:
    """The fill of one index. All rows up to `cursor` are done."""

    table: TableId
    index: int
    token: int = 1
    cursor: bytes = b""
    is_finished: bool = False
    is_closed: bool = False
    chunks: list[Chunk] = field(default_factory=list)


def element_of(index: Index) -> Element:
    return Element(index.kind, index.id, index.name)


def entries_of(world: World, table: TableId, index: Index) -> bytes:
    """What the keys of an index's entries start with."""
    newest = world.control.newest(table)
    return prefix(newest, newest.placement.id, index.id)


def clear(world: World, table: TableId, index: Index) -> int:
    """Remove the tombstones of before the drain, once, before the first range is read."""
    if Without.CLEAR in world.control.without:
        return 0
    return world.store.clear_tombstones(entries_of(world, table, index))


def read_chunk(world: World, run: Run, rows: int | None = None) -> Chunk:
    """The next rows in key order (all that are left: None), as they are now."""
    descriptor = world.control.newest(run.table)
    pairs = sorted(pair for pairs in world.pairs(run.table) for pair in pairs)
    left = [row for row in rows_of(descriptor, descriptor.placement, pairs) if row.key > run.cursor]
    chunk = Chunk(run.token, run.cursor, tuple(left[:rows]))
    run.chunks.append(chunk)
    return chunk


def put_chunk(world: World, run: Run, chunk: Chunk) -> int:
    """Put the entries of a chunk that was read before. Returns how many were put; raises `LabError`."""
    without = world.control.without
    run.chunks.remove(chunk)
    if chunk.token != run.token and Without.TOKEN not in without:
        raise LabError("the run is closed: its token has moved on (R7)")
    if chunk.cursor != run.cursor and Without.ONCE not in without:
        raise LabError("the range is done already (R3)")
    descriptor = _as_read(world, run)
    index = next(one for one in descriptor.indexes if one.id == run.index)
    put = sum(_put_entry(world, descriptor, index, row) for row in chunk.rows)
    if chunk.rows:
        run.cursor = max(run.cursor, chunk.rows[-1].key)
    elif chunk.cursor == run.cursor:
        run.is_finished = True
    return put


def _as_read(world: World, run: Run) -> Descriptor:
    """The newest version that knows the index: the one a chunk is written under."""
    known = (d for d in reversed(world.control.published[run.table]) if any(i.id == run.index for i in d.indexes))
    return next(known)


def _put_entry(world: World, descriptor: Descriptor, index: Index, row: StoredRow) -> bool:
    entry = index_entry(descriptor, descriptor.placement, index, row)
    if entry is None:
        return False
    key, value = entry
    bucket = entry_bucket(descriptor, descriptor.placement, index, row, world.store.buckets)
    op = Op(Act.PUT, bucket, key, value)
    home = world.store.home(op)
    there = world.store.pairs[home - 1]
    without = world.control.without
    is_tombstone = key in there and there[key] is None
    if Without.CAREFUL_FILL in without or (Without.TOMBSTONE_CHECK in without and is_tombstone):
        there[key] = value
        world.store.writes.append((home, key))
        return True
    return world.store.fill(op)


def fill(world: World, run: Run, rows: int | None = None) -> int:
    """Read a chunk and put it at once."""
    put = put_chunk(world, run, read_chunk(world, run, rows))
    run.is_finished = rows is None
    return put


def close(run: Run) -> None:
    """Nothing of this run can be written any more."""
    if not run.is_closed:
        run.token, run.is_closed = run.token + 1, True


def verify(world: World, table: TableId, index: Index) -> list[str]:
    """What is wrong with an index, compared by content in both directions, as if it were public."""
    if Without.VERIFICATION in world.control.without:
        return []
    public = moved(world.control.newest(table), element_of(index), State.PUBLIC)
    world.untidy.add(element_label(index))
    start = entries_of(world, table, index)
    wrong = (violation for violation in world.violations(table, public) if violation.key.startswith(start))
    return [str(violation) for violation in wrong]


def delete_entries(world: World, table: TableId, index: Index) -> int:
    """Remove entries and tombstones of an index (R8): all, or by hand the first."""
    if Without.DELETION in world.control.without:
        return 0
    if not world.by_hand:
        world.untidy.discard(element_label(index))
        return world.store.delete_all(entries_of(world, table, index))
    start = entries_of(world, table, index)
    keys = sorted(key for pairs in world.store.pairs for key in pairs if key.startswith(start))
    return world.store.delete_all(keys[0]) if keys else 0


def delete_rows(world: World, table: TableId) -> int:
    """Remove everything of a table: all, or by hand the first row with its entries (R9)."""
    if not world.by_hand:
        return world.store.delete_all(table.to_bytes(4))
    newest = world.control.newest(table)
    pairs = sorted(pair for pairs in world.pairs(table) for pair in pairs)
    rows = rows_of(newest, newest.placement, pairs)
    if not rows:
        return world.store.delete_all(table.to_bytes(4))
    ops = delete_row(newest, rows[0], world.store.buckets)
    return sum(world.store.delete_all(op.key) for op in ops)


def purge(world: World, table: TableId, index: Index) -> int:
    """Remove the tombstones of a fill (R8)."""
    world.untidy.discard(element_label(index))
    if Without.PURGE in world.control.without:
        return 0
    return world.store.clear_tombstones(entries_of(world, table, index))


def chunk_text(world: World, run: Run, chunk: Chunk) -> str:
    newest = world.control.newest(run.table)
    return ", ".join(key_text(newest, row.key) for row in chunk.rows) or "no row"
