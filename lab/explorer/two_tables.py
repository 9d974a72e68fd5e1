"""The two tables of a foreign key: child (id, a), whose a refers to parent (id).

    stage   (child's state, parent's state)     "write-only+absent": the parent's descriptor does not bear it

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
    ColumnId,
    Constraint,
    ConstraintId,
    State,
    TableId,
)
from catalog.types import SqlType

CHILD, PARENT = 0, 1
"""The tables, by their place in a stage."""

NAMES = ("child", "parent")
IDS = (TableId(1), TableId(2))
ID, A = ColumnId(1), ColumnId(2)
LINK = ConstraintId(1)
LINK_NAME = "child_a_fkey"

_KEY = Column(ID, "id", SqlType.BIGINT, not_null=True)
_COLUMNS = ((_KEY, Column(A, "a", SqlType.BIGINT)), (_KEY,))
_REFERS = Constraint(
    LINK, LINK_NAME, FOREIGN_KEY, (A,), references=IDS[PARENT], reference_columns=(ID,), partner=LINK, index=PRIMARY
)


def linked_table(at: int, state: State, version: int) -> Descriptor:
    """A version of one of the tables, the foreign key in this state."""
    link = replace(_REFERS if at == CHILD else _mirrored(_REFERS, IDS[CHILD]), state=state)
    constraints = () if state is State.ABSENT else (link,)
    return Descriptor(IDS[at], NAMES[at], version, _COLUMNS[at], (ID,), constraints=constraints)


def as_child_bears(referenced: Constraint) -> Constraint:
    """What the child's descriptor says of a foreign key that the parent's bears."""
    return _mirrored(referenced, IDS[PARENT])


def _mirrored(link: Constraint, other: TableId) -> Constraint:
    """The same foreign key as the other table bears it: it names this one."""
    rule = REFERENCED if link.rule == FOREIGN_KEY else FOREIGN_KEY
    return replace(link, rule=rule, columns=link.reference_columns, reference_columns=link.columns, references=other)
