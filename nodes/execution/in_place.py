"""A SELECT answered by PostgreSQL: in the transaction at the store, as the reader role, its rows relayed.

    [whole locks] · settings and role · the text over pair views · [role and settings back] · [COMMIT]

All of it is one batch. Rows of a statement alone are held until COMMIT as long as they are few: 40001 can still be
tried again then.
"""

import datetime as dt
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

from catalog.elements import Column
from catalog.values.types import SqlType
from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError
from expressions.typed import Context
from nodes.clients.portals import RESULT_CHANGED, Portal
from nodes.context import Environment
from nodes.copy.outgoing import copy_text
from nodes.execution import portions
from nodes.execution.describing import fields_of
from nodes.execution.ways import way_of
from nodes.sql.conditions.access_paths import Access
from nodes.sql.conditions.lookups import Lookup, lookups
from nodes.sql.copying import TO
from nodes.sql.pair_queries import Given, kept_sql, looked_up_sql, rows_sql
from nodes.sql.readable import InPlace, Use
from nodes.sql.statements import Statement
from nodes.sql.uses import Link, LinkedScan, is_searched
from nodes.store import reader
from nodes.store.entering import timestamptz
from nodes.store.pipeline import BINARY, TEXT, Command, CopyCommand, UsersCommand, bytea_array
from nodes.store.relay import CHUNK_ROWS, CHUNK_ROWS_OF_NUMBERS, Relay
from nodes.store.transaction import Transaction
from nodes.wire.columns import each
from nodes.wire.messages import Field
from nodes.wire.results import Result, Row
from storage.encoding import PAYLOAD_BYTES
from storage.pair_views import bytea
from storage.statements import remember_whole_sql, share_sql

HELD_BYTES = 2**16
"""Bytes of rows that wait for the end of the batch: of a statement alone, for its COMMIT."""
KEPT_CHARS = 8192
"""A longer text is not prepared."""
TEXT_OID = 25
TEXTS = frozenset({TEXT_OID, 1042, 1043})
"""Types whose values are the same bytes in both formats."""
FIXED = frozenset(of.oid for of in PAYLOAD_BYTES)


@dataclass(frozen=True, slots=True)
class Read:
    env: Environment
    transaction: Transaction
    portal: Portal
    place: InPlace
    context: Context
    style: Sequence[str]
    """The client's values of `storage.postgres.USERS_SETTINGS`."""
    fields: tuple[Field, ...] | None = None
    """The columns as they were described to the client, or as they are expected to be."""
    ways: Mapping[int, Access] = field(default_factory=dict)
    """Those to the rows of some uses, by the numbers of their scans."""

    async def result(self, *, commit: bool) -> Result:
        """The answer, whose rows stream on if they are many. Raises what PostgreSQL says."""
        is_copy = self.portal.statement.kind == TO
        sent = Sent.of(() if is_copy else self.portal.result_formats, [field.oid for field in self.fields or ()])
        relay = Relay(sent.chunk_rows)
        commands = await self._commands(relay, sent, goes_on=not commit)
        if self.portal.is_limited and not is_copy:
            return await self._in_portions(commands, relay, sent)
        self.transaction.relay(commands, relay, commit=commit)
        is_done = await relay.gathered(HELD_BYTES)
        if is_done:
            await relay.finish()
        fields = None if is_copy else self._fields(relay, sent)
        size, rows = relay.bytes_held, relay.taken()
        more = None if is_done else _rest(relay)
        return Result("SELECT", fields, list(rows), more, size, copy=relay.copy)

    def _fields(self, relay: Relay, sent: "Sent") -> tuple[Field, ...]:
        """The columns of the answer. Raises 0A000 when a client wants both formats of other columns."""
        if not sent.is_mixed:
            return fields_of(relay.columns, self.fields)
        if tuple(column.oid for column in relay.columns) != sent.types or self.fields is None:
            raise SqlError(FEATURE_NOT_SUPPORTED, RESULT_CHANGED, routine="RevalidateCachedQuery")
        return self.fields

    async def declare(self, name: str, words: str) -> None:
        """Declare a cursor over the query. Raises what PostgreSQL says."""
        commands = await self._commands(None, Sent(TEXT, ()), goes_on=True)
        await self.transaction.run(portions.declared(commands, name, words))

    async def _in_portions(self, commands: list[Command], relay: Relay, sent: "Sent") -> Result:
        transaction = self.transaction
        closing = [portions.close(name) for name in transaction.closing]
        for name in transaction.closing:
            del transaction.portals[name]
        transaction.closing.clear()
        name = transaction.open_portal()
        place = 1 + next(n for n, command in enumerate(commands) if isinstance(command, UsersCommand))
        commands = portions.declared(commands, name, "NO SCROLL CURSOR")
        fetch = portions.fetch(name, f"FORWARD {portions.FIRST_ROWS}", sent.form, relay)
        transaction.relay([*closing, *commands[:place], fetch, *commands[place:]], relay)
        rows = await portions.all_of(relay)
        size = sum(len(value) for row in rows for value in row if value is not None)
        more = portions.Portions(transaction, name, self.style, sent.form, sent.chunk_rows, size=size)
        if len(rows) < portions.FIRST_ROWS:
            more.close()
        fields = self._fields(relay, sent)
        if more.is_over:
            return Result("SELECT", fields, list(rows), None, size)
        return Result("SELECT", fields, list(rows), more, size, let_go=more.close)

    async def _commands(self, relay: Relay | None, sent: "Sent", *, goes_on: bool) -> list[Command]:
        is_copy = self.portal.statement.kind == TO
        text_formats = self.portal.formats or (TEXT,) * len(self.portal.values)
        declared, oids = self.portal.prepared.declared, list[int]()
        for place, form in enumerate(text_formats):
            is_open = declared is not None and (place >= len(declared) or not declared[place])
            # PostgreSQL finds it in the text, as a client that left it open expects
            oids.append(0 if is_open and form == TEXT else self.portal.oids[place])
        users = Parameters((), (), ()) if is_copy else Parameters(oids, self.portal.values, text_formats)
        commands = await users_commands(
            self.env, self.transaction, self.place, self.context, self.style, users, relay, sent.form,
            goes_on=goes_on, known=self.ways, are_literals=is_copy,
        )  # fmt: skip
        asked = partial(copy_command, self.portal.statement) if is_copy else sent.asked
        return [asked(command) if isinstance(command, UsersCommand) else command for command in commands]


