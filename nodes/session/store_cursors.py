"""A cursor of SQL that the store has: it is declared, fetched from and closed there, under the client's own name. It is
read as the reader role. At COMMIT one WITH HOLD keeps its rows there; the session stays the client's. The node keeps
none of its rows."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from expressions.errors import CONNECTION_FAILURE, SqlError
from nodes.clients.cursors import ALL, Cursor, Direction, converted
from nodes.execution import portions
from nodes.execution.in_place import Sent
from nodes.session.block import Block
from nodes.store import reader
from nodes.store.pinned import PinnedSession
from nodes.store.pipeline import BINARY, TEXT, Command, StoreConnection, UsersCommand
from nodes.store.relay import Relay
from nodes.store.transaction import Transaction
from nodes.wire.results import Row


@dataclass(eq=False, kw_only=True)
class StoreCursor(Cursor):
    block: Block
    connection: StoreConnection
    """Its session at the store."""
    style: Callable[[], Sequence[str]]
    """The client's values of `storage.postgres.USERS_SETTINGS` now."""

    async def fetch(self, direction: Direction, count: int, formats: tuple[int, ...]) -> AsyncIterator[list[Row]]:
        oids = [field.oid for field in self.fields]
        sent = Sent.of(formats, oids)
        relay = Relay(sent.chunk_rows)
        words = portions.fetch(self.name, _words(direction, count), sent.form, relay)
        side = self._side()
        side.relay(self._as_reader(side, words), relay)
        read = (BINARY,) if sent.as_text else formats
        try:
            while (rows := await relay.next()) is not None:
                yield converted(self.fields, list(rows), read, formats)
            await relay.finish()
        finally:
            await relay.drop()

    async def move(self, direction: Direction, count: int) -> int:
        side = self._side()
        words = UsersCommand(portions.move(self.name, _words(direction, count)), result_format=TEXT)
        commands = self._as_reader(side, words)
        results = await side.run(commands)
        return int(results[commands.index(words)].command_tuples or 0)

    async def before_commit(self) -> None:
        transaction = self.block.transaction
        assert transaction is not None
        transaction.before_commit = (reader.before(self.style(), scans=False),)

    async def close(self) -> None:
        if not self.connection.is_lost:
            await self._side().run([portions.close(self.name)])

    def _side(self) -> Transaction | PinnedSession:
        transaction = self.block.transaction
        if transaction is not None and transaction.connection is self.connection:
            return transaction
        if self.connection is not self.block.pinned.connection:
            message = f'the session at the store that kept cursor "{self.name}" is lost'
            raise SqlError(CONNECTION_FAILURE, message, hint="declare it again")
        return self.block.pinned

    def _as_reader(self, side: Transaction | PinnedSession, words: Command) -> list[Command]:
        after = reader.after() if isinstance(side, Transaction) else []
        return [reader.before(self.style(), scans=False), words, *after]


def _words(direction: Direction, count: int) -> str:
    word = direction.name
    if direction in (Direction.FORWARD, Direction.BACKWARD) and abs(count) >= ALL:
        return f"{word} ALL"
    return f"{word} {count}"
