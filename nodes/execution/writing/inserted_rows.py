"""The rows of an INSERT, complete: given values, identity numbers, defaults of public and of write-only columns. A
write-only column takes its default although no statement may name it: the fill puts what older rows lack, and finds
this row done (protocol.md, section 3). A derived column gets its pair from its source's (`storage.mutations`)."""

from collections.abc import Sequence

from catalog.elements import State
from expressions.functions.volatile import is_volatile
from expressions.limits import begin_anew
from expressions.typed import Expr, PyValue, evaluate
from nodes.execution.fairness import in_thread
from nodes.execution.held_rows import bytes_of
from nodes.execution.writing.computing import fitting
from nodes.execution.writing.write_context import ROWS_MAX, Values, Writing, too_many
from nodes.sql.plans import InsertPlan, MergePlan
from nodes.sql.writes.row_texts import Text
from nodes.store.numbers import take_numbers


async def new_rows(work: Writing, plan: InsertPlan) -> list[Values]:
    """The rows to insert. Raises 23502 or 23514 for the first that breaks a constraint."""
    text = work.texts.rows
    given = await (_local_rows(work, plan) if text is None else _asked_rows(work, plan, text))
    if len(given) > ROWS_MAX:
        raise too_many("INSERT")
    await complete(work, plan, given)
    await work.foresee(given)
    for row in given:
        await work.refuse(plan.rules, row)
    return given


async def complete(work: Writing, plan: InsertPlan | MergePlan, rows: Sequence[Values]) -> None:
    await _number_rows(work, plan, rows)
    await _add_defaults(work, plan, rows)


async def _asked_rows(work: Writing, plan: InsertPlan, text: Text) -> list[Values]:
    rows, fitted = list[Values](), fitting(plan.columns)
    async for answer in work.asked(text, "INSERT"):
        given = plan.rows[min(len(rows), len(plan.rows) - 1)] if plan.source is None else answer
        values = zip(plan.columns, fitted(answer), given, strict=True)
        rows.append({c.id: value for c, value, expr in values if expr is not None or plan.source is not None})
    return rows


PART_BYTES = 2**20


async def _local_rows(work: Writing, plan: InsertPlan) -> list[Values]:
    """The rows that are computed here, part by part: others have their turn between two."""
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
    for column in plan.descriptor.columns:
        if column.state is not State.PUBLIC and (column.state is not State.WRITE_ONLY or column.derived is not None):
            continue
        lacking = [row for row in rows if column.id not in row]
        if not lacking:
            continue
        default = plan.defaults.get(column.id)
        text = work.texts.defaults.get(column.id)
        for row, value in zip(lacking, await _default_values(work, default, len(lacking), text), strict=True):
            row[column.id] = value
        await work.turns.give()  # a wide table has hundreds of columns


async def _default_values(work: Writing, default: Expr | None, count: int, text: Text | None) -> list[PyValue]:
    if default is None:
        return [None] * count
    times = count if text is not None or is_volatile(default) else 1
    if text is not None:
        values = await work.asks.defaults(work.transaction, work.context, text, times)
    else:
        values = [evaluate(default, {}, work.context) for _ in range(times)]
    return values * (count // times)
