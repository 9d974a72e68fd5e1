"""From a table's name to its id, and the numbers of identity columns: what a node looks up outside transactions.

A name is a hint only: it counts under a lease of a version that bears it (L12). Identity numbers are
taken in blocks, so most inserts ask nobody; a block that is not used up leaves a gap, as a sequence does.
"""

import json
import logging
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from psycopg import pq

from catalog.descriptor import Descriptor, from_json
from expressions.errors import CONNECTION_FAILURE, SqlError
from nodes.store.pipeline import Command, StoreConnectionLost, StoreError, StorePool, int4

log = logging.getLogger(__name__)

FIND = "SELECT id FROM catalog_table WHERE name = %b AND state <> 'dropped'"
LIST = """
SELECT d.body::text FROM catalog_table t JOIN catalog_descriptor d ON d.table_id = t.id AND d.version = t.version
WHERE t.state = 'live' ORDER BY t.name LIMIT 1000
"""
FORMER_TABLE = """
SELECT t.name, t.version, d.version FROM catalog_descriptor d JOIN catalog_table t ON t.id = d.table_id
WHERE d.body ->> 'name' = %b AND t.name <> %b AND t.state = 'live' ORDER BY d.modified_at DESC LIMIT 1
"""
COLUMN_ANYWHERE = """
SELECT d.version, (c ->> 'id')::int FROM catalog_descriptor d, jsonb_array_elements(d.body -> 'columns') AS c
WHERE d.table_id = %b AND c ->> 'name' = %b AND c ->> 'state' = 'public' ORDER BY d.version DESC LIMIT 1
"""
TAKE = "SELECT nodes_take_identity(%b, %b, %b)"
BLOCK = 50


class FormerTable(NamedTuple):
    """A table that bore another name up to version `until`."""

    name: str
    version: int
    until: int


@dataclass(eq=False)
class Directory:
    """Names and numbers, asked for on sessions of their own at READ COMMITTED (T6)."""

    pool: StorePool
    _ids: dict[str, int] = field(default_factory=dict)
    _numbers: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)

    def known(self, name: str) -> int | None:
        return self._ids.get(name)

    async def find(self, name: str) -> int | None:
        """The id of the table that bears this name now."""
        result = await self.ask(Command(FIND, (name.encode(),)))
        if not result.ntuples:
            self._ids.pop(name, None)
            return None
        found = int.from_bytes(result.get_value(0, 0) or b"")
        self._ids[name] = found
        return found

    async def tables(self) -> list[Descriptor]:
        """The newest version of each table, as the catalog has them now, by name."""
        result = await self.ask(Command(LIST))
        return [from_json(json.loads(result.get_value(row, 0) or b"")) for row in range(result.ntuples)]

    async def rows(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query of ours, by the names of its columns; a time is a text of ISO 8601."""
        result = await self.ask(Command(f"SELECT to_jsonb(q)::text FROM ({query}) AS q"))
        return [json.loads(result.get_value(row, 0) or b"") for row in range(result.ntuples)]

    def forget(self, name: str) -> None:
        self._ids.pop(name, None)

    async def former_table(self, name: str) -> FormerTable | None:
        """The table that bore this name before it was renamed."""
        result = await self.ask(Command(FORMER_TABLE, (name.encode(), name.encode())))
        if not result.ntuples:
            return None
        return FormerTable((result.get_value(0, 0) or b"").decode(), _number(result, 1), _number(result, 2))

    async def column_anywhere(self, table_id: int, name: str) -> tuple[int, int] | None:
        """The newest version with a public column of that name, and the column's id."""
        result = await self.ask(Command(COLUMN_ANYWHERE, (int4(table_id), name.encode())))
        return (_number(result, 0), _number(result, 1)) if result.ntuples else None

    async def numbers(self, table_id: int, column_id: int, count: int) -> list[int]:
        """The next numbers of an identity column."""
        taken: list[int] = []
        while len(taken) < count:
            start, end = self._numbers.get((table_id, column_id), (0, 0))
            if start >= end:
                size = max(BLOCK, count - len(taken))
                result = await self.ask(Command(TAKE, (int4(table_id), int4(column_id), int4(size))))
                start = int.from_bytes(result.get_value(0, 0) or b"", signed=True)
                end = start + size
            using = min(end - start, count - len(taken))
            taken += range(start, start + using)
            self._numbers[table_id, column_id] = (start + using, end)
        return taken

    async def ask(self, command: Command) -> "pq.abc.PGresult":
        """One answer of the store; a session that was found dead is replaced once. Raises `SqlError`."""
        try:
            return await self._ask_once(command)
        except StoreConnectionLost as lost:
            log.info("a look-up lost its session at the store (%s) and is made again", lost.message)
        except StoreError as error:
            raise SqlError(error.sqlstate, error.message) from error
        try:
            return await self._ask_once(command)
        except StoreConnectionLost as lost:
            raise SqlError(CONNECTION_FAILURE, f"the store does not answer: {lost.message}") from lost
        except StoreError as error:
            raise SqlError(error.sqlstate, error.message) from error

    async def _ask_once(self, command: Command) -> "pq.abc.PGresult":
        async with self.pool.session() as session:
            return (await session.run([command]))[0]


def _number(result: "pq.abc.PGresult", column: int) -> int:
    return int.from_bytes(result.get_value(0, column) or b"")
