"""INSERT, UPDATE, DELETE and TRUNCATE: rows made, read, changed, and turned into operations on pairs.

What happens to which pair is decided in `storage.mutations` alone. Here rows get their values: from
expressions (computed row by row, or by the engine when they need it), defaults and identity numbers,
under the constraints of the version that the transaction has pinned.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State
from expressions.errors import (
    CARDINALITY_VIOLATION,
    CHECK_VIOLATION,
    NOT_NULL_VIOLATION,
    PROGRAM_LIMIT,
    SqlError,
)
from expressions.functions import CAST_TEMPLATES, cast_compute
from expressions.scopes import Scan
from expressions.sqltypes import BOOL, INT4, OF_SQL_TYPE, Type
from expressions.typed import Call, Context, Expr, Literal, PyValue, evaluate, is_simple, render, value_text
from nodes.environment import Environment
from nodes.libpq import Command, bytea_array
from nodes.plans import Check, Conflict, DeletePlan, InsertPlan, Returning, UpdatePlan
from nodes.reads import access_of, engine_batches, feed_of, fields_of, table_of
from nodes.results import Result, Row
from nodes.rows import decoded, stored
from nodes.scans import Table, arrow_schema, batch_of, read_points, stored_rows
from nodes.selects import Output
from nodes.transaction import Transaction, positional
from nodes.writes import Writer
from storage import encoding
from storage.buckets import storage_of
from storage.mutations import Op, delete_row, entry_bucket, insert_row, update_row
from storage.pairs import StoredRow, has_null, index_entry
from storage.statements import get_sql

ROWS_MAX = 200_000
"""Rows one statement may change: their operations are held until all old entries are removed."""

TRUNCATE_ROWS = 500

Values = dict[ColumnId, PyValue]


@dataclass(frozen=True, slots=True)
class Writing:
    """One statement that writes, on one table in one transaction."""

    env: Environment
    transaction: Transaction
    descriptor: Descriptor
    context: Context

    @property
    def table(self) -> Table:
        return self.env.table(self.descriptor)

    @property
    def writer(self) -> Writer:
        return Writer(self.transaction, self.descriptor, self.env.storages, self.env.buckets)


# -- INSERT -----------------------------------------------------------------------------------------------------


async def insert(
    env: Environment, transaction: Transaction, plan: InsertPlan, context: Context, *, commit: bool
) -> Result:
    work = Writing(env, transaction, plan.descriptor, context)
    rows = await _new_rows(work, plan)
    await _check(work, plan.checks, plan.scan, rows)
    if plan.conflict is not None:
        return await _insert_or(work, plan, plan.conflict, rows, commit=commit)
    ops = [op for row in rows for op in insert_row(plan.descriptor, stored(plan.descriptor, row), env.buckets)]
    returned = await _returned(work, plan.returning, plan.scan, rows)
    await work.writer.write(ops, commit=commit)
    return _result("INSERT 0", len(rows), plan.returning, returned)


async def _new_rows(work: Writing, plan: InsertPlan) -> list[Values]:
    """The rows to insert, complete with defaults, numbers and NULLs, and checked for NOT NULL."""
    if plan.source is not None:
        given = await _source_rows(work, plan)
    else:
        given = await _value_rows(work, plan)
    if len(given) > ROWS_MAX:
        raise too_many("INSERT")
    await _number_rows(work, plan, given)
    await _add_defaults(work, plan, given)
    for row in given:
        refuse_nulls(work.descriptor, row)
    return given


async def _source_rows(work: Writing, plan: InsertPlan) -> list[Values]:
    from nodes.query import values

    assert plan.source is not None
    rows: list[Values] = []
    async for batch in engine_batches(work.env, work.transaction, plan.source, work.context):
        columns = [values(array, o.type) for array, o in zip(batch.columns, plan.source.outputs, strict=True)]
        casts = [assign_cast(o.type, c) for o, c in zip(plan.source.outputs, plan.columns, strict=True)]
        rows += [
            {c.id: cast(v) for c, cast, v in zip(plan.columns, casts, items, strict=True)}
            for items in zip(*columns, strict=True)
        ]
        if len(rows) > ROWS_MAX:
            raise too_many("INSERT")
    return rows


async def _value_rows(work: Writing, plan: InsertPlan) -> list[Values]:
    if all(e is None or is_simple(e) for row in plan.rows for e in row):
        return [
            {c.id: evaluate(e, {}, work.context) for c, e in zip(plan.columns, row, strict=False) if e is not None}
            for row in plan.rows
        ]
    rows: list[Values] = [{} for _ in plan.rows]
    exprs = [
        (i, c, e) for i, row in enumerate(plan.rows) for c, e in zip(plan.columns, row, strict=False) if e is not None
    ]
    computed = await compute_once(work, [e for _, _, e in exprs])
    for (place, column, _), value in zip(exprs, computed, strict=True):
        rows[place][column.id] = value
    return rows


async def _number_rows(work: Writing, plan: InsertPlan, rows: Sequence[Values]) -> None:
    for column in plan.descriptor.public_columns:
        if column.identity:
            lacking = [row for row in rows if column.id not in row]
            if lacking:
                directory = work.env.directory
                numbers = await directory.numbers(plan.descriptor.table_id, column.id, len(lacking))
                for row, number in zip(lacking, numbers, strict=True):
                    row[column.id] = number


async def _add_defaults(work: Writing, plan: InsertPlan, rows: Sequence[Values]) -> None:
    """What an insert puts without being told: defaults of public and of write-only columns, else NULL."""
    for column in plan.descriptor.columns:
        if column.state not in (State.PUBLIC, State.WRITE_ONLY):
            continue
        lacking = [row for row in rows if column.id not in row]
        default = plan.defaults.get(column.id)
        for row, value in zip(lacking, await _default_values(work, default, len(lacking)), strict=True):
            row[column.id] = value


async def _default_values(work: Writing, default: Expr | None, count: int) -> list[PyValue]:
    if default is None or not count:
        return [None] * count
    if is_simple(default):
        return [evaluate(default, {}, work.context)] * count
    return await compute_once(work, [default] * count)


async def _insert_or(
    work: Writing, plan: InsertPlan, conflict: Conflict, rows: list[Values], *, commit: bool
) -> Result:
    """INSERT .. ON CONFLICT: which new rows meet an old one, and what becomes of those."""
    found = await _conflicts(work, conflict, rows)
    ops: list[Op] = []
    written: list[Values] = []
    seen: set[bytes] = set()
    for row, old in zip(rows, found, strict=True):
        marks = _marks(work, conflict, row)
        if old is None and seen.isdisjoint(marks):
            seen |= marks
            ops += insert_row(work.descriptor, stored(work.descriptor, row), work.env.buckets)
            written.append(row)
        elif conflict.assignments is None:
            continue
        elif old is None or not seen.isdisjoint(marks):
            raise SqlError(
                CARDINALITY_VIOLATION,
                "ON CONFLICT DO UPDATE command cannot affect row a second time",
                hint="ensure that no rows proposed for insertion have duplicate constrained values",
            )
        else:
            seen |= marks
            changed = await _update_conflicting(work, plan, conflict, old, row)
            if changed is not None:
                ops += changed[0]
                written.append(changed[1])
    returned = await _returned(work, plan.returning, plan.scan, written)
    await work.writer.write(ops, commit=commit)
    return _result("INSERT 0", len(written), plan.returning, returned)


def _marks(work: Writing, conflict: Conflict, row: Values) -> set[bytes]:
    """What must not come twice: the key, and the values of the unique indexes that count."""
    new = stored(work.descriptor, row)
    marks = {b"key" + new.key} if conflict.is_primary or conflict.index is None else set()
    for index in _counted(work.descriptor, conflict):
        if not has_null(work.descriptor, index, new):
            marks.add(index_entry(work.descriptor, work.descriptor.placement, index, new)[0])
    return marks


def _counted(descriptor: Descriptor, conflict: Conflict) -> list[Any]:
    if conflict.index is not None:
        return [conflict.index]
    return [] if conflict.is_primary else [i for i in descriptor.public_indexes if i.unique]


async def _conflicts(work: Writing, conflict: Conflict, rows: Sequence[Values]) -> list[StoredRow | None]:
    """For each new row the existing row it conflicts with."""
    new = [stored(work.descriptor, row) for row in rows]
    holders: list[bytes | None] = [None] * len(new)
    if conflict.is_primary or conflict.index is None:
        there = {r.key for r in await read_points(work.transaction, work.table, [r.key for r in new], ())}
        holders = [r.key if r.key in there else None for r in new]
    for index in _counted(work.descriptor, conflict):
        entries = await _holders(work, index, new)
        holders = [h or entries.get(i) for i, h in enumerate(holders)]
    olds = {r.key: r for r in await read_points(work.transaction, work.table, sorted({h for h in holders if h}))}
    return [olds.get(h) if h else None for h in holders]


async def _holders(work: Writing, index: Any, new: Sequence[StoredRow]) -> dict[int, bytes]:
    """Which rows hold the unique entries that new rows want."""
    descriptor, placement = work.descriptor, work.descriptor.placement
    wanted: dict[int, dict[bytes, list[int]]] = {}
    for place, row in enumerate(new):
        if not has_null(descriptor, index, row):
            bucket = entry_bucket(descriptor, placement, index, row, work.env.buckets)
            storage = storage_of(bucket, work.env.storages, work.env.buckets)
            key = index_entry(descriptor, placement, index, row)[0]
            wanted.setdefault(storage, {}).setdefault(key, []).append(place)
    commands = [
        Command(positional(get_sql(storage, descriptor.table_id)), (bytea_array(list(keys)),))
        for storage, keys in wanted.items()
    ]
    found: dict[int, bytes] = {}
    results = await work.transaction.run(commands) if commands else []
    for keys, result in zip(wanted.values(), results, strict=True):
        for number in range(result.ntuples):
            for place in keys[result.get_value(number, 0) or b""]:
                found[place] = result.get_value(number, 1) or b""
    return found


async def _update_conflicting(
    work: Writing, plan: InsertPlan, conflict: Conflict, old: StoredRow, row: Values
) -> tuple[list[Op], Values] | None:
    assert conflict.assignments is not None
    values = decoded(work.descriptor, old, readable(work.descriptor))
    both = values | {ColumnId(-c.id): row[c.id] for c in work.descriptor.public_columns}
    exprs = [conflict.where or Literal(True, BOOL), *conflict.assignments.values()]
    computed = await _compute_row(work, exprs, both)
    if computed[0] is not True:
        return None
    assigned = dict(zip(conflict.assignments, computed[1:], strict=True))
    after = values | assigned
    refuse_nulls(work.descriptor, after)
    await _check(work, plan.checks, plan.scan, [after])
    return update_ops(work, old, assigned, after), after


# -- UPDATE and DELETE ------------------------------------------------------------------------------------------


async def update(
    env: Environment, transaction: Transaction, plan: UpdatePlan, context: Context, *, commit: bool
) -> Result:
    work = Writing(env, transaction, plan.descriptor, context)
    ops: list[Op] = []
    afters: list[Values] = []
    exprs = list(plan.assignments.values())
    for old, values, computed in await _matching(work, plan.scan, plan.scans, plan.where, exprs):
        assigned = dict(zip(plan.assignments, computed, strict=True))
        after = values | assigned
        refuse_nulls(plan.descriptor, after)
        ops += update_ops(work, old, assigned, after)
        afters.append(after)
    await _check(work, plan.checks, plan.scan, afters)
    returned = await _returned(work, plan.returning, plan.scan, afters)
    await work.writer.write(ops, commit=commit)
    return _result("UPDATE", len(afters), plan.returning, returned)


async def delete(
    env: Environment, transaction: Transaction, plan: DeletePlan, context: Context, *, commit: bool
) -> Result:
    work = Writing(env, transaction, plan.descriptor, context)
    found = await _matching(work, plan.scan, plan.scans, plan.where, [])
    ops = [op for old, _, _ in found for op in delete_row(plan.descriptor, old, env.buckets)]
    returned = await _returned(work, plan.returning, plan.scan, [values for _, values, _ in found])
    await work.writer.write(ops, commit=commit)
    return _result("DELETE", len(found), plan.returning, returned)


def update_ops(work: Writing, old: StoredRow, assigned: Values, after: Values) -> list[Op]:
    descriptor = work.descriptor
    new_key = None
    if not set(assigned).isdisjoint(descriptor.primary_key):
        new_key = b"".join(encoding.encode(c.type, after[c.id]) for c in descriptor.key_columns)
    others = {c: v for c, v in assigned.items() if c not in descriptor.primary_key}
    encoded = {c: encoding.encode(descriptor.column(c).type, v) for c, v in others.items()}
    return update_row(descriptor, old, encoded, new_key, work.env.buckets)


async def _matching(
    work: Writing, scan: Scan, scans: Sequence[Scan], where: Expr | None, exprs: Sequence[Expr]
) -> list[tuple[StoredRow, Values, list[PyValue]]]:
    """The rows a statement changes, with their values and those of `exprs`."""
    found: list[tuple[StoredRow, Values, list[PyValue]]] = []
    way = access_of(work.env, scan, work.context)
    condition = where or Literal(True, BOOL)
    by_engine = not all(is_simple(e) for e in (condition, *exprs))
    async for rows in stored_rows(work.transaction, table_of(work.env, scan), way):
        if by_engine:
            found += await _match_by_engine(work, scan, scans, condition, exprs, rows)
        else:
            found += _match_here(work, rows, condition, exprs)
        if len(found) > ROWS_MAX:
            raise too_many("statement")
    return found


def _match_here(
    work: Writing, rows: Sequence[StoredRow], condition: Expr, exprs: Sequence[Expr]
) -> list[tuple[StoredRow, Values, list[PyValue]]]:
    found = []
    for row in rows:
        values = decoded(work.descriptor, row, readable(work.descriptor))
        if evaluate(condition, values, work.context) is True:
            found.append((row, values, [evaluate(e, values, work.context) for e in exprs]))
    return found


async def _match_by_engine(
    work: Writing, scan: Scan, scans: Sequence[Scan], condition: Expr, exprs: Sequence[Expr], rows: Sequence[StoredRow]
) -> list[tuple[StoredRow, Values, list[PyValue]]]:
    if not rows:
        return []
    columns = [c for c in work.descriptor.columns if c.id in scan.used]
    others = {s.sql: feed_of(work.env, work.transaction, s, work.context) for s in scans if s is not scan}
    listed = [f"{render(e, work.context)} AS o{i + 1}" for i, e in enumerate(exprs)]
    sql = (
        f"SELECT {', '.join([f'{scan.sql}.number AS o0', *listed])} FROM {scan.sql}"
        f" WHERE {render(condition, work.context)} ORDER BY o0"
    )
    outputs = [Output("number", INT4), *(Output("", e.type) for e in exprs)]
    others[scan.sql] = _numbered_feed(work.descriptor, rows, columns)
    found = []
    for number, *computed in await _engine_rows(work, sql, others, outputs):
        values = decoded(work.descriptor, rows[number], readable(work.descriptor))
        found.append((rows[number], values, computed))
    return found


def _numbered_feed(descriptor: Descriptor, rows: Sequence[StoredRow], columns: Sequence[Column]) -> Any:
    import pyarrow as pa

    from nodes.query import Feed

    batch = batch_of(descriptor, rows, columns)
    numbers = pa.array(range(len(rows)), pa.int32())
    schema = arrow_schema(columns).append(pa.field("number", pa.int32()))  # type: ignore[attr-defined]
    whole = pa.RecordBatch.from_arrays([*batch.columns, numbers], schema=schema)  # type: ignore[attr-defined]

    async def pages() -> Any:
        yield whole

    return Feed(schema, pages, asyncio.get_running_loop())


async def _engine_rows(
    work: Writing, sql: str, feeds: Mapping[str, Any], outputs: Sequence[Output]
) -> list[list[PyValue]]:
    from nodes.query import values

    rows: list[list[PyValue]] = []
    async for batch in work.env.engine.run(sql, dict(feeds)):
        columns = [values(array, o.type) for array, o in zip(batch.columns, outputs, strict=True)]
        rows += [list(items) for items in zip(*columns, strict=True)]
    return rows


async def compute_once(work: Writing, exprs: Sequence[Expr]) -> list[PyValue]:
    """Expressions that read no row, by the engine."""
    computed: list[PyValue] = []
    for place in range(0, len(exprs), 500):
        part = exprs[place : place + 500]
        sql = "SELECT " + ", ".join(f"{render(e, work.context)} AS o{i}" for i, e in enumerate(part))
        (row,) = await _engine_rows(work, sql, {}, [Output("", e.type) for e in part])
        computed += row
    return computed


async def _compute_row(work: Writing, exprs: Sequence[Expr], values: Mapping[ColumnId, PyValue]) -> list[PyValue]:
    """Expressions over one row; what only the engine can do gets the row's values as constants."""
    if all(is_simple(e) for e in exprs):
        return [evaluate(e, values, work.context) for e in exprs]  # type: ignore[arg-type]
    return await compute_once(work, [_filled_in(e, values) for e in exprs])


