"""TRUNCATE: row by row in bounded transactions (R9), the tables that refer to others first.

Each transaction finds the tables before the one it works on empty. So when a table that is referred to loses rows, none
refers to them, and nothing has to be asked. A table that refers to itself is emptied by one transaction.
"""

from collections.abc import Sequence

from catalog.descriptor import Descriptor
from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError, unsupported
from expressions.typed import Context
from nodes.context import Environment
from nodes.execution.held_rows import HeldRows
from nodes.execution.writing.write_context import Writing
from nodes.foreign_keys.enforced import enforced_by
from nodes.sql.plans import TruncatePlan
from nodes.sql.writes.row_rules import moving_state
from nodes.store.transaction import Transaction

ROWS = 500


async def truncate_some(env: Environment, transaction: Transaction, plan: TruncatePlan) -> int:
    """Delete some rows in a transaction of their own; how many. Zero: all tables are empty."""
    refuse_referenced(transaction, plan)
    for descriptor in referring_first(plan.descriptors):
        work = Writing(env, transaction, descriptor, Context(), HeldRows(env.rows))
        count = await _delete_some(work)
        if count:
            await work.writer.write(work.ops, commit=True)
            return count
    await transaction.commit()
    return 0


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
    """The tables in an order in which each comes before those it refers to. Raises 0A000 when there is none.

    Either table may say so: a version of the other one may not have the foreign key yet, or any more.
    """
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
    """True if rows of a table may refer to those of another one, as either of them knows."""
    if one.table_id == other.table_id:
        return False
    is_known_here = any(c.references == other.table_id for c in one.foreign_keys)
    return is_known_here or any(c.references == one.table_id for c in other.referenced_by)


async def _delete_some(work: Writing) -> int:
    """Delete some rows, or all of a table that refers to itself; how many."""
    descriptor = work.descriptor
    is_whole = any(c.references == descriptor.table_id for c in descriptor.foreign_keys)
    count = 0
    async for rows in work.all_rows("TRUNCATE of a table that refers to itself"):
        some = rows if is_whole else rows[: ROWS - count]
        for row in some:
            work.delete(row)
        count += len(some)
        if count >= ROWS and not is_whole:
            break
    return count
