"""The demands of a judge on every row (C2, C4, C6): an audit demands the public elements of the newest version, and of
the one before while it is leased; a verification those of its run, as if they were public."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, Column, ColumnId, Constraint, IndexId, PlacementId, State, TableId
from spark_tasks.runs.run_elements import Elements
from storage.arrow.columns import ROW_RULES
from storage.reads import reads

E = TypeVar("E", Column, Constraint)


@dataclass(frozen=True, slots=True)
class Demands:
    """Demands on every row: pairs of `values` (C2), entries and places in `placements` (C4), no NULL in `not_null`,
    `constraints`, and `foreign_keys` (C6)."""

    values: tuple[Column, ...] = ()
    not_null: tuple[Column, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    foreign_keys: tuple[Constraint, ...] = ()
    indexes: frozenset[IndexId] = frozenset()
    placements: frozenset[PlacementId] = frozenset()

    @property
    def columns_read(self) -> frozenset[ColumnId]:
        read = {column.id for column in (*self.values, *self.not_null)}
        return frozenset(read.union(*map(reads, (*self.constraints, *self.foreign_keys))))

    @property
    def tables_read(self) -> frozenset[TableId]:
        return frozenset(one.references for one in self.foreign_keys if one.references is not None)


def relied_on(versions: Iterable[Descriptor]) -> Demands:
    """Demands by what the versions in force have public; the newest one's names count."""
    found = list(versions)
    columns = [c for version in found for c in version.stored_columns if c.state is State.PUBLIC]
    constraints = [c for version in found for c in version.constraints if c.state is State.PUBLIC]
    indexes = frozenset(index.id for version in found for index in version.public_indexes)
    placements = frozenset(version.placement.id for version in found if version.state is not State.ABSENT)
    return replace(_demands(columns, constraints, indexes), placements=placements)


def as_if_public(descriptor: Descriptor, elements: Elements) -> Demands:
    columns, constraints = elements.columns_of(descriptor), elements.constraints_of(descriptor)
    found = _demands(columns, constraints, frozenset(elements.indexes))
    return replace(found, placements=frozenset(elements.placements))


def _demands(columns: Iterable[Column], constraints: Iterable[Constraint], indexes: frozenset[IndexId]) -> Demands:
    listed, rules = tuple(columns), _once(constraints)
    return Demands(
        values=_once(c for c in listed if c.required or c.derived is not None),
        not_null=_once(c for c in listed if c.not_null),
        constraints=tuple(c for c in rules if c.rule in ROW_RULES),
        foreign_keys=tuple(c for c in rules if c.rule == FOREIGN_KEY),
        indexes=indexes,
    )


def _once(elements: Iterable[E]) -> tuple[E, ...]:
    found: dict[int, E] = {}
    for element in elements:
        found.setdefault(element.id, element)
    return tuple(found.values())
