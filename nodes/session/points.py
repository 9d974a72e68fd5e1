"""Statements alone that read one row by its whole key, without what other statements need.

    performed once      the plan is compiled and kept with the statement (`nodes.execution.point_read`)
    the same again      its version is the one in use: key, one batch, answer
    anything else       is left to `nodes.session.planned`: another version or name, a refusal, a mistake in a value

Nothing is decided here: whatever is not as it was when the plan was made goes the general way, which decides.
"""

from __future__ import annotations

from dataclasses import dataclass

from expressions.dates.zones import TimeStyle
from expressions.errors import SqlError
from nodes.context import Environment
from nodes.execution.point_read import PointRead
from nodes.session.asked import Asked
from nodes.session.block import Block
from nodes.settings.variables import Variables
from nodes.sql.plans import Plan, SelectPlan
from nodes.sql.statements import Statement
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from nodes.wire.parameters import SLOWLY_READ, values_of
from nodes.wire.results import Result, Row


@dataclass(frozen=True, slots=True)
class Compiled:
    """The newest plan of a statement, for parameters of these types in this style; `read` is None if it is no point."""

    plan: Plan
    oids: tuple[int, ...]
    style: TimeStyle
    read: PointRead | None


@dataclass(eq=False)
class PointReads:
    """The point reads of one session."""

    env: Environment
    variables: Variables
    block: Block

    def learn(self, statement: Statement, oids: tuple[int, ...], plan: Plan) -> None:
        """A plan was performed as a whole transaction, under the names and versions that there are now."""
        known = statement.point
        if known is not None and known.plan is plan:
            return
        read = None
        if isinstance(plan, SelectPlan) and len(statement.tables) == 1 and SLOWLY_READ.isdisjoint(oids):
            read = PointRead.of(self.env, plan)
        if read is not None and {read.table.descriptor.name} != statement.tables:
            read = None
        statement.point = Compiled(plan, oids, self.variables.style, read)

    async def answer(self, asked: Asked) -> Result | None:
        """The answer; None when it is not to be had this way, and nothing was kept."""
        known, env = asked.statement.point, self.env
        if known is None or known.read is None or asked.trace is not None:
            return None
        read: PointRead = known.read
        is_same = known.style is self.variables.style and known.oids == asked.oids and read.env is env
        if not is_same or self.block.new_tables.tables:
            return None
        descriptor = read.table.descriptor
        directory, name = env.directory, descriptor.name
        if directory.known(name) != descriptor.table_id or directory.may_be_view(name):
            return None
        transaction = env.begin(is_read_only=True, by=self.block.owner)
        if not env.pin_held(transaction, descriptor):
            return None
        try:
            rows = await self._rows(read, transaction, asked)
        except Retry:
            env.meter.retried()
            return None
        finally:
            if not transaction.is_over:
                await transaction.rollback()
        return None if rows is None else Result("SELECT", read.fields, rows)

    async def _rows(self, read: PointRead, transaction: Transaction, asked: Asked) -> list[Row] | None:
        try:
            values = values_of(asked.oids, asked.values, asked.formats, self.variables.style, transaction.started_at)
            parts = read.key_of(values)
        except SqlError:
            return None
        if parts is None:
            return None
        storage, command = read.question(b"".join(parts))
        (result,) = await transaction.run([command], commit=True, only=storage)
        return read.answer(parts, result, asked.result_formats)
