"""COPY FROM STDIN: the rows that PostgreSQL reads in a client's data (`nodes.store.staging`), in one transaction.

No data is asked for before the last was sent on. References to rows of the same table are checked at the end, as those
may come later. Memory is bounded by one part, time and what a rollback leaves behind by `OPERATIONS_MAX`: a transaction
holds back schema changes, and ends with its lease.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from expressions.errors import PROGRAM_LIMIT, SqlError
from expressions.limits import TOO_LONG, VALUE_BYTES_MAX
from expressions.sqltypes import BYTEA, OF_SQL_TYPE, TEXT
from expressions.typed import Context
from nodes.clients.portals import CopyData
from nodes.context import Environment
from nodes.copy.staging import CopyIn
from nodes.execution.fairness import LARGE_CHARS, in_thread
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.in_place import FIXED
from nodes.execution.writing.computing import Computing, reader_of
from nodes.execution.writing.inserted_rows import complete
from nodes.execution.writing.write_context import Values, Writing
from nodes.execution.writing.writer import OPS_A_BATCH, Duplicate, duplicate
from nodes.foreign_keys.checks import still_violated, write_part
from nodes.foreign_keys.enforced import enforced_by
from nodes.foreign_keys.probes import first_refusal
from nodes.foreign_keys.violations import Check
from nodes.sql.plans import InsertPlan
from nodes.sql.writes.row_texts import WHERE, Text, Texts
from nodes.store import reader
from nodes.store.pipeline import CopyInCommand
from nodes.store.relay import CHUNK_ROWS, CHUNK_ROWS_OF_NUMBERS, Relay, Row
from nodes.store.staging import bounded, staged
from nodes.store.transaction import Transaction
from nodes.wire.results import Result
from storage.integrity.references import Values as KeyValues

OPERATIONS_MAX = 20_000_000
"""Pairs that one COPY may put: of a row one for its existence, one for each column, one for each index."""
PART_BYTES_MAX = 2**22
MISSING_MAX = 100_000
"""References to rows of the same table that have not come yet."""
NOTICES_MAX = 1000
"""Notices about rows that are left out: a client that sends many may not read meanwhile. They come once, however often
the COPY is tried."""


async def copy_from(
    env: Environment,
    transaction: Transaction,
    plan: InsertPlan,
    context: Context,
    data: CopyData,
    notice: Callable[[str], None],
    computing: Computing,
) -> Result:
    """All rows of the data, in an open transaction. Raises what PostgreSQL says of a line, or INSERT of a row."""
    copy = plan.copy
    assert copy is not None
    with HeldRows(env.rows) as held:
        copying = Copying(env, transaction, plan, copy, context, held, computing)
        async with aclosing(_staged(copying, data, notice)) as parts:
            async for rows in parts:
                await copying.take(rows)
        await copying.finish()
        return Result(f"COPY {copying.rows}", has_written=True)


def _staged(copying: "Copying", data: CopyData, notice: Callable[[str], None]) -> AsyncGenerator[Sequence[Row]]:
    """The rows that PostgreSQL reads in the data, under the client's settings and as the reader role."""
    copy, computing, transaction = copying.copy, copying.computing, copying.transaction
    moment = f"'{transaction.started_at.isoformat()}'::pg_catalog.timestamptz"

    def words(text: Text) -> str:
        return text.place.filled({use.scan.number: "" for use in text.place.uses}, moment).text

    texts: Texts = computing.texts
    defaults = {c.id: words(texts.defaults[c.id]).removeprefix("SELECT ") for c in copy.read if c.id in texts.defaults}
    where = "" if texts.kept is None else f" WHERE ({words(texts.kept).partition(WHERE)[2]}"
    left = 0 if data.has_begun else NOTICES_MAX

    def report(text: str) -> None:
        nonlocal left
        left -= 1
        if left >= 0:
            notice(text)

    relay = Relay(copying.chunk_rows)

    async def pieces(is_binary: bool) -> AsyncGenerator[bytes]:
        await data.begin(copy.descriptor.table_id, [column.id for column in copy.columns], is_binary=is_binary)
        async for piece in bounded(data.pieces(), relay, has_lines=not is_binary):
            yield piece

    sql, start = copy.text.text + where, computing.portal.statement.start

    def offset_of(position: int) -> int:
        return int(start + copy.text.origin(len(sql[: position - 1].encode())))

    user, before = "" if transaction.by is None else transaction.by.user, reader.before(computing.style, scans=True)
    command = CopyInCommand(sql, data=pieces, notice=report, offset_of=offset_of)
    pool, create_sql = copying.env.staging_pool, copy.create_sql(defaults)
    return staged(pool, user, before, create_sql, command, copy.read_sql, relay)


