"""The rows that an UPDATE .. FROM or DELETE .. USING is about: a query finds their keys, then they are read by these.

    DELETE FROM trips USING airports ..     engine: keys (7, 9, 7)     rows 7 and 9

All reads are of one snapshot, so what the query found is what is there. A row that is joined several times is changed
once, with what the engine found first. Where few rows of the other tables say which keys the rows have, only these are
read (`nodes.sql.writes.joins`).
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from catalog.elements import Column
from expressions.analysis.scopes import Scan
from expressions.errors import SqlError
from expressions.typed import PyValue
from nodes.execution.expressions import engine_batches
from nodes.execution.fairness import in_thread
from nodes.execution.held_rows import PlanBytes, bytes_of
from nodes.execution.pages import point_rows
from nodes.execution.row_codec import decoded, is_long
from nodes.execution.select import feed_of, feeds_of, rendered, way_of
from nodes.execution.writing.target_rows import hold
from nodes.execution.writing.write_context import ROWS_MAX, Values, Writing, too_many
from nodes.sql.conditions.access_paths import Access, looked_up
from nodes.sql.conditions.predicates import VALUES_MAX
from nodes.sql.plans import DeletePlan, Join, Lookup, MergePlan, UpdatePlan
from nodes.sql.writes.joins import GATHERED
from storage import encoding
from storage.pairs import StoredRow

if TYPE_CHECKING:
    from nodes.execution.engine.duckdb_engine import Gathered


class Joined(NamedTuple):
    """A row that is changed: as stored, as values, with those that it gets and those that RETURNING shows."""

    old: StoredRow
    values: Values
    computed: Sequence[PyValue]
    answer: Sequence[PyValue]


async def joined_rows(
    work: Writing, plan: UpdatePlan | DeletePlan, assigned: int, reads: Sequence[Column]
) -> list[Joined]:
    """The rows, in the order of their keys; `assigned` values of each are for columns."""
    assert plan.join is not None
    keys = work.descriptor.key_columns
    found: dict[bytes, Sequence[PyValue]] = {}
    async for rows in found_batches(work, plan, plan.join):
        for row in rows:
            parts = zip(keys, row, strict=False)
            key = b"".join(encoding.encode(column.type, value) for column, value in parts)
            found[key] = row[len(keys) :]
            work.held.take(len(key) + bytes_of(found[key]))
            await work.turns.give()
        if len(found) > ROWS_MAX:
            raise too_many("statement")
    stored = await rows_by_key(work, found, reads)
    return [Joined(*stored[key], found[key][:assigned], found[key][assigned:]) for key in sorted(found)]


async def rows_by_key(
    work: Writing, keys: Iterable[bytes], reads: Sequence[Column]
) -> dict[bytes, tuple[StoredRow, Values]]:
    """The rows with these keys, as stored, and their values in some columns."""
    stored: dict[bytes, tuple[StoredRow, Values]] = {}
    async for some in point_rows(work.transaction, work.table, list(keys)):
        for old in some:
            read = partial(decoded, work.descriptor, old, reads)
            values = await in_thread(read) if is_long(old) else read()
            hold(work, old, values)
            stored[old.key] = old, values
            await work.turns.give()
    return stored


async def found_batches(
    work: Writing, plan: UpdatePlan | DeletePlan | MergePlan, join: Join
) -> AsyncIterator[list[list[PyValue]]]:
    """The answers of the query, some rows at a time."""
    with PlanBytes(work.env.rows) as held:
        held.take_parts(join.parts)
        sql = await rendered(join.parts, work.context)
        feeds = await feeds_of(work.env, work.transaction, plan.scans, work.context)
        feeds |= work.context.given
        gathered = None
        if join.lookup is not None:
            short = _ShortWay(work, plan.scan, join.lookup, await way_of(work.env, plan.scan, work.context))
            if short.way.points is None:
                feeds[plan.scan.sql] = feed_of(work.env, work.transaction, plan.scan, lambda: short.way)
                gathered = await short.gathered()
        async for rows in engine_batches(work, sql, feeds, join.outputs, gathered):
            yield rows


@dataclass(eq=False)
class _ShortWay:
    """The rows of the written table by what the other tables' rows say, once these are gathered and are few."""

    work: Writing
    scan: Scan
    lookup: Lookup
    way: Access
    """How the rows are read: as the conditions alone say, at first."""

    async def gathered(self) -> "Gathered":
        from nodes.execution.engine.duckdb_engine import Gathered

        context = self.work.context
        rest = await rendered(self.lookup.parts, context)
        listed = ", ".join(f"k{place}" for place in range(len(self.lookup.columns)))

        def query(found: Any) -> str | None:
            way = None if found is None else self._way(found)
            self.way = way or self.way
            return None if way is None else rest

        sql = await rendered(self.lookup.gather, context)
        return Gathered(GATHERED, sql, f"SELECT DISTINCT {listed} FROM {GATHERED}", VALUES_MAX, query)

    def _way(self, found: Any) -> Access | None:
        """The way by these values; None where one of them is such that no column could hold it."""
        from nodes.execution.engine.duckdb_engine import values

        outputs = self.lookup.outputs
        try:
            columns = [values(c.combine_chunks(), o.type) for c, o in zip(found.columns, outputs, strict=True)]
        except SqlError:
            return None
        rows: list[list[PyValue]] = [list(row) for row in zip(*columns, strict=True)]
        env, descriptor, conditions = self.work.env, self.scan.descriptor, self.scan.conditions
        layout = {"storages": env.storages, "buckets": env.buckets}
        return looked_up(descriptor, self.lookup.columns, rows, conditions, self.work.context, **layout)
