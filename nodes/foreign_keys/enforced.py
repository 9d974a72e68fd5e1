"""The foreign keys that a statement must obey, and the other tables it uses for that: parents when it inserts or
updates the columns that refer, children when it deletes or updates the columns referred to.

The others are used as the statement's own table is: leased, entered, at one version (T1, T2). They are found by id, so
a rename is harmless (L12).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, Constraint, TableId
from leases.rules import NotLeasable
from nodes.context import Environment
from nodes.sql.plans import DeletePlan, InsertPlan, MergePlan, Plan, SeveralPlan, TruncatePlan, UpdatePlan
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from storage.integrity import references


@dataclass(frozen=True, slots=True)
class ForeignKeys:
    """Those that a statement must obey: as its rows refer (`parents`), as they are referred to (`children`)."""

    parents: tuple[Constraint, ...] = ()
    children: tuple[Constraint, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.parents or self.children)

    def __iter__(self) -> Iterator[Constraint]:
        yield from (*self.parents, *self.children)

    @property
    def tables(self) -> set[TableId]:
        return {c.references for c in self if c.references is not None}


NO_FOREIGN_KEYS = ForeignKeys()


def enforced_by(plan: Plan) -> ForeignKeys:
    if isinstance(plan, TruncatePlan):
        return ForeignKeys((), tuple(c for d in plan.descriptors for c in d.fact(_enforced).children))
    if not isinstance(plan, InsertPlan | UpdatePlan | DeletePlan | MergePlan):
        return NO_FOREIGN_KEYS
    known = plan.descriptor.fact(_enforced)
    if not known:
        return NO_FOREIGN_KEYS
    match plan:
        case InsertPlan():
            assigned = {} if plan.conflict is None else plan.conflict.assignments or {}
            return ForeignKeys(known.parents, _touched(known.children, assigned))
        case UpdatePlan():
            return ForeignKeys(_touched(known.parents, plan.assignments), _touched(known.children, plan.assignments))
        case DeletePlan():
            return ForeignKeys((), known.children)
        case MergePlan():
            assigned, words = dict.fromkeys(plan.assigned()), plan.words()
            parents = known.parents if "INSERT" in words else _touched(known.parents, assigned)
            return ForeignKeys(parents, known.children if "DELETE" in words else _touched(known.children, assigned))


def _enforced(descriptor: Descriptor) -> ForeignKeys:
    return ForeignKeys(references.enforced(descriptor.foreign_keys), references.enforced(descriptor.referenced_by))


def _touched(constraints: Sequence[Constraint], assigned: Mapping[ColumnId, object]) -> tuple[Constraint, ...]:
    return tuple(c for c in constraints if not set(c.columns).isdisjoint(assigned))


async def pin_others(env: Environment, transaction: Transaction, plan: Plan, *, fresh: bool) -> None:
    """Have the transaction use the other tables, too. Raises `Retry` when one of them was dropped."""
    if isinstance(plan, SeveralPlan):
        for part in plan.plans:
            await pin_others(env, transaction, part, fresh=fresh)
        return
    foreign_keys = enforced_by(plan)
    for table_id in sorted(foreign_keys.tables - transaction.own.keys()) if foreign_keys else ():
        try:
            await env.pin(transaction, table_id, fresh=fresh)
        except NotLeasable as refusal:
            raise Retry(f"the schema moved on: {refusal}", stale=True) from refusal
