"""INSERT, UPDATE, DELETE and TRUNCATE, each from its plan to the store.

    INSERT   nodes.new_rows     values, numbers, defaults   nodes.constraints   nodes.upsert for ON CONFLICT
    UPDATE   nodes.matching     which rows, what they get   nodes.constraints
    DELETE   nodes.matching     which rows

What then happens to which pair is decided in `storage.mutations` alone, under the version that the transaction has
pinned (`nodes.work`), and `nodes.writes` sends it.
"""

from collections.abc import Sequence

from catalog.descriptor import Descriptor
from expressions.typed import Context
from nodes.bounds import access
from nodes.computing import returned
from nodes.environment import Environment
from nodes.matching import matching
from nodes.new_rows import new_rows
from nodes.plans import DeletePlan, InsertPlan, Returning, UpdatePlan
from nodes.reads import fields_of
from nodes.results import Result, Row
from nodes.scans import stored_rows
from nodes.transaction import Transaction
from nodes.upsert import insert_or
from nodes.work import Values, Writing
from storage.mutations import Op

TRUNCATE_ROWS = 500


async def insert(
    env: Environment, transaction: Transaction, plan: InsertPlan, context: Context, *, commit: bool
) -> Result:
    work = Writing(env, transaction, plan.descriptor, context)
    rows = await new_rows(work, plan)
    if plan.conflict is not None:
        ops, rows = await insert_or(work, plan, plan.conflict, rows)
    else:
        ops = [op for row in rows for op in work.insert(row)]
    answers = await returned(work, plan.returning, rows)
    await work.writer.write(ops, commit=commit)
    return _result("INSERT 0", len(rows), plan.returning, answers)


async def update(
    env: Environment, transaction: Transaction, plan: UpdatePlan, context: Context, *, commit: bool
) -> Result:
    work = Writing(env, transaction, plan.descriptor, context)
    ops: list[Op] = []
    afters: list[Values] = []
    exprs = list(plan.assignments.values())
    for old, values, computed in await matching(work, plan.scan, plan.scans, plan.where, exprs, plan.rules.reads):
        assigned = dict(zip(plan.assignments, computed, strict=True))
        after = values | assigned
        plan.rules.refuse(after)
        ops += work.update(old, assigned, after)
        afters.append(after)
    answers = await returned(work, plan.returning, afters)
    await work.writer.write(ops, commit=commit)
    return _result("UPDATE", len(afters), plan.returning, answers)


async def delete(
    env: Environment, transaction: Transaction, plan: DeletePlan, context: Context, *, commit: bool
) -> Result:
    work = Writing(env, transaction, plan.descriptor, context)
    columns = plan.descriptor.public_columns
    found = await matching(work, plan.scan, plan.scans, plan.where, [], columns)
    ops = [op for old, _, _ in found for op in work.delete(old)]
    answers = await returned(work, plan.returning, [values for _, values, _ in found])
    await work.writer.write(ops, commit=commit)
    return _result("DELETE", len(found), plan.returning, answers)


async def truncate_some(env: Environment, transaction: Transaction, descriptor: Descriptor) -> int:
    """Delete some rows in a transaction of their own; how many. Zero: the table is empty (R9)."""
    work = Writing(env, transaction, descriptor, Context())
    way = access(descriptor, (), Context(), storages=env.storages, buckets=env.buckets)
    ops: list[Op] = []
    count = 0
    async for rows in stored_rows(transaction, work.table, way):
        for row in rows[: TRUNCATE_ROWS - count]:
            ops += work.delete(row)
            count += 1
        if count >= TRUNCATE_ROWS:
            break
    await work.writer.write(ops, commit=True)
    return count


def _result(tag: str, count: int, returning: Returning | None, rows: Sequence[Row]) -> Result:
    fields = None if returning is None else fields_of(returning.outputs)
    return Result(f"{tag} {count}", fields, list(rows))
