"""INSERT, UPDATE and DELETE, each from its plan to the store.

    INSERT    inserted_rows    values, numbers, defaults; upsert for ON CONFLICT
    UPDATE    target_rows      which rows, and the values they get; unread by key alone
    DELETE    target_rows      which rows; joined_rows where other tables say so; unread by key alone
    MERGE     merged_rows      which rows, and what is done with each

What then happens to which pair is decided in `storage.mutations` alone, under the version that the transaction has
pinned (`write_context`), and `writer` sends it; foreign keys are checked last (`nodes.foreign_keys.checks`).
"""

from collections.abc import Sequence

from catalog.elements import Column
from expressions.typed import Context, Expr, PyValue
from nodes.context import Environment
from nodes.execution.expressions import returned
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.writing.inserted_rows import new_rows
from nodes.execution.writing.joined_rows import joined_rows
from nodes.execution.writing.merged_rows import merged_rows
from nodes.execution.writing.target_rows import Match, matching
from nodes.execution.writing.unread import write_unread
from nodes.execution.writing.upsert import insert_or
from nodes.execution.writing.write_context import Values, Writing
from nodes.foreign_keys.checks import write
from nodes.foreign_keys.enforced import enforced_by
from nodes.sql.plans import NO_SOURCES, DeletePlan, InsertPlan, MergePlan, UpdatePlan, WritingPlan
from nodes.store.transaction import Transaction
from nodes.wire.results import Result

Answers = Sequence[Sequence[PyValue]] | None


async def perform(
    env: Environment, transaction: Transaction, plan: WritingPlan, context: Context, *, commit: bool
) -> Result:
    """Do a statement: by its key alone where nothing of the row is needed, else with its rows in hand."""
    sources = NO_SOURCES
    if isinstance(plan, UpdatePlan | DeletePlan):
        unread = await write_unread(env, transaction, plan, context, commit=commit)
        if unread is not None:
            word = "UPDATE" if isinstance(plan, UpdatePlan) else "DELETE"
            return Result(f"{word} {unread}", has_written=True)
    else:
        sources = plan.sources
    with HeldRows(env.rows) as held:
        work = Writing(env, transaction, plan.descriptor, context, held, enforced_by(plan), sources)
        return await _done(work, plan, commit=commit)


async def found_rows(work: Writing, plan: WritingPlan) -> tuple[str, list[Values], Answers]:
    """Find what a statement does, and do nothing yet: its tag, its rows, and the values of RETURNING where known."""
    match plan:
        case InsertPlan():
            return "INSERT 0", await _inserted(work, plan), None
        case UpdatePlan():
            return "UPDATE", *await _updated(work, plan)
        case MergePlan():
            return "MERGE", await merged_rows(work, plan), None
        case DeletePlan():
            found, answers = await _found(work, plan, [], plan.descriptor.public_columns)
            for old, _, _ in found:
                await work.remove(old)
            return "DELETE", [values for _, values, _ in found], answers


async def _inserted(work: Writing, plan: InsertPlan) -> list[Values]:
    rows = await new_rows(work, plan)
    if plan.conflict is not None:
        return await insert_or(work, plan, plan.conflict, rows)
    for row in rows:
        await work.put(row)
    return rows


async def _updated(work: Writing, plan: UpdatePlan) -> tuple[list[Values], Answers]:
    rows: list[Values] = []
    found, answers = await _found(work, plan, list(plan.assignments.values()), plan.rules.reads)
    for old, values, computed in found:
        assigned = dict(zip(plan.assignments, computed, strict=True))
        after = values | assigned
        work.held.take(bytes_of(computed))
        await work.change(plan.rules, old, assigned, after)
        rows.append(after)
    return rows, answers


async def _found(
    work: Writing, plan: UpdatePlan | DeletePlan, exprs: Sequence[Expr], reads: Sequence[Column]
) -> tuple[list[Match], Answers]:
    """The rows that a statement changes; with the values of RETURNING, where the query that finds them has those."""
    if plan.join is None:
        return await matching(work, plan.scan, plan.scans, plan.where, exprs, reads), None
    found = await joined_rows(work, plan, len(exprs), reads)
    return [(row.old, row.values, list(row.computed)) for row in found], [row.answer for row in found]


async def _done(work: Writing, plan: WritingPlan, *, commit: bool) -> Result:
    """Do a statement; its answer, once the store has done it."""
    tag, rows, computed = await found_rows(work, plan)
    answers, size = await returned(work, plan.returning, rows, computed)
    await write(work, commit=commit)
    fields = None if plan.returning is None else plan.returning.columns.fields
    return Result(f"{tag} {len(rows)}", fields, answers, bytes_held=size, has_written=True)
