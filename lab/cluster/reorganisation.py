"""Reorganisation in the lab: fill in chunks, verify, delete, purge (protocol section 7), in small steps, of all the
elements that a change moves together. Anything may happen between the read and the put of a chunk; the put is refused
when the run is closed (R7) or the range is done already (R3)."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, Column, Index, Kind, Placement, State, TableId
from catalog.text.sentence import Sentence
from changes.plan.element_states import state_of, with_state
from changes.plan.model import Element
from lab.cluster import consistency
from lab.cluster.control_plane import LabError, Without
from lab.cluster.world import World
from lab.scripts.text import key_text
from storage.encoding import NULL, inverted
from storage.integrity.clauses import label
from storage.mutations import Op, delete_row, fill_row
from storage.pairs import COLUMN, PREFIX, PairName, StoredRow, StrayKey, name_of, rows_of

Elements = tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows that an attempt has read and not put yet; `token` and `cursor` are the run's at that time."""

    under: Descriptor
    token: int
    cursor: bytes
    rows: tuple[StoredRow, ...]
    keys: frozenset[bytes] | None = None


@dataclass
class Run:
    """The fill of some elements. All rows up to `cursor` are done, or those of the ranges in `done`."""

    table: TableId
    elements: Elements
    token: int = 1
    cursor: bytes = b""
    is_cleared: bool = False
    is_finished: bool = False
    is_closed: bool = False
    chunks: list[Chunk] = field(default_factory=list)
    done: set[frozenset[bytes]] = field(default_factory=set)

    @property
    def name(self) -> str:
        return names(self.elements)


def names(elements: Collection[Element]) -> str:
    return ", ".join(element.name for element in elements)


def element_of(index: Index) -> Element:
    return Element(index.kind, index.id, index.name)


# Whose pair a key is


def belongs(elements: Elements) -> Callable[[PairName], bool]:
    indexes = {element.id for element in elements if element.kind.is_index}
    columns = {element.id for element in elements if element.kind.is_column}
    placements = {element.id for element in elements if element.kind is Kind.PLACEMENT}

    def is_one(name: PairName) -> bool:
        among = name.index in indexes if name.index != PRIMARY else name.column in columns
        return among or name.placement in placements

    return is_one


def pairs_of(world: World, table: TableId, elements: Elements) -> Iterator[tuple[int, bytes, bytes | None]]:
    is_one, known = belongs(elements), knowing(world, table, elements)
    for home, pairs in enumerate(world.pairs(table), 1):
        for key, value in pairs:
            try:
                name = name_of(known, key)
            except StrayKey:
                continue
            if is_one(name):
                yield home, key, value


def knowing(world: World, table: TableId, elements: Elements) -> Descriptor:
    """The newest version that knows the elements: chunks are written under it."""
    versions = world.control.published[table]
    return next((one for one in reversed(versions) if _knows(one, elements)), versions[-1])


def _knows(descriptor: Descriptor, elements: Elements) -> bool:
    known: list[Index | Column | Placement] = [*descriptor.indexes, *descriptor.columns, *descriptor.placements]
    return labels(elements) <= {label(one.kind, one.id) for one in known}


def labels(elements: Elements) -> set[str]:
    return {
        label(element.kind, element.id) for element in elements if element.kind not in (Kind.TABLE, Kind.CONSTRAINT)
    }


# Fill


def clear(world: World, run: Run) -> None:
    """Removes the tombstones from before the drain: once, before the first range is read (R6)."""
    if run.is_cleared or run.is_closed:
        return
    run.is_cleared = True
    removed = 0 if Without.CLEAR in world.control.without else _remove_tombstones(world, run.table, run.elements)
    world.say(Sentence("cleared {elements}: {count} tombstones", elements=run.name, count=removed))


def _remove_tombstones(world: World, table: TableId, elements: Elements) -> int:
    gone = [(home, key) for home, key, value in pairs_of(world, table, elements) if value is None]
    return _remove(world, gone)


def _remove(world: World, gone: list[tuple[int, bytes]]) -> int:
    for home, key in gone:
        del world.store.pairs[home - 1][key]
        world.store.writes.append((home, key))
    return len(gone)


def read_chunk(world: World, run: Run, rows: int | None = None) -> Chunk:
    """The next rows in key order (None: all), as they are now."""
    clear(world, run)
    left = [row for row in _rows(world, run.table) if row.key > run.cursor]
    chunk = Chunk(world.control.newest(run.table), run.token, run.cursor, tuple(left[:rows]))
    run.chunks.append(chunk)
    return chunk


def read_range(world: World, run: Run, keys: frozenset[bytes]) -> Chunk:
    """The rows of a range, as they are now; ranges are read in any order."""
    clear(world, run)
    rows = tuple(row for row in _rows(world, run.table) if row.key in keys)
    chunk = Chunk(world.control.newest(run.table), run.token, run.cursor, rows, keys)
    run.chunks.append(chunk)
    return chunk


def _rows(world: World, table: TableId) -> list[StoredRow]:
    descriptor = world.control.newest(table)
    storages = (sorted(pairs, key=lambda pair: pair[0]) for pairs in world.pairs(table))
    found = (row for pairs in storages for row in rows_of(descriptor, descriptor.placement, pairs))
    return sorted(found, key=lambda row: row.key)


