"""Each operation, from its call to its answer in JSON: which rows are read, and what is checked before a write. Its
statement is made in `nodes.crud.texts` under the version of the attempt, and done like any other."""

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column, Index
from expressions.errors import SqlError
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import parse_value
from nodes.context import Environment
from nodes.crud import about, keyed_gets, orders, texts
from nodes.crud.answers import field_of, metadata, oids_of, plain_json, result_json, row_json
from nodes.crud.batches import many
from nodes.crud.calls import Call
from nodes.crud.catalogue import BATCH_ROWS
from nodes.crud.errors import bad_option, bad_row, error_json
from nodes.crud.places import bucket_of_row, check_bucket
from nodes.crud.requests import Caller, Request, within_time
from nodes.crud.rows import Batches, OrderedRead, Window, gathered, written
from nodes.crud.texts import FlatRow, shown_columns
from nodes.crud.values import Condition, assignments, conditions, flat_row, key_values, named_key, text_of
from nodes.execution.held_rows import HeldRows
from nodes.store.transaction import Transaction
from nodes.wire.results import Result, Row
from storage import encoding
from storage.buckets import CUSTOM

__all__ = ["Caller", "answer", "stream"]


async def answer(env: Environment, call: Call, caller: Caller) -> str:
    request: Request | None = None
    try:
        if call.table is None or call.operation.name in about.OPERATIONS:
            return await within_time(about.answer(env, call), call.timeout_s, lambda: "it asked the store")
        request = Request(env, call, caller, call.table)
        found = await _answered(request)
    except SqlError as error:
        env.meter.totals.refuse(error.sqlstate)
        found = plain_json(error_json(error, call.table, None if request is None else request.version))
    if request is not None and request.descriptor is not None:
        request.counts.requests += 1
    return found


async def _answered(request: Request) -> str:
    operation, arguments = request.call.operation, request.call.arguments
    if operation.is_many:
        return await many(request, arguments["objects" if operation.is_object else "tuples"])
    match operation.verb:
        case "insert" | "replace" | "upsert":
            return await request.within_time(request.attempt(Single(request).put))
        case "get":
            return await request.within_time(request.attempt(Single(request).get, is_read_only=True))
        case "update" | "delete":
            return await request.within_time(request.attempt(Single(request).change))
        case "min" | "max":
            return await request.within_time(request.attempt(Single(request).extreme, is_read_only=True))
        case "select":
            return await request.within_time(request.attempt(Reading(request).rows, is_read_only=True))
        case "count" | "len":
            return await request.within_time(request.attempt(Reading(request).count, is_read_only=True))
    assert operation.verb == "truncate", operation.name
    return await about.truncated(request)


