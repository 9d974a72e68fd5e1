"""Operations on many rows: split by storage, each part one transaction, every row accounted for
(`nodes.router.batches`). A part is sent whole first. If a row fails it, the part is done again row by row, each behind
a savepoint, so that the answer names the row; the others are kept unless the request wants them undone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.descriptor import Descriptor
from expressions.errors import NOT_NULL_VIOLATION, SqlError
from nodes.crud import texts
from nodes.crud.answers import WrittenRows, plain_json, result_json
from nodes.crud.catalogue import BATCH_ROWS_MAX
from nodes.crud.errors import RequestError, bad_request, error_json
from nodes.crud.places import bucket_of_row, key_of_row
from nodes.crud.requests import Request
from nodes.crud.shapes import shape_of, wrong
from nodes.crud.values import Assignment, assignments, flat_row, many_rows
from nodes.execution.fairness import Turns
from nodes.router.attempts import Attempts
from nodes.router.batches import Batch, Ending, parts_of
from nodes.sql.writes.row_rules import rules_of
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from nodes.wire.results import Row
from storage.buckets import storage_of

ROWS_AT_ONCE = 100
OF_A_ROW = ("21", "22", "23", "42", "54")
"""Classes of errors that some row of a statement may be to blame for."""
FlatRow = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Given:
    """A row of the input under one version, and its own updates, of an upsert."""

    row: FlatRow
    updates: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True)
class Fitted:
    descriptor: Descriptor
    given: Mapping[int, Given]
    parts: Sequence[tuple[int, list[int]]]


@dataclass(eq=False)
class Many:
    request: Request
    verb: str
    rows: Sequence[Any]
    batch: Batch
    part: list[int] = field(default_factory=list)
    written: WrittenRows = field(default_factory=WrittenRows)
    has_reloaded: bool = False
    """A row that does not fit the schema had its reload: the next one that does not is the client's mistake."""
    fitted: "Fitted | None" = None

    @property
    def stops(self) -> bool:
        return bool(self.request.call.options.get("stop_on_error"))

    @property
    def undoes(self) -> bool:
        return bool(self.request.call.options.get("rollback_on_error"))

    async def run(self) -> None:
        """Until every row is accounted for. Raises what keeps the whole batch from being begun."""
        while self.batch.left:
            self.part, self.request.attempts, self.request.in_one_batch = [], self._attempts(), True
            try:
                await self.request.within_time(self.request.attempt(self._whole_part))
            except SqlError as error:
                await self._failed(error)
            if self.stops and self.batch.has_failed:
                self.batch.account(self.batch.left, Ending.NOT_PERFORMED, self._first_error())

    async def _failed(self, error: SqlError) -> None:
        """A part failed as a whole: by one of its rows, which is found then, or by what befell all of it."""
        if not self.part:
            if not self.has_reloaded and is_of_old_schema(error):
                self.has_reloaded = True  # now each row by itself
                return
            if not self.batch.outcomes:
                raise error
            self.batch.account(self.batch.left, Ending.NOT_PERFORMED, error)
        elif isinstance(error, RequestError | Retry) or not error.sqlstate.startswith(OF_A_ROW):
            self.batch.account(self.part, Ending.FAILED, error)
        elif len(self.part) == 1:
            self.batch.close_part(self.part, {self.part[0]: error}, tried=1, is_rolled_back=False)
        else:
            self.request.attempts = self._attempts()
            try:
                await self.request.within_time(self.request.attempt(self._row_by_row))
            except SqlError as why:
                self.batch.account(self.part, Ending.FAILED, why)

    def _attempts(self) -> Attempts:
        """None yet; the reload after a plan that an old schema could explain is had once in a batch."""
        return Attempts(old_schemas=int(self.has_reloaded))

    def _first_error(self) -> Any:
        return next((o.error for _, o in sorted(self.batch.outcomes.items()) if o.ending is Ending.FAILED), None)

    def _given(self, descriptor: Descriptor, index: int) -> Given:
        """Raises `RequestError` for a row that does not fit this version."""
        row, is_object = self.rows[index], self.request.call.operation.is_object
        if self.verb != "upsert":
            return Given(flat_row(descriptor, row, is_object=is_object))
        if not isinstance(row, list) or len(row) != 2:
            raise wrong(f"row {index} of an upsert", "[row, operations]", row)
        return Given(flat_row(descriptor, row[0], is_object=is_object), tuple(assignments(row[1])))

    async def _left(
        self, transaction: Transaction, descriptor: Descriptor
    ) -> tuple[Mapping[int, Given], list[int], dict[int, SqlError]]:
        given, misfits = dict[int, Given](), dict[int, SqlError]()
        if self.fitted is not None and self.fitted.descriptor == descriptor:
            parts = [part for _, part in self.fitted.parts if part[0] not in self.batch.outcomes]
            return self.fitted.given, parts[0], misfits
        self.fitted, required = None, required_columns(descriptor)
        storages, places, turns = dict[bytes, int](), list[tuple[int, int]](), Turns()
        for index in self.batch.left:
            await turns.give()
            try:
                given[index] = self._given(descriptor, index)
                if not self.has_reloaded:
                    refuse_null(descriptor, given[index].row, required)
                places.append((index, self._storage(transaction, descriptor, given[index].row, storages)))
            except SqlError as error:
                if not self.has_reloaded and is_of_old_schema(error):
                    raise
                misfits[index] = kept(error)
                if self.stops or self.undoes:
                    break
        parts = parts_of(places)
        if not misfits:
            self.fitted = Fitted(descriptor, given, parts)
        return given, parts[0][1] if parts else [], misfits

    def _storage(self, transaction: Transaction, descriptor: Descriptor, row: FlatRow, taken: dict[bytes, int]) -> int:
        """The storage in whose part a row is written: 0 when that is not known before it is made. Where a key may lie
        on any storage, all rows of one key go with the first of them (`taken`), so that the last one in the batch
        stays."""
        env, style, now = self.request.env, self.request.caller.style, transaction.started_at
        bucket = bucket_of_row(descriptor, row, env.buckets, style, now)
        storages = descriptor.placement.storage_count(env.storages)
        storage = 0 if bucket is None else storage_of(bucket, storages, env.buckets)
        key = None if descriptor.is_home_in_key else key_of_row(descriptor, row, style, now)
        return storage if key is None else taken.setdefault(key, storage)

    async def _whole_part(self, transaction: Transaction, descriptor: Descriptor) -> None:
        self.part = []
        columns = texts.shown_columns(descriptor, self.request.call.options.get("fields"))
        self.written.described = descriptor, columns
        given, part, misfits = await self._left(transaction, descriptor)
        if misfits and (self.stops or self.undoes):  # nothing is sent any more
            await transaction.commit()
            self._account_misfits(misfits)
            self.batch.account(self.batch.left, Ending.NOT_PERFORMED, self._first_error())
            return
        self.part, size = part, 1 if self.verb == "upsert" else ROWS_AT_ONCE
        chunks = [[given[index] for index in part[start : start + size]] for start in range(0, len(part), size)]
        made, turns = list[texts.Text](), Turns()
        for some in chunks:
            made.append(self._text(descriptor, some))
            await turns.give()
        for text in list({text.sql: text for text in made}.values())[1:]:
            await self.request.plan(transaction, text)  # what an old schema explains is found before anything is sent
        rows: list[Row] = []
        for some, text in zip(chunks, made, strict=True):
            rows += await self._write(transaction, text, len(some), commit=some is chunks[-1])
        if not transaction.is_over:
            await transaction.commit()
        self._account_misfits(misfits)
        self.batch.close_part(part, {}, tried=len(part), is_rolled_back=False)
        self.written.add(descriptor, columns, dict(zip(part, rows, strict=False)))

    def _account_misfits(self, misfits: Mapping[int, SqlError]) -> None:
        for index, error in misfits.items():
            self.batch.account([index], Ending.FAILED, error)

    async def _row_by_row(self, transaction: Transaction, descriptor: Descriptor) -> None:
        """The same part, or what is left of it under another version: stopped, undone, or gone through to its end."""
        part, errors, found, tried = self.part, dict[int, SqlError](), dict[int, Row](), 0
        columns = texts.shown_columns(descriptor, self.request.call.options.get("fields"))
        for index in part:
            tried += 1
            await transaction.savepoint("row")
            try:
                text = self._text(descriptor, [self._given(descriptor, index)])
                for row in await self._write(transaction, text, 1, commit=False):
                    found[index] = row
                await transaction.release("row")
            except SqlError as error:
                if isinstance(error, Retry) or not error.sqlstate.startswith(OF_A_ROW):
                    raise
                await transaction.rollback_to("row")
                errors[index] = kept(error)
                if self.stops or self.undoes:
                    break
        is_undone = bool(errors) and self.undoes
        if is_undone:
            await transaction.rollback()
        else:
            await transaction.commit()
            self.written.add(descriptor, columns, found)
        self.batch.close_part(part, errors, tried=tried, is_rolled_back=is_undone)

    def _text(self, descriptor: Descriptor, some: Sequence[Given]) -> texts.Text:
        options = self.request.call.options
        is_shown = self.verb != "upsert" and not options.get("noreturn")
        shown = texts.shown_columns(descriptor, options.get("fields")) if is_shown else ()
        return texts.insert(descriptor, [one.row for one in some], shown, verb=self.verb, updates=some[0].updates)

    async def _write(self, transaction: Transaction, text: texts.Text, size: int, *, commit: bool) -> list[Row]:
        _, rows, count = await self.request.do(transaction, text, commit=commit)
        assert count == size, f"{count} rows were written, of {size}"
        return rows


