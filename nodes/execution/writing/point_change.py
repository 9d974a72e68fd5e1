"""UPDATE and DELETE of one row by its key that have to read it first, compiled for a plan: the faster twin of `dml`.

    parameters -> K(r) -> its storage -> the row's pairs -> its values -> operations -> one batch, with COMMIT

`storage.mutations` decides what happens to which pair. Left to the general way, which says why something is refused:
large rows and values, what has no value or breaks a rule, and every table that is not at rest. No unique entry is put
and no foreign key is checked here, so no other row can stand in the way.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from expressions.errors import SqlError
from expressions.limits import VALUE_BYTES_MAX, begin_anew
from expressions.typed import Context, Expr, PyValue, evaluate, is_simple
from nodes.context import Environment
from nodes.execution.fairness import are_long
from nodes.execution.pages import Table, pairs_in
from nodes.execution.point_read import ROW_END, all_computed
from nodes.execution.row_codec import arrays_of, decoded, encoded, is_long, refuse_long
from nodes.execution.writing.point_write import is_about_one_row, is_key_alone
from nodes.execution.writing.writer import commands_of
from nodes.sql.plans import DeletePlan, Plan, Returning, UpdatePlan
from nodes.sql.writes.row_rules import Rules
from nodes.store.pipeline import Command, bytea_array
from nodes.store.transaction import Transaction
from nodes.wire.messages import Field
from nodes.wire.results import Result, Row
from storage.asking import asks
from storage.mutations import Op, delete_row, update_row
from storage.page_sizes import longest_of
from storage.pairs import CannotDerive, StoredRow, rows_of, stored_key
from storage.reads import reads
from storage.statements import get_sql, statements_for


@dataclass(frozen=True, slots=True)
class PointChange:
    """A plan as far as no parameter decides. `assignments` and `rules` are an UPDATE's; a DELETE has neither. `where`
    is None when the key is all of the condition."""

    env: Environment
    table: Table
    tag: str
    key: Sequence[Callable[[Context], PyValue]]
    where: Expr | None
    assignments: Sequence[tuple[ColumnId, Expr]]
    rules: Rules | None
    read: Sequence[Column]
    returning: Returning | None = None

    @property
    def descriptor(self) -> Descriptor:
        return self.table.descriptor

    @property
    def fields(self) -> tuple[Field, ...] | None:
        return None if self.returning is None else self.returning.columns.fields

    @classmethod
    def of(cls, env: Environment, plan: Plan) -> "PointChange | None":
        """The plan compiled; None when it is about more than one row, or about more than this row."""
        if not isinstance(plan, UpdatePlan | DeletePlan) or not concerns_one_row(plan):
            return None
        table, key = env.table(plan.descriptor), all_computed(plan.scan.pinned_key)
        where = None if is_key_alone(plan) else plan.where
        is_small = longest_of(table.columns_asked()[0]) > VALUE_BYTES_MAX
        if key is None or not is_small or asks(plan.descriptor):
            return None
        if isinstance(plan, DeletePlan):
            return cls(env, table, "DELETE", key, where, (), None, plan.descriptor.public_columns, plan.returning)
        assignments = tuple(plan.assignments.items())
        return cls(env, table, "UPDATE", key, where, assignments, plan.rules, plan.rules.reads, plan.returning)

    async def perform(self, transaction: Transaction, context: Context) -> Result | None:
        """Does it and commits. None when it is not to be done this way, and nothing was written."""
        begin_anew()
        table = self.table
        try:
            found = table.place([compute(context) for compute in self.key])
        except SqlError:
            return None
        if found is None:
            return None
        start, storage = found
        asked = (bytea_array([stored_key(start + ROW_END)[0]]), table.columns_asked()[1])
        (result,) = await transaction.run([Command(get_sql(storage, table.descriptor.table_id), asked)])
        rows = rows_of(table.descriptor, table.placement, pairs_in(result))
        try:
            change = self.operations(rows[0], context) if rows else ([], None)
        except (SqlError, CannotDerive):
            return None
        if change is None:
            return None
        ops, answer = change
        transaction.note_written()
        commands, has_puts = commands_of(
            statements_for(ops, table.descriptor.table_id, self.env.storages, buckets=self.env.buckets)
        )
        await transaction.run(commands, commit=True, returns_xid=has_puts)
        rows = [] if answer is None else [answer]
        return Result(f"{self.tag} {int(bool(ops))}", self.fields, rows, has_written=True)

    def operations(self, row: StoredRow, context: Context) -> tuple[list[Op], Row | None] | None:
        """The acts on this row, none when it is not meant, and what RETURNING shows of it. None when they are to be
        found beside the event loop. Raises `SqlError` and `CannotDerive`."""
        descriptor, buckets = self.table.descriptor, self.env.buckets
        if is_long(row):
            return None
        values = decoded(descriptor, row, self.read)
        if self.where is not None and evaluate(self.where, values, context) is not True:
            return [], None
        if self.rules is None:
            return delete_row(descriptor, row, buckets), self._answer(values, context)
        assigned = {column_id: evaluate(expr, values, context) for column_id, expr in self.assignments}
        after = values | assigned
        if are_long(after.values()):
            return None
        self.rules.refuse(after)
        refuse_long(descriptor, assigned)
        ops = update_row(descriptor, row, encoded(descriptor, assigned), None, buckets)
        return ops, self._answer(after, context)

    def _answer(self, values: Mapping[ColumnId, PyValue], context: Context) -> Row | None:
        if self.returning is None:
            return None
        shown, writers = self.returning.plain or (), self.returning.columns.writers(context.formats)
        return [write(evaluate(one, values, context)) for one, write in zip(shown, writers, strict=True)]


def concerns_one_row(plan: UpdatePlan | DeletePlan) -> bool:
    """True if one row of a table at rest is read and written, without moving, and no other row has a say in it."""
    descriptor = plan.descriptor
    if plan.where is None or not is_about_one_row(plan):
        return False
    if not is_simple(plan.where) or arrays_of(descriptor.public_columns):
        return False
    if plan.returning is not None and plan.returning.plain is None:
        return False
    if isinstance(plan, DeletePlan):
        return True
    fixed = {*descriptor.primary_key, *descriptor.sharding_key}
    fixed = fixed.union(*(reads(index) for index in descriptor.indexes if index.unique))
    are_simple = all(is_simple(e) and e.type.element is None for e in plan.assignments.values())
    return are_simple and fixed.isdisjoint(plan.assignments)