class Single:
    def __init__(self, request: Request) -> None:
        self.request, self.call = request, request.call

    def shown(self, descriptor: Descriptor) -> Sequence[Column]:
        return self.request.shown(descriptor).columns

    def result(self, descriptor: Descriptor, rows: list[Row]) -> str:
        return self.request.shown(descriptor).result(None if self.call.options.get("noreturn") else rows)

    def returning(self, descriptor: Descriptor) -> Sequence[Column]:
        shown = self.shown(descriptor)
        return () if self.call.options.get("noreturn") else shown

    def _bucket(self, transaction: Transaction, descriptor: Descriptor, row: FlatRow) -> int | None:
        env, style = self.request.env, self.request.caller.style
        return bucket_of_row(descriptor, row, env.buckets, style, transaction.started_at)

    def _check_bucket(self, transaction: Transaction, descriptor: Descriptor, row: FlatRow) -> None:
        given = self.call.options.get("bucket_id")
        if given is not None:
            check_bucket(given, self._bucket(transaction, descriptor, row))

    async def put(self, transaction: Transaction, descriptor: Descriptor) -> str:
        operation, arguments = self.call.operation, self.call.arguments
        given = arguments["object" if operation.is_object else "tuple"]
        row = self._placed(descriptor, flat_row(descriptor, given, is_object=operation.is_object))
        self._check_bucket(transaction, descriptor, row)
        is_upsert = operation.verb == "upsert"
        updates = assignments(arguments["operations"]) if is_upsert else []
        shown = [] if is_upsert else self.returning(descriptor)
        text = texts.insert(descriptor, [row], shown, verb=operation.verb, updates=updates)
        _, rows, _ = await self.request.do(transaction, text, commit=True)
        return self.result(descriptor, rows)

    def _placed(self, descriptor: Descriptor, row: FlatRow) -> FlatRow:
        """The row with its bucket, where placement is custom and the request names it beside the row."""
        bucket = self.call.options.get("bucket_id")
        if bucket is None or descriptor.placement.function != CUSTOM:
            return row
        (column_id,) = descriptor.sharding_key
        name = descriptor.column(column_id).name
        return row if row.get(name) is not None else row | {name: str(bucket)}

    def _key(self, transaction: Transaction, descriptor: Descriptor) -> list[tuple[Column, str | None]]:
        return key_values(descriptor, self.call.arguments["key"])

    async def get(self, transaction: Transaction, descriptor: Descriptor) -> str:
        request, bucket = self.request, self.call.options.get("bucket_id")
        if bucket is None and request.caller.trace is None:
            known = keyed_gets.known(request, descriptor)
            found = None if known is None else await known.answer(request, transaction, self.call.arguments["key"])
            if found is not None:
                return found
        key = self._key(transaction, descriptor)
        text = texts.get(descriptor, key, self.shown(descriptor))
        row = {column.name: value for column, value in key}
        if bucket is not None and self._bucket(transaction, descriptor, row) is None:
            rows = await self._in_bucket(transaction, key, self.shown(descriptor))
            await transaction.commit()
            return self.result(descriptor, rows)
        self._check_bucket(transaction, descriptor, row)
        if not descriptor.is_home_in_key:
            request.counts.map_reduces += 1
            request.sends(transaction, descriptor, sharding=False)
        _, rows, _ = await request.do(transaction, text, commit=True)
        plan, oids, _ = await request.planned(descriptor, text)
        keyed_gets.learn(request, descriptor, plan, oids)
        return self.result(descriptor, rows)

    async def change(self, transaction: Transaction, descriptor: Descriptor) -> str:
        key = self._key(transaction, descriptor)
        shown = self.returning(descriptor)
        if self.call.operation.verb == "update":
            text = texts.update(descriptor, key, assignments(self.call.arguments["operations"]), shown)
        else:
            text = texts.delete(descriptor, key, shown)
        if not await self._is_in_bucket(transaction, descriptor, key):
            await transaction.commit()
            return self.result(descriptor, [])
        _, rows, _ = await self.request.do(transaction, text, commit=True)
        return self.result(descriptor, rows)

    async def _is_in_bucket(
        self, transaction: Transaction, descriptor: Descriptor, key: list[tuple[Column, str | None]]
    ) -> bool:
        """False for a key that the named bucket does not have; where the key does not say, the row is looked at. Raises
        `BucketError` for another bucket than the key's own."""
        row = {column.name: value for column, value in key}
        if self.call.options.get("bucket_id") is None or self._bucket(transaction, descriptor, row) is not None:
            self._check_bucket(transaction, descriptor, row)
            return True
        return bool(await self._in_bucket(transaction, key, named_key(descriptor)))

    async def _in_bucket(
        self, transaction: Transaction, key: list[tuple[Column, str | None]], shown: Sequence[Column]
    ) -> list[Row]:
        named, window = (
            [Condition("=", column.name, value) for column, value in key],
            Window(self.call.options["bucket_id"]),
        )
        read = OrderedRead(self.request, transaction, named, shown, window=window)
        return [row async for rows in read.answers() for row in rows]

    async def extreme(self, transaction: Transaction, descriptor: Descriptor) -> str:
        named_key(descriptor)  # hidden row ids are in nobody's order
        name = self.call.arguments.get("index")
        index = None if name is None else orders.index_named(descriptor, name)
        window = Window(first=1, backwards=self.call.operation.verb == "max", is_forced=True)
        read = OrderedRead(self.request, transaction, (), self.shown(descriptor), index, window)
        rows = [row async for some in read.answers() for row in some]
        await transaction.commit()
        return self.result(descriptor, rows)


