"""The rows that an UPDATE or DELETE is about, with the values that they get: by the key, or as PostgreSQL finds them.

All reads are of one snapshot, so what the query found is what is there. A row that is joined several times is changed
once. Where few rows of the other tables say which keys the rows have, only these are read (`nodes.sql.writes.joins`).
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from catalog.elements import Column, ColumnId
from expressions.typed import PyValue, evaluate
from nodes.execution.fairness import are_long, in_thread
from nodes.execution.held_rows import bytes_of
from nodes.execution.pages import point_rows
from nodes.execution.row_codec import are_large, arrays_of, decoded, is_long
from nodes.execution.scans import stored_rows
from nodes.execution.ways import way_of
from nodes.execution.writing.computing import fitting
from nodes.execution.writing.write_context import Values, Writing
from nodes.sql.conditions.predicates import conjuncts
from nodes.sql.plans import DeletePlan, UpdatePlan
from nodes.sql.writes.row_texts import SLOT, Text
from storage import encoding
from storage.pairs import StoredRow


class Match(NamedTuple):
    """A row that is changed: as stored, as values with those beside it that RETURNING names, and what it gets."""

    old: StoredRow
    values: Values
    computed: Sequence[PyValue]


async def matching(work: Writing, plan: UpdatePlan | DeletePlan, reads: Sequence[Column]) -> list[Match]:
    text = work.texts.rows
    return await (_matching_by_key(work, plan, reads) if text is None else _asked(work, plan, text, reads))


async def _matching_by_key(work: Writing, plan: UpdatePlan | DeletePlan, reads: Sequence[Column]) -> list[Match]:
    exprs = list(plan.assignments.values()) if isinstance(plan, UpdatePlan) else []
    found, arrays, context = list[Match](), arrays_of(reads), work.context
    conditions = [] if plan.where is None else conjuncts(plan.where)

    def match(row: StoredRow) -> Match | None:
        values = decoded(work.descriptor, row, reads)
        if any(evaluate(each, values, context) is not True for each in conditions):
            return None
        return Match(row, values, [evaluate(expr, values, context) for expr in exprs])

    way = await way_of(work.env, plan.scan, context)
    async for rows in stored_rows(work.transaction, work.table, way):
        for row in rows:
            is_slow = context.is_long or (arrays and are_large(row, arrays))
            one = await in_thread(partial(match, row)) if is_slow else match(row)
            if one is not None:
                found.append(one)
                hold(work, row, one.values)
    return found


async def _asked(work: Writing, plan: UpdatePlan | DeletePlan, text: Text, reads: Sequence[Column]) -> list[Match]:
    keys, found = work.descriptor.key_columns, dict[bytes, Sequence[PyValue]]()
    columns = [work.descriptor.column(c) for c in plan.assignments] if isinstance(plan, UpdatePlan) else []
    beside = () if plan.returning is None else plan.returning.beside
    fitted, first, end = fitting(columns), len(keys), len(keys) + len(columns)
    async for row in work.asked(text, "statement"):
        key = b"".join(encoding.encode(column.type, value) for column, value in zip(keys, row, strict=False))
        found[key] = (*fitted(row[first:end]), *row[end:])
    stored, count = await rows_by_key(work, found, reads), len(columns)
    matches: list[Match] = []
    for key in sorted(found):
        (old, values), row = stored[key], found[key]
        computed = await made_values(work, text, values, row[:count], row[count + len(beside) :])
        shown = {one.number: value for one, value in zip(beside, row[count:], strict=False)}
        matches.append(Match(old, values | shown, fitted(computed)))
    return matches


async def made_values(
    work: Writing, text: Text, values: Values, computed: Sequence[PyValue], slots: Sequence[PyValue]
) -> list[PyValue]:
    """The values that columns get, with those that are made of an array of the row's and of its new parts."""
    done = list(computed)
    row = {**values, **{ColumnId(SLOT - place): value for place, value in enumerate(slots)}}
    for place, expr in text.made.items():
        make = partial(evaluate, expr, row, work.context)
        done[place] = await in_thread(make) if are_long(row.values()) else make()
    return done


async def rows_by_key(
    work: Writing, keys: Iterable[bytes], reads: Sequence[Column]
) -> dict[bytes, tuple[StoredRow, Values]]:
    stored: dict[bytes, tuple[StoredRow, Values]] = {}
    async for some in point_rows(work.transaction, work.table, list(keys)):
        for old in some:
            read = partial(decoded, work.descriptor, old, reads)
            values = await in_thread(read) if is_long(old) else read()
            hold(work, old, values)
            stored[old.key] = old, values
            await work.turns.give()
    return stored


def hold(work: Writing, row: StoredRow, values: Values) -> None:
    """Count the values of a row, and its other columns as they are stored."""
    work.held.take_row(row, tuple(values.values()))
    others = sum(len(stored) for column, stored in row.columns.items() if column not in values)
    work.held.take(bytes_of(values.values()) + others)
