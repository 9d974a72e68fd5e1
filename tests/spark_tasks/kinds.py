"""Elements of every kind that is filled, over the stage's users, and how a descriptor comes by them."""

from dataclasses import dataclass, replace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Constraint, ConstraintId, Derivation, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from storage import encoding
from tests.storage.stage import AGE, NAME, Stage

ADDED = ColumnId(4)
FILL_VALUE = encoding.encode(SqlType.INTEGER, 7)
SCORE = Column(ADDED, "score", SqlType.INTEGER, default="7", fill_value=FILL_VALUE, added_with_default=True)
TWIN = Column(ADDED, "age (text)", SqlType.TEXT, derived=Derivation(AGE, '"#3"::text', '"#4"::integer'))
BY_AGE = Index(IndexId(1), "by_age", (IndexColumn(AGE, descending=True), IndexColumn(NAME)))
UNIQUE = Index(IndexId(1), "one_name", (IndexColumn(NAME),), unique=True)
GROWN_UP = Index(IndexId(1), "grown_up", (IndexColumn(NAME),), where='"#3" > 17')
BY_SCORE = Index(IndexId(1), "by_score", (IndexColumn(ADDED),))
ADULT = Constraint(ConstraintId(1), "adult", "check", (AGE,), '"#3" > 17')
NAMED = Constraint(ConstraintId(2), "named", "not null", (NAME,))

Added = Column | Index | Constraint


@dataclass(frozen=True, slots=True)
class Change:
    """Elements that are added together."""

    elements: tuple[Added, ...]

    @property
    def said(self) -> list[dict[str, Any]]:
        return [{"kind": one.kind.value, "id": one.id, "name": one.name} for one in self.elements]

    def at(self, descriptor: Descriptor, state: State, *, filling: bool = False) -> Descriptor:
        """The next version, with all of them in `state`; none in absent."""
        columns, indexes, constraints = (
            [*of] for of in (descriptor.columns, descriptor.indexes, descriptor.constraints)
        )
        for element in self.elements:
            kept: list[Any] = columns if isinstance(element, Column) else indexes
            kept = constraints if isinstance(element, Constraint) else kept
            kept[:] = [one for one in kept if one.id != element.id]
            is_there = state is not State.DELETE_ONLY if isinstance(element, Constraint) else state is not State.ABSENT
            if is_there and state is not State.ABSENT:
                moved = {"state": state} if isinstance(element, Constraint) else {"state": state, "filling": filling}
                kept.append(replace(element, **moved))
        ids = {"next_column_id": ColumnId(5), "next_index_id": IndexId(2), "next_constraint_id": ConstraintId(3)}
        lists = {"columns": tuple(columns), "indexes": tuple(indexes), "constraints": tuple(constraints)}
        return descriptor.next_version(**lists, **ids)

    def to_filling(self, stage: Stage) -> None:
        stage.publish(self.at(stage.now, State.DELETE_ONLY))
        stage.publish(self.at(stage.now, State.WRITE_ONLY, filling=True))

    def to(self, stage: Stage, *states: State) -> None:
        for state in states:
            stage.publish(self.at(stage.now, state))


def score(stage: Stage) -> dict[bytes, bytes | None]:
    """The pairs of the added column, by key."""
    rows = b"\x00\x01\x00\x00"
    return {
        key: value
        for pairs in stage.contents()
        for key, value in pairs.items()
        if key[4:8] == rows and key.endswith(ADDED.to_bytes(2))
    }