def put_chunk(world: World, run: Run, chunk: Chunk) -> int:
    """Puts the pairs that a chunk's rows require; their number. Raises `LabError`."""
    without = world.control.without
    run.chunks.remove(chunk)
    if chunk.token != run.token and Without.TOKEN not in without:
        raise LabError("the run is closed: its token has moved on (R7)")
    if (chunk.cursor != run.cursor or chunk.keys in run.done) and Without.ONCE not in without:
        raise LabError("the range is done already (R3)")
    put = sum(_put(world, op) for row in chunk.rows for op in required(world, chunk.under, row))
    if chunk.keys is not None:
        run.done.add(chunk.keys)
    elif chunk.rows:
        run.cursor = max(run.cursor, chunk.rows[-1].key)
    elif chunk.cursor == run.cursor:
        run.is_finished = True
    return put


def required(world: World, under: Descriptor, row: StoredRow) -> list[Op]:
    """The pairs that a fill puts for a row (R2), by the version under which it has read it."""
    ops = fill_row(under, row, world.store.buckets)
    if Without.FILL_VALUE not in world.control.without:
        return ops
    null = dict.fromkeys((column.id for column in under.stored_columns), NULL)
    blind = fill_row(under, StoredRow(row.key, {**null, **row.columns}), world.store.buckets)
    values = [op for op in ops if name_of(under, op.key).index == PRIMARY]
    return values + [op for op in blind if name_of(under, op.key).index != PRIMARY]


def _put(world: World, op: Op) -> bool:
    home = world.store.home(op)
    there = world.store.pairs[home - 1]
    without = world.control.without
    is_tombstone = op.key in there and there[op.key] is None
    if Without.CAREFUL_FILL in without or (Without.TOMBSTONE_CHECK in without and is_tombstone):
        there[op.key] = op.value
        world.store.writes.append((home, op.key))
        return True
    return world.store.fill(op)


def fill(world: World, run: Run, rows: int | None = None) -> int:
    put = put_chunk(world, run, read_chunk(world, run, rows))
    run.is_finished = rows is None
    return put


def close(run: Run) -> None:
    """No attempt of this run can write any more (R7)."""
    if not run.is_closed:
        run.token, run.is_closed = run.token + 1, True


def verify(world: World, table: TableId, elements: Elements) -> list[str]:
    """The faults of the elements, compared by content in both directions, as if they were public."""
    if Without.VERIFICATION in world.control.without:
        return []
    newest = world.control.newest(table)
    public = newest
    for element in elements:
        if state_of(newest, element) is not State.ABSENT:
            public = with_state(public, element, State.PUBLIC)
        if element.kind is Kind.PLACEMENT:
            placements = (
                replace(one, state=State.WRITE_ONLY) if one.state is State.PUBLIC and one.id != element.id else one
                for one in public.placements
            )
            public = replace(public, placements=tuple(placements))
    world.untidy |= labels(elements)
    has_rules = any(element.kind is Kind.CONSTRAINT for element in elements)
    if public.placement != newest.placement:  # then the copy left behind says what the new one lacks
        known = {(one.key, one.why) for one in consistency.violations(world, table, newest)}
        return [str(one) for one in consistency.violations(world, table, public) if (one.key, one.why) not in known]
    before = {one.why for one in consistency.violations(world, table, newest)} if has_rules else set()
    is_one = _is_about(public, elements)
    found = consistency.violations(world, table, public.next_version())
    # A row without a value of a future NOT NULL column breaks that rule; once it is public, C2 says so.
    judged = (one if is_one(one.key) else replace(one, clause="C6") if one.clause == "C2" else one for one in found)
    return [
        str(one) for one in judged if is_one(one.key) or (has_rules and one.clause == "C6" and one.why not in before)
    ]


def _is_about(descriptor: Descriptor, elements: Elements) -> Callable[[bytes], bool]:
    is_one = belongs(elements)

    def is_about(key: bytes) -> bool:
        try:
            return is_one(name_of(descriptor, key))
        except StrayKey:
            return False

    return is_about


# Deletion


def delete(world: World, table: TableId, elements: Elements) -> int:
    """Removes pairs and tombstones of the elements (R8), one element after the other: all, or by hand the first."""
    if any(element.kind is Kind.TABLE for element in elements):
        return _delete_rows(world, table)
    if Without.DELETION in world.control.without:
        return 0
    by_element = [[(key, home) for home, key, _ in pairs_of(world, table, (element,))] for element in elements]
    ordered = (place for found in by_element for place in sorted(found, key=_entries_first))
    gone = [(home, key) for key, home in dict.fromkeys(ordered)]  # an entry may be of an index and a placement
    if not world.by_hand:
        world.untidy -= labels(elements)
        return _remove(world, gone)
    return _remove(world, [place for place in gone if place[1] == gone[0][1]])


def _entries_first(place: tuple[bytes, int]) -> tuple[bool, bytes, int]:
    key, home = place
    is_row = PREFIX.unpack_from(key)[2] == PRIMARY
    return is_row, key[: -COLUMN.size] + inverted(key[-COLUMN.size :]) if is_row else key, home


def _delete_rows(world: World, table: TableId) -> int:
    """Removes everything of a table: all, or by hand the first row with its entries (R9)."""
    if not world.by_hand:
        return world.store.delete_all(table.to_bytes(4))
    rows = _rows(world, table)
    if not rows:
        return world.store.delete_all(table.to_bytes(4))
    ops = delete_row(world.control.newest(table), rows[0], world.store.buckets)
    return sum(world.store.delete_all(op.key) for op in ops)


def purge(world: World, table: TableId, elements: Elements) -> int:
    """Removes the tombstones of a fill (R8)."""
    world.untidy -= labels(elements)
    if Without.PURGE in world.control.without:
        return 0
    return _remove_tombstones(world, table, elements)


def chunk_text(world: World, run: Run, chunk: Chunk) -> str:
    newest = world.control.newest(run.table)
    return ", ".join(key_text(newest, row.key) for row in chunk.rows) or "no row"
