"""A statement's operations on pairs, sent to the store: its removals go first (protocol.md, section 3).

A pair that must be new reports whether it was: either the answer lists the keys that stood in the way, or, when the
statement is its whole transaction, the pipeline batch is made to fail there, so that COMMIT can go along in it. Probes
for foreign keys go last, in the same batch (`nodes.foreign_keys.probes`).
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, ColumnId, Index
from expressions.errors import UNIQUE_VIOLATION, SqlError
from expressions.sqltypes import OF_SQL_TYPE
from expressions.typed import value_text
from nodes.foreign_keys import probes as foreign_key_probes
from nodes.foreign_keys.probes import Probe, first_refusal, violated_by
from nodes.foreign_keys.violations import Check
from nodes.sql.writes.row_rules import moving_state
from nodes.store.pipeline import Command, binary, int8
from nodes.store.refusals import Refused
from nodes.store.transaction import Transaction
from nodes.trace import writes
from storage import encoding, pairs
from storage.browser.lines import READ_BYTES_MAX
from storage.buckets import storage_of
from storage.mutations import REMOVALS, Op, in_order
from storage.statements import Statement, get_starts_sql, lookup, statements_for

OPS_A_BATCH = 4000
ONE_BATCH_OPS = 400
PROBES_A_BATCH = 16


@dataclass(frozen=True, slots=True)
class Writer:
    transaction: Transaction
    descriptor: Descriptor
    storages: int
    buckets: int

    async def write(self, ops: Iterable[Op], probes: Sequence[Probe] = (), *, commit: bool = False) -> None:
        """Do the operations, then the probes. Raises 23505 with the key that was there, 23503, or 40001."""
        trace = self.transaction.trace
        if trace is None:
            await self._write(in_order(ops), probes, commit=commit)
            return
        ordered = in_order(ops)
        places, left_out = writes.places(ordered, self._storage_of, trace.keys_left)
        changes: list[writes.Json] = []
        if places:
            before = await self._stored(places)
            await self._write(ordered, probes, commit=False)
            changes = writes.changes(self.descriptor, places, before, await self._stored(places))
            if commit:
                await self.transaction.commit()
        else:
            await self._write(ordered, probes, commit=commit)
        trace.wrote(changes, operations=len(ordered), keys=len(places), left_out=left_out)

    def _storage_of(self, op: Op) -> int:
        return storage_of(op.bucket, op.storages or self.storages, self.buckets)

    async def _stored(self, places: Sequence[writes.Place]) -> dict[writes.Place, tuple[bytes, bytes] | None]:
        keys: dict[int, list[bytes]] = {}
        for storage, key in places:
            keys.setdefault(storage, []).append(key)
        commands = [
            Command(get_starts_sql(storage, self.descriptor.table_id, READ_BYTES_MAX + 1), binary(*lookup(some)))
            for storage, some in keys.items()
        ]
        found: dict[writes.Place, tuple[bytes, bytes] | None] = {}
        for storage, result in zip(keys, await self.transaction.run(commands), strict=True):
            for i in range(result.ntuples):
                start, digest = result.get_value(i, 1), result.get_value(i, 2)
                is_live = start is not None and digest is not None
                found[storage, result.get_value(i, 0) or b""] = (start, digest) if is_live else None
        return found

    async def _write(self, ordered: Sequence[Op], probes: Sequence[Probe], *, commit: bool) -> None:
        self.transaction.note_written()
        if commit and len(ordered) + sum(len(p.checks) for p in probes) <= ONE_BATCH_OPS:
            await self._write_and_commit(ordered, probes)
            return
        last = max(0, len(ordered) - 1) // OPS_A_BATCH * OPS_A_BATCH
        for place in range(0, last, OPS_A_BATCH):
            await self._write_some(ordered[place : place + OPS_A_BATCH])
        violated: list[Check] = []
        if ordered:
            violated += await self._write_some(ordered[last:], probes[:PROBES_A_BATCH])
        violated += await self.violated(probes[PROBES_A_BATCH:] if ordered else probes)
        if violated:
            raise first_refusal(violated)
        if commit:
            await self.transaction.commit()

    async def violated(self, probes: Sequence[Probe]) -> list[Check]:
        violated: list[Check] = []
        for place in range(0, len(probes), PROBES_A_BATCH):
            some = probes[place : place + PROBES_A_BATCH]
            violated += violated_by(some, await self.transaction.run([p.command for p in some]))
        return violated

    async def _write_some(self, ops: Sequence[Op], probes: Sequence[Probe] = ()) -> list[Check]:
        statements = self._statements(ops)
        results = await self.transaction.run([*(command_of(s) for s in statements), *(p.command for p in probes)])
        self._refuse(
            [
                key
                for statement, result in zip(statements, results, strict=False)
                if statement.returns_keys
                for key in statement.refused(result.get_value(i, 0) or b"" for i in range(result.ntuples))
            ]
        )
        return violated_by(probes, results[len(statements) :])

    async def _write_and_commit(self, ordered: Sequence[Op], probes: Sequence[Probe]) -> None:
        statements = self._statements(ordered)
        writes, has_puts = commands_of(statements)
        checked = [foreign_key_probes.checked_command(probes)] if probes else []
        homes = {s.storage for s in statements}
        only = homes.pop() if len(homes) == 1 and not probes else None
        try:
            returns_xid = has_puts or bool(checked)
            await self.transaction.run([*writes, *checked], commit=True, returns_xid=returns_xid, only=only)
        except Refused as refused:
            if refused.position < len(writes):
                candidates = [key for s in statements if s.returns_keys for key in s.keys]
                if len(candidates) == 1:
                    self._refuse(candidates)
            else:
                checks = {id(check): check for p in probes for check in p.checks.values()}
                if len(checks) == 1:
                    raise first_refusal(checks.values()) from refused
            raise Ambiguous from refused

    def _statements(self, ops: Sequence[Op]) -> list[Statement]:
        return statements_for(ops, self.descriptor.table_id, self.storages, buckets=self.buckets)

    def _refuse(self, keys: Sequence[bytes]) -> None:
        if keys:
            raise Duplicate(self.descriptor, keys)


class Duplicate(SqlError):
    """23505 for the first of these keys: the primary key's comes before those of indexes, the oldest first."""

    def __init__(self, descriptor: Descriptor, keys: Sequence[bytes]) -> None:
        error = duplicate(descriptor, min(keys))
        super().__init__(
            error.sqlstate, error.message, detail=error.detail, table=error.table, constraint=error.constraint
        )
        self.keys = keys


