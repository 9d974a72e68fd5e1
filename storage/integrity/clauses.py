"""The seven clauses: when a representation is consistent with a schema (protocol.md, section 2). C1, C3, C5 and C7
forbid orphans (too much), C2, C4 and C6 demand integrity (too little). During a change the same pairs must satisfy
every version in force."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, Column, Index, Kind, Placement, PlacementId, State, TableId
from catalog.text.sentence import Sentence
from storage.answers import NO_ANSWERS, Answers
from storage.buckets import BUCKETS, storage_of
from storage.derived import matches
from storage.encoding import Undecodable
from storage.integrity.constraints import constraint_violations
from storage.integrity.offenders import Offender, broken_words, dangling_words, duplicate_words, row_named
from storage.integrity.references import Place, place_of, refers_to
from storage.mutations import entry_bucket, unique_bucket
from storage.pairs import (
    PairName,
    StoredRow,
    StrayKey,
    column_key,
    entry_now,
    has_null,
    index_values,
    name_of,
    prefix,
    row_bucket,
    row_words,
    rows_of,
    version_named,
)

__all__ = ["Pairs", "Referenced", "Violation", "check", "element_label", "label", "row_words"]

Pairs = Mapping[bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class Referenced:
    """A referenced table: one of its versions in force (foreign keys need the same of all), its pairs on storage 1, 2,
    .. `first`: storages at the cluster's beginning (None: all)."""

    descriptor: Descriptor
    storages: Sequence[Pairs]
    first: int | None = None

    def has(self, place: Place, buckets: int) -> bool:
        count = self.descriptor.placement.storage_count(self.first or len(self.storages))
        return self.storages[storage_of(place.bucket, count, buckets) - 1].get(place.key) is not None


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One clause broken by one key of one storage (0: by the table). `sqlstate`: why an expression has no value."""

    clause: str
    storage: int
    key: bytes
    why: str  # a `Sentence` in all that this package finds
    offender: Offender | None = field(default=None, compare=False)
    sqlstate: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.clause}: {self.why}"


def check(
    descriptor: Descriptor,
    storages: Sequence[Pairs],
    *,
    unfinished: frozenset[str] = frozenset(),
    buckets: int = BUCKETS,
    referenced: Iterable[Referenced] = (),
    first: int | None = None,
    answers: Answers = NO_ANSWERS,
) -> list[Violation]:
    """Every violation of the seven clauses by `storages` (pairs of storage 1, 2, ..) under `descriptor`. `unfinished`:
    public elements that may still have tombstones. `referenced`: the other tables of its foreign keys; without one, its
    C6 is not judged. `first`: storages at the cluster's beginning. Raises `Unanswered`."""
    table = _Table(descriptor, storages, unfinished, buckets, first or len(storages), answers)
    tables = {descriptor.table_id: Referenced(descriptor, storages, first)} | {
        r.descriptor.table_id: r for r in referenced
    }
    found = [*table.pairs_that_belong_nowhere()]
    for placement in descriptor.placements:
        found += _integrity(table, placement, tables)
    return sorted(found)


def element_label(element: Column | Index | Placement) -> str:
    return label(element.kind, element.id)


def label(kind: Kind, number: int) -> str:
    return f"{kind.family.value} {number}"


def owner_words(descriptor: Descriptor, owner: bytes) -> str:
    try:
        return row_named(descriptor, owner)
    except Undecodable:
        return f"a row whose key cannot be read ({owner.hex()})"


Copies = dict[int, StoredRow]
"""A row by the storages on which it exists: one, if nothing is wrong."""


