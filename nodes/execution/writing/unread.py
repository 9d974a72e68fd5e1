"""An UPDATE or DELETE by key that needs nothing of the row which it changes: it is written without being read first.

    UPDATE t SET score = 7 WHERE id = 1      one round trip: the pair of score is put if row 1 exists
    DELETE FROM t WHERE id = 1               the same: all its pairs are removed

What reads the row is left to `dml`: other conditions, values made of the row's own, an index or a rule
over what is assigned, entries to remove, RETURNING. So is every table that is not at rest: while a schema change runs,
what a statement does to which pair is decided with the row in hand. The operations are those of `storage.mutations`
all the same.
"""

import functools
from collections.abc import Sequence

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, State
from expressions.errors import SqlError
from expressions.typed import Context, PyValue, evaluate, is_constant, is_simple
from nodes.context import Environment
from nodes.execution.fairness import in_thread
from nodes.execution.point_read import sets
from nodes.execution.row_codec import encoded, refuse_long
from nodes.execution.ways import table_of, way_of
from nodes.execution.writing.writer import Writer
from nodes.foreign_keys.enforced import enforced_by
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import DeletePlan, UpdatePlan
from nodes.store.transaction import Transaction
from storage.mutations import Op, delete_row, update_row
from storage.pairs import StoredRow, column_key
from storage.reads import reads


async def write_unread(
    env: Environment, transaction: Transaction, plan: UpdatePlan | DeletePlan, context: Context, *, commit: bool
) -> int | None:
    """Do the statement; the number of its rows, 0 or 1. None, and nothing is done, when the row has to be read."""
    if transaction.trace is not None or not needs_no_row(plan):
        return None
    points = (await way_of(env, plan.scan, context)).points
    if points is None or len(points) != 1:
        return None
    made = functools.partial(operations, plan, points[0], context, env.buckets)
    ops = await in_thread(made) if context.is_long else made()
    if ops is None:
        return None
    writer = Writer(transaction, plan.descriptor, env.storages, env.buckets)
    there = await writer.write_if_there(column_key(table_of(env, plan.scan).start, points[0]), ops, commit=commit)
    return int(there)


def needs_no_row(plan: UpdatePlan | DeletePlan) -> bool:
    """True if the key and what is assigned say all there is to write."""
    descriptor = plan.descriptor
    if plan.returning is not None or not is_about_one_row(plan) or not is_key_alone(plan):
        return False
    if isinstance(plan, DeletePlan):
        return not descriptor.indexes
    is_alone = descriptor.fact(_columns_read).isdisjoint(plan.assignments)
    return is_alone and all(is_constant(expr) and not sets(expr) for expr in plan.assignments.values())


def is_about_one_row(plan: UpdatePlan | DeletePlan) -> bool:
    """True if one row is named by its key, in a table at rest, and no row of another table has a say in it."""
    is_by_key = plan.scan.pinned_key is not None and plan.where is not None and is_simple(plan.where)
    is_alone = not plan.is_joined and not enforced_by(plan)
    return is_by_key and is_alone and plan.descriptor.fact(is_at_rest)


def is_key_alone(plan: UpdatePlan | DeletePlan) -> bool:
    """True if the key is all of the condition."""
    return plan.where is not None and len(conjuncts(plan.where)) == len(plan.descriptor.primary_key)


def operations(plan: UpdatePlan | DeletePlan, row_key: bytes, context: Context, buckets: int) -> Sequence[Op] | None:
    """The acts on the row with this key, if it exists; None when it is not to be written, which may be an error."""
    descriptor, assigned = plan.descriptor, dict[ColumnId, PyValue]()
    if isinstance(plan, DeletePlan):
        return delete_row(descriptor, StoredRow(row_key), buckets)
    try:
        for column_id, expr in plan.assignments.items():
            assigned[column_id] = evaluate(expr, {}, context)
        refuse_long(descriptor, assigned)
    except SqlError:
        return None  # an error only if there is such a row
    if any(column.id in assigned and assigned[column.id] is None for column, _ in plan.rules.required):
        return None
    return update_row(descriptor, StoredRow(row_key), encoded(descriptor, assigned), row_key, buckets)


def is_at_rest(descriptor: Descriptor) -> bool:
    """True if every element is public, and nothing is filled or derived."""
    elements = (*descriptor.columns, *descriptor.indexes, *descriptor.constraints, *descriptor.placements)
    return (
        descriptor.state is State.PUBLIC
        and len(descriptor.placements) == 1
        and descriptor.is_home_in_key
        and all(element.state is State.PUBLIC for element in elements)
        and not any(c.filling or c.derived is not None for c in descriptor.columns)
    )


def _columns_read(descriptor: Descriptor) -> frozenset[ColumnId]:
    """The columns whose values something else of a row depends on: its place, its entries, its rules."""
    kept = {*descriptor.primary_key, *descriptor.sharding_key}
    others = (*descriptor.indexes, *(c for c in descriptor.constraints if c.rule != "not null"))
    return frozenset(kept).union(*map(reads, others))
