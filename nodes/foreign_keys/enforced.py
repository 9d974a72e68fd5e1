"""Foreign keys as a statement meets them: which other tables it asks, and what it asks them.

    trips (code) -> airports (code)

    insert, update of code    on trips       airports must have what new and changed rows refer to
    delete, update of code    on airports    no row of trips may refer to what is gone

The others are used as the statement's own table is: leased, entered, at one version (T1, T2). They are found by id, so
a rename meanwhile is harmless (L12). A table without foreign keys asks nobody. What is asked says `storage.references`:
its demands, with the tables they stand between, are *claims*, and `nodes.foreign_keys.checks` brings them to the store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, PRIMARY, ColumnId, Constraint, TableId
from leases.rules import NotLeasable
from nodes.context import Environment
from nodes.execution.row_codec import stored
from nodes.execution.write_context import Values, Writing, Written
from nodes.foreign_keys.violations import Claim
from nodes.sql.planner import DeletePlan, InsertPlan, Plan, TruncatePlan, UpdatePlan
from nodes.store.transaction import Retry, Transaction
from storage import references
from storage.pairs import StoredRow


@dataclass(frozen=True, slots=True)
class Bonds:
    """The foreign keys that a statement must obey: as rows refer (`parents`), as rows are referred to (`children`)."""

    parents: tuple[Constraint, ...] = ()
    children: tuple[Constraint, ...] = ()

    @property
    def tables(self) -> set[TableId]:
        return {c.references for c in (*self.parents, *self.children) if c.references is not None}


FREE = Bonds()


def bonds_of(plan: Plan) -> Bonds:
    """What a statement must obey, by what it does and which columns it assigns."""
    match plan:
        case InsertPlan():
            known = plan.descriptor.fact(_enforced)
            if known is FREE or plan.conflict is None or not plan.conflict.assignments:
                return known if known is FREE else Bonds(known.parents)
            return Bonds(known.parents, _touched(known.children, plan.conflict.assignments))
        case UpdatePlan():
            known = plan.descriptor.fact(_enforced)
            if known is FREE:
                return FREE
            return Bonds(_touched(known.parents, plan.assignments), _touched(known.children, plan.assignments))
        case DeletePlan():
            known = plan.descriptor.fact(_enforced)
            return known if known is FREE else Bonds((), known.children)
        case TruncatePlan():
            return Bonds((), tuple(c for d in plan.descriptors for c in d.fact(_enforced).children))
    return FREE


def _enforced(descriptor: Descriptor) -> Bonds:
    parents = references.enforced(descriptor.foreign_keys)
    children = references.enforced(descriptor.referenced_by)
    return Bonds(parents, children) if parents or children else FREE


def _touched(constraints: Sequence[Constraint], assigned: Mapping[ColumnId, object]) -> tuple[Constraint, ...]:
    return tuple(c for c in constraints if not set(c.columns).isdisjoint(assigned))


async def pin_others(env: Environment, transaction: Transaction, plan: Plan, *, fresh: bool) -> None:
    """Have the transaction use the other tables that the statement asks. Raises `Retry` when one of them is gone."""
    for table_id in sorted(bonds_of(plan).tables):
        try:
            await env.pin(transaction, table_id, fresh=fresh)
        except NotLeasable as refusal:
            raise Retry(f"the schema moved on: {refusal}", stale=True) from refusal


# -- what is asked


def claims_of(work: Writing, bonds: Bonds, written: Sequence[Written]) -> list[Claim]:
    """What is to be asked after these rows are written."""
    changed = [(old, None if new is None else _row_after(work.descriptor, old, new)) for old, new in written]
    owed = references.demands(work.descriptor, changed, (*bonds.parents, *bonds.children))
    others = {
        one.id: _other(work, one) for one in {demand.constraint.id: demand.constraint for demand in owed}.values()
    }
    return [Claim(demand, work.descriptor, others[demand.constraint.id]) for demand in owed]


def _row_after(descriptor: Descriptor, old: StoredRow | None, values: Values) -> StoredRow:
    new = stored(descriptor, values)
    return new if old is None else StoredRow(new.key, {**old.columns, **new.columns})


def _other(work: Writing, constraint: Constraint) -> Descriptor:
    """The other table of a foreign key, in a version that can be asked. Raises `Retry`.

    A version without the columns, or the index, is too far from the foreign key's own to be used beside it (L9, L11):
    it can't see what newer ones write, and that it finds nothing says nothing.
    """
    assert constraint.references is not None, constraint
    other = work.other(constraint.references)
    columns, indexes = {column.id for column in other.columns}, {PRIMARY, *(index.id for index in other.indexes)}
    refers_by = constraint.index if constraint.rule == FOREIGN_KEY else PRIMARY
    if refers_by not in indexes or not columns.issuperset(constraint.reference_columns):
        what = f"{work.descriptor} has foreign key {constraint.name}, and {other} lacks what it needs"
        raise Retry(f"the schema moved on: {what}", stale=True)
    return other
