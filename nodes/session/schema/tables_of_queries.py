"""CREATE TABLE AS and SELECT INTO: the table and its rows come in one transaction, which makes both or neither (T9)."""

from expressions.errors import SqlError
from nodes.clients.portals import Portal
from nodes.session.block import Block
from nodes.session.planned import PlannedStatements
from nodes.session.schema.ddl import SchemaStatements
from nodes.session.tries import tried_in_block
from nodes.sql.statements import parse
from nodes.sql.tables_of_queries import TableOfQuery
from nodes.wire.results import Result


class TablesOfQueries:
    def __init__(self, planned: PlannedStatements, schema: SchemaStatements, block: Block) -> None:
        self.planned, self.schema, self.block = planned, schema, block

    async def make(self, portal: Portal, made: TableOfQuery, *, alone: bool) -> Result:
        if self.block.is_open or not alone:
            return await self._made(portal, made)
        return await tried_in_block(self.block, lambda: self._made(portal, made))

    async def _made(self, portal: Portal, made: TableOfQuery) -> Result:
        block = self.block
        transaction = block.current()
        columns = await self.planned.columns_in_block(portal.about(made.query))
        [create] = parse(made.create(columns))
        try:
            async with block.refusing():
                existing = await block.new_tables.change(create, transaction)
        except SqlError as error:
            error.offset = -1  # its place is one of a text that nobody has written
            raise
        await self.schema.notify(create)
        if existing is not None:
            self.schema.client.notice(existing.message, sqlstate=existing.sqlstate)
        if existing is not None or made.is_empty:
            return Result("CREATE TABLE AS", has_written=True)
        insert = made.insert()
        inserted = await self.planned.run(portal.about(insert), alone=False)
        return Result(f"SELECT {inserted.tag.rpartition(' ')[2]}", has_written=True)
