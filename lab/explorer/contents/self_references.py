"""A table that refers to itself: t (id, a), whose a refers to t (id). One descriptor bears the foreign key from both
ends, so one version moves both. A statement may have demands from both ends, above all a change of key. They are
checked among the rows as the statement leaves them, and those reads conflict with other writers (T1)."""

from collections.abc import Iterator

from catalog.descriptor import Descriptor
from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import Acknowledged, Occurrence, Slot, Snapshot
from lab.explorer.contents.statements import DELETE, INSERT, MOVE, NO_VALUE, UPDATE, Statement
from lab.explorer.model import Model
from lab.explorer.plans.program import Schema
from lab.explorer.plans.small_tables import A, row_key_of
from lab.explorer.rules_left_out import Broken
from storage import encoding
from storage.buckets import BUCKETS
from storage.integrity.references import Change, Demand, demands, place_of, why_unmet
from storage.mutations import Op, in_order, insert_row, update_row
from storage.pairs import StoredRow, column_key, prefix
from storage.store import DuplicateKey, apply_op

_LEAVES_OUT = {True: Broken.CHILD_UNCHECKED, False: Broken.PARENT_UNCHECKED}
"""The rule without which a demand is not made, by whether it wants a row to be there."""


def demands_made(model: Model, table: Descriptor, change: Change) -> list[Demand]:
    return [one for one in demands(table, [change]) if not model.lacks(_LEAVES_OUT[one.wants_row])]


class SelfEffects(Effects):
    def given_rows(self, contents: int) -> tuple[str | int, ...]:
        values = {reference(value): value for value in range(self.model.values + 1)}
        return tuple("-" if value is None else values[value] for value in self.known[contents].acknowledged)

    # Statements

    def _accepted(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> list[Op] | None:
        table = self.program.descriptors[schema[0]]
        ops = self.operations(table, snapshot, statement)
        return None if ops is None or self._why_refused(table, snapshot, statement, ops) else ops

    def refusal(self, contents: int, schema: Schema, statement: Statement) -> int:
        table, snapshot = self.program.descriptors[schema[0]], self.snapshot(contents)
        ops = self.operations(table, snapshot, statement)
        return Occurrence.NOTHING if ops is None else self._why_refused(table, snapshot, statement, ops)

    def _why_refused(self, table: Descriptor, snapshot: Snapshot, statement: Statement, ops: list[Op]) -> int:
        left = self._after(snapshot, ops)
        for demand in self._demands(table, snapshot, statement, left):
            rows = left.rows(table).values
            if why_unmet(demand, table, has=lambda at: left.storages[0].get(at.key) is not None, rows=rows) is not None:
                return Occurrence.CHILD_REFUSED if demand.wants_row else Occurrence.PARENT_REFUSED
        return Occurrence.NOTHING

    def _demands(self, table: Descriptor, snapshot: Snapshot, statement: Statement, left: Snapshot) -> list[Demand]:
        what, row, other = statement
        before = snapshot.rows(table).get(row_key_of(row))
        key = row_key_of(other if what == MOVE else row)
        after = None if what == DELETE else left.rows(table)[key]
        return demands_made(self.model, table, (before, after))

    def _after(self, snapshot: Snapshot, ops: list[Op]) -> Snapshot:
        left = [dict(pairs) for pairs in snapshot.storages]
        for op in ops:
            try:
                apply_op(left[self._home(op)], op)
            except DuplicateKey:
                continue
        return Snapshot(left)

    def _read_slots(self, schema: Schema, snapshot: Snapshot, statement: Statement) -> Iterator[Slot]:
        yield from super()._read_slots(schema, snapshot, statement)
        table = self.program.descriptors[schema[0]]
        ops = self.operations(table, snapshot, statement)
        assert ops is not None, "only a statement that is taken reads"
        start = prefix(table, table.placement.id)
        for demand in self._demands(table, snapshot, statement, self._after(snapshot, ops)):
            if demand.wants_row:
                yield 0, place_of(table, demand.constraint, demand.values, BUCKETS).key
                continue
            for row in range(1, self.model.rows + 1):
                yield from ((0, column_key(start, row_key_of(row), *column)) for column in ((), (A,)))

    def _insert(self, schema: Descriptor, row: int, value: int) -> list[Op] | None:
        if value == NO_VALUE:
            return None
        return in_order(insert_row(schema, StoredRow(row_key_of(row), {A: reference(value)})))

    def _update(self, schema: Descriptor, old: StoredRow, value: int) -> list[Op] | None:
        new = {A: reference(value)}
        return None if old.columns == new else in_order(update_row(schema, old, new))

    def _acknowledged(self, acknowledged: Acknowledged, statement: Statement) -> Acknowledged:
        what, row, other = statement
        if what not in (INSERT, UPDATE):
            return super()._acknowledged(acknowledged, statement)
        return (*acknowledged[: row - 1], reference(other), *acknowledged[row:])


def reference(value: int) -> bytes:
    """The value of the column a that refers to this row; 0 is NULL."""
    return encoding.NULL if value == 0 else row_key_of(value)
