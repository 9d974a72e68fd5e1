"""Statements alone that read or write one row by its whole key, or insert some, without what other statements need. A
plan that was performed twice is compiled and kept with the statement. Nothing is decided here: whatever is not as it
was when the plan was made (version, name, style) is left to `nodes.session.planned`, which decides."""

from __future__ import annotations

from dataclasses import dataclass

from expressions.dates.zones import TimeStyle
from expressions.errors import SqlError
from expressions.typed import Context, Session
from nodes.clients.portals import Portal
from nodes.context import Environment
from nodes.execution.fairness import LARGE_CHARS
from nodes.execution.point_read import PointRead
from nodes.execution.writing.point_change import PointChange
from nodes.execution.writing.point_write import PointWrite
from nodes.execution.writing.writer import Ambiguous
from nodes.session.block import Block
from nodes.session.tries import pause
from nodes.settings.variables import Variables
from nodes.sql.plans import Plan, SelectPlan
from nodes.sql.statements import Statement
from nodes.store.refusals import Retry
from nodes.wire.parameters import SLOWLY_READ, values_of
from nodes.wire.results import Result

Way = PointRead | PointWrite | PointChange


@dataclass(frozen=True, slots=True)
class Compiled:
    """The newest plan of a statement, for parameters of these types in this style. `way` is None until it is performed
    once more, since most texts come once, and after that if it is no point."""

    plan: Plan
    oids: tuple[int, ...]
    style: TimeStyle
    way: Way | None = None
    is_tried: bool = False


@dataclass(eq=False)
class Points:
    env: Environment
    variables: Variables
    known: Session
    block: Block

    def learn(self, statement: Statement, oids: tuple[int, ...], plan: Plan) -> None:
        """A plan was performed as a whole transaction, under the names and versions that there are now."""
        known = statement.point
        if known is None or known.plan is not plan:
            statement.point = Compiled(plan, oids, self.variables.style)
        elif not known.is_tried:
            way: Way | None = None
            is_short = len(statement.text) <= LARGE_CHARS and SLOWLY_READ.isdisjoint(oids)
            if isinstance(plan, SelectPlan) and is_short:
                way = PointRead.of(self.env, plan)
            elif is_short:
                way = PointWrite.of(self.env, plan) or PointChange.of(self.env, plan)
            if way is not None and {way.descriptor.name} != statement.tables:
                way = None
            statement.point = Compiled(plan, oids, self.variables.style, way, is_tried=True)

    def way_of(self, portal: Portal) -> Way | None:
        known = portal.statement.point
        if known is None or known.way is None or portal.trace is not None or self.block.is_open:
            return None
        is_same = known.style is self.variables.style and known.oids == portal.oids and known.way.env is self.env
        return known.way if is_same and not self.block.new_tables.tables else None

    async def perform(self, way: Way, portal: Portal) -> Result | None:
        """The answer, in a transaction of its own; None when it is not to be had this way, and nothing was kept."""
        descriptor, directory = way.descriptor, self.env.directory
        transaction = self.env.begin(is_read_only=isinstance(way, PointRead), by=self.block.owner)
        is_named = directory.known(descriptor.name) == descriptor.table_id and not directory.may_be_view(
            descriptor.name
        )
        if not is_named or not self.env.pin_held(transaction, descriptor):
            return None
        try:
            portal.prepared.check_result(way.fields)
            if not isinstance(way, PointRead) and sum(len(v) for v in portal.values if v is not None) > LARGE_CHARS:
                return None
            style, now = self.variables.style, transaction.started_at
            try:
                values = values_of(portal.oids, portal.values, portal.formats, style, now)
                key = way.key_of(values) if isinstance(way, PointRead) else None
            except SqlError:
                return None
            if not isinstance(way, PointRead):
                return await way.perform(transaction, Context(values, now, self.known, style, portal.result_formats))
            return None if key is None else await way.read(transaction, key, portal.result_formats, commit=True)
        except Retry:
            self.env.meter.retried()
            if not isinstance(way, PointRead):
                await transaction.rollback()
                await pause(0)
        except Ambiguous:
            pass  # one of several rows was there: the general way finds which
        finally:
            if not transaction.is_over:
                await transaction.rollback()
        return None
