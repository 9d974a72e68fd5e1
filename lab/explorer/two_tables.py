"""The two tables of a foreign key: child (id, a), whose a refers to parent (id).

    stage   (child's state, parent's state)     "write-only+absent": the parent's descriptor does not bear it

or three states when the column a moves, too: its own one first.

Both descriptors bear the foreign key, child as what its rows obey and parent as what refers to it (L11). A parent's
key and the value that refers to it are encoded alike, so values stand for parents.
"""

from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import (
    FOREIGN_KEY,
    PRIMARY,
    REFERENCED,
    Column,
    Constraint,
    ConstraintId,
    State,
    TableId,
)
from catalog.types import SqlType
from lab.explorer.model import Model, Stage
from lab.explorer.schema import ID, A, descriptor

CHILD, PARENT = 0, 1
"""The tables, by their place in a stage."""

NAMES = ("child", "parent")
IDS = (TableId(1), TableId(2))
LINK = ConstraintId(1)
LINK_NAME = "child_a_fkey"

_REFERS = Constraint(
    LINK, LINK_NAME, FOREIGN_KEY, (A,), references=IDS[PARENT], reference_columns=(ID,), partner=LINK, index=PRIMARY
)


def linked_table(
    model: Model, at: int, stage: Stage, version: int, *, filling: frozenset[int] = frozenset()
) -> Descriptor:
    """A version of one of the tables."""
    *columns, child, parent = stage
    if at == PARENT:
        key = Column(ID, "id", SqlType.BIGINT, not_null=True)
        bare = Descriptor(IDS[PARENT], NAMES[PARENT], version, (key,), (ID,))
        return _bearing(bare, _mirrored(_REFERS, IDS[CHILD]), parent)
    bare = replace(descriptor(model, (*columns, child), version, filling=filling), name=NAMES[CHILD])
    return _bearing(bare, _REFERS, child)


def _bearing(table: Descriptor, link: Constraint, state: State) -> Descriptor:
    """The table with the foreign key in this state, and no other constraint."""
    return replace(table, constraints=() if state is State.ABSENT else (replace(link, state=state),))


def as_child_bears(referenced: Constraint) -> Constraint:
    """What the child's descriptor says of a foreign key that the parent's bears."""
    return _mirrored(referenced, IDS[PARENT])


def _mirrored(link: Constraint, other: TableId) -> Constraint:
    """The same foreign key as the other table bears it: it names this one."""
    rule = REFERENCED if link.rule == FOREIGN_KEY else FOREIGN_KEY
    return replace(link, rule=rule, columns=link.reference_columns, reference_columns=link.columns, references=other)
