"""The rows of a table that this transaction has made, under its next version: removed as they were, and put anew (T9).
No other session knows the table, so no row of it needs a state in between: fill, verification and deletion are done to
all rows at once, in the transaction, and undone with it."""

from collections.abc import Mapping
from functools import partial

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from expressions.rows import is_local, value_of
from expressions.typed import Context, PyValue
from nodes.context import Environment
from nodes.execution.fairness import in_thread
from nodes.execution.held_rows import HeldRows
from nodes.execution.row_codec import decoded, is_long
from nodes.execution.scans import stored_bytes
from nodes.execution.writing.write_context import Values, Writing
from nodes.foreign_keys.checks import write
from nodes.foreign_keys.enforced import ForeignKeys
from nodes.sql.writes.row_rules import rules_of
from nodes.store.transaction import Transaction
from storage import encoding
from storage.answers import answer
from storage.derived import fitting
from storage.pairs import StoredRow, question


async def rewrite(
    env: Environment,
    transaction: Transaction,
    old: Descriptor,
    new: Descriptor,
    computed: Mapping[ColumnId, str],
    *,
    is_older: bool = False,
) -> None:
    """Rewrites the rows under version `new`. Raises 22001, 23502, 23503, 23505, 23514, or 54000. `is_older`: an earlier
    transaction of the session may have put rows. `computed`: expressions over `old`, by columns of `new`."""
    if not transaction.has_written and not is_older:
        return
    with HeldRows(env.rows) as held:
        leaving = Writing(env, transaction, old, Context(), held)
        rows = await _all_rows(leaving)
        if not rows:
            return
        await leaving.foresee(removed=rows)
        for row in rows:
            await leaving.remove(row)
        await leaving.writer.write(leaving.ops)
        leaving.ops.clear()
        held.give_pairs(keep_rows=True)
        coming = Writing(env, transaction, new, Context(), held, ForeignKeys(new.foreign_keys))
        rules, answers = rules_of(new), leaving.answering.answers
        asked = [(text, new.column(id_).type) for id_, text in computed.items() if not is_local(old, text)]
        await leaving.answering.ask(question(old, row, *one) for row in rows for one in asked)
        made: list[Values] = []
        for row in rows:
            make = partial(_new_values, old, new, row._replace(answers=answers), computed)
            made.append(await in_thread(make) if is_long(row) else make())
        await coming.foresee(made)
        for values in made:
            await coming.refuse(rules, values)
            await coming.put(values)
        await write(coming, commit=False)


async def _all_rows(work: Writing) -> list[StoredRow]:
    found: list[StoredRow] = []
    async for rows in work.all_rows("schema change of a table that its transaction has made"):
        work.held.take(sum(stored_bytes(row) for row in rows))
        for row in rows:
            work.held.take_row(row)
        found += rows
    return found


def _new_values(old: Descriptor, new: Descriptor, row: StoredRow, computed: Mapping[ColumnId, str]) -> Values:
    before = decoded(old, row, old.columns)
    return {column.id: _value(old, row, column, before, computed) for column in new.columns}


def _value(
    old: Descriptor, row: StoredRow, column: Column, before: Values, computed: Mapping[ColumnId, str]
) -> PyValue:
    if column.id in before:
        return before[column.id]
    if column.id in computed:
        text = computed[column.id]
        if is_local(old, text):
            return fitting(column, value_of(old, text, before))
        return fitting(column, answer(row.answers, question(old, row, text, column.type)))
    return None if column.fill_value is None else encoding.decode(column.type, column.fill_value)[0]
