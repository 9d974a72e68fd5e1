"""The rows that an UPDATE .. FROM or DELETE .. USING is about: a query finds their keys, then they are read by these.

    DELETE FROM trips USING airports ..     engine: keys (7, 9, 7)     rows 7 and 9

Both reads are of one snapshot, so what the query found is what is there. A row that it finds several times is changed
once, with what was found first, as in PostgreSQL.
"""

from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

from catalog.elements import Column
from expressions.typed import PyValue
from nodes.execution.expressions import engine_batches
from nodes.execution.held_rows import PlanBytes, bytes_of
from nodes.execution.pages import point_rows
from nodes.execution.row_codec import decoded
from nodes.execution.select import feed_of, rendered
from nodes.execution.writing.target_rows import hold
from nodes.execution.writing.write_context import ROWS_MAX, Values, Writing, too_many
from nodes.sql.plans import DeletePlan, Join, UpdatePlan
from storage import encoding
from storage.pairs import StoredRow


class Joined(NamedTuple):
    """A row that is changed: as stored, as values, with those that it gets and those that RETURNING shows."""

    old: StoredRow
    values: Values
    computed: Sequence[PyValue]
    answer: Sequence[PyValue]


async def joined_rows(
    work: Writing, plan: UpdatePlan | DeletePlan, assigned: int, reads: Sequence[Column]
) -> list[Joined]:
    """The rows, in the order in which they were found; `assigned` values of each are for columns."""
    assert plan.join is not None
    keys = work.descriptor.key_columns
    found: dict[bytes, Sequence[PyValue]] = {}
    async for rows in _found(work, plan, plan.join):
        for row in rows:
            parts = zip(keys, row, strict=False)
            key = b"".join(encoding.encode(column.type, value) for column, value in parts)
            if key not in found:
                found[key] = row[len(keys) :]
                work.held.take(len(key) + bytes_of(found[key]))
            await work.turns.give()
        if len(found) > ROWS_MAX:
            raise too_many("statement")
    stored: dict[bytes, tuple[StoredRow, Values]] = {}
    async for some in point_rows(work.transaction, work.table, list(found)):
        for old in some:
            values = decoded(work.descriptor, old, reads)
            hold(work, old, values)
            stored[old.key] = old, values
            await work.turns.give()
    return [Joined(*stored[key], row[:assigned], row[assigned:]) for key, row in found.items()]


async def _found(work: Writing, plan: UpdatePlan | DeletePlan, join: Join) -> AsyncIterator[list[list[PyValue]]]:
    with PlanBytes(work.env.rows) as held:
        held.take_parts(join.parts)
        sql = await rendered(join.parts, work.context)
        feeds = {s.sql: feed_of(work.env, work.transaction, s, work.context) for s in plan.scans}
        async for rows in engine_batches(work, sql, feeds, join.outputs):
            yield rows
