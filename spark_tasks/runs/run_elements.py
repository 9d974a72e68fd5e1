"""The elements of a reorganisation, by the kind of their pairs:

index     its entries             T·P·I ..           a key space of its own
column    its values              T·P·0·K(r)·C       among the rows: keys that end with its id
table     its rows, with all      T·P·0 ..
placement its rows and entries    T·P ..            key spaces of its own
constraint                        none: rows are looked at
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import (
    EXISTS,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexId,
    Kind,
    Placement,
    PlacementId,
    State,
)
from catalog.kinds import Family
from storage.mutations import source_columns
from storage.reads import reads


class NotReorganised(ValueError):
    """A run was asked to work on an element without pairs."""


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of one run by id, each group in the given order."""

    columns: tuple[ColumnId, ...] = ()
    indexes: tuple[IndexId, ...] = ()
    constraints: tuple[ConstraintId, ...] = ()
    has_table: bool = False
    placements: tuple[PlacementId, ...] = ()

    @property
    def have_values(self) -> bool:
        return bool(self.columns) or self.has_table

    def indexes_of(self, descriptor: Descriptor) -> tuple[Index, ...]:
        return tuple(descriptor.index(index_id) for index_id in self.indexes)

    def columns_of(self, descriptor: Descriptor) -> tuple[Column, ...]:
        return tuple(descriptor.column(column_id) for column_id in self.columns)

    def placements_of(self, descriptor: Descriptor) -> tuple[Placement, ...]:
        return tuple(p for p in descriptor.placements if p.id in self.placements)

    def columns_read(self, descriptor: Descriptor) -> frozenset[ColumnId]:
        if self.placements:
            columns = {column.id for column in descriptor.stored_columns if column.state is not State.ABSENT}
        else:
            columns = set(self.columns)
        columns = columns.union(*map(reads, self.columns_of(descriptor)))
        columns = columns.union(*map(reads, self.constraints_of(descriptor)))
        for index in self.indexes_of(descriptor):
            columns |= source_columns(descriptor, index)
        return frozenset(columns - {EXISTS, *descriptor.primary_key})

    def constraints_of(self, descriptor: Descriptor) -> tuple[Constraint, ...]:
        return tuple(c for c in descriptor.constraints if c.id in self.constraints)


def elements_of(given: Iterable[Mapping[str, Any]]) -> Elements:
    """The elements of a run's JSON. Raises `NotReorganised`."""
    ids: dict[Family, list[int]] = {family: [] for family in Family}
    for element in given:
        ids[_family(element)].append(element["id"])
    return Elements(
        tuple(map(ColumnId, ids[Family.COLUMN])),
        tuple(map(IndexId, ids[Family.INDEX])),
        tuple(map(ConstraintId, ids[Family.CONSTRAINT])),
        bool(ids[Family.TABLE]),
        tuple(map(PlacementId, ids[Family.PLACEMENT])),
    )


def _family(element: Mapping[str, Any]) -> Family:
    try:
        return Kind(element["kind"]).family
    except ValueError:
        kinds = ", ".join(known.value for known in Kind)
        raise NotReorganised(f"there is no kind of element {element['kind']!r}; there are: {kinds}") from None
