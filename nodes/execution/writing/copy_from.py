"""COPY FROM STDIN: the rows that a client sends, written some at a time by one transaction.

    data    piece by piece, none is asked for before the last one's rows are written
    rows    as many at a time as make one round trip to the store: numbers, defaults, NOT NULL, CHECK, keys
    end     references to rows of the same table, which may have come later

Nothing counts before COMMIT: what fails leaves nothing, wherever it does. Memory is bounded by one part, time and what
a rollback leaves behind by `OPERATIONS_MAX`: a transaction holds back schema changes, and ends with its lease.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from expressions.errors import PROGRAM_LIMIT, SqlError
from expressions.typed import Context, evaluate
from nodes.clients.portals import CopyData
from nodes.context import Environment
from nodes.copy.incoming import Incoming, Row
from nodes.execution.fairness import LARGE_CHARS, in_thread
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.writing.computing import Computing
from nodes.execution.writing.inserted_rows import complete
from nodes.execution.writing.write_context import Writing
from nodes.execution.writing.writer import OPS_A_BATCH, Duplicate, duplicate
from nodes.foreign_keys.checks import still_violated, write_part
from nodes.foreign_keys.enforced import enforced_by
from nodes.foreign_keys.probes import first_refusal
from nodes.foreign_keys.violations import Check
from nodes.sql.plans import InsertPlan
from nodes.store.transaction import Transaction
from nodes.wire.results import Result
from storage.integrity.references import Values as KeyValues

OPERATIONS_MAX = 20_000_000
"""Pairs that one COPY may put: of a row one for its existence, one for each column, one for each index."""
PART_BYTES_MAX = 2**22
END: Final = object()
MISSING_MAX = 100_000
"""References to rows of the same table that have not come yet."""


async def copy_from(
    env: Environment,
    transaction: Transaction,
    plan: InsertPlan,
    context: Context,
    data: CopyData,
    notice: Callable[[str], None],
    computing: Computing,
) -> Result:
    """All rows of the data, in a transaction that is open. Raises what INSERT raises, with the line."""
    assert plan.copy is not None
    with HeldRows(env.rows) as held:
        notices: list[str] = []
        incoming = Incoming(plan.copy, context.style, context.now, notices.append)
        copying = Copying(env, transaction, plan, context, held, incoming, computing)
        await data.begin(len(plan.columns), is_binary=plan.copy.options.is_binary)
        async for piece in data.pieces():
            await copying.take_all(incoming.rows(piece))
            send_all(notices, notice)
        await copying.take_all(incoming.end())
        await copying.finish()
        send_all(notices, notice)
        return Result(f"COPY {copying.rows}", has_written=True)


def send_all(notices: list[str], notice: Callable[[str], None]) -> None:
    """Send what has been gathered: a long row is taken apart in a thread, which must not write to a client."""
    for text in notices:
        notice(text)
    notices.clear()


@dataclass(eq=False)
class Copying:
    """One COPY FROM as far as it has come."""

    env: Environment
    transaction: Transaction
    plan: InsertPlan
    context: Context
    held: HeldRows
    incoming: Incoming
    computing: Computing
    rows: int = 0
    operations: int = 0
    _pending: int = 0
    _part: list[Row] = field(default_factory=list)
    _missing: dict[tuple[int, KeyValues], Check] = field(default_factory=dict)

    def __post_init__(self) -> None:
        descriptor = self.plan.descriptor
        self._rows_max = max(1, OPS_A_BATCH // (1 + len(descriptor.columns) + len(descriptor.indexes)))
        self._work = self._writing()
        self._where = None if self.plan.copy is None else self.plan.copy.where

    def _writing(self) -> Writing:
        return Writing(
            self.env,
            self.transaction,
            self.plan.descriptor,
            self.context,
            self.held,
            enforced_by(self.plan),
            self.computing,
        )

    async def take_all(self, rows: Iterator[Row | None]) -> None:
        """The rows that have come; a long one is taken apart beside the event loop."""
        while True:
            if self.incoming.pending > LARGE_CHARS:
                row = await in_thread(lambda: next(rows, END))
            else:
                row = next(rows, END)
            if row is END:
                break
            if row is not None:
                await self._take(row)
            await self._work.turns.give()
        self._hold_pending(2 * self.incoming.pending)
        await self._work.turns.give()

    def _hold_pending(self, size: int) -> None:
        """Count what has come of a row that has not ended."""
        self.held.take(size - self._pending)
        self._pending = size

    async def _take(self, row: Row) -> None:
        self.held.take(bytes_of(row.values.values()))
        self._part.append(row)
        if len(self._part) >= self._rows_max or self.held.held - self._pending >= PART_BYTES_MAX:
            await self._write()

    async def finish(self) -> None:
        """No row comes any more. Raises 23503 when a row refers to one that has not come."""
        await self._write()
        if self._missing:
            missing = await still_violated(self._work, list(self._missing.values()))
            if missing:
                raise first_refusal(missing)

    async def _write(self) -> None:
        """Write the rows that have been gathered."""
        part, self._part = self._part, []
        if not part:
            return
        work, rules = self._writing(), self.plan.rules
        await complete(work, self.plan, [row.values for row in part])
        part = await self._kept(part)
        await work.foresee(row.values for row in part)
        ends: list[int] = []
        for row in part:
            try:
                await work.refuse(rules, row.values)
                await work.put(row.values)
            except SqlError as error:
                error.where = self.incoming.where(row.number, row.line)
                raise
            ends.append(len(work.ops))
        self._count(len(work.ops))
        try:
            violated = await write_part(work)
        except Duplicate as error:
            raise self._of_first_row(error, work, part, ends) from None
        self._note_missing(violated)
        self.rows += len(part)
        self.held.give(self.held.held - self._pending)
        self.held.give_pairs()

    async def _kept(self, part: list[Row]) -> list[Row]:
        """The rows that WHERE accepts."""
        text = self.computing.texts.kept
        if text is None:
            where = self._where
            return part if where is None else [r for r in part if evaluate(where, r.values, self.context) is True]
        answers: list[bool] = []
        async for some in self.computing.of_rows(self.transaction, self.context, text, [row.values for row in part]):
            answers += [is_kept is True for (is_kept,) in some]
        return [row for row, is_kept in zip(part, answers, strict=True) if is_kept]

    def _count(self, operations: int) -> None:
        self.operations += operations
        if self.operations > OPERATIONS_MAX:
            message = f"one COPY may put at most {OPERATIONS_MAX} values, rows and index entries"
            hint = "copy in parts, or use `manage.py load`, which loads in bounded transactions"
            raise SqlError(PROGRAM_LIMIT, message, hint=hint)

    def _of_first_row(self, error: Duplicate, work: Writing, part: list[Row], ends: list[int]) -> SqlError:
        """The error of the first row whose key was there, with its line.

        A key that comes twice among these rows, and was refused once, is the second row's.
        """
        refused = {key: error.keys.count(key) for key in set(error.keys)}
        given = {key: sum(op.key == key for op in work.ops) for key in refused}
        seen = dict.fromkeys(refused, 0)
        begin = 0
        for row, end in zip(part, ends, strict=True):
            for op in work.ops[begin:end]:
                if op.key in refused:
                    seen[op.key] += 1
                    if seen[op.key] > given[op.key] - refused[op.key]:
                        found = duplicate(self.plan.descriptor, op.key)
                        found.where = self.incoming.where(row.number)
                        return found
            begin = end
        return error

    def _note_missing(self, violated: list[Check]) -> None:
        """Rows of the same table may still come; others not."""
        final = [check for check in violated if check.other.table_id != check.descriptor.table_id]
        if final:
            raise first_refusal(final)
        for check in violated:
            self._missing.setdefault((check.constraint.id, check.values), check)
        if len(self._missing) > MISSING_MAX:
            message = f"more than {MISSING_MAX} rows refer to rows of the same table that have not come yet"
            raise SqlError(
                PROGRAM_LIMIT, message, hint="sort the data so that a row comes before those that refer to it"
            )
