"""The query engine: DuckDB over the rows a node has read, and nothing else.

It sees Arrow streams that its transaction feeds (each scan of one starts it anew), has no files, no
network and no settings to change, one thread, and limited memory. A query runs in a thread; pages are
fetched by the event loop, so the session at the store is used by one side at a time.

What the engine has on its way from a page to a result is bounded by rows, not by bytes, and `MEMORY_LIMIT` does not
see it. So a result is taken a few rows at a time (`READER_ROWS`), nothing is made ahead of that (`STREAM_BUFFER`), and
what a filter lets through is not gathered into chunks of 2,048 rows (`_register`).
"""

import asyncio
import contextlib
import datetime as dt
import functools
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from catalog.values.arrays import ELEMENTS_MAX
from catalog.values.packed import PACKED
from expressions import errors
from expressions.limits import NUMBER_BYTES, VALUE_BYTES_MAX, too_long, too_many_elements
from expressions.sqltypes import (
    DATE,
    INT2,
    INT4,
    INT8,
    INTEGERS,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    Type,
)
from nodes.execution.engine.allotted_memory import allotted
from nodes.execution.engine.engine_functions import calls_functions, register
from nodes.execution.engine.query_threads import PutBack, QueryThreads
from nodes.execution.engine.refusals import MEMORY_LIMIT, is_out_of_memory, translated
from nodes.execution.engine.shared_memory import LITTLE_BYTES, LacksMemory, SharedMemory, TooLarge
from nodes.execution.engine.stopping import cancelled
from nodes.execution.engine.thread_line import TRIES_MAX, Call
from nodes.sql.queries.query import Output
from nodes.store.transaction import Owner
from nodes.wire.columns import Writer
from nodes.wire.results import Row

log = logging.getLogger(__name__)

BATCH_ROWS = 4096
BATCH_BYTES_MAX = 2**22
READER_ROWS = 32
"""Rows that the engine hands over at once: a value may have a megabyte."""
STREAM_BUFFER = "1B"
"""What the engine makes before anybody asks for it; it counts a chunk of rows as a fixed amount."""
ASKED_BYTES_MAX = 2**20
"""Of what is asked of rows that are kept before a query."""
SHORT = {b"length": b"short"}
"""Metadata of a column of texts that are known to be short."""
UUIDS = {b"elements": b"uuid"}
"""Metadata of a column of lists of texts that are uuids."""
UNGATHERED = pa.field("ungathered", pa.list_(pa.bool_()))
"""A column without values beside texts: the engine gathers no chunks of rows that have a list."""
REFUSALS = (duckdb.Error, OSError)
"""What the engine raises; Arrow says OSError of a stream that fails once the result has begun."""
LONG_S = 0.1
"""For a query that may have had much of the memory."""
PAGE_TIMEOUT_S = 600
UTC = "UTC"
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = dt.date.min.toordinal() - _EPOCH_DAY, dt.date.max.toordinal() - _EPOCH_DAY
"""Days since 1970."""

Pages = Callable[[], AsyncIterator[pa.RecordBatch]]


