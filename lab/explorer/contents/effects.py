"""Effects of statements on the contents of the model's table: computed once by the product's code, then cached under
small numbers, since a model has a few hundred contents and millions of worlds."""

from collections.abc import Iterator, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import Column, State
from lab.explorer.contents.numbered import NOT_NAMED, Acknowledged, Effect, Occurrence, Slot, Snapshot
from lab.explorer.contents.reorganisation import Reorganisation
from lab.explorer.contents.statements import DELETE, INSERT, MOVE, NO_VALUE, Statement, inserted, statements_of
from lab.explorer.model import Model
from lab.explorer.plans.program import Program, Schema, program_of
from lab.explorer.plans.small_tables import encoded, has_room, numbers_of, refuses, row_key_of, value_column
from lab.explorer.rules_left_out import Broken
from storage.mutations import (
    REMOVALS,
    Act,
    Op,
    TableNotWritable,
    delete_row,
    in_order,
    insert_row,
    readable_columns,
    update_row,
)
from storage.pairs import StoredRow
from storage.store import DuplicateKey, apply_op


class Effects(Reorganisation):
    def __init__(self, model: Model, program: Program | None = None) -> None:
        super().__init__(model, program_of(model) if program is None else program)
        self._effects: dict[tuple[int, Schema, Statement, int, int | None], Effect | None] = {}
        self._choices: dict[tuple[int, Schema], list[tuple[Statement, Effect]]] = {}
        self._refusals: dict[tuple[int, Schema], int] = {}
        self.statements = tuple(statements_of(model))
        self.subjects: tuple[tuple[str, int], ...] = tuple((INSERT, row) for row in range(1, model.rows + 1))

    # The contents before anything happened

    def first_contents(self) -> list[int]:
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
        return self.number([{} for _ in range(self.storages)], (None,) * len(self.subjects))

    def _first_schema(self) -> Schema:
        first = self.program.stops[0]
        return first.schema((1,) * len(first.tables))

    def given(self, rows: Sequence[object]) -> int | None:
        """The first contents, from each subject's "-" (none) or value in the column a; None if there are none."""
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
        values = {encoded(value): value for value in (0, *numbers_of(self.model))} | {NOT_NAMED: NO_VALUE}
        return tuple("-" if value is None else values[value] for value in self.known[contents].acknowledged)

    # Statements

    def choices(self, contents: int, schema: Schema) -> list[tuple[Statement, Effect]]:
        key = contents, self.alike(schema)
        found = self._choices.get(key)
        if found is None:
            effects = ((s, self.effect(contents, schema, s)) for s in self.statements)
            found = self._choices[key] = [(s, e) for s, e in effects if e is not None]
        return found

    def refused(self, contents: int, schema: Schema) -> int:
        """The bits of `Occurrence` for statements that these versions refuse because of other rows."""
        if not (self.model.foreign_key or self.model.refers_to_itself):
            return Occurrence.NOTHING
        key = contents, self.alike(schema)
        found = self._refusals.get(key)
        if found is None:
            found = Occurrence.NOTHING
            taken = {statement for statement, _ in self.choices(contents, schema)}
            for statement in self.statements:
                if statement not in taken:
                    found |= self.refusal(contents, schema, statement)
            self._refusals[key] = found
        return found

    def refusal(self, contents: int, schema: Schema, statement: Statement) -> int:
        return Occurrence.NOTHING

    def rows_under(self, schema: Descriptor, contents: int) -> dict[bytes, StoredRow]:
        return self.snapshot(contents).rows(schema)

    def effect(
        self, contents: int, schema: Schema, statement: Statement, unseen: int = 0, snapshot: int | None = None
    ) -> Effect | None:
        """The effect of a transaction that ran `statement`; None if it is refused. `unseen` are slots that a
        reorganisation has written since the transaction's snapshot: it neither reads nor removes those pairs (E: a
        DELETE misses what the snapshot can't see); its upsert of one is a conflict, so a refusal. `snapshot`: the
        contents that it reads, if older."""
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
            read = self.snapshot_of(
                [
                    {k: v for k, v in pairs.items() if not self.mask([(home, k)]) & unseen}
                    for home, pairs in enumerate(read.storages)
                ]
            )
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
        return Effect(after, touched, written, Occurrence.OLD_VERSION_CLEANED if cleaned else Occurrence.NOTHING)

    def _accepted(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> list[Op] | None:
        return self.operations(self.program.descriptors[schema[0]], snapshot, statement)

    def operations(self, schema: Descriptor, snapshot: Snapshot, statement: Statement) -> list[Op] | None:
        """The statement's operations in order, by `storage.mutations`; None if this version refuses it."""
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
            old = old._replace(columns=readable_columns(schema, old))
        return None if refuses(schema, old) else in_order(update_row(schema, old, {}, new_key=row_key_of(to)))

    def _update(self, schema: Descriptor, old: StoredRow, value: int) -> list[Op] | None:
        column = value_column(schema)
        if column is None or not _may_assign(schema, column, old, value):
            return None
        assigned = {column.id: encoded(value)}
        if refuses(schema, old._replace(columns={**old.columns, **assigned})):
            return None
        return in_order(update_row(schema, old, assigned))

    def _as_broken(self, ops: list[Op], snapshot: Snapshot) -> list[Op]:
        """A tombstone only where a pair is seen: R5 forbids it."""
        if not self.model.lacks(Broken.SEEN_ONLY):
            return ops
        there = snapshot.storages
        return [
            op
            for op in ops
            if op.act not in (Act.TOMBSTONE, Act.TOMBSTONE_UNIQUE) or there[self._home(op)].get(op.key) is not None
        ]

    def _read_slots(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> Iterator[Slot]:
        keys = {row_key_of(statement[1])} | ({row_key_of(statement[2])} if statement[0] == MOVE else set())
        for home, pairs in enumerate(snapshot.storages):
            for key in pairs:
                name = self.name_of(key)
                if name.index == 0 and name.row_key in keys:
                    yield home, key

    def _acknowledged(self, acknowledged: Acknowledged, statement: Statement) -> Acknowledged:
        what, row, other = statement
        rows = list(acknowledged)
        if what == DELETE:
            rows[row - 1] = None
        elif what == MOVE:
            rows[row - 1], rows[other - 1] = None, rows[row - 1]
        else:
            rows[row - 1] = NOT_NAMED if other == NO_VALUE else encoded(other)
        return tuple(rows)


def _may_assign(schema: Descriptor, column: Column, old: StoredRow, value: int) -> bool:
    if column.state is not State.PUBLIC or not has_room(column, value):
        return False
    return readable_columns(schema, old)[column.id] != encoded(value)
