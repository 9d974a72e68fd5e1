"""Queries of a statement that writes, by which PostgreSQL computes, in its own transaction, as typed values: the source
of an INSERT, the rows of an UPDATE, RETURNING. Values are binary both ways, so none depends on a client's settings; the
text itself is read under these."""

import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from catalog.elements import Column, ColumnId
from catalog.values.errors import BadValue
from expressions.dates.zones import TimeStyle
from expressions.errors import DATETIME_OUT_OF_RANGE, SqlError, unsupported
from expressions.sqltypes import BPCHAR, Type
from expressions.typed import Context, PyValue
from expressions.values.arithmetic import fit_of
from nodes.clients.portals import Portal
from nodes.context import Environment
from nodes.execution.fairness import LARGE_CHARS, in_thread, in_thread_if_large
from nodes.execution.in_place import FIXED, Parameters, users_commands
from nodes.execution.ways import way_of
from nodes.sql.conditions.access_paths import Access, looked_up
from nodes.sql.conditions.predicates import VALUES_MAX
from nodes.sql.plans import SeveralPlan, WritingPlan
from nodes.sql.writes.row_texts import SeveralTexts, Text, Texts, texts_of
from nodes.sql.writes.source_text import Reading
from nodes.sql.writes.typed import CUT, Given
from nodes.store.pipeline import BINARY, TEXT, int8
from nodes.store.relay import CHUNK_ROWS, CHUNK_ROWS_OF_NUMBERS, Relay, Row
from nodes.store.transaction import Transaction
from nodes.wire.parameters import BINARY as READERS
from nodes.wire.parameters import SLOWLY_READ
from storage import encoding

INT8, BYTEA_ARRAY = 20, 1001
NO_VALUE: Final = object()
GIVEN_ROWS = 5000
"""Rows that are given at once."""
Values = Mapping[ColumnId, PyValue]
More = Sequence[tuple[int, bytes | list[bytes]]]


@dataclass(frozen=True, slots=True)
class Computing:
    """One statement that asks. `style`: the client's values of `storage.postgres.USERS_SETTINGS`."""

    env: Environment
    portal: Portal
    style: Sequence[str]
    texts: Texts
    given: Mapping[str, Sequence[list[bytes]]] = field(default_factory=dict)
    """The rows that statements in its WITH have returned, column by column."""

    async def answers(
        self, transaction: Transaction, context: Context, text: Text, more: More = (), unread: Any = None
    ) -> AsyncIterator[list[list[PyValue]]]:
        """The rows of a query, some at a time. Do not ask the store anything else until the last of them. `unread`
        stands for what no column holds; without it that is an error."""
        portal, oids = self.portal, [of.oid for of in text.outputs]
        formats = portal.formats or (TEXT,) * len(portal.values)
        relay = Relay(CHUNK_ROWS_OF_NUMBERS if FIXED.issuperset(oids) else CHUNK_ROWS)
        before = [(BYTEA_ARRAY, column) for name in text.before for column in self.given[name]]
        ways = await self._ways(transaction, context, text)
        parameters = Parameters(portal.oids, portal.values, formats, [*before, *more])
        commands = await users_commands(
            self.env, transaction, text.place, context, self.style, parameters, relay, BINARY, goes_on=True, known=ways
        )
        transaction.relay(commands, relay)
        is_slow = not SLOWLY_READ.isdisjoint(oids)
        readers = [bytes.decode if text.is_shown and of is BPCHAR else reader_of(of, unread) for of in text.outputs]
        try:
            while (rows := await relay.next()) is not None:
                size = sum(len(cell) for row in rows for cell in row if cell is not None) if is_slow else 0
                read = partial(_read, readers, rows)
                yield await in_thread(read) if size > LARGE_CHARS else read()
            await relay.finish()
        finally:
            await relay.drop()

    async def _ways(self, transaction: Transaction, context: Context, text: Text) -> Mapping[int, Access]:
        """The way to rows of the written table, where the other tables' rows say so and are few."""
        if text.keys is None:
            return {}
        (scan,) = {use.scan.number: use.scan for use in text.place.uses if use.is_written}.values()
        if (await way_of(self.env, scan, context)).points is not None:
            return {}
        rows: list[list[Any]] = []
        async for some in self.answers(transaction, context, text.keys.text, unread=NO_VALUE):
            rows += some
        layout = {"storages": self.env.storages, "buckets": self.env.buckets}
        way = None
        if len(rows) <= VALUES_MAX and not any(value is NO_VALUE for row in rows for value in row):
            way = looked_up(scan.descriptor, text.keys.columns, rows, scan.conditions, context, **layout)
        return {} if way is None else {scan.number: way}

    async def of_rows(
        self, transaction: Transaction, context: Context, text: Text, rows: Sequence[Values]
    ) -> AsyncIterator[list[list[PyValue]]]:
        for place in range(0, len(rows), GIVEN_ROWS):
            some = rows[place : place + GIVEN_ROWS]
            more = [(BYTEA_ARRAY, encoded_column(given, some)) for given in text.given]
            async for answers in self.answers(transaction, context, text, more):
                yield answers

    async def defaults(self, transaction: Transaction, context: Context, text: Text, count: int) -> list[PyValue]:
        found: list[PyValue] = []
        async for rows in self.answers(transaction, context, text, [(INT8, int8(count))]):
            found += [value for (value,) in rows]
        return found