@dataclass(eq=False)
class Feed:
    """A table for the engine: a stream that begins anew each time it is scanned."""

    schema: pa.Schema
    pages: Pages
    loop: asyncio.AbstractEventLoop
    error: BaseException | None = None
    readers: list[AsyncIterator[pa.RecordBatch]] = field(default_factory=list)
    fetching: int = 0
    """Pages that the event loop is about to get."""
    is_given_up: bool = False
    """Nobody is to read it any more."""
    texts: set[str] = field(init=False)
    """The columns whose values may be large; beside any stands `UNGATHERED`."""

    def __post_init__(self) -> None:
        self.texts = {c.name for c in self.schema if is_long(c.type) and c.metadata != SHORT}
        if self.texts:
            self.schema = self.schema.append(UNGATHERED)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.RecordBatchReader.from_batches(self.schema, self._batches()).__arrow_c_stream__(requested_schema)

    def shown(self, column: str) -> str:
        """The column as a query sees it."""
        if column in self.texts:
            return f'CASE WHEN {UNGATHERED.name} IS NULL THEN "{column}" END AS "{column}"'
        is_of_uuids = self.schema.field(column).metadata == UUIDS
        return f'CAST("{column}" AS UUID[]) AS "{column}"' if is_of_uuids else column

    def _batches(self) -> Any:
        """Runs in the engine's thread; each page is fetched by the event loop."""
        pages = self.pages()
        self.readers.append(pages)
        while True:
            try:
                batch = asyncio.run_coroutine_threadsafe(self._next(pages), self.loop).result(PAGE_TIMEOUT_S)
            except BaseException as error:
                self.error = error
                raise
            if batch is None:
                return
            if self.texts:
                batch = batch.append_column(UNGATHERED, pa.nulls(batch.num_rows, UNGATHERED.type))
            yield batch

    async def _next(self, pages: AsyncIterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        if self.is_given_up:
            raise cancelled()
        self.fetching += 1
        try:
            return await anext(pages, None)
        finally:
            self.fetching -= 1


def is_long(of: pa.DataType) -> bool:
    """True of values that may have a megabyte each."""
    return bool(pa.types.is_string(of) or pa.types.is_binary(of))


def warm_up() -> None:
    """Load the engine's libraries and run a first query. A node does so before it serves: done by the first SELECT,
    it would hold up the event loop for seconds, and with it the renewal of leases."""
    with duckdb.connect(":memory:", config={"threads": 1}) as database:
        database.register("page", pa.table({"n": [1, 2]}).to_reader())
        database.sql("SELECT sum(n) FROM page").to_arrow_table()


@dataclass(eq=False, slots=True)
class Query:
    """A query while it has a connection of the engine's."""

    connection: Any
    tables: dict[str, Feed]
    by: Owner | None
    memory: SharedMemory
    tries: int = 0
    """How often it was put back."""
    has_answered: bool = False
    began: float = field(default_factory=time.monotonic)
    kept_bytes: int = 0
    """What its calls so far have left in memory."""
    is_given_up: bool = False

    def call(self) -> Call:
        user, tries = None if self.by is None else self.by.user, 0 if self.has_answered else self.tries
        return Call(user, self.by, tries=tries, has_answered=self.has_answered)

    @property
    def is_reading(self) -> bool:
        return any(feed.fetching for feed in self.tables.values())

    def interrupt(self) -> None:
        self.connection.interrupt()

    def give_up(self) -> None:
        self.is_given_up = True
        self.memory.keeps()
        for feed in self.tables.values():
            feed.is_given_up = True

    def ended_late(self) -> None:
        try:
            self.connection.close()
        finally:
            self.memory.ended()


class Engine:
    """One DuckDB for the node; each query has a connection of its own."""

    def __init__(self) -> None:
        self._database = duckdb.connect(
            ":memory:",
            config={
                "threads": 1,
                "memory_limit": MEMORY_LIMIT,
                "enable_external_access": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "temp_directory": "",  # nothing is spilled to disk: a query that needs more is refused
            },
        )
        self._database.execute(f"SET GLOBAL timezone = '{UTC}'")  # for every connection: theirs is the machine's
        self._database.execute("SET allowed_configs = ['streaming_buffer_size', 'timezone']")
        self._database.execute("SET lock_configuration = true")
        self._arena = allotted()
        self._threads = QueryThreads(self._arena.enter if self._arena else None)
        self._functions: Any = None
        self._functions_lock = Lock()
        self._memory = SharedMemory()

    async def run(
        self,
        sql: str,
        tables: dict[str, Feed],
        zone: str = UTC,
        before: "Gathered | None" = None,
        by: Owner | None = None,
    ) -> AsyncIterator[pa.RecordBatch]:
        """The result in batches, worked out in a time zone. `before` may change the query. Raises `SqlError`."""
        begin = functools.partial(self._begin, sql, tables, zone, before, by)
        query, reader, taken = await self._memory.begun(begin)
        try:
            while taken.batch is not None:
                for part in parts_of(taken.batch):
                    yield part
                if not taken.has_more:
                    break
                query.has_answered = True
                taken = await self._in_thread(query, lambda: _take(reader))
        finally:
            try:
                await self._end(query)
            finally:
                self._memory.ended()

    async def _begin(
        self, sql: str, tables: dict[str, Feed], zone: str, before: "Gathered | None", by: Owner | None
    ) -> tuple[Query, Any, "Taken"]:
        """A query, what comes of it, and the first rows of that; nothing is left of what fails."""
        for tries in range(TRIES_MAX + 2):  # the last one is not put back
            query = Query(self._database.cursor(), tables, by, self._memory, tries)
            with contextlib.suppress(PutBack):
                return await self._tried(query, sql, zone, before)
        raise AssertionError("a long query was put back")

    async def _tried(self, query: Query, sql: str, zone: str, before: "Gathered | None") -> tuple[Query, Any, "Taken"]:
        connection, tables = query.connection, query.tables
        try:
            if before is not None:
                look = functools.partial(self._gather, connection, before, tables, zone)
                other = before.query(await self._in_thread(query, look))
                if other is None:
                    forget = functools.partial(connection.execute, f"DROP TABLE IF EXISTS {before.name}")
                    await self._in_thread(query, forget)
                sql = other or sql
            known = tables if before is None else {}

            def first() -> tuple[Any, Taken]:
                reader = self._open(connection, sql, known, zone)
                return reader, _take(reader)

            return query, *await self._in_thread(query, first)
        except BaseException:
            await self._end(query)
            raise

    async def _end(self, query: Query) -> None:
        """Give back what a query has: its memory, and its streams, which may begin anew.

        One that took long may have freed much, in fragments, which the allocator keeps for others of their size.
        """
        if not query.is_given_up:
            query.connection.close()
        try:
            for feed in query.tables.values():
                while feed.readers:
                    await feed.readers.pop().aclose()  # type: ignore[attr-defined]
        finally:
            if self._arena is not None and time.monotonic() - query.began > LONG_S:
                with contextlib.suppress(RuntimeError):  # it takes no more work once closed: no query needs fragments
                    self._threads.pool.submit(self._arena.release)

    async def _in_thread(self, query: Query, work: Callable[[], Any]) -> Any:
        """Run in a thread, which a cancel interrupts. Raises `SqlError`, and `PutBack`."""
        call = query.call()
        try:
            return await self._threads.run(call, functools.partial(self._weighed, query, work), query)
        except (LacksMemory, errors.SqlError, *REFUSALS) as error:
            failed = next((feed.error for feed in query.tables.values() if feed.error is not None), None)
            if isinstance(failed, Exception):
                raise failed from error
            refused = _refusal(error)
            if call.is_put_back and refused.sqlstate == errors.QUERY_CANCELED:
                raise PutBack from error
            raise refused from error

    def _weighed(self, query: Query, work: Callable[[], Any]) -> Any:
        """Do some work of a query. Raises what it does; where it lacks memory, `LacksMemory` of it."""
        if self._arena is None:
            return work()
        before = self._arena.own_bytes() - query.kept_bytes
        try:
            return work()
        except REFUSALS as error:
            if not is_out_of_memory(error):
                raise
            own = self._arena.own_bytes() - before
            raise LacksMemory(error, self._arena.used_bytes() - own) from error
        finally:
            query.kept_bytes = self._arena.own_bytes() - before

    def _open(self, connection: Any, sql: str, tables: dict[str, Feed], zone: str) -> Any:
        if calls_functions(sql):
            self._make_functions()
        return _open(connection, sql, tables, zone)

    def _gather(self, connection: Any, before: "Gathered", tables: dict[str, Feed], zone: str) -> pa.Table | None:
        """Keep the rows of a query as a temporary table, and return what is asked of it; None when that is too much."""
        if calls_functions(before.sql):
            self._make_functions()
        _prepare(connection, tables, zone)
        kept = f"CREATE TEMP TABLE {before.name} AS {before.sql} LIMIT {before.rows_max + 1}"
        try:
            ((count,),) = connection.execute(kept).fetchall()
            is_small = count <= before.rows_max
            return _small(_reader(connection, before.asked)) if is_small else None
        except REFUSALS as error:
            if is_out_of_memory(error):
                return None
            raise

    def _make_functions(self) -> None:
        """Make the functions that the engine has not, once they are needed: it loads numpy then, 30 MB and a while."""
        with self._functions_lock:
            if self._functions is None:
                connection = self._database.cursor()
                register(connection)
                self._functions = connection

    def close(self) -> None:
        """Take no more queries; one that still runs ends with the process."""
        self._threads.pool.shutdown(wait=False, cancel_futures=True)
        try:
            if self._functions is not None:
                self._functions.close()
            self._database.close()
        except duckdb.Error as error:
            log.warning("the query engine is not closed: %s", error)


def _refusal(error: Exception) -> errors.SqlError:
    """The error of a thread as a client is told it."""
    if isinstance(error, errors.SqlError):
        return error
    if not isinstance(error, LacksMemory):
        return translated(error)
    refused = translated(error.error)
    is_alone = error.others_bytes < LITTLE_BYTES
    return TooLarge(refused.sqlstate, refused.message, hint=refused.hint) if is_alone else refused


def _register(connection: Any, name: str, feed: Feed) -> None:
    """Make the feed known as a table. Texts are there as long as the column that never is has no value.

    So a filter, or a join, has to hand that column on with each text, and does not gather rows.
    """
    names = [column for column in feed.schema.names if column != UNGATHERED.name]
    columns = [feed.shown(column) for column in names]
    if columns == names:
        connection.register(name, feed)
        return
    connection.register(f"{name}_pages", feed)
    connection.execute(f"CREATE TEMP VIEW {name} AS SELECT {', '.join(columns)} FROM {name}_pages")


@dataclass(frozen=True)
class Gathered:
    """Rows that the engine keeps before a query, under a name for it, when they are few.

    `query` is given what was `asked` of them, or None when they are many; it returns the query to run, if another one.
    """

    name: str
    sql: str
    asked: str
    rows_max: int
    query: Callable[[pa.Table | None], str | None]


def _small(reader: Any) -> pa.Table | None:
    """All that there is to read; None when that is large."""
    batches: list[pa.RecordBatch] = []
    size = 0
    with reader:  # a connection has one open result
        for batch in reader:
            batches.append(batch)
            size += batch.nbytes
            if size > ASKED_BYTES_MAX:
                return None
        return pa.Table.from_batches(batches, reader.schema)


def _open(connection: Any, sql: str, tables: dict[str, Feed], zone: str) -> Any:
    _prepare(connection, tables, zone)
    return _reader(connection, sql)


def _reader(connection: Any, sql: str) -> Any:
    """The rows of a query, as they come: parsed and planned once.

    It is the last step of `connection.sql(sql).to_arrow_reader(..)`, which parses the text twice and plans it twice:
    a third of the time of most queries. `execute` computes all rows first.
    """
    return connection._submit(sql, None, "stream", READER_ROWS).arrow_reader()


def _prepare(connection: Any, tables: dict[str, Feed], zone: str) -> None:
    in_zone = f"; SET timezone = '{zone}'" if zone != UTC else ""
    connection.execute(f"SET streaming_buffer_size = '{STREAM_BUFFER}'{in_zone}")
    for name, feed in tables.items():
        _register(connection, name, feed)


class Taken(NamedTuple):
    """Some rows of a result, or None of an empty one, and whether there may be more."""

    batch: pa.RecordBatch | None
    has_more: bool


def _take(reader: Any) -> Taken:
    """The next `BATCH_ROWS` rows, or as many as have some megabytes."""
    taken: list[pa.RecordBatch] = []
    rows = size = 0
    batch = None
    while rows < BATCH_ROWS and size < BATCH_BYTES_MAX and (batch := next(reader, None)) is not None:
        taken.append(batch)
        rows, size = rows + batch.num_rows, size + bytes_of(batch)
    return Taken(pa.concat_batches(taken) if taken else None, has_more=batch is not None)


def parts_of(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """The batch in parts of some megabytes: what becomes of it in Python takes several times as much."""
    rows = max(1, batch.num_rows * BATCH_BYTES_MAX // max(bytes_of(batch), BATCH_BYTES_MAX))
    return [batch.slice(place, rows) for place in range(0, batch.num_rows, rows)]


ELEMENT_BYTES = 8
"""Of an element of an array, whatever it is: Python has a pointer to each."""


def bytes_of(batch: pa.RecordBatch) -> int:
    return batch.nbytes + ELEMENT_BYTES * elements_in(batch)


def elements_in(batch: pa.RecordBatch) -> int:
    """The number of elements of all arrays."""
    return sum(
        column.offsets[-1].as_py() - column.offsets[0].as_py()
        for column in batch.columns
        if pa.types.is_list(column.type) and len(column)
    )


def refuse_long(column: pa.Array) -> None:
    """Raises 54000 for a text or an array that is longer than a value may be."""
    if is_long(column.type) and column.nbytes > VALUE_BYTES_MAX:
        longest = pc.max(pc.binary_length(column)).as_py()
        if longest is not None and longest > VALUE_BYTES_MAX:
            raise too_long()
    elif pa.types.is_list(column.type):
        refuse_long_list(column)


def refuse_long_list(column: pa.Array) -> None:
    longest = pc.max(pc.list_value_length(column)).as_py()
    if longest is not None and longest > ELEMENTS_MAX:
        raise too_many_elements()
    is_counted = is_long(column.type.value_type) and column.nbytes > VALUE_BYTES_MAX
    if is_counted and any(row.is_valid and _bytes_beyond_numbers(row.values) > VALUE_BYTES_MAX for row in column):
        raise too_long()


def _bytes_beyond_numbers(items: pa.Array) -> int:
    """The bytes of texts, but for as many of each as a number of usual length has: what was stored can be read.

    A numeric or an interval is a text or bytes here, too, and is no more than an element where it is written.
    """
    total = pc.sum(pc.binary_length(items)).as_py() or 0
    return int(total) - NUMBER_BYTES * len(items)


_WHOLE = {INT2: pa.int16(), INT4: pa.int32(), INT8: pa.int64()}


def refuse_beyond(days: pa.Array) -> None:
    """Raises 22008 for a date that is not of the years 1 to 9999."""
    found = pc.min_max(days.cast(pa.int32())).as_py()
    if found["min"] is not None and (found["min"] < FIRST_DAY or found["max"] > LAST_DAY):
        raise errors.SqlError(errors.DATETIME_OUT_OF_RANGE, "date out of range")


def refuse_wide(column: pa.Array, of: Type) -> None:
    """Raises 22003 for a number that its type has not: the engine may take a wider type than it was told."""
    wanted = _WHOLE.get(of)
    if wanted is not None and column.type != wanted:
        try:
            column.cast(wanted)
        except pa.ArrowInvalid:
            raise errors.SqlError(errors.NUMBER_OUT_OF_RANGE, f"{of} out of range") from None


def rows_of(
    batch: pa.RecordBatch, outputs: Sequence[Output], writers: Sequence[Writer], formats: tuple[int, ...] = ()
) -> list[Row]:
    """A batch as rows for a client."""
    if not outputs:
        return [()] * batch.num_rows
    columns = [
        as_written(column, output.type, write, is_text=not formats)
        for column, output, write in zip(batch.columns, outputs, writers, strict=True)
    ]
    return list(zip(*columns, strict=True))


def as_written(column: pa.Array, of: Type, write: Writer, *, is_text: bool) -> list[bytes | None]:
    """A column as a client sees it; many texts are made at once."""
    refuse_long(column)
    refuse_wide(column, of)
    if is_text and of in (*INTEGERS, TEXT, VARCHAR, DATE, UUID):
        if isinstance(column, pa.ExtensionArray):
            return [None if v is None else str(v).encode() for v in column.to_pylist()]
        if of is DATE:
            refuse_beyond(column)
        as_text: list[bytes | None] = pc.cast(pc.cast(column, pa.string()), pa.binary()).to_pylist()
        return as_text
    return [write(value) for value in values(column, of)]


def values(column: pa.Array, of: Type) -> list[Any]:
    """A column as Python values."""
    refuse_long(column)
    refuse_wide(column, of)
    one = of.element or of
    if one is TIMESTAMPTZ:  # of which the engine says in what zone it works
        in_utc = pa.timestamp("us", tz=UTC)
        column = column.cast(in_utc if of is one else pa.list_(in_utc))
    try:
        listed: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        if one not in (DATE, TIMESTAMP, TIMESTAMPTZ):
            raise
        what = "date" if one is DATE else "timestamp"
        raise errors.SqlError(errors.DATETIME_OUT_OF_RANGE, f"{what} out of range") from None
    change = _uuid if one is UUID else PACKED[one.sql_type][1] if one.sql_type in PACKED else None
    if of.element is not None:
        return [None if items is None else tuple(_changed(items, change)) for items in listed]
    return _changed(listed, change)


def _uuid(value: Any) -> uuid.UUID:
    return value if isinstance(value, uuid.UUID) else uuid.UUID(str(value))


def _changed(listed: list[Any], change: Callable[[Any], Any] | None) -> list[Any]:
    return listed if change is None else [None if value is None else change(value) for value in listed]