@dataclass(frozen=True, slots=True)
class Parameters:
    """Those of a user's text: types, values, formats; and others behind them, in binary, by their types."""

    oids: Sequence[int]
    values: Sequence[bytes | None]
    formats: Sequence[int]
    more: Sequence[tuple[int, bytes | list[bytes]]] = ()


async def users_commands(
    env: Environment,
    transaction: Transaction,
    place: InPlace,
    context: Context,
    style: Sequence[str],
    parameters: Parameters,
    relay: Relay | None,
    form: int,
    *,
    goes_on: bool,
    known: Mapping[int, Access] = MappingProxyType({}),
    are_literals: bool = False,
) -> list[Command]:
    """The commands that answer a user's text in this format; `goes_on`: others of the node's own come after them.

    `known`: the ways to the rows of some uses, by the numbers of their scans. `are_literals`: no parameters are added.
    """
    found = {use.scan.number: use.scan for use in place.uses}
    ways = {number: known.get(number) or await way_of(env, scan, context) for number, scan in found.items()}
    scans_linked = [scan for scan in found.values() if isinstance(scan, LinkedScan) and scan.number not in known]
    paths = Paths(env, place, ways, lookups(scans_linked, ways, context))
    first = len(parameters.values) + 1
    given = Literals(first, moment=transaction.started_at) if are_literals else Given(first)
    for oid, value in parameters.more:
        given.add(value, oid)
    queries = {use.scan.number: paths.query(use, given) for use in place.uses}
    moment = given.add(timestamptz(transaction.started_at), SqlType.TIMESTAMPTZ.oid) if place.needs_moment else ""
    done = place.filled(queries, moment)
    added = [value if isinstance(value, bytes) else bytea_array(value) for value in given.values]
    users = UsersCommand(
        done.text,
        (*parameters.values, *added),
        oids=(*parameters.oids, *given.oids),
        formats=(*parameters.formats, *(BINARY for _ in added)),
        result_format=form,
        is_kept=bool(parameters.values) and len(done.text) <= KEPT_CHARS,
        relay=relay,
        style=tuple(style),
        offset_of=lambda position: place.offset(done, position),
    )
    scans = all(paths.is_everything(use.scan.number) for use in place.uses)
    whole = paths.whole()
    locks = [remember_whole_sql(storage, table_id) for storage, table_id in whole]
    if scans and whole and transaction.is_read_only and not goes_on:
        locks.append(share_sql(whole))
    before = [*(Command(sql) for sql in locks), reader.before(style, scans=scans)]
    return [*before, users, *(reader.after() if goes_on else [])]


