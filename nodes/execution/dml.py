"""INSERT, UPDATE and DELETE, each from its plan to the store.

    INSERT   nodes.execution.inserted_rows     values, numbers, defaults   nodes.sql.row_rules   nodes.execution.upsert
    for ON CONFLICT UPDATE   nodes.execution.target_rows     which rows, what they get   nodes.sql.row_rules DELETE
    nodes.execution.target_rows     which rows

What then happens to which pair is decided in `storage.mutations` alone, under the version that the transaction has
pinned (`nodes.execution.write_context`), and `nodes.execution.writer` sends it; foreign keys are asked about last
(`nodes.foreign_keys.checks`).
"""

from collections.abc import Sequence

from expressions.typed import Context
from nodes.context import Environment
from nodes.execution.expressions import returned
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.inserted_rows import new_rows
from nodes.execution.select import fields_of
from nodes.execution.target_rows import matching
from nodes.execution.upsert import insert_or
from nodes.execution.write_context import Writing, Written
from nodes.foreign_keys.checks import write
from nodes.foreign_keys.enforced import bonds_of
from nodes.sql.planner import DeletePlan, InsertPlan, Returning, UpdatePlan
from nodes.store.transaction import Transaction
from nodes.wire.results import Result, Row
from storage.mutations import Op


async def insert(
    env: Environment, transaction: Transaction, plan: InsertPlan, context: Context, *, commit: bool
) -> Result:
    with HeldRows(env.rows) as held:
        work = Writing(env, transaction, plan.descriptor, context, held)
        rows = await new_rows(work, plan)
        ops: list[Op] = []
        if plan.conflict is not None:
            ops, written = await insert_or(work, plan, plan.conflict, rows)
        else:
            for row in rows:
                ops += work.insert(row)
                await work.turns.give()
            written = [(None, row) for row in rows]
        return await _done("INSERT 0", work, plan, ops, written, commit=commit)


async def update(
    env: Environment, transaction: Transaction, plan: UpdatePlan, context: Context, *, commit: bool
) -> Result:
    ops: list[Op] = []
    written: list[Written] = []
    exprs = list(plan.assignments.values())
    with HeldRows(env.rows) as held:
        work = Writing(env, transaction, plan.descriptor, context, held)
        for old, values, computed in await matching(work, plan.scan, plan.scans, plan.where, exprs, plan.rules.reads):
            assigned = dict(zip(plan.assignments, computed, strict=True))
            after = values | assigned
            plan.rules.refuse(after)
            held.take(bytes_of(computed))
            ops += work.update(old, assigned, after)
            written.append((old, after))
            await work.turns.give()
        return await _done("UPDATE", work, plan, ops, written, commit=commit)


async def _done(
    tag: str,
    work: Writing,
    plan: InsertPlan | UpdatePlan,
    ops: Sequence[Op],
    written: Sequence[Written],
    *,
    commit: bool,
) -> Result:
    answers = await returned(work, plan.returning, [after for _, after in written if after is not None])
    await write(work, ops, bonds_of(plan), written, commit=commit)
    return _result(tag, len(written), plan.returning, answers)


async def delete(
    env: Environment, transaction: Transaction, plan: DeletePlan, context: Context, *, commit: bool
) -> Result:
    columns = plan.descriptor.public_columns
    ops: list[Op] = []
    with HeldRows(env.rows) as held:
        work = Writing(env, transaction, plan.descriptor, context, held)
        found = await matching(work, plan.scan, plan.scans, plan.where, [], columns)
        for old, _, _ in found:
            ops += work.delete(old)
            await work.turns.give()
        answers = await returned(work, plan.returning, [values for _, values, _ in found])
        await write(work, ops, bonds_of(plan), [(old, None) for old, _, _ in found], commit=commit)
    return _result("DELETE", len(found), plan.returning, answers)


def _result(tag: str, count: int, returning: Returning | None, rows: Sequence[Row]) -> Result:
    fields = None if returning is None else fields_of(returning.outputs)
    return Result(f"{tag} {count}", fields, list(rows))
