"""One statement that writes: its table at one version, its transaction, and the pairs that its rows become."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, TableId
from expressions.errors import PROGRAM_LIMIT, SqlError
from expressions.typed import Context, PyValue
from nodes.context import Environment
from nodes.execution.fairness import Turns, are_long
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.pages import Table
from nodes.execution.row_codec import encoded, is_long, refuse_long, stored
from nodes.execution.scans import stored_rows
from nodes.execution.writing.answering import ROWS_AT_ONCE, Answering
from nodes.execution.writing.computing import Computing
from nodes.execution.writing.writer import Writer
from nodes.foreign_keys.enforced import NO_FOREIGN_KEYS, ForeignKeys
from nodes.sql.conditions.access_paths import access
from nodes.sql.writes.row_rules import Rules
from nodes.sql.writes.row_texts import NO_TEXTS, Text, Texts
from nodes.store.transaction import Transaction
from storage import encoding
from storage.integrity.references import Change
from storage.mutations import Op, delete_row, insert_row, update_row
from storage.pairs import CannotDerive, StoredRow

ROWS_MAX = 200_000
"""Rows one statement may change: their operations are held until all old entries are removed."""

ANSWER_BYTES = 256
"""Bytes of a question and its answer beside the row's own, roughly."""

Values = dict[ColumnId, PyValue]


