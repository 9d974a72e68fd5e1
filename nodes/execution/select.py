"""SELECT: the engine over what its scans read, or no engine at all for a row or a few reached by key."""

import functools
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from expressions.analysis.scopes import Scan
from expressions.typed import Context, Expr, evaluate, render_parts, size_of
from nodes.context import Environment
from nodes.execution.engine.catalog_feeds import catalog_feeds
from nodes.execution.fairness import Turns, in_thread
from nodes.execution.held_rows import VALUE_BYTES, PlanBytes
from nodes.execution.pages import Table, point_commands, rows_in
from nodes.execution.row_codec import are_large, arrays_of, decoded
from nodes.execution.scans import arrow_batches, arrow_schema, stored_rows
from nodes.sql.conditions.access_paths import Access, access, point
from nodes.sql.plans import SelectPlan
from nodes.sql.queries.query import SimpleSelect
from nodes.store.transaction import Transaction
from nodes.wire.columns import Writer
from nodes.wire.results import Result, Row
from storage.pairs import StoredRow

POINTS_AT_ONCE = 200
LARGE_PARTS = 5000
"""Constants, columns and calls of a query, or elements of an answer, that take some milliseconds."""
LARGE_CELLS = 2**15


class NotInOneBatch(Exception):
    """Values are too large to come all at once: nothing was answered, and the transaction is over."""


def table_of(env: Environment, scan: Scan) -> Table:
    return env.table(scan.descriptor)


def access_of(env: Environment, scan: Scan, context: Context) -> Access:
    if scan.pinned_key is not None:
        return point(scan.descriptor, scan.pinned_key, context)
    return whole_access(env, scan, context)


def whole_access(env: Environment, scan: Scan, context: Context) -> Access:
    """The way to the rows with all that EXPLAIN tells of it."""
    return access(scan.descriptor, scan.conditions, context, storages=env.storages, buckets=env.buckets)


async def way_of(env: Environment, scan: Scan, context: Context) -> Access:
    """The same, beside the event loop for a long statement: it compares and encodes what the conditions say."""
    return await in_thread(lambda: access_of(env, scan, context)) if context.is_long else access_of(env, scan, context)


async def select(
    env: Environment, transaction: Transaction, plan: SelectPlan, context: Context, *, commit: bool
) -> AsyncIterator[list[Row]]:
    """The rows of a query in batches; with `commit` its transaction ends with the last one."""
    if plan.query.simple is not None and plan.needs_no_engine:
        way = await way_of(env, plan.query.simple.scan, context)
        if way.points is not None or way.index is not None:
            async for batch in _by_key(env, transaction, plan, plan.query.simple, way, context, commit=commit):
                yield batch
            return
    from nodes.execution.engine.duckdb_engine import rows_of

    writers = plan.columns.writers(context.formats)
    async for page in engine_batches(env, transaction, plan, context):
        written = functools.partial(rows_of, page, plan.outputs, writers, context.formats)
        yield await in_thread(written) if is_large(page) else written()
    if commit:
        await transaction.commit()


def is_large(batch: Any) -> bool:
    """True if a batch of the engine's is made values, or texts, beside the event loop."""
    from nodes.execution.engine.duckdb_engine import elements_in

    return elements_in(batch) > LARGE_PARTS or batch.num_rows * batch.num_columns > LARGE_CELLS


async def _by_key(
    env: Environment,
    transaction: Transaction,
    plan: SelectPlan,
    simple: SimpleSelect,
    way: Access,
    context: Context,
    *,
    commit: bool,
) -> AsyncIterator[list[Row]]:
    table, writers = table_of(env, simple.scan), plan.columns.writers(context.formats)
    async for rows in stored_rows(transaction, table, way, simple.scan.used):
        yield await answers_of(simple, rows, context, writers)
    if commit:
        await transaction.commit()


async def answers_of(
    simple: SimpleSelect, rows: Sequence[StoredRow], context: Context, writers: Sequence[Writer]
) -> list[Row]:
    columns, turns = simple.scan.used_columns, Turns()
    arrays = arrays_of(columns)

    def answer(row: StoredRow) -> Row | None:
        values = decoded(simple.scan.descriptor, row, columns)
        if simple.where is not None and evaluate(simple.where, values, context) is not True:
            return None
        targets = zip(simple.targets, writers, strict=True)
        return [write(evaluate(target, values, context)) for target, write in targets]

    answers: list[Row] = []
    for row in rows:
        is_slow = context.is_long or (arrays and are_large(row, arrays))
        found = await in_thread(functools.partial(answer, row)) if is_slow else answer(row)
        if found is not None:
            answers.append(found)
        await turns.give()
    return answers


