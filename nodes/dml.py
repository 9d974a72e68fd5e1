"""INSERT, UPDATE and DELETE, each from its plan to the store.

    INSERT   nodes.new_rows     values, numbers, defaults   nodes.constraints   nodes.upsert for ON CONFLICT
    UPDATE   nodes.matching     which rows, what they get   nodes.constraints
    DELETE   nodes.matching     which rows

What then happens to which pair is decided in `storage.mutations` alone, under the version that the transaction has
pinned (`nodes.work`), and `nodes.writes` sends it; foreign keys are asked about last (`nodes.asking`).
"""

from collections.abc import Sequence

from expressions.typed import Context
from nodes.asking import write
from nodes.computing import returned
from nodes.environment import Environment
from nodes.foreign_keys import bonds_of
from nodes.held_rows import HeldRows, bytes_of
from nodes.matching import matching
from nodes.new_rows import new_rows
from nodes.plans import DeletePlan, InsertPlan, Returning, UpdatePlan
from nodes.reads import fields_of
from nodes.results import Result, Row
from nodes.transaction import Transaction
from nodes.upsert import insert_or
from nodes.work import Writing, Written
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
