"""Expressions computed for rows: here, row by row, when they are simple, else by the query engine."""

import functools
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from catalog.elements import ColumnId
from expressions.typed import (
    ColumnRef,
    Context,
    Expr,
    Literal,
    PyValue,
    evaluate,
    has_query_text,
    is_simple,
    render,
    render_parts,
    replaced,
)
from nodes.execution.fairness import are_long, in_thread
from nodes.execution.held_rows import PlanBytes, bytes_of
from nodes.execution.select import feeds_of, is_large
from nodes.execution.writing.write_context import Writing
from nodes.sql.plans import Returning
from nodes.sql.queries.query import Output, Parts
from nodes.wire.columns import Writer
from nodes.wire.results import Row

if TYPE_CHECKING:
    from nodes.execution.engine.duckdb_engine import Gathered

ONCE_MAX = 500
"""Expressions in one question to the engine."""


async def compute_once(work: Writing, exprs: Sequence[Expr]) -> list[PyValue]:
    """Expressions that read no row, by the engine."""
    computed: list[PyValue] = []
    for place in range(0, len(exprs), ONCE_MAX):
        part = exprs[place : place + ONCE_MAX]
        before, feeds = await _sources(work) if any(map(has_query_text, part)) else ((), {})
        with PlanBytes(work.env.rows) as held:
            held.take_parts(part)
            written = functools.partial(_query_of, before, part, work.context)
            sql = await in_thread(written) if work.context.is_long else written()
            (row,) = await engine_rows(work, sql, feeds, [Output("", e.type) for e in part])
        computed += row
    return computed


def _query_of(before: Parts, exprs: Sequence[Expr], context: Context) -> str:
    listed = ", ".join(f"{render(e, context)} AS o{i}" for i, e in enumerate(exprs))
    return f"{render_parts(before, context)}SELECT {listed}"


async def compute_row(work: Writing, exprs: Sequence[Expr], values: Mapping[ColumnId, PyValue]) -> list[PyValue]:
    """Expressions over one row; what only the engine can do gets the row's values as constants."""
    if all(map(is_simple, exprs)):
        is_slow = work.context.is_long or are_long(values.values())
        return await in_thread(lambda: _computed(work, exprs, values)) if is_slow else _computed(work, exprs, values)
    return await compute_once(work, [_filled_in(work, e, values) for e in exprs])


def _computed(work: Writing, exprs: Sequence[Expr], values: Mapping[ColumnId, PyValue]) -> list[PyValue]:
    return [evaluate(e, values, work.context) for e in exprs]


async def _sources(work: Writing) -> tuple[Parts, dict[str, Any]]:
    """The WITH and the tables that subqueries read, as these were before the statement."""
    feeds = await feeds_of(work.env, work.transaction, work.sources.scans, work.context)
    return work.sources.before, feeds | work.context.given


def _filled_in(work: Writing, expr: Expr, values: Mapping[ColumnId, PyValue]) -> Expr:
    """The expression with the row's values; columns of tables that subqueries read stay."""
    others = {scan.number for scan in work.sources.scans}

    def value(ref: ColumnRef) -> Expr:
        is_own = ref.relation not in others and ref.column_id
        return Literal(values[ColumnId(ref.column_id)], ref.type) if is_own else ref

    return replaced(expr, value)


async def engine_rows(
    work: Writing, sql: str, feeds: Mapping[str, Any], outputs: Sequence[Output]
) -> list[list[PyValue]]:
    rows: list[list[PyValue]] = []
    async for some in engine_batches(work, sql, feeds, outputs):
        work.held.take(sum(map(bytes_of, some)))
        rows += some
        await work.turns.give()
    return rows


async def engine_batches(
    work: Writing, sql: str, feeds: Mapping[str, Any], outputs: Sequence[Output], before: "Gathered | None" = None
) -> AsyncIterator[list[list[PyValue]]]:
    """The rows of a query, some at a time, as values of these types."""
    zone, by = work.context.style.zone.engine, work.transaction.by
    async for batch in work.env.engine.run(sql, dict(feeds), zone, before, by):
        columns = await columns_of(batch, outputs)
        yield [list(items) for items in zip(*columns, strict=True)]


async def columns_of(batch: Any, outputs: Sequence[Output]) -> list[list[Any]]:
    """A batch of the engine's as values, column by column; many are read beside the event loop."""
    from nodes.execution.engine.duckdb_engine import values

    def read() -> list[list[Any]]:
        return [values(array, o.type) for array, o in zip(batch.columns, outputs, strict=True)]

    return await in_thread(read) if is_large(batch) else read()


async def returned(
    work: Writing,
    returning: Returning | None,
    rows: Sequence[Mapping[ColumnId, PyValue]],
    known: Sequence[Sequence[PyValue]] | None = None,
) -> tuple[list[Row], int]:
    """The answer of RETURNING, row by row, and the bytes it takes; what is `known` need not be computed."""
    answers: list[Row] = []
    if returning is None:
        return answers, 0
    before, writers = work.held.held, returning.columns.writers(work.context.formats)
    for place, row in enumerate(rows):
        computed = await compute_row(work, returning.targets, row) if known is None else known[place]
        written = functools.partial(_written, writers, computed)
        answers.append(await in_thread(written) if are_long(computed) else written())
        work.held.take(bytes_of(answers[-1]))
        await work.turns.give()
    return answers, work.held.held - before


def _written(writers: Sequence[Writer], values: Sequence[PyValue]) -> Row:
    return [write(value) for write, value in zip(writers, values, strict=True)]