async def computing_of(
    env: Environment,
    portal: Portal,
    plan: WritingPlan | SeveralPlan,
    style: Sequence[str],
    reading: Callable[[], Reading],
) -> tuple[Computing, SeveralTexts | None]:
    """The questions of a statement; of one with others in its WITH, each of them. They are kept with the statement."""
    statement, first = portal.statement, len(portal.values) + 1
    known = statement.place
    if known is not None and known[0] is plan and known[1] == first:
        texts: Texts | SeveralTexts = known[2]
    else:
        texts = await in_thread_if_large(statement.text, lambda: texts_of(statement, plan, reading(), first))
        if not texts.is_of_session:
            statement.place = (plan, first, texts)
    if isinstance(texts, SeveralTexts):
        return Computing(env, portal, style, texts.main), texts
    return Computing(env, portal, style, texts), None


def settings_of(style: TimeStyle) -> list[str]:
    output = "escape" if style.shows_escapes else "hex"
    return [style.zone.name, f"ISO, {style.order}", style.intervals, "1", output]


def fitting(columns: Sequence[Column]) -> Callable[[Sequence[PyValue]], list[PyValue]]:
    """Refuses what is too long among the elements of arrays of varchar: a cast of PostgreSQL's would cut them."""
    fits = [fit_of(c.type, c.length) if c.type.element in CUT else None for c in columns]

    def fitted(values: Sequence[PyValue]) -> list[PyValue]:
        return [v if fit is None or v is None else fit(v) for fit, v in zip(fits, values, strict=True)]

    return fitted


def encoded_column(given: Given, rows: Sequence[Values]) -> list[bytes]:
    return [encoding.encode_value(given.type, row[given.number]) for row in rows]


def _read(readers: Sequence[Callable[[bytes], PyValue]], rows: Sequence[Row]) -> list[list[PyValue]]:
    return [[None if cell is None else read(cell) for read, cell in zip(readers, row, strict=True)] for row in rows]


def reader_of(of: Type, unread: Any = None) -> Callable[[bytes], PyValue]:
    read: Any = READERS.get(of.oid)
    if read is None:
        raise unsupported(f"a value of type {of} in a statement that writes", hint="cast it to text")

    def value(data: bytes) -> PyValue:
        try:
            return read(data)  # type: ignore[no-any-return]
        except (BadValue, OverflowError, struct.error, KeyError, ValueError) as error:
            if unread is not None:
                return unread  # type: ignore[no-any-return]
            if isinstance(error, BadValue):
                raise SqlError(error.sqlstate, str(error), detail=error.detail) from None
            raise SqlError(DATETIME_OUT_OF_RANGE, f"{of} out of range") from None

    return value
