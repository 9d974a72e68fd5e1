"""The one state in which each version of a table is drawn: that of the element that has furthest to go. A version at
rest shows the outcome of the change that ended with it, or else how the next change finds its elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, NOT_NULL, REFERENCED, Column, Constraint, Index, Placement, State
from catalog.text.sentence import Sentence

LINKS = (FOREIGN_KEY, REFERENCED)
SETTLED = (State.PUBLIC, State.ABSENT)
AnyElement = Column | Index | Constraint | Placement
Name = tuple[str, int]
"""An element by what it is, and its id; a NOT NULL by its column, whose own property it becomes."""


def phases(bodies: Sequence[Descriptor]) -> list[str]:
    states = [_states(body) for body in bodies]
    moving = [moving_elements(body) for body in bodies]
    at_rest = [body.state is State.PUBLIC and not elements for body, elements in zip(bodies, moving, strict=True)]
    shown = []
    for number, body in enumerate(bodies):
        if at_rest[number]:
            before, after = range(number, -1, -1), range(number, len(bodies))
            own = _moved_until_rest(before, states, at_rest) or _moved_until_rest(after, states, at_rest)
            found = {states[number].get(name, State.ABSENT) for name in own} or {State.PUBLIC}
            shown.append((State.PUBLIC if State.PUBLIC in found else State.ABSENT).value)
        else:
            shown.append(phase(moving[number], body.state.value))
    return shown


def phase(moving: Sequence[Mapping[str, Any]], table_state: str) -> str:
    if table_state != State.PUBLIC.value:
        return table_state
    states = {element["state"] for element in moving}
    return next((state for state in ("delete-only", "write-only") if state in states), State.PUBLIC.value)


def drawn(versions: Iterable[tuple[str, Sequence[Mapping[str, Any]]]]) -> list[str]:
    """The name of each version's element with its phase; empty where only one moves, and at rest."""
    shown = list(versions)
    names = {_name(element) for _, moving in shown for element in moving}
    return [_name_drawn(phase, moving) if len(names) > 1 else "" for phase, moving in shown]


def _name_drawn(phase: str, moving: Sequence[Mapping[str, Any]]) -> str:
    return next((_name(one) for one in moving if one["state"] == phase), "")


def _name(element: Mapping[str, Any]) -> str:
    name = str(element["name"])
    return Sentence("placement {name}", name=name) if element["element"] == "placement" else name


def moving_elements(descriptor: Descriptor) -> list[dict[str, Any]]:
    return [
        {
            "element": kind,
            "name": str(e.id) if isinstance(e, Placement) else e.name,
            "state": e.state.value,
            "filling": getattr(e, "filling", False),
        }
        for kind, e in _elements(descriptor)
        if e.state not in SETTLED
    ]


def _elements(descriptor: Descriptor) -> Iterator[tuple[str, AnyElement]]:
    # its sides of foreign keys, one for a self-reference
    both = {one.partner for one in descriptor.foreign_keys if one.references == descriptor.table_id}
    kinds: dict[str, Sequence[AnyElement]] = {
        "column": descriptor.columns,
        "index": descriptor.indexes,
        "constraint": [one for one in descriptor.constraints if one.rule not in LINKS],
        "foreign key": [*descriptor.foreign_keys, *(one for one in descriptor.referenced_by if one.id not in both)],
        "placement": descriptor.placements,
    }
    return ((kind, e) for kind, elements in kinds.items() for e in elements)


def _states(descriptor: Descriptor) -> dict[Name, State]:
    found: dict[Name, State] = {("table", descriptor.table_id): descriptor.state}
    found |= {(NOT_NULL, one.id): State.PUBLIC for one in descriptor.columns if one.not_null}
    for kind, element in _elements(descriptor):
        if isinstance(element, Constraint) and element.rule == NOT_NULL:
            found[NOT_NULL, element.columns[0]] = element.state
        else:
            found[kind, element.id] = element.state
    return found


def _moved_until_rest(
    numbers: Iterable[int], states: Sequence[Mapping[Name, State]], at_rest: Sequence[bool]
) -> set[Name]:
    """The elements that move from the first of these versions to the next one at rest."""
    own: set[Name] = set()
    for here, there in pairwise(numbers):
        one, other = states[here], states[there]
        own |= {name for name in one.keys() | other.keys() if one.get(name) is not other.get(name)}
        if at_rest[there]:
            break
    return own
