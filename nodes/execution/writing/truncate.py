"""TRUNCATE: row by row in bounded transactions (R9), the tables that refer to others first. Each transaction finds the
tables before the one it works on empty, or empties them. So when a table that is referred to loses rows, none refers to
them. One transaction empties a table that refers to itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError, unsupported
from expressions.typed import Context
from nodes.context import Environment
from nodes.execution.held_rows import PAIRS_BYTES_MAX, HeldRows
from nodes.execution.writing.write_context import Writing
from nodes.foreign_keys.enforced import enforced_by
from nodes.sql.plans import TruncatePlan
from nodes.sql.writes.row_rules import moving_state
from nodes.store.pipeline import Command
from nodes.store.transaction import Transaction
from storage.statements import kv

ROWS = 500
PART_PAIRS_BYTES = PAIRS_BYTES_MAX // 4
LOCK_WAIT_MS = 250
"""How long other writers of the tables are waited for, in all; those that come meanwhile wait behind."""
IDLE_S = 5
"""A node that stands still under these locks keeps writers out no longer than that, whatever its lease."""


@dataclass(eq=False)
class Emptying:
    """One TRUNCATE, transaction by transaction. Beside writers that never pause, each transaction could meet one of
    them. So once one did, the next ones write alone: they lock the tables before the snapshot is made."""

    is_alone: bool = False

    async def some(self, env: Environment, transaction: Transaction, plan: TruncatePlan) -> bool:
        """Delete some rows in a transaction of their own. False: it has found all tables empty, or emptied them."""
        refuse_referenced(transaction, plan)
        is_alone = self.is_alone
        if is_alone and transaction.connection is None:
            transaction.first_locks = exclusion_of(env, plan)
        self.is_alone = not is_alone  # for the next try, if this one fails: a lock may not be had, either
        is_whole = await _delete_some(env, transaction, plan)
        self.is_alone = is_alone
        return not is_whole


def exclusion_of(env: Environment, plan: TruncatePlan) -> list[Command]:
    """The commands by which a transaction is the only one that writes these tables. None of them makes a snapshot. The
    wait is for each lock, so it is divided among them."""
    tables = [
        kv(storage, d.table_id)
        for d in sorted(plan.descriptors, key=lambda d: d.table_id)
        for storage in range(1, d.storage_count(env.storages) + 1)
    ]
    return [
        Command(f"SET LOCAL idle_in_transaction_session_timeout = {round(1000 * IDLE_S)}"),
        Command(f"SET LOCAL lock_timeout = {max(1, LOCK_WAIT_MS // len(tables))}"),
        Command(f"LOCK TABLE {', '.join(tables)} IN SHARE ROW EXCLUSIVE MODE"),
        Command("SET LOCAL lock_timeout TO DEFAULT"),
    ]


async def _delete_some(env: Environment, transaction: Transaction, plan: TruncatePlan) -> bool:
    works, left = [], ROWS
    with HeldRows(env.rows) as held:
        for descriptor in referring_first(plan.descriptors):
            work = Writing(env, transaction, descriptor, Context(), held)
            left -= await _deleted(work, left)
            works += [work] if work.ops else []
            if left <= 0:
                break
        for work in works:
            await work.writer.write(work.ops, commit=work is works[-1])
    if not works:
        await transaction.commit()
    return left > 0


async def truncate_within(env: Environment, transaction: Transaction, plan: TruncatePlan) -> None:
    """Delete all rows in a transaction that goes on, as it may be rolled back. Raises 54000 for too many."""
    refuse_referenced(transaction, plan)
    for descriptor in referring_first(plan.descriptors):
        with HeldRows(env.rows) as held:
            work = Writing(env, transaction, descriptor, Context(), held)
            async for rows in work.all_rows("TRUNCATE inside a transaction"):
                for row in rows:
                    work.delete(row)
                    await work.turns.give()
            if work.ops:
                await work.writer.write(work.ops)


def refuse_referenced(transaction: Transaction, plan: TruncatePlan) -> None:
    """Raises 0A000, as PostgreSQL does, when a table that stays as it is refers to one of these."""
    emptied = {descriptor.table_id for descriptor in plan.descriptors}
    for constraint in enforced_by(plan).children:
        if constraint.references is None or constraint.references in emptied:
            continue
        child = transaction.own.get(constraint.references) or transaction.pins[constraint.references].descriptor
        assert isinstance(child, Descriptor)
        table = next(d.name for d in plan.descriptors if constraint in d.referenced_by)
        raise SqlError(
            FEATURE_NOT_SUPPORTED,
            f"cannot truncate a table referenced in a foreign key constraint{moving_state(constraint.state)}",
            detail=f'Table "{child.name}" references "{table}".',
            hint=f'Truncate table "{child.name}" at the same time.',
        )


def referring_first(descriptors: Sequence[Descriptor]) -> list[Descriptor]:
    """The tables in an order in which each comes before those it refers to. Raises 0A000 when there is none. Either
    table may say so: a version of the other one may not have the foreign key yet, or any more."""
    left = {descriptor.table_id: descriptor for descriptor in descriptors}
    ordered: list[Descriptor] = []
    while left:
        free = [d for d in left.values() if not any(_refers(other, d) for other in left.values())]
        if not free:
            names = ", ".join(sorted(d.name for d in left.values()))
            raise unsupported(f"TRUNCATE of tables that refer to each other in a circle ({names})")
        ordered += free
        left = {table_id: d for table_id, d in left.items() if d not in free}
    return ordered


def _refers(one: Descriptor, other: Descriptor) -> bool:
    if one.table_id == other.table_id:
        return False
    is_known_here = any(c.references == other.table_id for c in one.foreign_keys)
    return is_known_here or any(c.references == one.table_id for c in other.referenced_by)


async def _deleted(work: Writing, rows_max: int) -> int:
    """Delete so many rows, or all of a table that refers to itself; how many. Rows of a wide table count for more."""
    descriptor = work.descriptor
    is_whole = any(c.references == descriptor.table_id for c in descriptor.foreign_keys)
    count = 0
    async for rows in work.all_rows("TRUNCATE of a table that refers to itself"):
        some = rows if is_whole else rows[: rows_max - count]
        for row in some:
            work.delete(row)
        count += len(some)
        if work.held.pairs >= PART_PAIRS_BYTES and not is_whole:
            return rows_max
        if count >= rows_max and not is_whole:
            break
    return count