@dataclass(kw_only=True)
class Literals(Given):
    """Values in the text: COPY takes no parameters."""

    moment: dt.datetime

    def add(self, value: bytes | list[bytes], oid: int | None = None) -> str:
        if oid is not None:
            return f"'{self.moment.isoformat()}'::pg_catalog.timestamptz"
        return bytea(value) if isinstance(value, bytes) else f"ARRAY[{', '.join(map(bytea, value))}]::bytea[]"


def copy_command(statement: Statement, query: UsersCommand) -> CopyCommand:
    """The command that sends the rows of a query as a COPY says."""
    assert query.offset_of is not None
    text, offset_of = copy_text(statement, query.sql, query.offset_of)
    return CopyCommand(text, relay=query.relay, offset_of=offset_of)


@dataclass(frozen=True, slots=True)
class Paths:
    env: Environment
    place: InPlace
    ways: Mapping[int, Access]
    lookups: Mapping[int, Lookup]

    def is_everything(self, number: int) -> bool:
        return self.ways[number].is_everything and number not in self.lookups

    def query(self, use: Use, given: Given) -> str:
        query = self._rows(use, use.columns, given)
        return kept_sql(query) if self.is_everything(use.scan.number) and is_searched(use.scan) else query

    def _rows(self, use: Use, columns: Mapping[str, Column], given: Given) -> str:
        version, table = use.scan.descriptor, self.env.table(use.scan.descriptor)
        way, lookup = self.ways[use.scan.number], self.lookups.get(use.scan.number)
        if lookup is not None:
            is_sharded = way.index is None and lookup.index is None
            count = version.placement.storage_count(self.env.storages)
            storages = way.storages if is_sharded else range(1, count + 1)
            return looked_up_sql(version, columns, lookup, storages, self._source(lookup, given), given)
        homes = None
        if way.points is not None:
            by_storage: dict[int, list[bytes]] = {}
            for key in way.points:
                for storage in table.home(key):
                    by_storage.setdefault(storage, []).append(table.k_of(key))
            homes = sorted(by_storage.items())
        return rows_sql(version, columns, way, homes, given)

    def _source(self, lookup: Lookup, given: Given) -> str:
        if lookup.beside is None:
            return ""
        other = next(use for use in self.place.uses if use.scan.number == lookup.beside)
        sources = (part.value.source for part in lookup.parts if isinstance(part.value, Link))
        return self._rows(other, {f"c{source.id}": source for source in sources if source is not None}, given)

    def whole(self) -> list[tuple[int, int]]:
        """The pair tables that are read as a whole: one lock for each (T6), not one for each page."""
        found = [
            (storage, use.scan.descriptor.table_id)
            for use in self.place.uses
            if self.is_everything(use.scan.number)
            for storage in self.ways[use.scan.number].storages
        ]
        return list(dict.fromkeys(found))


async def _rest(relay: Relay) -> AsyncIterator[list[Row]]:
    try:
        while (rows := await relay.next()) is not None:
            yield list(rows)
        await relay.finish()
    finally:
        await relay.drop()


@dataclass(frozen=True, slots=True)
class Sent:
    """The form in which the store sends a result: libpq can ask for one format of all columns only. `as_text` are the
    places of columns that become texts of it where the client wants both formats."""

    form: int
    types: tuple[int, ...]
    as_text: frozenset[int] = frozenset()
    is_mixed: bool = False

    @classmethod
    def of(cls, formats: tuple[int, ...], oids: Sequence[int]) -> "Sent":
        if len(set(formats)) < 2:
            return cls(formats[0] if formats else TEXT, tuple(oids))
        wanted = each(formats, len(oids))
        different = {form for form, oid in zip(wanted, oids, strict=True) if oid not in TEXTS}
        if len(different) < 2:
            return cls(different.pop() if different else TEXT, tuple(oids), is_mixed=True)
        texts = frozenset(n for n, oid in enumerate(oids) if wanted[n] == TEXT and oid not in TEXTS)
        types = tuple(TEXT_OID if n in texts else oid for n, oid in enumerate(oids))
        return cls(BINARY, types, texts, is_mixed=True)

    @property
    def chunk_rows(self) -> int:
        return CHUNK_ROWS_OF_NUMBERS if self.types and FIXED.issuperset(self.types) else CHUNK_ROWS

    def asked(self, command: UsersCommand) -> UsersCommand:
        """The command whose result has this form. `format` writes a value as PostgreSQL itself does for a client."""
        if not self.as_text:
            return command
        names = [f"c{number}" for number in range(len(self.types))]
        shown = ", ".join(
            f"CASE WHEN num_nulls({name}) = 0 THEN format('%s', {name}) END" if number in self.as_text else name
            for number, name in enumerate(names)
        )
        return portions.around(command, f"SELECT {shown} FROM (", f"\n) AS answer ({', '.join(names)})")
