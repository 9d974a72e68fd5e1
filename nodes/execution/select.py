"""SELECT of rows of one table, computed here; and the ways to rows."""

import functools
from collections.abc import Sequence

from expressions.analysis.scopes import Scan
from expressions.typed import Context, evaluate
from nodes.context import Environment
from nodes.execution.fairness import Turns, in_thread
from nodes.execution.pages import Table, point_commands, rows_in
from nodes.execution.row_codec import are_large, arrays_of, decoded
from nodes.execution.scans import stored_rows
from nodes.sql.conditions.access_paths import Access, access, point
from nodes.sql.plans import SelectPlan
from nodes.store.transaction import Transaction
from nodes.wire.columns import Writer
from nodes.wire.results import Result, Row
from storage.pairs import StoredRow

POINTS_AT_ONCE = 200


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


async def answers_of(
    plan: SelectPlan, rows: Sequence[StoredRow], context: Context, writers: Sequence[Writer]
) -> list[Row]:
    columns, turns = plan.scan.used_columns, Turns()
    arrays = arrays_of(columns)

    def answer(row: StoredRow) -> Row | None:
        values = decoded(plan.scan.descriptor, row, columns)
        if plan.where is not None and evaluate(plan.where, values, context) is not True:
            return None
        targets = zip(plan.targets, writers, strict=True)
        return [write(evaluate(target, values, context)) for target, write in targets]

    answers: list[Row] = []
    for row in rows:
        is_slow = context.is_long or (arrays and are_large(row, arrays))
        found = await in_thread(functools.partial(answer, row)) if is_slow else answer(row)
        if found is not None:
            answers.append(found)
        await turns.give()
    return answers


async def select_result(
    env: Environment, transaction: Transaction, plan: SelectPlan, context: Context, *, commit: bool
) -> Result:
    """The result of a query over one table that is computed here, with all of its rows.

    Raises `NotInOneBatch` when they are too large for that, and COMMIT stood behind them.
    """
    assert plan.is_local, "others are PostgreSQL's"
    way, table = await way_of(env, plan.scan, context), table_of(env, plan.scan)
    writers = plan.columns.writers(context.formats)
    if way.points is not None and len(way.points) <= POINTS_AT_ONCE:
        only = table.only_home(way.points)
        results = await transaction.run(point_commands(table, way.points, plan.scan.used), commit=commit, only=only)
        found = rows_in(table, results)
        if found is not None:
            return Result("SELECT", plan.columns.fields, await answers_of(plan, found, context, writers))
        if commit:
            raise NotInOneBatch
    answers: list[Row] = []
    async for rows in stored_rows(transaction, table, way, plan.scan.used):
        answers += await answers_of(plan, rows, context, writers)
    if commit:
        await transaction.commit()
    return Result("SELECT", plan.columns.fields, answers)
