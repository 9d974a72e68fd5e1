"""Expressions computed for rows: here, row by row, when they are simple, else by the query engine."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from catalog.elements import ColumnId
from expressions.typed import Call, ColumnRef, Expr, Fragment, Literal, PyValue, evaluate, is_answered_here, render
from nodes.execution.held_rows import PlanBytes, bytes_of
from nodes.execution.write_context import Writing
from nodes.sql.plans import Returning
from nodes.sql.query import Output
from nodes.wire.results import Row

ONCE_MAX = 500
"""Expressions in one question to the engine."""


async def compute_once(work: Writing, exprs: Sequence[Expr]) -> list[PyValue]:
    """Expressions that read no row, by the engine."""
    computed: list[PyValue] = []
    for place in range(0, len(exprs), ONCE_MAX):
        part = exprs[place : place + ONCE_MAX]
        with PlanBytes(work.env.rows) as held:
            held.take_parts(part)
            sql = "SELECT " + ", ".join(f"{render(e, work.context)} AS o{i}" for i, e in enumerate(part))
            (row,) = await engine_rows(work, sql, {}, [Output("", e.type) for e in part])
        computed += row
    return computed


async def compute_row(work: Writing, exprs: Sequence[Expr], values: Mapping[ColumnId, PyValue]) -> list[PyValue]:
    """Expressions over one row; what only the engine can do gets the row's values as constants."""
    if all(map(is_answered_here, exprs)):
        return [evaluate(e, values, work.context) for e in exprs]
    return await compute_once(work, [_filled_in(e, values) for e in exprs])


def _filled_in(expr: Expr, values: Mapping[ColumnId, PyValue]) -> Expr:
    if isinstance(expr, ColumnRef):
        return Literal(values[ColumnId(expr.column_id)], expr.type)
    if isinstance(expr, Call):
        args = tuple(_filled_in(a, values) for a in expr.args)
        return replace(expr, args=args)
    if isinstance(expr, Fragment):
        parts = tuple(p if isinstance(p, str) else _filled_in(p, values) for p in expr.parts)
        return replace(expr, parts=parts)
    return expr


async def engine_rows(
    work: Writing, sql: str, feeds: Mapping[str, Any], outputs: Sequence[Output]
) -> list[list[PyValue]]:
    from nodes.execution.duckdb_engine import values

    rows: list[list[PyValue]] = []
    async for batch in work.env.engine.run(sql, dict(feeds), work.context.style.zone.engine):
        columns = [values(array, o.type) for array, o in zip(batch.columns, outputs, strict=True)]
        work.held.take(sum(bytes_of(column) for column in columns))
        rows += [list(items) for items in zip(*columns, strict=True)]
        await work.turns.give()
    return rows


async def returned(
    work: Writing, returning: Returning | None, rows: Sequence[Mapping[ColumnId, PyValue]]
) -> tuple[list[Row], int]:
    """The answer of RETURNING, row by row, and the bytes it takes."""
    answers: list[Row] = []
    if returning is None:
        return answers, 0
    before, writers = work.held.held, returning.columns.writers(work.context.formats)
    for row in rows:
        computed = await compute_row(work, returning.targets, row)
        answers.append([write(value) for write, value in zip(writers, computed, strict=True)])
        work.held.take(bytes_of(answers[-1]))
        await work.turns.give()
    return answers, work.held.held - before
