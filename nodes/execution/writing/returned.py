"""RETURNING: what is plain is known here, everything else PostgreSQL computes of the rows as they will be."""

import functools
from collections.abc import AsyncIterator, Mapping, Sequence

from catalog.elements import ColumnId
from expressions.typed import PyValue, evaluate
from nodes.execution.fairness import are_long, in_thread
from nodes.execution.held_rows import bytes_of
from nodes.execution.writing.write_context import Writing
from nodes.sql.plans import Returning
from nodes.wire.columns import Writer
from nodes.wire.results import Row


async def returned(
    work: Writing, returning: Returning | None, rows: Sequence[Mapping[ColumnId, PyValue]]
) -> tuple[list[Row], int]:
    """The answer of RETURNING, row by row, and the bytes it takes."""
    answers: list[Row] = []
    if returning is None:
        return answers, 0
    before, writers = work.held.held, returning.columns.writers(work.context.formats)
    async for computed in returned_values(work, returning, rows):
        written = functools.partial(_written, writers, computed)
        answers.append(await in_thread(written) if are_long(computed) else written())
        work.held.take(bytes_of(answers[-1]))
        await work.turns.give()
    return answers, work.held.held - before


async def returned_values(
    work: Writing, returning: Returning, rows: Sequence[Mapping[ColumnId, PyValue]]
) -> AsyncIterator[Sequence[PyValue]]:
    """The values of RETURNING, row by row."""
    text = work.texts.returned
    if text is None:
        for row in rows:
            yield [evaluate(shown, row, work.context) for shown in returning.plain or ()]
        return
    async for some in work.asks.of_rows(work.transaction, work.context, text, rows):
        for computed in some:
            yield computed


def _written(writers: Sequence[Writer], values: Sequence[PyValue]) -> Row:
    return [write(value) for write, value in zip(writers, values, strict=True)]