class _Table:
    def __init__(
        self,
        descriptor: Descriptor,
        storages: Sequence[Pairs],
        unfinished: frozenset[str],
        buckets: int,
        first: int,
        answers: Answers,
    ) -> None:
        self.descriptor, self.storages, self.unfinished, self.buckets = descriptor, storages, unfinished, buckets
        self.first = first
        self.rows: dict[PlacementId, dict[bytes, Copies]] = {placement.id: {} for placement in descriptor.placements}
        for placement in descriptor.placements:
            for number, pairs in enumerate(storages, 1):
                for row in rows_of(descriptor, placement, sorted(pairs.items())):
                    self.rows[placement.id].setdefault(row.key, {})[number] = row._replace(answers=answers)

    def home(self, placement: Placement, bucket: int) -> int:
        return storage_of(bucket, placement.storage_count(self.first), self.buckets)

    def pairs_that_belong_nowhere(self) -> Iterable[Violation]:
        """C1, C3, C5, C7: too much."""
        for number, pairs in enumerate(self.storages, 1):
            for key, value in pairs.items():
                broken = self._orphan(number, key, value)
                if broken is not None:
                    yield Violation(broken[0], number, key, broken[1])

    def _orphan(self, number: int, key: bytes, value: bytes | None) -> tuple[str, str] | None:
        try:
            name = name_of(self.descriptor, key)
        except StrayKey as error:
            index = int.from_bytes(key[6:8]) if len(key) > 8 else 0  # 0: it is an entry of none
            if index and all(known.id != index for known in self.descriptor.indexes):
                return "C3", self._unknown_index(index)
            return ("C3" if index else "C7"), error.args[0]
        placement = next(p for p in self.descriptor.placements if p.id == name.placement)
        if self.descriptor.state is State.ABSENT:
            clause = "C1" if name.index == PRIMARY else "C3"
            why, version = "a pair is left of {table}, which {version} does not contain", version_named(self.descriptor)
            return clause, Sentence(why, table=self.descriptor.name, version=version)
        if placement.state is State.ABSENT:
            return "C7", Sentence("{table} has no such placement now", table=self.descriptor.name)
        if name.index == PRIMARY:
            return self._orphan_of_row(number, placement, name, value)
        return self._orphan_of_index(number, placement, self.descriptor.index(name.index), name, value)

    def _unknown_index(self, index: int | str) -> Sentence:
        why = "an entry of index {index}, which {version} does not contain"
        return Sentence(why, index=index, version=version_named(self.descriptor))

    def _orphan_of_row(
        self, number: int, placement: Placement, name: PairName, value: bytes | None
    ) -> tuple[str, str] | None:
        assert name.row_key is not None
        words = partial(row_named, self.descriptor, name.row_key)  # seldom needed
        column = next((c for c in self.descriptor.columns if c.id == name.column), None)
        if name.column != EXISTS and (column is None or column.state is State.ABSENT):
            return "C1", Sentence(
                "a pair of {row} is of column {column}, which {version} does not contain",
                row=words(),
                column=name.column,
                version=version_named(self.descriptor),
            )
        if value is None:
            return self._tombstone(placement, column, words)
        if placement.state is not State.PUBLIC and (stale := self._stale_copy(placement, name, value)) is not None:
            return stale
        if name.column == EXISTS:
            there = self.rows[placement.id][name.row_key][number]
            home = self.home(placement, row_bucket(self.descriptor, placement, there, self.buckets))
            lies = "{row} lies on storage {storage}, its place is {place}"
            return None if home == number else ("C7", Sentence(lies, row=words(), storage=number, place=home))
        assert column is not None
        stored = self.rows[placement.id].get(name.row_key, {}).get(number)
        if stored is None:
            why = "column {column} has a value for {row}, which does not exist"
            return "C1", Sentence(why, column=column.name, row=words())
        if column.derived is not None and not matches(self.descriptor, column, stored):
            why = "column {column} has a value for {row} that does not follow from its source"
            return "C5", Sentence(why, column=column.name, row=words())
        return None

    def _stale_copy(self, placement: Placement, name: PairName, value: bytes) -> tuple[str, str] | None:
        """A placement that is not read holds current copies."""
        assert name.row_key is not None
        words = partial(row_named, self.descriptor, name.row_key)
        rows = self.rows[self.descriptor.placement.id].get(name.row_key, {}).values()
        if not rows:
            why = "placement {placement} has a copy of {row}, which does not exist"
            return "C5", Sentence(why, placement=placement.id, row=words())
        column = name.column
        if column != EXISTS and column is not None and all(row.columns.get(column) != value for row in rows):
            why = "placement {placement} has a copy of {row} with a value the row no longer has"
            return "C5", Sentence(why, placement=placement.id, row=words())
        return None

    def _orphan_of_index(
        self, number: int, placement: Placement, index: Index, name: PairName, value: bytes | None
    ) -> tuple[str, str] | None:
        if index.state is State.ABSENT:
            return "C3", self._unknown_index(index.name)
        if value is None:
            return self._tombstone(placement, index, lambda: Sentence("index {index}", index=index.name))
        owner = name.row_key if name.row_key is not None else value
        rows = self.rows[placement.id].get(owner, {}).values()
        words = partial(owner_words, self.descriptor, owner)
        if not rows:
            why = "index {index} has an entry for {row}, which does not exist"
            return "C5", Sentence(why, index=index.name, row=words())
        wrong = [self._stale_entry(number, placement, index, name, row, words) for row in rows]
        return None if None in wrong else wrong[0]

    def _stale_entry(
        self, number: int, placement: Placement, index: Index, name: PairName, row: StoredRow, words: Callable[[], str]
    ) -> tuple[str, str] | None:
        if index_values(self.descriptor, index, row) != name.values:
            why = "index {index} has an entry for {row} with values the row no longer has"
            return "C5", Sentence(why, index=index.name, row=words())
        if entry_now(self.descriptor, placement, index, row) is None:
            why = "index {index} has an entry for {row}, which its condition does not accept"
            return "C5", Sentence(why, index=index.name, row=words())
        home = self.home(placement, entry_bucket(self.descriptor, placement, index, row, self.buckets))
        if home != number:
            why = "the entry of index {index} for {row} lies on storage {storage}, its place is {place}"
            return "C5", Sentence(why, index=index.name, row=words(), storage=number, place=home)
        return None

    def _tombstone(
        self, placement: Placement, element: Column | Index | None, where: Callable[[], str]
    ) -> tuple[str, str] | None:
        candidates = [placement] if element is None else [placement, element]
        if any(e.state is not State.PUBLIC or element_label(e) in self.unfinished for e in candidates):
            return None
        return "C7", Sentence("a tombstone is left in {where} although the change has ended", where=where())


