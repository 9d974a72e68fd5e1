"""Foreign keys between the tables of a cluster, published by hand: in any state, on both tables or only on one yet."""

from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import (
    FOREIGN_KEY,
    NO_ACTION,
    PRIMARY,
    REFERENCED,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexColumn,
    IndexId,
    State,
)
from tests.nodes.conftest import Cluster

BOTH_NODES = ("n1", "n2")


def link(
    cluster: Cluster,
    child: str,
    columns: str,
    parent: str,
    to: str,
    *,
    name: str = "",
    state: State = State.PUBLIC,
    on_delete: str = NO_ACTION,
    on_update: str = NO_ACTION,
) -> str:
    """Have `columns` of one table refer to columns of another one, or of the same; the name of the foreign key."""
    chosen = name or f"{child}_{columns.replace(', ', '_')}_fkey"
    here, there = linked(
        cluster.descriptor(child), columns, cluster.descriptor(parent), to,
        name=chosen, state=state, on_delete=on_delete, on_update=on_update,
    )  # fmt: skip
    cluster.publish(here)
    if parent != child:
        cluster.publish(there)
    return chosen


def linked(
    child: Descriptor,
    columns: str,
    parent: Descriptor,
    to: str,
    *,
    name: str,
    state: State,
    on_delete: str = NO_ACTION,
    on_update: str = NO_ACTION,
) -> tuple[Descriptor, Descriptor]:
    """The next versions of both tables; one and the same when they are one."""
    refer, referred = ids(child, columns), ids(parent, to)
    here = child.next_constraint_id
    there = ConstraintId(here + 1) if parent.table_id == child.table_id else parent.next_constraint_id
    foreign_key = Constraint(
        here, name, FOREIGN_KEY, refer, references=parent.table_id, reference_columns=referred, state=state,
        partner=there, index=_index(parent, referred), on_delete=on_delete, on_update=on_update,
    )  # fmt: skip
    partner = replace(
        foreign_key, id=there, rule=REFERENCED, columns=referred, references=child.table_id, reference_columns=refer,
        partner=here,
    )  # fmt: skip
    if parent.table_id == child.table_id:
        both = _with(child, foreign_key, partner)
        return both, both
    return _with(child, foreign_key), _with(parent, partner)


def _with(table: Descriptor, *more: Constraint) -> Descriptor:
    following = ConstraintId(more[-1].id + 1)
    return table.next_version(constraints=(*table.constraints, *more), next_constraint_id=following)


def _index(parent: Descriptor, columns: tuple[ColumnId, ...]) -> IndexId:
    if set(parent.primary_key) == set(columns):
        return PRIMARY
    return next(i.id for i in parent.indexes if i.unique and i.where is None and set(i.column_ids) == set(columns))


def moved(table: Descriptor, name: str, state: State = State.PUBLIC) -> Descriptor:
    """The next version, where the foreign key is in another state, as the table refers or is referred to."""
    kept = tuple(replace(c, state=state) if c.name == name else c for c in table.constraints)
    if state is State.ABSENT:
        kept = tuple(c for c in table.constraints if c.name != name)
    return table.next_version(constraints=kept)


def with_index(cluster: Cluster, table: str, columns: str, *, name: str = "", unique: bool = False) -> None:
    """The next version has an index over these columns; the table must be empty."""
    now = cluster.descriptor(table)
    parts = tuple(IndexColumn(c, "desc" in word) for c, word in zip(ids(now, columns), columns.split(","), strict=True))
    made = Index(
        now.next_index_id,
        name or f"{table}_{'_'.join(columns.replace(' desc', '').split(', '))}_idx",
        parts,
        unique=unique,
    )
    cluster.publish(now.with_index(made))


def ids(table: Descriptor, columns: str) -> tuple[ColumnId, ...]:
    return tuple(table.column_named(name.split()[0]).id for name in columns.split(", "))
