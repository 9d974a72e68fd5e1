"""Statements alone that read or write one row by its whole key, or insert some, without what other statements need.

    performed twice     the plan is compiled and kept with the statement (`point_read`, `point_write`, `point_change`)
    the same again      its version is the one in use: key, one batch, answer
    anything else       is left to `nodes.session.planned`: another version or name, a refusal, a mistake in a value

Nothing is decided here: whatever is not as it was when the plan was made goes the general way, which decides.
"""

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
from nodes.session.block import Block
from nodes.settings.variables import Variables
from nodes.sql.plans import Plan, SelectPlan
from nodes.sql.statements import Statement
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from nodes.wire.parameters import SLOWLY_READ, values_of
from nodes.wire.results import Result, Row

Way = PointRead | PointWrite | PointChange


@dataclass(frozen=True, slots=True)
class Compiled:
    """The newest plan of a statement, for parameters of these types in this style.

    `way` is None until it is performed once more, since most texts come once, and after that if it is no point.
    """

    plan: Plan
    oids: tuple[int, ...]
    style: TimeStyle
    way: Way | None = None
    is_tried: bool = False


@dataclass(eq=False)
class Points:
    """The compiled reads and writes of one session."""

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
            way = self._compiled(statement, oids, plan)
            statement.point = Compiled(plan, oids, self.variables.style, way, is_tried=True)

    def _compiled(self, statement: Statement, oids: tuple[int, ...], plan: Plan) -> Way | None:
        if len(statement.tables) != 1 or len(statement.text) > LARGE_CHARS or not SLOWLY_READ.isdisjoint(oids):
            return None
        way: Way | None
        if isinstance(plan, SelectPlan):
            way = PointRead.of(self.env, plan)
        else:
            way = PointWrite.of(self.env, plan) or PointChange.of(self.env, plan)
        return way if way is not None and {way.descriptor.name} == statement.tables else None

    def way_of(self, portal: Portal) -> Way | None:
        """The compiled way of a statement, if all is as it was but the version of its table."""
        known = portal.statement.point
        if known is None or known.way is None or portal.trace is not None:
            return None
        is_same = known.style is self.variables.style and known.oids == portal.oids and known.way.env is self.env
        return known.way if is_same and not self.block.new_tables.tables else None

    def _uses(self, transaction: Transaction, way: Way) -> bool:
        """Have the transaction use the version that was compiled, if its name still means it and it is in use."""
        descriptor, directory = way.descriptor, self.env.directory
        is_named = directory.known(descriptor.name) == descriptor.table_id
        return is_named and not directory.may_be_view(descriptor.name) and self.env.pin_held(transaction, descriptor)

    async def read(self, way: PointRead, portal: Portal) -> Result | None:
        """The answer, in a transaction of its own; None when it is not to be had this way, and nothing was kept."""
        transaction = self.env.begin(is_read_only=True, by=self.block.owner)
        if not self._uses(transaction, way):
            return None
        try:
            rows = await self._rows(way, transaction, portal)
        except Retry:
            self.env.meter.retried()
            return None
        finally:
            if not transaction.is_over:
                await transaction.rollback()
        return None if rows is None else Result("SELECT", way.fields, rows)

    async def _rows(self, way: PointRead, transaction: Transaction, portal: Portal) -> list[Row] | None:
        try:
            values = values_of(portal.oids, portal.values, portal.formats, self.variables.style, transaction.started_at)
            parts = way.key_of(values)
        except SqlError:
            return None
        if parts is None:
            return None
        storage, command = way.question(b"".join(parts))
        (result,) = await transaction.run([command], commit=True, only=storage)
        return way.answer(parts, result, portal.result_formats)

    async def write(self, way: PointWrite | PointChange, transaction: Transaction, portal: Portal) -> Result | None:
        """Do it and commit; None when it is not to be done this way, and nothing was done."""
        if sum(len(value) for value in portal.values if value is not None) > LARGE_CHARS:
            return None
        if not self._uses(transaction, way):
            return None
        style, now = self.variables.style, transaction.started_at
        try:
            values = values_of(portal.oids, portal.values, portal.formats, style, now)
        except SqlError:
            return None
        return await way.perform(transaction, Context(values, now, self.known, style, portal.result_formats))
