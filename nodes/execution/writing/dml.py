"""INSERT, UPDATE, DELETE and MERGE, each from its plan to the store, with RETURNING, and several of them in a WITH.

What happens to which pair is decided in `storage.mutations` alone, under the version that the transaction has pinned
(`write_context`), and `writer` sends it; foreign keys are checked last. All parts of a WITH see the rows as they were
before any of them has written, so all are read first.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from catalog.elements import ColumnId
from expressions.typed import Context, PyValue, evaluate
from nodes.context import Environment
from nodes.execution.fairness import are_long, in_thread
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.writing.computing import Computing
from nodes.execution.writing.inserted_rows import new_rows
from nodes.execution.writing.merged_rows import merged_rows
from nodes.execution.writing.point_write import PointWrite
from nodes.execution.writing.target_rows import Match, matching
from nodes.execution.writing.upsert import insert_or
from nodes.execution.writing.write_context import Values, Writing
from nodes.foreign_keys.checks import write, write_all
from nodes.foreign_keys.enforced import enforced_by
from nodes.sql.plans import (
    DeletePlan,
    InsertPlan,
    MergePlan,
    QueryPlan,
    Returning,
    SeveralPlan,
    UpdatePlan,
    WritingPlan,
)
from nodes.sql.writes.row_texts import SeveralTexts, Texts, of_part
from nodes.store.transaction import Transaction
from nodes.wire.columns import Writer
from nodes.wire.results import Result, Row
from storage import encoding
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
    if isinstance(plan, UpdatePlan | DeletePlan) and transaction.trace is None and not context.is_long:
        way = PointWrite.of(env, plan)
        result = None if way is None else await way.perform(transaction, context, commit=commit)
        if result is not None:
            return result
    with HeldRows(env.rows) as held:
        work = Writing(env, transaction, plan.descriptor, context, held, enforced_by(plan), computing)
        result = await answer_of(work, plan)
        await write(work, commit=commit)
        return result


async def several(
    env: Environment,
    transaction: Transaction,
    plan: SeveralPlan,
    context: Context,
    computing: Computing,
    texts: SeveralTexts,
) -> Result:
    """Does a statement with others in its WITH, each once, whether its rows are read or not."""
    works: list[Writing] = []
    given: dict[str, list[list[bytes]]] = {}
    with HeldRows(env.rows) as held:

        def work_for(part: WritingPlan, asks: Texts) -> Writing:
            own = replace(computing, texts=asks, given=dict(given))
            works.append(Writing(env, transaction, part.descriptor, context, held, enforced_by(part), own))
            return works[-1]

        for part, asks in zip(plan.parts, texts.parts, strict=True):
            work = work_for(part.plan, asks)
            _, rows = await _found_rows(work, part.plan)
            if part.plan.returning is not None:
                values = [one async for one in _returned(work, part.plan.returning, rows)]
                held.take(sum(map(bytes_of, values)))
                given[part.name] = [
                    [encoding.encode_value(one.type, row[one.number]) for row in values] for one in of_part(part)
                ]
        if isinstance(plan.main, QueryPlan):
            own = replace(computing, texts=texts.main, given=given)
            result = await _asked(transaction, plan.main, context, own, held)
        else:
            result = await answer_of(work_for(plan.main, texts.main), plan.main)
        await write_all(works)
    return result


async def _asked(
    transaction: Transaction, plan: QueryPlan, context: Context, computing: Computing, held: HeldRows
) -> Result:
    assert computing.texts.rows is not None
    rows, before, writers = list[Row](), held.held, plan.columns.writers(context.formats)
    async for some in computing.answers(transaction, context, computing.texts.rows):
        rows += [[write(value) for write, value in zip(writers, row, strict=True)] for row in some]
        held.take(sum(map(bytes_of, rows[len(rows) - len(some) :])))
    return Result("SELECT", plan.columns.fields, rows, bytes_held=held.held - before, has_written=True)


async def answer_of(work: Writing, plan: WritingPlan) -> Result:
    tag, rows = await _found_rows(work, plan)
    if plan.returning is None:
        return Result(f"{tag} {len(rows)}", has_written=True)
    columns, answers, before = plan.returning.columns, list[Row](), work.held.held
    writers = columns.writers(work.context.formats)
    async for values in _returned(work, plan.returning, rows):
        written = partial(_written, writers, values)
        answers.append(await in_thread(written) if are_long(values) else written())
        work.held.take(bytes_of(answers[-1]))
        await work.turns.give()
    size = work.held.held - before
    return Result(f"{tag} {len(rows)}", columns.fields, answers, bytes_held=size, has_written=True)


def _written(writers: Sequence[Writer], values: Sequence[PyValue]) -> Row:
    return [write(value) for write, value in zip(writers, values, strict=True)]


async def _returned(
    work: Writing, returning: Returning, rows: Sequence[Mapping[ColumnId, PyValue]]
) -> AsyncIterator[Sequence[PyValue]]:
    """The values of RETURNING, row by row: PostgreSQL computes what is not plain, of the rows as they will be."""
    text = work.texts.returned
    if text is None:
        for row in rows:
            yield [evaluate(shown, row, work.context) for shown in returning.plain or ()]
        return
    async for some in work.asks.of_rows(work.transaction, work.context, text, rows):
        for computed in some:
            yield computed


async def _found_rows(work: Writing, plan: WritingPlan) -> tuple[str, list[Values]]:
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
    assigned = dict(zip(plan.assignments, one.computed, strict=True))
    return one.old, assigned, one.values | assigned
