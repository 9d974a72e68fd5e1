"""Effects of statements, fills and deletions on the contents of the model's table.

Nothing is decided here: contents are pairs, and each effect is worked out once by calling
`storage.mutations`, `storage.store` and `storage.integrity.clauses` on them, and then remembered
under small numbers. A model has a few hundred different contents, its worlds millions.

    contents 17 ──delete row 1 as v2──► contents 4
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, Column, State
from lab.explorer.contents.judgement import Judgement
from lab.explorer.contents.numbered import (
    NOT_NAMED,
    Acknowledged,
    Effect,
    Numbers,
    Seen,
    Slot,
    Snapshot,
)
from lab.explorer.contents.statements import (
    DELETE,
    INSERT,
    MOVE,
    NO_VALUE,
    Statement,
    inserted,
    rows_of_range,
    statements_of,
)
from lab.explorer.model import Model
from lab.explorer.plans.program import Do, Program, Schema, Stop, program_of
from lab.explorer.plans.small_tables import (
    NEW,
    OLD,
    A,
    encoded,
    part_of,
    refuses,
    row_key_of,
    value_column,
)
from lab.explorer.rules_left_out import Broken
from storage import encoding
from storage.buckets import BUCKETS, storage_of
from storage.mutations import (
    REMOVALS,
    Act,
    Op,
    TableNotWritable,
    delete_row,
    fill_row,
    in_order,
    insert_row,
    readable_columns,
    update_row,
)
from storage.pairs import StoredRow
from storage.store import DuplicateKey, MemoryStore, apply_op


class Effects(Judgement):
    """All effects of one model, worked out when first asked for."""

    def __init__(self, model: Model, program: Program | None = None) -> None:
        super().__init__(model, program_of(model) if program is None else program)
        self._chunks: Numbers[tuple[Op, ...]] = Numbers()
        self.chunks = self._chunks.values
        self._effects: dict[tuple[int, Schema, Statement, int, int | None], Effect | None] = {}
        self._choices: dict[tuple[int, Schema], list[tuple[Statement, Effect]]] = {}
        self._refusals: dict[tuple[int, Schema], int] = {}
        self._reads: dict[tuple[int, int, int], int] = {}
        self._fills: dict[tuple[int, int], Effect] = {}
        self.statements = tuple(statements_of(model))
        self.subjects: tuple[tuple[str, int], ...] = tuple((INSERT, row) for row in range(1, model.rows + 1))

    # The contents before anything happened

    def first_contents(self) -> list[int]:
        """The contents a search starts from: every way the rows may be before the change begins."""
        found = [self.empty()]
        if self.model.pair:
            return found
        for subject in self.subjects:
            for contents in list(found):
                for statement in self.statements:
                    if statement[:2] == subject:
                        effect = self.effect(contents, self._first_schema(), statement)
                        found += [] if effect is None else [effect.after]
        return list(dict.fromkeys(found))

    def empty(self) -> int:
        """No rows at all."""
        return self.number([{} for _ in range(self.storages)], (None,) * len(self.subjects))

    def _first_schema(self) -> Schema:
        first = self.program.stops[0]
        return first.schema((1,) * len(first.tables))

    def given(self, rows: Sequence[object]) -> int | None:
        """The contents before anything happened, from what each subject is: "-" for none, or its value in the column a.

        None when there are no such contents.
        """
        contents = self.empty()
        if len(rows) != len(self.subjects):
            return None
        for (insert, row), value in zip(self.subjects, rows, strict=True):
            if value != "-":
                if not isinstance(value, int) or (insert, row, value) not in self.statements:
                    return None
                effect = self.effect(contents, self._first_schema(), (insert, row, value))
                if effect is None:
                    return None
                contents = effect.after
        return contents

    def given_rows(self, contents: int) -> tuple[str | int, ...]:
        """The arguments with which `given` makes these contents."""
        values = {encoded(value): value for value in range(self.model.values + 1)} | {NOT_NAMED: NO_VALUE}
        return tuple("-" if value is None else values[value] for value in self.known[contents].acknowledged)

    # Statements

    def choices(self, contents: int, schema: Schema) -> list[tuple[Statement, Effect]]:
        """The statements that a version takes on these contents, with their effects."""
        key = contents, self.alike(schema)
        found = self._choices.get(key)
        if found is None:
            effects = ((s, self.effect(contents, schema, s)) for s in self.statements)
            found = self._choices[key] = [(s, e) for s, e in effects if e is not None]
        return found

    def refused(self, contents: int, schema: Schema) -> int:
        """The bits of `Seen` for statements that these versions refuse for what other rows are."""
        if not (self.model.foreign_key or self.model.refers_to_itself):
            return Seen.NOTHING
        key = contents, self.alike(schema)
        found = self._refusals.get(key)
        if found is None:
            found = Seen.NOTHING
            taken = {statement for statement, _ in self.choices(contents, schema)}
            for statement in self.statements:
                if statement not in taken:
                    found |= self.refusal(contents, schema, statement)
            self._refusals[key] = found
        return found

    def refusal(self, contents: int, schema: Schema, statement: Statement) -> int:
        """The bits of `Seen` when a foreign key forbids this statement; nothing when it does not."""
        return Seen.NOTHING

    def rows_under(self, schema: Descriptor, contents: int) -> dict[bytes, StoredRow]:
        """The rows that a version finds in these contents, by K(r)."""
        return self.snapshot(contents).rows(schema)

    def effect(
        self, contents: int, schema: Schema, statement: Statement, unseen: int = 0, snapshot: int | None = None
    ) -> Effect | None:
        """The effect of a transaction that ran `statement`; None when it is refused.

        `unseen` are slots a reorganisation has written since the transaction's snapshot: it neither reads nor removes
        those pairs (E: a DELETE misses what the snapshot can't see); its upsert of one is a conflict, so a refusal.
        `snapshot`: these contents are what it reads, whatever has become of them since.
        """
        schema = self.alike(schema)
        key = contents, schema, statement, unseen, snapshot
        if key not in self._effects:
            self._effects[key] = self._run(contents, schema, statement, unseen, snapshot)
        return self._effects[key]

    def _run(
        self, contents: int, schema: Schema, statement: Statement, unseen: int, snapshot: int | None
    ) -> Effect | None:
        now, acknowledged = self.known[contents].storages(), self.known[contents].acknowledged
        read = self.snapshot(contents if snapshot is None else snapshot)
        if unseen:
            read = self._without(read, unseen)
        ops = self._accepted(schema, read, statement)
        if ops is None:
            return None
        ops = self._as_broken(ops, read)
        cleaned = False
        for op in ops:
            home = self._home(op)
            if unseen and self.mask([(home, op.key)]) & unseen:
                if op.act not in (Act.REMOVE, Act.REMOVE_UNIQUE):
                    return None
                continue
            cleaned |= op.act in REMOVALS and now[home].get(op.key) is not None
            try:
                apply_op(now[home], op)
            except DuplicateKey:
                return None
        written = self.mask((self._home(op), op.key) for op in ops)
        touched = written if snapshot is not None else written | self.mask(self._read_slots(schema, read, statement))
        after = self.number(now, self._acknowledged(acknowledged, statement))
        return Effect(after, touched, written, Seen.OLD_VERSION_CLEANED if cleaned else Seen.NOTHING)

    def _accepted(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> list[Op] | None:
        """The operations of a node that uses these versions; None when it refuses."""
        return self.operations(self.program.descriptors[schema[0]], snapshot, statement)

    def operations(self, schema: Descriptor, snapshot: Snapshot, statement: Statement) -> list[Op] | None:
        """The statement's operations, in order, by `storage.mutations`; None when this version refuses it."""
        if schema.state is State.ABSENT:
            return None
        what, row, other = statement
        there = snapshot.rows(schema)
        old = there.get(row_key_of(row))
        if (what == INSERT) != (old is None):
            return None
        try:
            if what == INSERT:
                return self._insert(schema, row, other)
            assert old is not None
            if what == DELETE:
                return in_order(delete_row(schema, old))
            if what == MOVE:
                return None if row_key_of(other) in there else self._move(schema, old, other)
            return self._update(schema, old, other)
        except TableNotWritable:
            return None

    def _insert(self, schema: Descriptor, row: int, value: int) -> list[Op] | None:
        columns = inserted(schema, value)
        new = None if columns is None else StoredRow(row_key_of(row), columns)
        return None if new is None or refuses(schema, new) else in_order(insert_row(schema, new))

    def _move(self, schema: Descriptor, old: StoredRow, to: int) -> list[Op] | None:
        if self.model.lacks(Broken.VISIBLE_MOVE):
            old = replace(old, columns=readable_columns(schema, old))
        return None if refuses(schema, old) else in_order(update_row(schema, old, {}, new_key=row_key_of(to)))

    def _update(self, schema: Descriptor, old: StoredRow, value: int) -> list[Op] | None:
        column = value_column(schema)
        if column is None or not _may_assign(schema, column, old, value):
            return None
        assigned = {column.id: encoded(value)}
        if refuses(schema, replace(old, columns={**old.columns, **assigned})):
            return None
        return in_order(update_row(schema, old, assigned))

    def _as_broken(self, ops: list[Op], snapshot: Snapshot) -> list[Op]:
        """A tombstone only where a pair is seen: what R5 forbids."""
        if not self.model.lacks(Broken.SEEN_ONLY):
            return ops
        there = snapshot.storages
        return [
            op
            for op in ops
            if op.act not in (Act.TOMBSTONE, Act.TOMBSTONE_UNIQUE) or there[self._home(op)].get(op.key) is not None
        ]

    def _read_slots(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> Iterator[Slot]:
        """The slots that a statement reads: the pairs of its row."""
        keys = {row_key_of(statement[1])} | ({row_key_of(statement[2])} if statement[0] == MOVE else set())
        for home, pairs in enumerate(snapshot.storages):
            for key in pairs:
                name = self.name_of(key)
                if name.index == 0 and name.row_key in keys:
                    yield home, key

    def _without(self, snapshot: Snapshot, unseen: int) -> Snapshot:
        return Snapshot(
            [
                {k: v for k, v in pairs.items() if not self.mask([(home, k)]) & unseen}
                for home, pairs in enumerate(snapshot.storages)
            ]
        )

    def _acknowledged(self, acknowledged: Acknowledged, statement: Statement) -> Acknowledged:
        """The rows that users know of after the statement was acknowledged."""
        what, row, other = statement
        rows = list(acknowledged)
        if what == DELETE:
            rows[row - 1] = None
        elif what == MOVE:
            rows[row - 1], rows[other - 1] = None, rows[row - 1]
        else:
            rows[row - 1] = NOT_NAMED if other == NO_VALUE else encoded(other)
        return tuple(rows)

    def _home(self, op: Op) -> int:
        return storage_of(op.bucket, op.storages or self.storages, BUCKETS) - 1

    # Reorganisation

    def read_range(self, contents: int, schema: int, number: int) -> int:
        """The number of the chunk that a fill will put for the rows of range `number`, as it reads them now."""
        key = contents, schema, number
        if key not in self._reads:
            self._reads[key] = self.chunk(self._fill_ops(contents, self.program.descriptors[schema], number))
        return self._reads[key]

    def _fill_ops(self, contents: int, schema: Descriptor, number: int) -> tuple[Op, ...]:
        """The pairs that these rows require of a fill (R2)."""
        rows = self.snapshot(contents).rows(schema)
        wanted = {row_key_of(row) for row in rows_of_range(self.model, number)}
        found: list[Op] = []
        for key in sorted(wanted & rows.keys()):
            ops = fill_row(schema, rows[key])
            if self.model.lacks(Broken.INDEX_FIRST):
                ops = [*_of_rows(ops, self), *_of_indexes(fill_row(schema, _without_a(rows[key])), self)]
            found += ops
        if self.storages == 1:
            found = [replace(op, bucket=1) for op in found]
        return tuple(sorted(found, key=lambda op: op.key))

    def chunk(self, ops: tuple[Op, ...]) -> int:
        """The number of what one attempt will put."""
        return self._chunks.of(ops)

    def fill(self, contents: int, chunk: int) -> Effect:
        """A chunk is put: where there is neither a pair nor a tombstone (R2)."""
        key = contents, chunk
        if key not in self._fills:
            self._fills[key] = self._put_chunk(contents, chunk)
        return self._fills[key]

    def _put_chunk(self, contents: int, chunk: int) -> Effect:
        before = self.known[contents]
        store = MemoryStore(self.storages, pairs=before.storages())
        seen = Seen.NOTHING
        put: list[Slot] = []
        for op in self.chunks[chunk]:
            pairs = store.pairs[self._home(op)]
            if op.key in pairs:
                seen |= Seen.FILL_MET_TOMBSTONE if pairs[op.key] is None else Seen.FILL_MET_PAIR
            if self._fill_one(store, op):
                put.append((self._home(op), op.key))
        written = self.mask(put)
        return Effect(self.number(store.pairs, before.acknowledged), written, written, seen)

    def _fill_one(self, store: MemoryStore, op: Op) -> bool:
        pairs = store.pairs[self._home(op)]
        if self.model.lacks(Broken.BLIND):
            pairs[op.key] = op.value
            return True
        if self.model.lacks(Broken.EXISTS_ONLY):
            name = self.name_of(op.key)
            owner = name.row_key if name.row_key is not None else op.value
            if owner not in Snapshot(store.pairs).rows(self.widest) or pairs.get(op.key) is not None:
                return False
            pairs[op.key] = op.value
            return True
        return store.fill(op)

    def act(self, at: int, contents: int) -> tuple[int, int, int]:
        """The executor's act at stop `at`: contents after it, and the stop it comes to."""
        stop = self.program.stops[at]
        if stop.do in (Do.CLEAR, Do.PURGE):
            return self.tidy(contents).after, at + 1, Seen.NOTHING
        if stop.do is Do.DELETE:
            return self.delete(contents, stop).after, at + 1, Seen.NOTHING
        if stop.do is Do.REMOVE:
            return self.remove_storages(contents).after, at + 1, Seen.NOTHING
        if stop.do is Do.VERIFY and not self.verifies(contents, self._next_version(at)):
            assert stop.otherwise is not None, "a verification has steps back"
            return contents, stop.otherwise, Seen.VERIFY_FAILED
        return contents, at + 1, Seen.NOTHING

    def _next_version(self, at: int) -> Schema:
        """The version that is published after stop `at`: what a verification is for."""
        return next(stop.next_schema for stop in self.program.stops[at:] if stop.do is Do.PUBLISH)

    def tidy(self, contents: int) -> Effect:
        """Tombstones of the elements are removed: clear (R6) and purge (R8)."""
        return self._remove(contents, lambda key, value: value is None and self._part_of(key) is not None)

    def delete(self, contents: int, stop: Stop) -> Effect:
        """Pairs and tombstones of the elements are deleted; of two placements, those of the one that is dropped."""
        if self.model.has_placements:
            going = {OLD if part == 0 else NEW for part in stop.parts}
            return self._remove(contents, lambda key, _: self.name_of(key).placement in going)
        return self._remove(contents, lambda key, _: self._part_of(key) in stop.parts)

    def remove_storages(self, contents: int) -> Effect:
        """The storages go that the new placement does not have, with all that lies there."""
        _, left = self.model.storage_counts
        before = self.known[contents]
        storages = before.storages()
        gone = [(home, key) for home, pairs in enumerate(storages) if home >= left for key in pairs]
        storages = [pairs if home < left else {} for home, pairs in enumerate(storages)]
        written = self.mask(gone)
        return Effect(self.number(storages, before.acknowledged), written, written)

    def _part_of(self, key: bytes) -> int | None:
        return part_of(self.model, self.name_of(key))

    def _remove(self, contents: int, matches: Callable[[bytes, bytes | None], bool]) -> Effect:
        before = self.known[contents]
        storages = before.storages()
        gone = [(home, k) for home, pairs in enumerate(storages) for k, v in pairs.items() if matches(k, v)]
        for home, key in gone:
            del storages[home][key]
        written = self.mask(gone)
        return Effect(self.number(storages, before.acknowledged), written, written)


def _may_assign(schema: Descriptor, column: Column, old: StoredRow, value: int) -> bool:
    """True if an update to this value is taken and changes anything."""
    if column.state is not State.PUBLIC:
        return False
    return readable_columns(schema, old)[column.id] != encoded(value)


def _of_rows(ops: Iterable[Op], effects: Effects) -> Iterator[Op]:
    return (op for op in ops if effects.name_of(op.key).index == PRIMARY)


def _of_indexes(ops: Iterable[Op], effects: Effects) -> Iterator[Op]:
    return (op for op in ops if effects.name_of(op.key).index != PRIMARY)


def _without_a(row: StoredRow) -> StoredRow:
    """A row as a fill reads it that takes a missing value for NULL."""
    return replace(row, columns={A: encoding.NULL, **row.columns})
