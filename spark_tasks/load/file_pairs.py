"""Rows of a file as pairs: their places, acts, taken keys and missing references."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import Placement, State
from catalog.states import Write, rule
from spark_tasks.checks.foreign_key_checks import Reference
from spark_tasks.checks.row_checks import first_rows
from spark_tasks.chunks.entry_placement import by_home
from spark_tasks.load.file_rows import CannotLoad, number_in_file
from storage.arrow.encoding import END, Pairs, concat
from storage.arrow.rows import (
    StoredRows,
    chosen,
    index_entries,
    require_buckets,
    require_short_keys,
    row_pairs,
    row_storages,
)
from storage.integrity.clauses import row_words
from storage.mutations import Act, key_guards
from storage.pairs import PREFIX, CannotDerive, column_key, prefix

DUPLICATES_NAMED = 20


class Duplicates(CannotLoad):
    """Rows of the file have keys that are taken."""

    def __init__(self, words: list[str]) -> None:
        more = ", .." if len(words) == DUPLICATES_NAMED else ""
        super().__init__(f"already there, or twice in the file: {', '.join(words)}{more}")
        self.words = words


def pairs_of(descriptor: Descriptor, rows: StoredRows, *, storages: int, buckets: int) -> Iterator[tuple[int, Pairs]]:
    """All pairs of the rows by storage, with entries, in each placement that is put (`catalog.states`)."""
    try:
        yield from sorted(_pairs_of(descriptor, rows, storages, buckets).items())
    except CannotDerive as cannot:
        raise CannotLoad(str(cannot)) from cannot


def _pairs_of(descriptor: Descriptor, rows: StoredRows, storages: int, buckets: int) -> dict[int, Pairs]:
    pairs: dict[int, list[Pairs]] = {}
    require_short_keys(descriptor, rows)
    indexes = [index for index in descriptor.indexes if rule(index.kind, index.state).insert is Write.PUT]
    for placement in _placements_put(descriptor):
        require_buckets(descriptor, rows, placement, buckets)
        homes = row_storages(descriptor, rows, storages=storages, buckets=buckets, placement=placement)
        count = placement.storage_count(storages)
        for storage in sorted(pc.unique(homes).to_pylist()):
            here = chosen(rows, pc.equal(homes, storage))
            pairs.setdefault(storage, []).append(row_pairs(descriptor, placement.id, here))
            for index in indexes:
                found = index_entries(descriptor, placement.id, index, here)
                for home, part in by_home(index, found, storage, storages=count, buckets=buckets):
                    pairs.setdefault(home, []).append(part)
    return {storage: concat(parts) for storage, parts in pairs.items()}


def _placements_put(descriptor: Descriptor) -> Iterator[Placement]:
    return (one for one in descriptor.placements if rule(one.kind, one.state).insert is Write.PUT)


def by_act(descriptor: Descriptor, pairs: Pairs) -> Iterator[tuple[Act, Pairs]]:
    """The pairs by act: existence and entries over the primary key are created, other unique entries their owner's, the
    rest replaces."""
    placements, guards = list(_placements_put(descriptor)), key_guards(descriptor)
    starts = pc.binary_slice(pairs.keys, 0, PREFIX.size)
    is_row = pc.is_in(starts, value_set=_binaries(prefix(descriptor, one.id) for one in placements))
    is_guard = pc.is_in(
        starts, value_set=_binaries(prefix(descriptor, one.id, index) for one in placements for index in guards)
    )
    is_existence = pc.and_(is_row, pc.equal(pc.binary_slice(pairs.keys, -2, END), b"\x00\x00"))
    is_new = pc.or_(is_existence, is_guard)
    is_owned = pc.and_not(pc.greater(pc.binary_length(pairs.values), 0), pc.or_(is_row, is_guard))
    others = pc.invert(pc.or_(is_new, is_owned))
    for act, mask in ((Act.CREATE, is_new), (Act.PUT, others), (Act.PUT_UNIQUE, is_owned)):
        part = pairs.filter(mask).sorted()
        if len(part):
            yield act, part


def _binaries(listed: Iterable[bytes]) -> pa.Array:
    return pa.array(list(listed), pa.binary())


def twice_in_file(descriptor: Descriptor, rows: StoredRows) -> Duplicates:
    """Rows with the key of another row of the chunk."""
    counts = pc.value_counts(rows.keys)
    doubled = [count["values"].as_py() for count in counts if count["counts"].as_py() > 1]
    words = [row_words(descriptor, key) for key in doubled[:DUPLICATES_NAMED]]
    return Duplicates(words or ["values of a unique index"])


def refuse_taken(descriptor: Descriptor, rows: StoredRows, taken: set[bytes]) -> None:
    """Raises `Duplicates` for keys that other rows have."""
    if not taken:
        return
    keys, placements = rows.keys.to_pylist(), [one.id for one in _placements_put(descriptor)]
    theirs = [[column_key(prefix(descriptor, one), key) for key in keys] for one in placements]
    for guard in descriptor.key_guards:  # every row has its entry
        theirs += [index_entries(descriptor, one, guard, rows).keys.to_pylist() for one in placements]
    mine = [key for key, *its in zip(keys, *theirs, strict=True) if not taken.isdisjoint(its)]
    words = [row_words(descriptor, key) for key in mine[:DUPLICATES_NAMED]]
    raise Duplicates(words or [f"{len(taken)} values of a unique index"])


def refuse_dangling(reference: Reference, rows: StoredRows, dangling: pa.Array, first: int) -> None:
    """Raises `CannotLoad` with the first row whose reference is missing."""
    if not pc.any(dangling).as_py():
        return
    number, row = number_in_file(first, dangling.index(True).as_py()), next(first_rows(chosen(rows, dangling)))
    state = reference.foreign_key.state
    moving = "" if state is State.PUBLIC else f" (the constraint is {state.value})"
    raise CannotLoad(f"row {number}: {reference.words(row)}{moving}")
