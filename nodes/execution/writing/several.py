"""A statement with others in its WITH that write: all parts see the rows as they were before any of them has written.

    WITH gone AS (DELETE FROM a .. RETURNING *) INSERT INTO b SELECT * FROM gone

    read     a: the rows to delete, which are `gone`      b: the rows to insert
    write    a, then b; foreign keys are checked last, when all is written

Each part is worked out once, whether anybody reads what it returns or not.
"""

from dataclasses import replace

from expressions.typed import Context
from nodes.context import Environment
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.writing.computing import Computing
from nodes.execution.writing.dml import found_rows
from nodes.execution.writing.returned import returned, returned_values
from nodes.execution.writing.write_context import Writing
from nodes.foreign_keys.checks import write_all
from nodes.foreign_keys.enforced import enforced_by
from nodes.sql.plans import QueryPlan, SeveralPlan, WritingPlan
from nodes.sql.writes.row_texts import SeveralTexts, Texts, of_part
from nodes.store.transaction import Transaction
from nodes.wire.results import Result, Row
from storage import encoding


async def several(
    env: Environment,
    transaction: Transaction,
    plan: SeveralPlan,
    context: Context,
    computing: Computing,
    texts: SeveralTexts,
) -> Result:
    """Do the statement; its transaction goes on."""
    works: list[Writing] = []
    given: dict[str, list[list[bytes]]] = {}
    with HeldRows(env.rows) as held:

        def work_for(part: WritingPlan, asks: Texts) -> Writing:
            own = replace(computing, texts=asks, given=dict(given))
            works.append(Writing(env, transaction, part.descriptor, context, held, enforced_by(part), own))
            return works[-1]

        for part, asks in zip(plan.parts, texts.parts, strict=True):
            work = work_for(part.plan, asks)
            _, rows = await found_rows(work, part.plan)
            if part.plan.returning is not None:
                values = [one async for one in returned_values(work, part.plan.returning, rows)]
                held.take(sum(map(bytes_of, values)))
                given[part.name] = [
                    [encoding.encode_value(one.type, row[one.number]) for row in values] for one in of_part(part)
                ]
        if isinstance(plan.main, QueryPlan):
            own = replace(computing, texts=texts.main, given=given)
            result = await _asked(transaction, plan.main, context, own, held)
        else:
            work = work_for(plan.main, texts.main)
            tag, rows = await found_rows(work, plan.main)
            answers, size = await returned(work, plan.main.returning, rows)
            fields = None if plan.main.returning is None else plan.main.returning.columns.fields
            result = Result(f"{tag} {len(rows)}", fields, answers, bytes_held=size, has_written=True)
        await write_all(works)
    return result


async def _asked(
    transaction: Transaction, plan: QueryPlan, context: Context, computing: Computing, held: HeldRows
) -> Result:
    """All rows of the query, before anything is written."""
    assert computing.texts.rows is not None
    rows, before, writers = list[Row](), held.held, plan.columns.writers(context.formats)
    async for some in computing.answers(transaction, context, computing.texts.rows):
        rows += [[write(value) for write, value in zip(writers, row, strict=True)] for row in some]
        held.take(sum(map(bytes_of, rows[len(rows) - len(some) :])))
    return Result("SELECT", plan.columns.fields, rows, bytes_held=held.held - before, has_written=True)
