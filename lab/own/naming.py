"""A model's names in the schema of its plan: table, column, moving elements, and two values. If an element is made of
several columns, the model's one column stands for all: a is (dest, carrier)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, Constraint, Index, Kind
from catalog.text.sql_names import quoted
from changes.plan.element_states import columns_read, definition_of
from changes.plan.model import Element, Plan
from lab.explorer.model import Model
from lab.explorer.planned import Part
from lab.explorer.plans.small_tables import INDEX_NAMES, LINK_NAME, names_of
from lab.own.examples import examples
from lab.sessions.names import CHILD_TABLE, COLUMN, KEY, PARENT_KEY, PARENT_TABLE, TABLE, WORD_CHARACTERS_MAX, Names

PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


@dataclass(frozen=True, slots=True)
class _Read:
    columns: tuple[ColumnId, ...]
    condition: str = ""


def names_for(plan: Plan, part: Part) -> Names:
    versions = [*([] if plan.base is None else [plan.base]), *(step.published for step in plan.publishes)]
    read = _read(plan, part, versions)
    having = [one for one in versions if set(read.columns) <= {column.id for column in one.columns}] or versions
    words = dict(_words(plan, part, versions, having[0], read))
    values = () if part.model.refers_to_itself else examples(having[-1], read.columns, read.condition)
    return Names({name: _short(word) for name, word in words.items()}, tuple(map(_short, values)))


def _words(
    plan: Plan, part: Part, versions: Sequence[Descriptor], own: Descriptor, read: _Read
) -> Iterator[tuple[str, str]]:
    table = CHILD_TABLE if part.model.foreign_key else TABLE
    yield table, _identifier(own.name)
    yield KEY, _listed(own, own.primary_key)
    if read.columns:
        yield COLUMN, _listed(own, read.columns)
    indexes = iter(INDEX_NAMES.values())
    for element, name in zip(part.elements, own_names(part.model), strict=False):
        if element.kind.is_index:
            yield next(indexes), _identifier(element.name)
        elif element.kind is Kind.CONSTRAINT:
            yield name, _identifier(element.name)
    if part.model.foreign_key:
        link = part.elements[-1]
        definition = definition_of(link, versions)
        assert isinstance(definition, Constraint)
        assert link.partner is not None
        parent = next(one for one in plan.partners if one.table_id == link.partner[0])
        yield PARENT_TABLE, _identifier(parent.name)
        yield PARENT_KEY, _listed(parent, definition.reference_columns)


def own_names(model: Model) -> list[str]:
    return [*names_of(model)[:-1], LINK_NAME] if model.foreign_key else names_of(model)


def _read(plan: Plan, part: Part, versions: Sequence[Descriptor]) -> _Read:
    column = next((one for one in part.elements if one.kind.is_column), None)
    rest = [one for one in part.elements if not one.kind.is_column]
    if column is not None:
        return _Read((ColumnId(column.id),), _condition(rest, versions, {ColumnId(column.id)}))
    if part.model.kind is Kind.TABLE:
        other = (one.id for one in plan.result.columns if one.id not in plan.result.primary_key)
        return _Read(tuple(other)[:1])
    if part.model.has_placements:
        keys = (placement.sharding_key for version in versions for placement in version.placements)
        return _Read(tuple(column for key in keys for column in key if column not in plan.result.primary_key)[:1])
    element = rest[-1]
    definition = definition_of(element, versions)
    first = definition.column_ids if isinstance(definition, Index) else ()
    if isinstance(definition, Constraint):
        first = definition.columns
    read = columns_read(element, versions)
    every = (*first, *sorted(read - set(first)))
    return _Read(every, _condition(rest, versions, set(every)))


def _condition(elements: Iterable[Element], versions: Sequence[Descriptor], columns: set[ColumnId]) -> str:
    for element in elements:
        definition = definition_of(element, versions)
        kept = definition.where if isinstance(definition, Index) else None
        if isinstance(definition, Constraint):
            kept = definition.expression
        if kept and columns_read(element, versions) <= columns:
            return kept
    return ""


def _listed(table: Descriptor, ids: Iterable[ColumnId]) -> str:
    names = [_identifier(table.column(one).name) for one in ids]
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _identifier(name: str) -> str:
    return name if PLAIN.fullmatch(name) else quoted(name)


def _short(word: str) -> str:
    shown = "".join(one if one.isprintable() else "\ufffd" for one in word)
    return shown if len(shown) <= WORD_CHARACTERS_MAX else f"{shown[: WORD_CHARACTERS_MAX - 1]}…"
