"""Each operation, from its call to its answer in JSON: which rows are read, and what is checked before a write. Its
statement is made in `nodes.crud.texts` under the version of the attempt, and done like any other."""

from collections.abc import Mapping, Sequence

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
from nodes.crud.requests import Caller, Request, Work, within_time
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
    if operation.name.endswith("_many"):
        return await many(request, arguments["objects" if operation.is_object else "tuples"])
    work: Work[str]
    match operation.verb:
        case "truncate":
            return await about.truncated(request)
        case "select":
            work = Reading(request).rows
        case "count" | "len":
            work = Reading(request).count
        case verb:
            work = lambda transaction, descriptor: WAYS[verb](Single(request, transaction, descriptor))  # noqa: E731
    return await request.within_time(request.attempt(work, is_read_only=not operation.writes))


class Single:
    """An attempt at an operation on one row, in its transaction, under its version."""

    def __init__(self, request: Request, transaction: Transaction, descriptor: Descriptor) -> None:
        self.request, self.transaction, self.descriptor = request, transaction, descriptor
        self.arguments, self.options = request.call.arguments, request.call.options

    @property
    def shown(self) -> Sequence[Column]:
        return self.request.shown(self.descriptor).columns

    @property
    def returning(self) -> Sequence[Column]:
        shown = self.shown
        return () if self.options.get("noreturn") else shown

    def result(self, rows: list[Row]) -> str:
        return self.request.shown(self.descriptor).result(None if self.options.get("noreturn") else rows)

    def _bucket(self, row: FlatRow) -> int | None:
        env, style = self.request.env, self.request.caller.style
        return bucket_of_row(self.descriptor, row, env.buckets, style, self.transaction.started_at)

    def _check_bucket(self, row: FlatRow) -> None:
        given = self.options.get("bucket_id")
        if given is not None:
            check_bucket(given, self._bucket(row))

    async def put(self) -> str:
        operation, descriptor = self.request.call.operation, self.descriptor
        given, bucket = self.arguments["object" if operation.is_object else "tuple"], self.options.get("bucket_id")
        row = flat_row(descriptor, given, is_object=operation.is_object)
        if bucket is not None and descriptor.placement.function == CUSTOM:  # it may be named beside the row
            (column_id,) = descriptor.sharding_key
            name = descriptor.column(column_id).name
            row = row if row.get(name) is not None else row | {name: str(bucket)}
        self._check_bucket(row)
        is_upsert = operation.verb == "upsert"
        updates = assignments(self.arguments["operations"]) if is_upsert else []
        text = texts.insert(
            descriptor, [row], [] if is_upsert else self.returning, verb=operation.verb, updates=updates
        )
        _, rows, _ = await self.request.do(self.transaction, text, commit=True)
        return self.result(rows)

    async def get(self) -> str:
        request, descriptor, bucket = self.request, self.descriptor, self.options.get("bucket_id")
        if bucket is None and request.caller.trace is None:
            known = keyed_gets.known(request, descriptor)
            found = None if known is None else await known.answer(request, self.transaction, self.arguments["key"])
            if found is not None:
                return found
        key = key_values(descriptor, self.arguments["key"])
        text = texts.get(descriptor, key, self.shown)
        row = {column.name: value for column, value in key}
        if bucket is not None and self._bucket(row) is None:
            rows = await self._in_bucket(key, self.shown)
            await self.transaction.commit()
            return self.result(rows)
        self._check_bucket(row)
        if not descriptor.is_home_in_key:
            request.counts.map_reduces += 1
            request.sends(self.transaction, descriptor, sharding=False)
        _, rows, _ = await request.do(self.transaction, text, commit=True)
        plan, oids, _ = await request.planned(descriptor, text)
        keyed_gets.learn(request, descriptor, plan, oids)
        return self.result(rows)

    async def change(self) -> str:
        key, shown = key_values(self.descriptor, self.arguments["key"]), self.returning
        if self.request.call.operation.verb == "update":
            text = texts.update(self.descriptor, key, assignments(self.arguments["operations"]), shown)
        else:
            text = texts.delete(self.descriptor, key, shown)
        row = {column.name: value for column, value in key}
        if self.options.get("bucket_id") is None or self._bucket(row) is not None:
            self._check_bucket(row)
        elif not await self._in_bucket(key, named_key(self.descriptor)):  # the key does not say: the row is looked at
            await self.transaction.commit()
            return self.result([])
        _, rows, _ = await self.request.do(self.transaction, text, commit=True)
        return self.result(rows)

    async def _in_bucket(self, key: list[tuple[Column, str | None]], shown: Sequence[Column]) -> list[Row]:
        named = [Condition("=", column.name, value) for column, value in key]
        window = Window(self.options["bucket_id"])
        read = OrderedRead(self.request, self.transaction, named, shown, window=window)
        return [row async for rows in read.answers() for row in rows]

    async def extreme(self) -> str:
        named_key(self.descriptor)  # hidden row ids are in nobody's order
        name = self.arguments.get("index")
        index = None if name is None else orders.index_named(self.descriptor, name)
        window = Window(first=1, backwards=self.request.call.operation.verb == "max", is_forced=True)
        read = OrderedRead(self.request, self.transaction, (), self.shown, index, window)
        rows = [row async for some in read.answers() for row in some]
        await self.transaction.commit()
        return self.result(rows)


WAYS = {
    **dict.fromkeys(("insert", "replace", "upsert"), Single.put), **dict.fromkeys(("update", "delete"), Single.change),
    **dict.fromkeys(("min", "max"), Single.extreme), "get": Single.get,
}  # fmt: skip
"""The operations on one row, by their verbs."""


class Reading:
    def __init__(self, request: Request) -> None:
        self.request, self.call = request, request.call
        self.conditions = conditions(self.call.arguments.get("conditions"))

    def _place_of(
        self, transaction: Transaction, descriptor: Descriptor, index: Index | None, row: Mapping[str, str | None]
    ) -> bytes:
        parts = [] if index is None else [(descriptor.column(one.column), one.descending) for one in index.columns]
        encoded, style = b"", self.request.caller.style
        for column, down in parts + [(column, False) for column in descriptor.key_columns]:
            text, of = row[column.name], OF_SQL_TYPE[column.type]
            value = None if text is None else parse_value(of, text, -1, style, transaction.started_at)
            encoded += encoding.encode(column.type, value, descending=down)
        return encoded

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

        async def begun(transaction: Transaction, descriptor: Descriptor) -> tuple[list[Row], Batches]:
            pages = _pages(asked, transaction, descriptor)
            first = await anext(pages, [])
            asked.left_open = transaction
            return first, _timed(asked, pages)

        first, rest = await asked.part_within_time(asked.attempt(begun, is_read_only=True))
        return Result("SELECT", field_of(name), first, rest), asked.left_open
    except SqlError as error:
        env.meter.totals.refuse(error.sqlstate)
        found = plain_json(error_json(error, call.table, None if request is None else request.version))
        return Result("SELECT", field_of(name), [(found.encode(),)]), None
    finally:
        if request is not None and request.descriptor is not None:
            request.counts.requests += 1


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