async def engine_batches(
    env: Environment, transaction: Transaction, plan: SelectPlan, context: Context
) -> AsyncIterator[Any]:
    """The result as Arrow batches, straight from the engine."""
    with PlanBytes(env.rows) as held:
        held.take_parts(plan.query.parts)
        sql = await rendered(plan.query.parts, context)
        feeds = await feeds_of(env, transaction, plan.scans, context)
        if plan.relations:
            feeds |= catalog_feeds(plan.relations, context)
        async for batch in env.engine.run(sql, feeds, context.style.zone.engine, by=transaction.by):
            yield batch


async def rendered(parts: Sequence["str | Expr"], context: Context) -> str:
    """The query's text for the engine; a long one is written beside the event loop."""
    size = sum(1 if isinstance(part, str) else size_of(part) for part in parts)
    size += sum(len(value) for value in context.parameters if isinstance(value, tuple))
    return (
        render_parts(parts, context) if size <= LARGE_PARTS else await in_thread(lambda: render_parts(parts, context))
    )


async def feeds_of(
    env: Environment, transaction: Transaction, scans: Iterable[Scan], context: Context
) -> dict[str, Any]:
    """The scans as streams for the engine, by their names."""
    feeds = {}
    for scan in scans:
        known = await way_of(env, scan, context)
        feeds[scan.sql] = feed_of(env, transaction, scan, lambda known=known: known)
    return feeds


def feed_of(env: Environment, transaction: Transaction, scan: Scan, way: Callable[[], Access]) -> Any:
    """The scan as a stream for the engine. `way` says how it reaches its rows once the engine begins to read."""
    import asyncio

    from nodes.execution.engine.duckdb_engine import Feed

    table = table_of(env, scan)
    columns = [c for c in scan.descriptor.columns if c.id in scan.used]
    schema = arrow_schema(columns)
    return Feed(schema, lambda: arrow_batches(transaction, table, way(), columns), asyncio.get_running_loop())


async def select_result(
    env: Environment, transaction: Transaction, plan: SelectPlan, context: Context, *, commit: bool
) -> Result:
    """A result that is complete when it is small; else its rest streams, and the transaction ends with it."""
    fields = plan.columns.fields
    rows = await _points(env, transaction, plan, context, commit=commit)
    if rows is not None:
        return Result("SELECT", fields, rows)
    batches = select(env, transaction, plan, context, commit=commit)
    gathered: list[Row] = []
    size, more = 0, True
    while more and len(gathered) < GATHERED_ROWS and size < GATHERED_BYTES:
        batch = await anext(batches, None)
        more = batch is not None
        gathered += batch or []
        size += sum(len(value) for row in batch or () for value in row if value is not None)
    held = size + VALUE_BYTES * len(fields) * len(gathered)  # as `bytes_of` counts
    return Result("SELECT", fields, gathered, batches if more else None, bytes_held=held)


async def _points(
    env: Environment, transaction: Transaction, plan: SelectPlan, context: Context, *, commit: bool
) -> list[Row] | None:
    """The rows of a query by whole keys, in one batch; None when it is another query, or they are too large for that.

    Raises `NotInOneBatch` when they are, and COMMIT stood behind them.
    """
    simple = plan.query.simple
    if simple is None or not plan.needs_no_engine:
        return None
    way = await way_of(env, simple.scan, context)
    if way.points is None or len(way.points) > POINTS_AT_ONCE:
        return None
    table = table_of(env, simple.scan)
    only = table.only_home(way.points)
    results = await transaction.run(point_commands(table, way.points, simple.scan.used), commit=commit, only=only)
    rows = rows_in(table, results)
    if rows is None:
        if commit:
            raise NotInOneBatch
        return None
    return await answers_of(simple, rows, context, plan.columns.writers(context.formats))


GATHERED_ROWS = 4096
GATHERED_BYTES = 2**22
"""Rows held back, so that a refused commit can still be tried again unseen."""