@dataclass(eq=False, slots=True)
class Writing:
    """One statement that writes, on one table in one transaction: its rows, encoded once, and what becomes of them."""

    env: Environment
    transaction: Transaction
    descriptor: Descriptor
    context: Context
    held: HeldRows
    foreign_keys: ForeignKeys = NO_FOREIGN_KEYS
    computing: Computing | None = None
    turns: Turns = field(default_factory=Turns)
    ops: list[Op] = field(default_factory=list)
    changed: list[Change] = field(default_factory=list)
    """The rows before and after, for foreign keys; without any nobody asks."""
    answering: Answering = field(init=False)

    def __post_init__(self) -> None:
        self.answering = Answering(self.transaction, self.descriptor)

    @property
    def texts(self) -> Texts:
        return NO_TEXTS if self.computing is None else self.computing.texts

    @property
    def asks(self) -> Computing:
        assert self.computing is not None, "a statement that asks something"
        return self.computing

    @property
    def table(self) -> Table:
        return self.env.table(self.descriptor)

    @property
    def writer(self) -> Writer:
        return Writer(self.transaction, self.descriptor, self.env.storages, self.env.buckets)

    async def asked(self, text: Text, what: str) -> AsyncIterator[list[PyValue]]:
        """The rows of a query, which count as held. Raises 54000 when `what` is about too many."""
        count = 0
        async for rows in self.asks.answers(self.transaction, self.context, text):
            count += len(rows)
            if count > ROWS_MAX:
                raise too_many(what)
            for row in rows:
                self.held.take(bytes_of(row))
                yield row
                await self.turns.give()

    async def foresee(
        self,
        new: Iterable[Values] = (),
        *,
        changes: Iterable[tuple[StoredRow, Values, Values]] = (),
        removed: Iterable[StoredRow] = (),
    ) -> None:
        """Have the answers for many rows at once: new ones, changed ones with what is assigned, removed ones."""
        if not self.answering.is_needed:
            return
        rows: Iterator[tuple[StoredRow | None, StoredRow | None]] = chain(
            ((None, stored(self.descriptor, values)) for values in new),
            ((old, self._changed(old, assigned, after)) for old, assigned, after in changes),
            ((old, None) for old in removed),
        )
        answers = self.answering.answers
        while some := list(islice(rows, ROWS_AT_ONCE)):
            before = len(answers)
            await self.answering.foresee([old for old, _ in some if old], [new for _, new in some if new])
            self.held.take(ANSWER_BYTES * (len(answers) - before))

    def encoded(self, values: Values) -> StoredRow:
        """A new row's bytes. Raises 54000."""
        refuse_long(self.descriptor, values)
        return stored(self.descriptor, values)

    async def put(self, values: Values) -> None:
        """Put a new row; a long one is encoded beside the event loop."""
        await self.answering.act(lambda: self.insert(self.encoded(values)), beside=are_long(values.values()))
        await self.turns.give()

    async def refuse(self, rules: Rules, values: Values) -> None:
        """Raises 23502 or 23514 for a row that breaks a constraint."""
        refuse = partial(rules.refuse, values, self.answering.answers)
        await self.answering.act(refuse, beside=are_long(values.values()))
        await self.turns.give()

    async def change(self, rules: Rules, old: StoredRow, assigned: Values, after: Values) -> None:
        """Give a row its new values; a long one is checked and encoded beside the event loop. Raises 23502 or 23514."""

        def change() -> None:
            rules.refuse(after, self.answering.answers)
            self.update(old, assigned, after)

        await self.answering.act(change, beside=is_long(old) or are_long(after.values()))
        await self.turns.give()

    async def remove(self, old: StoredRow) -> None:
        await self.answering.act(lambda: self.delete(old), beside=is_long(old))
        await self.turns.give()

    def insert(self, row: StoredRow) -> None:
        row = self._answered(row)
        try:
            self._do(None, row, insert_row(self.descriptor, row, self.env.buckets))
        except CannotDerive as error:
            raise no_value(self.descriptor, error) from error

    def update(self, old: StoredRow, assigned: Values, after: Mapping[ColumnId, PyValue]) -> None:
        descriptor = self.descriptor
        refuse_long(descriptor, assigned)
        new = self._changed(old, assigned, after)
        columns = {c: new.columns[c] for c in assigned if c not in descriptor.primary_key}
        try:
            ops = update_row(descriptor, self._answered(old), columns, new.key, self.env.buckets)
        except CannotDerive as error:
            raise no_value(descriptor, error) from error
        self._do(old, new, ops)

    def _changed(self, old: StoredRow, assigned: Values, after: Mapping[ColumnId, PyValue]) -> StoredRow:
        descriptor, key = self.descriptor, old.key
        if not set(assigned).isdisjoint(descriptor.primary_key):
            key = b"".join(encoding.encode(c.type, after[c.id]) for c in descriptor.key_columns)
        columns = encoded(descriptor, {c: v for c, v in assigned.items() if c not in descriptor.primary_key})
        return old._replace(key=key, columns={**old.columns, **columns})

    def delete(self, old: StoredRow) -> None:
        self._do(old, None, delete_row(self.descriptor, self._answered(old), self.env.buckets))

    def _answered(self, row: StoredRow) -> StoredRow:
        return row._replace(answers=self.answering.answers)

    def _do(self, old: StoredRow | None, new: StoredRow | None, ops: Sequence[Op]) -> None:
        self.held.take_pairs(ops)
        self.ops += ops
        if self.foreign_keys:
            if new is not None:
                self.held.take_copy(new)
            self.changed.append((old, new))

    async def all_rows(self, what: str) -> AsyncIterator[list[StoredRow]]:
        """The rows of the table, some at a time. Raises 54000 when `what` is done to too many."""
        way = access(self.descriptor, (), Context(), storages=self.env.storages, buckets=self.env.buckets)
        count = 0
        async for rows in stored_rows(self.transaction, self.table, way):
            count += len(rows)
            if count > ROWS_MAX:
                raise too_many(what)
            yield rows

    def other(self, table_id: TableId) -> Descriptor:
        if table_id == self.descriptor.table_id:
            return self.descriptor
        own = self.transaction.own.get(table_id)
        descriptor = own or self.transaction.pins[table_id].descriptor
        assert isinstance(descriptor, Descriptor)
        return descriptor


def no_value(descriptor: Descriptor, error: CannotDerive) -> SqlError:
    """A row for which an expression of the schema has no value: an index's condition, or a column's other type."""
    twin = next((c for c in descriptor.columns if c.derived and error.what == f"column {c.name}"), None)
    detail = None
    if twin is not None and twin.derived is not None:
        source = descriptor.column(twin.derived.source)
        detail = (
            f'The type of column "{source.name}" is being changed: until that is done,'
            f" a value must be one of both types, {source.type_name} and {twin.type_name}."
        )
    return SqlError(error.sqlstate, str(error), detail=detail, table=descriptor.name)


def too_many(what: str) -> SqlError:
    message = f"one {what} may change at most {ROWS_MAX} rows"
    return SqlError(PROGRAM_LIMIT, message, hint="do it in parts, by ranges of the primary key")
