"""The rows that an UPDATE or DELETE is about, with their values and those it assigns."""

import asyncio
import functools
from collections.abc import Sequence
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column
from expressions.analysis.scopes import Scan
from expressions.sqltypes import BOOL, INT4
from expressions.typed import Expr, Literal, PyValue, evaluate, is_simple, render
from nodes.execution.expressions import engine_rows
from nodes.execution.fairness import in_thread
from nodes.execution.held_rows import PlanBytes, bytes_of
from nodes.execution.row_codec import are_large, arrays_of, decoded, is_long
from nodes.execution.scans import arrow_schema, batch_of, stored_rows
from nodes.execution.select import feeds_of, table_of, way_of
from nodes.execution.writing.write_context import ROWS_MAX, Values, Writing, too_many
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.queries.query import Output
from storage.pairs import StoredRow

Match = tuple[StoredRow, Values, list[PyValue]]


async def matching(
    work: Writing, scan: Scan, scans: Sequence[Scan], where: Expr | None, exprs: Sequence[Expr], reads: Sequence[Column]
) -> list[Match]:
    """The rows a statement changes, with their values in the columns `reads` and those of `exprs`."""
    found: list[Match] = []
    way = await way_of(work.env, scan, work.context)
    condition = where or Literal(True, BOOL)
    by_engine = not all(is_simple(e) for e in (condition, *exprs))
    async for rows in stored_rows(work.transaction, table_of(work.env, scan), way):
        if by_engine:
            numbered = await _match_by_engine(work, scan, scans, condition, exprs, rows)
            for n, computed in numbered:
                read = functools.partial(decoded, work.descriptor, rows[n], reads)
                found.append((rows[n], await in_thread(read) if is_long(rows[n]) else read(), computed))
                hold(work, rows[n], found[-1][1])
                await work.turns.give()
        else:
            found += await _match_here(work, rows, condition, exprs, reads)
        if len(found) > ROWS_MAX:
            raise too_many("statement")
    return found


def hold(work: Writing, row: StoredRow, values: Values) -> None:
    """Count the values of a row, and its other columns as they are stored."""
    work.held.take_row(row, tuple(values.values()))
    others = sum(len(stored) for column, stored in row.columns.items() if column not in values)
    work.held.take(bytes_of(values.values()) + others)


async def _match_here(
    work: Writing, rows: Sequence[StoredRow], condition: Expr, exprs: Sequence[Expr], reads: Sequence[Column]
) -> list[Match]:
    found, arrays = list[Match](), arrays_of(reads)
    conditions, context = conjuncts(condition), work.context

    def match(row: StoredRow) -> Match | None:
        values = decoded(work.descriptor, row, reads)
        for each in conditions:
            if evaluate(each, values, context) is not True:
                return None
        return row, values, [evaluate(e, values, context) for e in exprs]

    for row in rows:
        is_slow = context.is_long or (arrays and are_large(row, arrays))
        one = await in_thread(functools.partial(match, row)) if is_slow else match(row)
        if one is not None:
            found.append(one)
            hold(work, row, one[1])
        await work.turns.give()
    return found


async def _match_by_engine(
    work: Writing, scan: Scan, scans: Sequence[Scan], condition: Expr, exprs: Sequence[Expr], rows: Sequence[StoredRow]
) -> list[tuple[int, list[PyValue]]]:
    """The numbers of the rows that match, and what is computed for them."""
    if not rows:
        return []
    columns = [c for c in work.descriptor.columns if c.id in scan.used]
    others = await feeds_of(work.env, work.transaction, (s for s in scans if s is not scan), work.context)
    others |= work.context.given

    def query() -> str:
        listed = [f"{render(e, work.context)} AS o{i + 1}" for i, e in enumerate(exprs)]
        return (
            f"SELECT {', '.join([f'{scan.sql}.number AS o0', *listed])} FROM {scan.sql}"
            f" WHERE {render(condition, work.context)} ORDER BY o0"
        )

    sql = await in_thread(query) if work.context.is_long else query()
    outputs = [Output("number", INT4), *(Output("", e.type) for e in exprs)]
    listed = functools.partial(_numbered, work.descriptor, rows, columns)
    others[scan.sql] = _feed_of(await in_thread(listed) if arrays_of(columns) else listed())
    found: list[tuple[int, list[PyValue]]] = []
    with PlanBytes(work.env.rows) as held:
        held.take_parts([condition, *exprs])
        for number, *computed in await engine_rows(work, sql, others, outputs):
            assert isinstance(number, int)
            found.append((number, computed))
    return found


def _numbered(descriptor: Descriptor, rows: Sequence[StoredRow], columns: Sequence[Column]) -> Any:
    import pyarrow as pa

    batch = batch_of(descriptor, rows, columns)
    numbers = pa.array(range(len(rows)), pa.int32())
    schema = arrow_schema(columns).append(pa.field("number", pa.int32()))  # type: ignore[attr-defined]
    return pa.RecordBatch.from_arrays([*batch.columns, numbers], schema=schema)  # type: ignore[attr-defined]


def _feed_of(batch: Any) -> Any:
    from nodes.execution.engine.duckdb_engine import Feed

    async def pages() -> Any:
        yield batch

    return Feed(batch.schema, pages, asyncio.get_running_loop())
