"""DECLARE, FETCH, MOVE and CLOSE: the cursors of one session (`nodes.clients.cursors`). DECLARE enters the tables of
the query (T2), so that the transaction's snapshot is of before it, and its versions are held from there on. A cursor
WITH HOLD outside of a block is a transaction of its own: declared, read, committed."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from postgast import pg_query_pb2 as pb

from expressions.analysis.building import Parameters
from expressions.errors import NO_ACTIVE_TRANSACTION, SqlError, unsupported
from expressions.sqltypes import parameter_type
from nodes.clients.cursors import ALL, Cursor, Direction, Hold, ReadCursor, not_there
from nodes.clients.portals import Portal
from nodes.clients.protocols import Client
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.session.block import Block
from nodes.session.planned import PlannedStatements
from nodes.session.store_cursors import StoreCursor
from nodes.session.tries import tried_in_block
from nodes.sql.statements import Statement
from nodes.wire.messages import Field
from nodes.wire.results import Result, Row

Node = Any
BINARY, SCROLL, NO_SCROLL, HOLD = 0x1, 0x2, 0x4, 0x20
INVALID_DEFINITION = "42P11"
GATHERED_ROWS, GATHERED_BYTES = 4096, 2**22
"""Rows of a FETCH that are at hand before the first of them is sent."""


@dataclass(eq=False)
class Cursors:
    client: Client
    block: Block
    planned: PlannedStatements
    kept: HeldRows

    async def declare(self, portal: Portal, *, alone: bool) -> Result:
        is_held = bool(portal.statement.node.options & HOLD)
        if self.block.is_open or not alone:
            return await self._declared(portal)
        if not is_held:
            raise SqlError(NO_ACTIVE_TRANSACTION, "DECLARE CURSOR can only be used in transaction blocks")
        return await tried_in_block(self.block, lambda: self._declared(portal))

    async def _declared(self, portal: Portal) -> Result:
        node = portal.statement.node
        self.client.statements.refuse_taken_cursor(node.portalname)
        inner = query_of(portal.statement)
        self.block.current()
        types = [parameter_type(oid) for oid in portal.oids]
        fields = await self.planned.fields(inner, Parameters(types, count_max=len(portal.values)))
        assert fields is not None
        about, options = portal.about(inner, trace=None, is_limited=True), node.options
        common: dict[str, Any] = {
            "name": node.portalname,
            "sql": portal.statement.text,
            "fields": fields,
            "savepoint": self.block.savepoints_set,
            "is_scroll": bool(options & SCROLL),
            "is_binary": bool(options & BINARY),
            "hold": Hold.AT_COMMIT if options & HOLD else Hold.NO,
            "bound_bytes": bytes_of(portal.values) + len(portal.prepared.sql),
        }
        cursors = self.client.statements.cursors
        # the options as the store is to have them; each FETCH says by itself which format it wants
        scroll = "SCROLL " if options & SCROLL else "NO SCROLL " if options & NO_SCROLL else ""
        words = f"{scroll}CURSOR{' WITH HOLD' if options & HOLD else ''}"
        if not await self.planned.declare(about, node.portalname, words):
            about.prepared.fields, about.prepared.is_described = fields, True
            formats = about.result_formats = (BINARY,) if common["is_binary"] else ()
            result = await self.planned.run(about, alone=False)
            size = sum(map(bytes_of, result.rows))
            cursors[node.portalname] = ReadCursor(rows=result.rows, formats=formats, row_bytes=size, **common)
            return Result("DECLARE CURSOR")
        connection = self.block.current().connection
        assert connection is not None
        if options & HOLD:
            self.block.pinned.keep(connection)
        cursors[node.portalname] = StoreCursor(
            block=self.block, connection=connection, style=self.planned.users_settings, **common
        )
        return Result("DECLARE CURSOR")

    def find(self, name: str) -> Cursor:
        try:
            return self.client.statements.cursors[name]
        except KeyError:
            raise not_there(name) from None

    async def fetch(self, portal: Portal) -> Result:
        """The rows of a FETCH; of a MOVE their number. A portal with a limit gets all of them at once, since the cursor
        has moved when it is executed."""
        node, formats = portal.statement.node, portal.result_formats
        cursor = self.find(node.portalname)
        direction, count = Direction(pb.FetchDirection.Name(node.direction)), min(node.how_many, ALL)
        if node.ismove:
            async with self.block.refusing():
                return Result(f"MOVE {await cursor.move(direction, count)}")
        batches = self._fetched(cursor, direction, count, formats)
        gathered: list[Row] = []
        size, more = 0, True
        try:
            while more and (portal.is_limited or (len(gathered) < GATHERED_ROWS and size < GATHERED_BYTES)):
                batch = await anext(batches, None)
                more = batch is not None
                gathered += batch or []
                arrived = sum(map(bytes_of, batch or ()))
                self.kept.take(arrived)
                size += arrived
        finally:
            self.kept.give(size)
        return Result("FETCH", cursor.fields, gathered, batches if more else None, bytes_held=size)

    async def _fetched(
        self, cursor: Cursor, direction: Direction, count: int, formats: tuple[int, ...]
    ) -> AsyncIterator[list[Row]]:
        async with self.block.refusing():
            async for rows in cursor.fetch(direction, count, formats):
                yield rows

    def fields(self, node: Node) -> tuple[Field, ...] | None:
        """The columns of a FETCH; None for MOVE, and for a cursor that is not there yet."""
        cursor = self.client.statements.cursors.get(node.portalname)
        return None if cursor is None or node.ismove else cursor.fields

    async def close(self, name: str) -> Result:
        cursors = self.client.statements.cursors
        for cursor in [self.find(name)] if name else list(cursors.values()):
            await cursor.close()
            cursors.pop(cursor.name)
        await self.block.release_unused()
        return Result("CLOSE CURSOR" if name else "CLOSE CURSOR ALL")

    async def parameters(self, statement: Statement, parameters: Parameters) -> None:
        await self.planned.fields(query_of(statement), parameters)


def query_of(statement: Statement) -> Statement:
    """The query of a DECLARE. Raises when it is none that has a cursor."""
    inner = statement.within
    if inner.kind == "ddl":
        raise SqlError(INVALID_DEFINITION, "a cursor's query cannot be SELECT INTO")
    if inner.kind != "select":
        raise unsupported("a cursor for this", hint="send the statement by itself")
    return inner
