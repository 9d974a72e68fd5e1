"""The rows of an INSERT, complete: given values, identity numbers, defaults of public and of write-only columns.

A write-only column takes its default although no statement may name it: the fill that runs meanwhile puts what older
rows lack, and finds this row done (protocol.md, section 3). A column derived from another gets no value here: its pair
follows from its source's (`storage.mutations`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from catalog.elements import Column, State
from expressions.errors import SqlError
from expressions.functions.casts import compute_of as compute_of_cast
from expressions.functions.volatile import is_volatile
from expressions.limits import begin_anew
from expressions.sqltypes import OF_SQL_TYPE, TEXT, TEXTUAL, Type
from expressions.typed import Expr, PyValue, evaluate, is_simple
from expressions.values.arithmetic import fit_of
from nodes.execution.expressions import columns_of, compute_once
from nodes.execution.fairness import in_thread
from nodes.execution.held_rows import bytes_of
from nodes.execution.select import engine_batches
from nodes.execution.writing.write_context import ROWS_MAX, Values, Writing, too_many
from nodes.sql.plans import InsertPlan, MergePlan
from nodes.store.numbers import take_numbers


async def new_rows(work: Writing, plan: InsertPlan) -> list[Values]:
    """The rows to insert. Raises 23502 or 23514 for the first that breaks a constraint."""
    if plan.source is not None:
        given = await _source_rows(work, plan)
    else:
        given = await _value_rows(work, plan)
    if len(given) > ROWS_MAX:
        raise too_many("INSERT")
    await complete(work, plan, given)
    for row in given:
        await work.refuse(plan.rules, row)
    return given


async def complete(work: Writing, plan: InsertPlan | MergePlan, rows: Sequence[Values]) -> None:
    """Give rows the numbers and defaults that they lack."""
    await _number_rows(work, plan, rows)
    await _add_defaults(work, plan, rows)


async def _source_rows(work: Writing, plan: InsertPlan) -> list[Values]:
    assert plan.source is not None
    rows: list[Values] = []
    async for batch in engine_batches(work.env, work.transaction, plan.source, work.context):
        columns = await columns_of(batch, plan.source.outputs)
        work.held.take(sum(bytes_of(column) for column in columns))
        await work.turns.give()
        casts = [_assignment(o.type, c) for o, c in zip(plan.source.outputs, plan.columns, strict=True)]
        rows += [
            {c.id: cast(v) for c, cast, v in zip(plan.columns, casts, items, strict=True)}
            for items in zip(*columns, strict=True)
        ]
        if len(rows) > ROWS_MAX:
            raise too_many("INSERT")
    return rows


async def _value_rows(work: Writing, plan: InsertPlan) -> list[Values]:
    if plan.is_local:
        return await _local_rows(work, plan)
    rows: list[Values] = [{} for _ in plan.rows]
    exprs = [
        (i, c, e) for i, row in enumerate(plan.rows) for c, e in zip(plan.columns, row, strict=False) if e is not None
    ]
    computed = await compute_once(work, [e for _, _, e in exprs])
    for (place, column, _), value in zip(exprs, computed, strict=True):
        rows[place][column.id] = value
    return rows


PART_BYTES = 2**20


async def _local_rows(work: Writing, plan: InsertPlan) -> list[Values]:
    """The rows that need no engine, part by part: others have their turn between two.

    Those of a long statement are computed beside the event loop.
    """
    left, found = iter(plan.rows), list[Values]()

    def part() -> tuple[list[Values], int]:
        rows, size = list[Values](), 0
        for row in left:
            begin_anew()
            pairs = zip(plan.columns, row, strict=False)
            rows.append({c.id: evaluate(e, {}, work.context) for c, e in pairs if e is not None})
            size += bytes_of(rows[-1].values())
            if size >= PART_BYTES or work.turns.are_due:
                break
        return rows, size

    while True:
        rows, size = await in_thread(part) if work.context.is_long else part()
        if not rows:
            return found
        found += rows
        work.held.take(size)
        await work.turns.give()


async def _number_rows(work: Writing, plan: InsertPlan | MergePlan, rows: Sequence[Values]) -> None:
    """Hidden row ids, too: they are the numbers of a column that no statement names."""
    numbered = [column for column in plan.descriptor.columns if column.identity and column.state is State.PUBLIC]
    lacking = {column: [row for row in rows if column.id not in row] for column in numbered}
    counts = {column: len(found) for column, found in lacking.items() if found}
    if not counts:
        return
    for column, numbers in (await take_numbers(work.transaction, plan.descriptor, counts)).items():
        for row, number in zip(lacking[column], numbers, strict=True):
            row[column.id] = number


async def _add_defaults(work: Writing, plan: InsertPlan | MergePlan, rows: Sequence[Values]) -> None:
    """Complete the rows with defaults, else NULL."""
    for column in plan.descriptor.columns:
        if column.state is not State.PUBLIC and (column.state is not State.WRITE_ONLY or column.derived is not None):
            continue
        lacking = [row for row in rows if column.id not in row]
        if not lacking:
            continue
        default = plan.defaults.get(column.id)
        for row, value in zip(lacking, await _default_values(work, default, len(lacking)), strict=True):
            row[column.id] = value
        await work.turns.give()  # a wide table has hundreds of columns


async def _default_values(work: Writing, default: Expr | None, count: int) -> list[PyValue]:
    if default is None:
        return [None] * count
    times = count if is_volatile(default) else 1
    if is_simple(default):
        values = [evaluate(default, {}, work.context) for _ in range(times)]
    else:
        values = await compute_once(work, [default] * times)
    return values * (count // times)


def _assignment(given: Type, column: Column) -> Any:
    """The cast an assignment makes, as a function; NULL stays NULL."""
    wanted = OF_SQL_TYPE[column.type]
    cut = fit_of(column.type, column.length)
    if cut is not None:
        text = _assignment(given, replace(column, length=None))
        return lambda value: None if value is None else cut(text(value))
    if given is wanted:
        return lambda value: value
    compute = compute_of_cast(given, TEXT if wanted in TEXTUAL else wanted)
    if compute is None:
        raise SqlError("0A000", f"cannot assign {given} to {wanted} here: add a cast")
    return lambda value: None if value is None else compute(value)
