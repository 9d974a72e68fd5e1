"""INSERT, UPDATE and DELETE, each from its plan to the store.

    INSERT    inserted_rows    values, numbers, defaults; upsert for ON CONFLICT
    UPDATE    target_rows      which rows, and the values they get; unread by key alone
    DELETE    target_rows      which rows; unread by key alone
    MERGE     merged_rows      which rows, and what is done with each

What then happens to which pair is decided in `storage.mutations` alone, under the version that the transaction has
pinned (`write_context`), and `writer` sends it; foreign keys are checked last (`nodes.foreign_keys.checks`).
"""

from expressions.typed import Context
from nodes.context import Environment
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.writing.computing import Computing
from nodes.execution.writing.inserted_rows import new_rows
from nodes.execution.writing.merged_rows import merged_rows
from nodes.execution.writing.returned import returned
from nodes.execution.writing.target_rows import Match, matching
from nodes.execution.writing.unread import write_unread
from nodes.execution.writing.upsert import insert_or
from nodes.execution.writing.write_context import Values, Writing
from nodes.foreign_keys.checks import write
from nodes.foreign_keys.enforced import enforced_by
from nodes.sql.plans import DeletePlan, InsertPlan, MergePlan, UpdatePlan, WritingPlan
from nodes.store.transaction import Transaction
from nodes.wire.results import Result
from storage.pairs import StoredRow


async def perform(
    env: Environment,
    transaction: Transaction,
    plan: WritingPlan,
    context: Context,
    computing: Computing | None,
    *,
    commit: bool,
) -> Result:
    """Do a statement: by its key alone where nothing of the row is needed, else with its rows in hand."""
    if isinstance(plan, UpdatePlan | DeletePlan):
        unread = await write_unread(env, transaction, plan, context, commit=commit)
        if unread is not None:
            word = "UPDATE" if isinstance(plan, UpdatePlan) else "DELETE"
            return Result(f"{word} {unread}", has_written=True)
    with HeldRows(env.rows) as held:
        work = Writing(env, transaction, plan.descriptor, context, held, enforced_by(plan), computing)
        return await _done(work, plan, commit=commit)


async def found_rows(work: Writing, plan: WritingPlan) -> tuple[str, list[Values]]:
    """Find what a statement does, and do nothing yet: its tag, and its rows."""
    match plan:
        case InsertPlan():
            return "INSERT 0", await _inserted(work, plan)
        case UpdatePlan():
            return "UPDATE", await _updated(work, plan)
        case MergePlan():
            return "MERGE", await merged_rows(work, plan)
        case DeletePlan():
            found = await matching(work, plan, plan.descriptor.public_columns)
            await work.foresee(removed=(one.old for one in found))
            for one in found:
                await work.remove(one.old)
            return "DELETE", [one.values for one in found]


async def _inserted(work: Writing, plan: InsertPlan) -> list[Values]:
    rows = await new_rows(work, plan)
    if plan.conflict is not None:
        return await insert_or(work, plan, plan.conflict, rows)
    for row in rows:
        await work.put(row)
    return rows


async def _updated(work: Writing, plan: UpdatePlan) -> list[Values]:
    rows: list[Values] = []
    found = await matching(work, plan, plan.rules.reads)
    await work.foresee(changes=(_change(plan, one) for one in found))
    for one in found:
        old, assigned, after = _change(plan, one)
        work.held.take(bytes_of(one.computed))
        await work.change(plan.rules, old, assigned, after)
        rows.append(after)
    return rows


def _change(plan: UpdatePlan, one: Match) -> tuple[StoredRow, Values, Values]:
    """The row as it is, what it gets, and its values then."""
    assigned = dict(zip(plan.assignments, one.computed, strict=True))
    return one.old, assigned, one.values | assigned


async def _done(work: Writing, plan: WritingPlan, *, commit: bool) -> Result:
    """Do a statement; its answer, once the store has done it."""
    tag, rows = await found_rows(work, plan)
    answers, size = await returned(work, plan.returning, rows)
    await write(work, commit=commit)
    fields = None if plan.returning is None else plan.returning.columns.fields
    return Result(f"{tag} {len(rows)}", fields, answers, bytes_held=size, has_written=True)