def is_of_old_schema(error: SqlError) -> bool:
    """True for a row that another version of its table might take."""
    is_misfit = isinstance(error, RequestError) and error.kind in ("FlattenError", "UnknownFieldError")
    return is_misfit or error.sqlstate == NOT_NULL_VIOLATION


def required_columns(descriptor: Descriptor) -> list[tuple[str, bool]]:
    """The columns that must have a value, and whether one is made for a row that has none."""
    required = {column.id: column for column, _ in rules_of(descriptor).required}
    public = [column for column in descriptor.public_columns if column.id in required]
    return [(c.name, c.default is not None or bool(c.identity)) for c in public]


def refuse_null(descriptor: Descriptor, row: FlatRow, required: Sequence[tuple[str, bool]]) -> None:
    """Raises 23502 for a row that has no value where this version requires one, before any of its batch is sent."""
    for name, is_made in required:
        if row.get(name, "" if is_made else None) is None:
            message = f'null value in column "{name}" of relation "{descriptor.name}" violates not-null constraint'
            raise SqlError(NOT_NULL_VIOLATION, message, table=descriptor.name, column=name)


async def many(request: Request, rows: Any) -> str:
    operation = request.call.operation
    listed = many_rows(rows, shape_of("objects" if operation.is_object else "tuples", operation.name))
    if len(listed) > BATCH_ROWS_MAX:
        raise bad_request(f"a batch of {len(listed)} rows; the limit is {BATCH_ROWS_MAX}")
    batch = Batch(len(listed))
    work = Many(request, request.call.operation.verb, listed, batch)

    async def described(transaction: Transaction, descriptor: Descriptor) -> None:
        work.written.described = descriptor, texts.shown_columns(descriptor, request.call.options.get("fields"))
        await transaction.commit()

    if not listed:
        await request.within_time(request.attempt(described, is_read_only=True))
    await work.run()
    failed = (plain_json({"index": i} | error_json(batch.outcomes[i].error, request.table, request.version))
              for i in batch.indices(Ending.FAILED))  # fmt: skip
    return result_json(
        work.written.metadata(),
        None if request.call.options.get("noreturn") else await in_turns(work.written.listed()),
        done=plain_json(batch.indices(Ending.DONE)),
        failed=f"[{', '.join(await in_turns(failed))}]",
        rolled_back=plain_json(batch.indices(Ending.ROLLED_BACK)),
        not_performed=plain_json(batch.indices(Ending.NOT_PERFORMED)),
    )


def kept(error: SqlError) -> SqlError:
    """The error of a row without the frames it came through: ten thousand of those hold up the garbage collector."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)


async def in_turns(texts: Iterable[str]) -> list[str]:
    """Texts that are made one after the other; others have their turn between them."""
    found, turns = list[str](), Turns()
    for text in texts:
        found.append(text)
        await turns.give()
    return found