def _filled_in(expr: Expr, values: Mapping[ColumnId, PyValue]) -> Expr:
    from expressions.typed import ColumnRef, Fragment

    if isinstance(expr, ColumnRef):
        return Literal(values[ColumnId(expr.column_id)], expr.type)
    if isinstance(expr, Call):
        args = tuple(_filled_in(a, values) for a in expr.args)
        return Call(expr.name, expr.template, args, expr.type, expr.compute, expr.strict)
    if isinstance(expr, Fragment):
        parts = tuple(p if isinstance(p, str) else _filled_in(p, values) for p in expr.parts)
        return Fragment(parts, expr.type, expr.is_aggregate, expr.is_query)
    return expr


# -- constraints, RETURNING, results ----------------------------------------------------------------------------


def readable(descriptor: Descriptor) -> tuple[Column, ...]:
    return descriptor.public_columns


def refuse_nulls(descriptor: Descriptor, row: Values) -> None:
    """NOT NULL, of columns and of constraints that are being added."""
    required = {
        c for k in descriptor.constraints if k.rule == "not null" and k.state is not State.ABSENT for c in k.columns
    }
    for column in descriptor.columns:
        if (
            row.get(column.id) is None
            and column.id in row
            and (column.not_null or column.id in descriptor.primary_key or column.id in required)
        ):
            shown = ", ".join(
                (value_text(OF_SQL_TYPE[c.type], row.get(c.id)) or b"null").decode() for c in descriptor.public_columns
            )
            raise SqlError(
                NOT_NULL_VIOLATION,
                f'null value in column "{column.name}" of relation "{descriptor.name}" violates not-null constraint',
                detail=f"Failing row contains ({shown}).",
                table=descriptor.name,
                column=column.name,
            )


