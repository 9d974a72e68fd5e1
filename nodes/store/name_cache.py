"""From a table's name to its id. A name is a hint only: it counts under a lease of a version that bears it (L12)."""

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from psycopg import pq

from catalog.descriptor import Descriptor, from_json
from catalog.text.similar import LETTERS_MAX, NAMES_MAX
from catalog.view_definition import ViewDefinition, view_from_json
from expressions.errors import CONNECTION_FAILURE, PROGRAM_LIMIT, SqlError
from nodes.store.pipeline import Command, StoreConnectionLost, StoreError, StorePool, int4

log = logging.getLogger(__name__)

FIND = """
SELECT id, false FROM catalog_table WHERE name = %b AND state <> 'dropped'
UNION ALL SELECT id, true FROM catalog_view WHERE name = %b
"""
"""The table of a name, or the view: never both."""
VIEWS = "SELECT id, name, revision, body FROM catalog_view ORDER BY name"
TABLES_MAX = 5000
"""Tables that a node lists: it refuses to show some of them as all."""
TABLES_AT_ONCE = 100
VERSIONS = f"SELECT id, version FROM catalog_table WHERE state = 'live' ORDER BY name LIMIT {TABLES_MAX + 1}"
BODIES = """
SELECT d.table_id, d.version, d.body::text FROM unnest(%b::int[], %b::int[]) AS w (table_id, version)
JOIN catalog_descriptor d USING (table_id, version)
"""
FORMER_TABLE = """
SELECT t.name, t.version, d.version FROM catalog_descriptor d JOIN catalog_table t ON t.id = d.table_id
WHERE d.body ->> 'name' = %b AND t.name <> %b AND t.state = 'live' ORDER BY d.modified_at DESC LIMIT 1
"""
NAMES_LIKE = f"""
SELECT t.name FROM catalog_table t JOIN catalog_descriptor d ON d.table_id = t.id AND d.version = t.version
WHERE t.state = 'live' AND d.body ->> 'state' = 'public' AND abs(length(t.name) - length(%b::text)) <= {LETTERS_MAX}
UNION ALL SELECT name FROM catalog_view WHERE abs(length(name) - length(%b::text)) <= {LETTERS_MAX} LIMIT {NAMES_MAX}
"""
COLUMN_ANYWHERE = """
SELECT d.version, (c ->> 'id')::int FROM catalog_descriptor d, jsonb_array_elements(d.body -> 'columns') AS c
WHERE d.table_id = %b AND c ->> 'name' = %b AND c ->> 'state' = 'public' ORDER BY d.version DESC LIMIT 1
"""


class FormerTable(NamedTuple):
    name: str
    version: int
    until: int


@dataclass(eq=False)
class Directory:
    """Names, asked for on sessions of their own at READ COMMITTED (T6)."""

    pool: StorePool
    _ids: dict[str, int] = field(default_factory=dict)
    _views: set[str] = field(default_factory=set)
    _newest: dict[int, Descriptor] = field(default_factory=dict)

    def known(self, name: str) -> int | None:
        return self._ids.get(name)

    def met(self) -> list[str]:
        return list(self._ids)

    def may_be_view(self, name: str) -> bool:
        """True if a view bore the name when it was looked up last."""
        return name in self._views

    async def views(self) -> tuple[ViewDefinition, ...]:
        rows = await self.rows(VIEWS)
        return tuple(view_from_json(row["id"], row["name"], row["revision"], row["body"]) for row in rows)

    async def find(self, name: str) -> int | None:
        result = await self.ask(Command(FIND, (name.encode(), name.encode())))
        is_view = bool(result.ntuples) and result.get_value(0, 1) == b"\x01"
        (self._views.add if is_view else self._views.discard)(name)
        if is_view or not result.ntuples:
            self._ids.pop(name, None)
            return None
        found = int.from_bytes(result.get_value(0, 0) or b"")
        self._ids[name] = found
        return found

    async def tables(self) -> list[Descriptor]:
        """The newest version of each table, as the catalog has them now, by name. Raises 54000 for too many. The same
        version is the same object, as long as it is the newest."""
        result = await self.ask(Command(VERSIONS))
        if result.ntuples > TABLES_MAX:
            raise SqlError(PROGRAM_LIMIT, f"there are more than {TABLES_MAX} tables: a node does not list them")
        newest = {_number(result, 0, row): _number(result, 1, row) for row in range(result.ntuples)}
        known = {t: d for t, d in self._newest.items() if newest.get(t) == d.version}
        missing = [(table_id, version) for table_id, version in newest.items() if table_id not in known]
        for first in range(0, len(missing), TABLES_AT_ONCE):
            known |= await self._read(missing[first : first + TABLES_AT_ONCE])
        self._newest = known
        return [known[table_id] for table_id in newest if table_id in known]

    async def _read(self, versions: Sequence[tuple[int, int]]) -> dict[int, Descriptor]:
        arrays = (f"{{{','.join(map(str, numbers))}}}".encode() for numbers in zip(*versions, strict=True))
        result = await self.ask(Command(BODIES, tuple(arrays), is_text=True))
        found: dict[int, Descriptor] = {}
        for row in range(result.ntuples):
            descriptor = from_json(json.loads(result.get_value(row, 2) or b""))
            found[descriptor.table_id] = descriptor
            await asyncio.sleep(0)
        return found

    async def rows(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query of ours, by the names of its columns; a time is a text of ISO 8601."""
        result = await self.ask(Command(f"SELECT to_jsonb(q)::text FROM ({query}) AS q"))
        return [json.loads(result.get_value(row, 0) or b"") for row in range(result.ntuples)]

    def forget(self, name: str) -> None:
        self._ids.pop(name, None)

    async def former_table(self, name: str) -> FormerTable | None:
        result = await self.ask(Command(FORMER_TABLE, (name.encode(), name.encode())))
        if not result.ntuples:
            return None
        return FormerTable((result.get_value(0, 0) or b"").decode(), _number(result, 1), _number(result, 2))

    async def names_like(self, name: str) -> list[str]:
        result = await self.ask(Command(NAMES_LIKE, (name.encode(), name.encode())))
        return [(result.get_value(row, 0) or b"").decode() for row in range(result.ntuples)]

    async def column_anywhere(self, table_id: int, name: str) -> tuple[int, int] | None:
        result = await self.ask(Command(COLUMN_ANYWHERE, (int4(table_id), name.encode())))
        return (_number(result, 0), _number(result, 1)) if result.ntuples else None

    async def ask(self, command: Command) -> "pq.abc.PGresult":
        """One answer of the store; a session that was found dead is replaced once. Raises `SqlError`."""
        for is_last in (False, True):
            try:
                async with self.pool.session() as session:
                    return (await session.run([command]))[0]
            except StoreConnectionLost as lost:
                if is_last:
                    raise SqlError(CONNECTION_FAILURE, f"the store does not answer: {lost.message}") from lost
                log.info("a look-up lost its session at the store (%s) and is made again", lost.message)
            except StoreError as error:
                raise SqlError(error.sqlstate, error.message) from error
        raise AssertionError


def _number(result: "pq.abc.PGresult", column: int, row: int = 0) -> int:
    return int.from_bytes(result.get_value(row, column) or b"")