@dataclass(eq=False)
class Copying:
    env: Environment
    transaction: Transaction
    plan: InsertPlan
    copy: CopyIn
    context: Context
    held: HeldRows
    computing: Computing
    rows: int = 0
    operations: int = 0
    _line: int = 0
    _part: list[tuple[Values, int]] = field(default_factory=list)
    _missing: dict[tuple[int, KeyValues], Check] = field(default_factory=dict)

    def __post_init__(self) -> None:
        descriptor = self.plan.descriptor
        self._rows_max = max(1, OPS_A_BATCH // (1 + len(descriptor.columns) + len(descriptor.indexes)))
        self._work = self._writing()
        self._line = self.copy.header
        types = [OF_SQL_TYPE[column.type] for column in self.copy.read]
        self._readers = [reader_of(of) for of in types]
        self._bytes = [place for place, of in enumerate(types) if of is BYTEA]
        self._texts = [place for place, of in enumerate(types) if of.category == TEXT.category and self.copy.is_csv]
        self.chunk_rows = CHUNK_ROWS_OF_NUMBERS if FIXED.issuperset(of.oid for of in types) else CHUNK_ROWS

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

    async def take(self, rows: Sequence[Row]) -> None:
        for row in rows:
            read = partial(self._values, row)
            is_long = sum(len(cell) for cell in row if cell is not None) > LARGE_CHARS
            self._line += 1
            try:
                values = await in_thread(read) if is_long else read()
            except SqlError as error:
                error.where = self._where(self._line)
                raise
            self._part.append((values, self._line))
            if self._line > 1:  # PostgreSQL counts line ends in quotes once it has seen one outside
                self._line += sum((row[place] or b"").count(b"\n") for place in self._texts)
            self.held.take(bytes_of(values.values()))
            if len(self._part) >= self._rows_max or self.held.held >= PART_BYTES_MAX:
                await self._write()
            await self._work.turns.give()

    def _values(self, row: Row) -> Values:
        """The values of a row; an identity column that has none is left to be numbered. Raises 54000 for long bytes."""
        if any(len(row[place] or b"") > VALUE_BYTES_MAX for place in self._bytes):
            raise SqlError(PROGRAM_LIMIT, TOO_LONG)
        values = zip(self.copy.read, self._readers, row, strict=True)
        return {c.id: None if v is None else read(v) for c, read, v in values if v is not None or not c.identity}

    def _where(self, line: int) -> str:
        return f"COPY {self.copy.descriptor.name}" + (f", line {line}" if self.copy.is_counted else "")

    async def finish(self) -> None:
        """No row comes any more. Raises 23503 when a row refers to one that has not come."""
        await self._write()
        if self._missing:
            missing = await still_violated(self._work, list(self._missing.values()))
            if missing:
                raise first_refusal(missing)

    async def _write(self) -> None:
        part, self._part = self._part, []
        if not part:
            return
        work, rules = self._writing(), self.plan.rules
        is_ruled = bool(rules.required or rules.checks)
        await complete(work, self.plan, [values for values, _ in part])
        await work.foresee(values for values, _ in part)
        ends: list[int] = []
        for values, line in part:
            try:
                if is_ruled:
                    await work.refuse(rules, values)
                await work.put(values)
            except SqlError as error:
                error.where = self._where(line)
                raise
            ends.append(len(work.ops))
        self.operations += len(work.ops)
        if self.operations > OPERATIONS_MAX:
            message = f"one COPY may put at most {OPERATIONS_MAX} values, rows and index entries"
            hint = "copy in parts, or use `manage.py load`, which loads in bounded transactions"
            raise SqlError(PROGRAM_LIMIT, message, hint=hint)
        try:
            violated = await write_part(work)
        except Duplicate as error:
            raise self._of_first_row(error, work, [line for _, line in part], ends) from None
        self._note_missing(violated)
        self.rows += len(part)
        self.held.give(self.held.held)
        self.held.give_pairs()

    def _of_first_row(self, error: Duplicate, work: Writing, lines: list[int], ends: list[int]) -> SqlError:
        """The error of the first row whose key was there, with its line. A key that comes twice among these rows, and
        was refused once, is the second row's."""
        refused = {key: error.keys.count(key) for key in set(error.keys)}
        given = {key: sum(op.key == key for op in work.ops) for key in refused}
        seen = dict.fromkeys(refused, 0)
        begin = 0
        for line, end in zip(lines, ends, strict=True):
            for op in work.ops[begin:end]:
                if op.key in refused:
                    seen[op.key] += 1
                    if seen[op.key] > given[op.key] - refused[op.key]:
                        found = duplicate(self.plan.descriptor, op.key)
                        found.where = self._where(line)
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