async def _check(work: Writing, checks: Sequence[Check], scan: Scan, rows: Iterable[Values]) -> None:
    for row in rows if checks else ():
        for check, held in zip(checks, await _compute_row(work, [c.expr for c in checks], row), strict=True):
            if held is False:
                raise SqlError(
                    CHECK_VIOLATION,
                    f'new row for relation "{work.descriptor.name}" violates check constraint "{check.name}"',
                    table=work.descriptor.name,
                    constraint=check.name,
                )


async def _returned(work: Writing, returning: Returning | None, scan: Scan, rows: Sequence[Values]) -> list[Row]:
    if returning is None:
        return []
    answers: list[Row] = []
    for row in rows:
        computed = await _compute_row(work, returning.targets, row)
        answers.append([value_text(t.type, v) for t, v in zip(returning.targets, computed, strict=True)])
    return answers


def _result(tag: str, count: int, returning: Returning | None, rows: list[Row]) -> Result:
    fields = None if returning is None else fields_of(returning.outputs)
    return Result(f"{tag} {count}", fields, rows)


def too_many(what: str) -> SqlError:
    message = f"one {what} may change at most {ROWS_MAX} rows"
    return SqlError(PROGRAM_LIMIT, message, hint="do it in parts, by ranges of the primary key")


def assign_cast(given: Type, column: Column) -> Any:
    """The cast an assignment makes, as a function; NULL stays NULL."""
    wanted = OF_SQL_TYPE[column.type]
    if given is wanted:
        return lambda value: value
    compute = cast_compute(given, wanted)
    assert compute is not None or (given, wanted) in CAST_TEMPLATES, (given, wanted)
    if compute is None:
        raise SqlError("0A000", f"cannot assign {given} to {wanted} here: add a cast")
    return lambda value: None if value is None else compute(value)


# -- TRUNCATE ---------------------------------------------------------------------------------------------------


async def truncate_some(env: Environment, transaction: Transaction, descriptor: Descriptor) -> int:
    """Delete some rows in a transaction of their own; how many. Zero: the table is empty (R9)."""
    from nodes.bounds import access

    work = Writing(env, transaction, descriptor, Context())
    way = access(descriptor, (), Context(), storages=env.storages, buckets=env.buckets)
    ops: list[Op] = []
    count = 0
    async for rows in stored_rows(transaction, work.table, way):
        for row in rows[: TRUNCATE_ROWS - count]:
            ops += delete_row(descriptor, row, env.buckets)
            count += 1
        if count >= TRUNCATE_ROWS:
            break
    await work.writer.write(ops, commit=True)
    return count