def _integrity(table: _Table, placement: Placement, tables: Mapping[TableId, Referenced]) -> Iterable[Violation]:
    """C2, C4, C6: too little."""
    if placement.state is not State.PUBLIC or table.descriptor.state is State.ABSENT:
        return
    for copies in table.rows[placement.id].values():
        for number, row in copies.items():
            yield from _missing_columns(table.descriptor, placement, row, number)
            yield from _missing_entries(table, placement, row, number)
            yield from _broken(table.descriptor, row, number)
            yield from _dangling(table, row, number, tables)
    yield from _repeated(table, placement)
    yield from _duplicates(table, placement)


def _repeated(table: _Table, placement: Placement) -> Iterable[Violation]:
    """C6 by a primary key on several storages; where it determines the storage, the others are astray."""
    if table.descriptor.is_home_in_key:
        return
    for row_key, copies in table.rows[placement.id].items():
        if len(copies) > 1:
            yield repeated_row(table.descriptor, row_key)


def repeated_row(descriptor: Descriptor, row_key: bytes) -> Violation:
    key = column_key(prefix(descriptor, descriptor.placement.id), row_key)
    why = "{row} is there more than once, on different storages"
    return Violation("C6", 0, key, Sentence(why, row=row_named(descriptor, row_key)))


def _missing_columns(descriptor: Descriptor, placement: Placement, row: StoredRow, number: int) -> Iterable[Violation]:
    for column in descriptor.stored_columns:
        needs_pair = column.required or column.derived is not None
        if column.state is State.PUBLIC and needs_pair and column.id not in row.columns:
            key = column_key(prefix(descriptor, placement.id), row.key, column.id)
            why = Sentence("{row} has no value of {column}", row=row_named(descriptor, row.key), column=column.name)
            yield Violation("C2", number, key, why)


def _missing_entries(table: _Table, placement: Placement, row: StoredRow, number: int) -> Iterable[Violation]:
    for index in table.descriptor.public_indexes:
        entry = entry_now(table.descriptor, placement, index, row)
        bucket = entry_bucket(table.descriptor, placement, index, row, table.buckets)
        if entry is not None and table.storages[table.home(placement, bucket) - 1].get(entry[0]) != entry[1]:
            why = "index {index} has no entry for {row}"
            words = row_named(table.descriptor, row.key)
            yield Violation("C4", number, entry[0], Sentence(why, index=index.name, row=words))


def _broken(descriptor: Descriptor, row: StoredRow, number: int) -> Iterable[Violation]:
    """C6 by one row: public NOT NULL and CHECK."""
    for broken in constraint_violations(descriptor, row):
        column = broken.column if broken.constraint is None else None
        is_missing = column is not None and column.id not in row.columns  # C2 says so
        if broken.state is State.PUBLIC and not is_missing:
            yield Violation("C6", number, row.key, broken_words(descriptor, row, broken))


def _dangling(table: _Table, row: StoredRow, number: int, tables: Mapping[TableId, Referenced]) -> Iterable[Violation]:
    """C6 by a foreign key that is relied on."""
    for foreign_key in table.descriptor.foreign_keys:
        values = refers_to(table.descriptor, foreign_key, row)
        if foreign_key.state is not State.PUBLIC or values is None:
            continue
        assert foreign_key.references is not None, foreign_key
        referenced = tables[foreign_key.references]
        place = place_of(referenced.descriptor, foreign_key, values, table.buckets)
        if not referenced.has(place, table.buckets):
            why = dangling_words(table.descriptor, referenced.descriptor, foreign_key, row, values)
            yield Violation("C6", number, row.key, why)


def _duplicates(table: _Table, placement: Placement) -> Iterable[Violation]:
    for index in table.descriptor.public_indexes:
        if not index.unique:
            continue
        first: dict[bytes, bytes] = {}
        for row in (row for copies in table.rows[placement.id].values() for row in copies.values()):
            if has_null(table.descriptor, index, row) or entry_now(table.descriptor, placement, index, row) is None:
                continue
            values = index_values(table.descriptor, index, row)
            other = first.setdefault(values, row.key)
            if other != row.key:
                why = duplicate_words(table.descriptor, index, other, row.key, values)
                yield Violation("C6", table.home(placement, unique_bucket(values, table.buckets)), values, why)