class Ambiguous(Exception):
    """One of several new pairs existed already, or one of several checks is violated; writing again without COMMIT in
    the batch finds which."""


def command_of(statement: Statement) -> Command:
    return Command(statement.sql, binary(*statement.params))


def commands_of(statements: Sequence[Statement]) -> tuple[list[Command], bool]:
    """The commands of one batch, removals first; and whether there are puts: then the last one answers the
    transaction's id."""
    puts = [s for s in statements if s.act not in REMOVALS]
    return [*(command_of(s) for s in statements if s.act in REMOVALS), *put_commands(puts)], bool(puts)


def put_commands(puts: Sequence[Statement]) -> list[Command]:
    """All puts as one command, unless a key comes twice: each checks that all was put that must be new."""
    keys = [key for s in puts for key in s.keys]
    if len(set(keys)) < len(keys):
        return [checked_command([s]) for s in puts]
    return [checked_command(puts)] if puts else []


def checked_command(puts: Sequence[Statement]) -> Command:
    """The puts, failing (22012) unless every key that must be new was put; its answer is the transaction's id."""
    new = tuple(s.returns_keys for s in puts)
    sql = checked_sql(tuple(s.sql for s in puts), new)
    wanted = [int8(len(s.keys)) for s, is_new in zip(puts, new, strict=True) if is_new]
    return Command(sql, (*(p for s in puts for p in binary(*s.params)), *wanted))


@functools.lru_cache(maxsize=500)
def checked_sql(texts: tuple[str, ...], new: tuple[bool, ...]) -> str:
    """Each text as a part p0, p1, .. of one statement, run to its end because its rows are counted."""
    parts = [sql if is_new else f"{sql} RETURNING 1" for sql, is_new in zip(texts, new, strict=True)]
    named = ", ".join(f"p{number} AS ({sql})" for number, sql in enumerate(parts))
    counts = [f"(SELECT count(*) FROM p{number})" for number in range(len(parts))]
    checked = [f"1 / ({c} = %b::bigint)::int" if is_new else c for c, is_new in zip(counts, new, strict=True)]
    done = f"SELECT {' + '.join(checked)} AS done"
    return f"WITH {named} SELECT pg_current_xact_id_if_assigned()::text FROM ({done}) AS d WHERE done >= 0"


def duplicate(descriptor: Descriptor, key: bytes) -> SqlError:
    """23505 for the existing pair: which constraint, which values."""
    _, _, index_id = pairs.PREFIX.unpack_from(key)
    if index_id == PRIMARY:
        name, columns = descriptor.key_name, list(descriptor.primary_key)
        data = key[pairs.PREFIX.size : -pairs.COLUMN.size]
        shown = _shown(descriptor, [(c, False) for c in columns], data)
        state = ""
    else:
        index: Index = descriptor.index(index_id)
        name, columns = index.name, list(index.column_ids)
        if not descriptor.is_home_in_key and index == descriptor.key_guard:
            name = descriptor.key_name  # what it guards
        shown = _shown(descriptor, [(p.column, p.descending) for p in index.columns], key[pairs.PREFIX.size :])
        state = moving_state(index.state)
    names = ", ".join(descriptor.column(c).shown for c in columns)
    return SqlError(
        UNIQUE_VIOLATION,
        f'duplicate key value violates unique constraint "{name}"{state}',
        detail=f"Key ({names})=({shown}) already exists.",
        table=descriptor.name,
        constraint=name,
    )


def _shown(descriptor: Descriptor, columns: Sequence[tuple[ColumnId, bool]], data: bytes) -> str:
    texts, offset = [], 0
    for column_id, descending in columns:
        column = descriptor.column(column_id)
        value, offset = encoding.decode(column.type, data, offset, descending=descending)
        text = value_text(OF_SQL_TYPE[column.type], value)
        texts.append("null" if text is None else text.decode())
    return ", ".join(texts)