class Reading:
    def __init__(self, request: Request) -> None:
        self.request, self.call = request, request.call
        self.conditions = conditions(self.call.arguments.get("conditions"))

    def _place_of(
        self, transaction: Transaction, descriptor: Descriptor, index: Index | None, row: Mapping[str, str | None]
    ) -> bytes:
        parts = [] if index is None else [(descriptor.column(one.column), one.descending) for one in index.columns]
        parts += [(column, False) for column in descriptor.key_columns]
        return b"".join(
            encoding.encode(column.type, self._parsed(transaction, column, row[column.name]), descending=down)
            for column, down in parts
        )

    def _parsed(self, transaction: Transaction, column: Column, text: str | None) -> Any:
        if text is None:
            return None
        return parse_value(OF_SQL_TYPE[column.type], text, -1, self.request.caller.style, transaction.started_at)

    async def rows(self, transaction: Transaction, descriptor: Descriptor) -> str:
        shown = shown_columns(descriptor, self.call.options.get("fields"))
        with HeldRows(self.request.env.rows) as held:
            rows = await gathered(self.batches(transaction, descriptor, held), held)
            await transaction.commit()
            listed = await written(oids_of(shown), rows, held)
            return result_json(metadata(descriptor, shown), listed)

    async def batches(self, transaction: Transaction, descriptor: Descriptor, held: HeldRows) -> Batches:
        options, first = self.call.options, self.call.options.get("first")
        backwards = first is not None and first < 0
        index, before = orders.index_of(descriptor, self.conditions), self._row_before(descriptor)
        beyond = None
        if before is not None and not descriptor.has_hidden_key:
            beyond = self._place_of(transaction, descriptor, index, before)
        bucket, is_forced = options.get("bucket_id"), bool(options.get("force_map_call"))
        window = Window(bucket, beyond, None if first is None else abs(first), backwards, is_forced)
        if bucket is not None and (index is not None or backwards):
            raise bad_option("option bucket_id goes with the order of the primary key, forwards")
        shown = shown_columns(descriptor, options.get("fields"))
        read = OrderedRead(self.request, transaction, self.conditions, shown, index, window, before)
        if backwards:
            yield (await gathered(read.answers(), held))[::-1]
            return
        async for rows in read.answers():
            yield rows

    def _row_before(self, descriptor: Descriptor) -> dict[str, str | None] | None:
        """The values by which rows are ordered of the row that option `after` names; what does not fit is refused."""
        after = self.call.options.get("after")
        if after is None:
            return None
        index = orders.index_of(descriptor, self.conditions)
        if descriptor.has_hidden_key and index is None:
            raise bad_option(f"option after goes with the order of an index: {descriptor} is kept by hidden row ids")
        shown = shown_columns(descriptor, self.call.options.get("fields"))
        named = after if isinstance(after, dict) else dict(zip((c.name for c in shown), after, strict=False))
        parts = orders.parts_of(descriptor, index)
        missing = next((column.name for column, _ in parts if column.name not in named), None)
        if missing is not None:
            raise bad_row(f'option after has no value of column "{missing}", by which the rows are ordered')
        return {column.name: text_of(named[column.name], column.name) for column, _ in parts}

    async def count(self, transaction: Transaction, descriptor: Descriptor) -> str:
        bucket, is_forced = self.call.options.get("bucket_id"), bool(self.call.options.get("force_map_call"))
        window = Window(bucket, is_forced=is_forced)
        found = await OrderedRead(self.request, transaction, self.conditions, (), window=window).count()
        await transaction.commit()
        return str(found)


# -- pairs ------------------------------------------------------------------------------------------------------


async def stream(env: Environment, call: Call, caller: Caller, name: str) -> tuple[Result, Transaction | None]:
    """`pairs`: a row of the answer for each row of the table, streamed; and the transaction that goes on until then.
    The first rows are read here, so that a refused attempt is repeated before any answer."""
    assert call.table is not None
    request: Request | None = None
    try:
        request = asked = Request(env, call, caller, call.table)
        begun = asked.attempt(lambda t, d: _begun(asked, t, d), is_read_only=True)
        first, rest = await asked.part_within_time(begun)
        return Result("SELECT", field_of(name), first, rest), asked.left_open
    except SqlError as error:
        env.meter.totals.refuse(error.sqlstate)
        found = plain_json(error_json(error, call.table, None if request is None else request.version))
        return Result("SELECT", field_of(name), [(found.encode(),)]), None
    finally:
        if request is not None and request.descriptor is not None:
            request.counts.requests += 1


async def _begun(request: Request, transaction: Transaction, descriptor: Descriptor) -> tuple[list[Row], Batches]:
    pages = _pages(request, transaction, descriptor)
    first = await anext(pages, [])
    request.left_open = transaction
    return first, _timed(request, pages)


async def _timed(request: Request, pages: Batches) -> Batches:
    while (page := await request.part_within_time(anext(pages, None))) is not None:
        yield page


async def _pages(request: Request, transaction: Transaction, descriptor: Descriptor) -> Batches:
    kept, size = list[Row](), int(request.call.options.get("batch_size", BATCH_ROWS))
    oids = oids_of(shown_columns(descriptor, request.call.options.get("fields")))
    with HeldRows(request.env.rows) as held:
        async for rows in Reading(request).batches(transaction, descriptor, held):
            kept += [(row_json(oids, row).encode(),) for row in rows]
            while len(kept) >= size:
                yield kept[:size]
                kept = kept[size:]
        await transaction.commit()
    if kept:
        yield kept
