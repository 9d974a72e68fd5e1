"""A statement with others in its WITH that write: all parts see the rows as they were before any of them has written.

    WITH gone AS (DELETE FROM a .. RETURNING *) INSERT INTO b SELECT * FROM gone

    read     a: the rows to delete, which are `gone`      b: the rows to insert
    write    a, then b; foreign keys are checked last, when all is written

Each part is worked out once, whether anybody reads what it returns or not.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from catalog.values.types import ARRAYS, SqlType
from expressions.typed import Context, PyValue
from nodes.context import Environment
from nodes.execution.expressions import compute_row, returned
from nodes.execution.fairness import in_thread
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.select import select
from nodes.execution.writing.dml import found_rows
from nodes.execution.writing.write_context import Writing
from nodes.foreign_keys.checks import write_all
from nodes.foreign_keys.enforced import enforced_by
from nodes.sql.plans import NO_SOURCES, InsertPlan, SelectPlan, SeveralPlan, WritingPlan
from nodes.sql.queries.query import Output
from nodes.store.transaction import Transaction
from nodes.wire.results import Result, Row

ROWS_AT_ONCE = 4096


async def several(env: Environment, transaction: Transaction, plan: SeveralPlan, context: Context) -> Result:
    """Do the statement; its transaction goes on."""
    works: list[Writing] = []
    given: dict[str, Any] = {}
    with HeldRows(env.rows) as held:

        def work_for(part: WritingPlan) -> Writing:
            sources = part.sources if isinstance(part, InsertPlan) else NO_SOURCES
            seen = replace(context, given=dict(given))
            works.append(Writing(env, transaction, part.descriptor, seen, held, enforced_by(part), sources))
            return works[-1]

        for part in plan.parts:
            work = work_for(part.plan)
            _, rows, computed = await found_rows(work, part.plan)
            if part.plan.returning is not None:
                targets = part.plan.returning.targets
                if computed is None:
                    computed = [await compute_row(work, targets, row) for row in rows]
                held.take(sum(map(bytes_of, computed)))
                given[part.name] = feed_of_values(part.outputs, computed)
        if isinstance(plan.main, SelectPlan):
            result = await _selected(env, transaction, plan.main, replace(context, given=given), held)
        else:
            work = work_for(plan.main)
            tag, rows, computed = await found_rows(work, plan.main)
            answers, size = await returned(work, plan.main.returning, rows, computed)
            fields = None if plan.main.returning is None else plan.main.returning.columns.fields
            result = Result(f"{tag} {len(rows)}", fields, answers, bytes_held=size, has_written=True)
        await write_all(works)
    return result


async def _selected(
    env: Environment, transaction: Transaction, plan: SelectPlan, context: Context, held: HeldRows
) -> Result:
    """All rows of the query, before anything is written."""
    rows: list[Row] = []
    before = held.held
    async for some in select(env, transaction, plan, context, commit=False):
        held.take(sum(map(bytes_of, some)))
        rows += some
    return Result("SELECT", plan.columns.fields, rows, bytes_held=held.held - before, has_written=True)


def feed_of_values(outputs: Sequence[Output], rows: Sequence[Sequence[PyValue]]) -> Any:
    """Rows as a table for the engine, with columns o0, o1, .."""
    import asyncio

    import pyarrow as pa

    from nodes.execution.engine.duckdb_engine import UUIDS, Feed
    from storage.arrow.encoding import ARROW, column_of

    types = [output.type.sql_type for output in outputs]
    kinds = {SqlType.UUID_ARRAY: UUIDS}
    fields = [pa.field(f"o{place}", ARROW[of], metadata=kinds.get(of)) for place, of in enumerate(types)]  # type: ignore
    schema = pa.schema(fields)
    has_arrays = not ARRAYS.isdisjoint(types)

    def page(some: Sequence[Sequence[PyValue]]) -> Any:
        columns = zip(types, zip(*some, strict=True), strict=True)
        arrays = [column_of(of, list(listed)) for of, listed in columns]  # type: ignore[arg-type]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)  # type: ignore[attr-defined]

    async def pages() -> Any:
        for first in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[first : first + ROWS_AT_ONCE]
            yield await in_thread(partial(page, some)) if has_arrays else page(some)

    return Feed(schema, pages, asyncio.get_running_loop())
