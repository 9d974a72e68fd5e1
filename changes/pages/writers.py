"""The statements that a change makes nodes refuse, from which version on. A rule is enforced from write-only until a
rollback has withdrawn it, also when the change fails later. A rule on added columns alone is left out, since no
statement could write them before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, FOREIGN_KEY, Column, ColumnId, Constraint, Index, Kind, State
from catalog.kinds import Family
from catalog.states import Write, rule
from changes.plan.element_states import definition_of
from changes.plan.model import Element, MoveKind, Plan, Step, StepKind, Transition, name_in
from changes.planning.alter.castable_types import holds_every
from expressions.errors import (
    CHECK_VIOLATION,
    FOREIGN_KEY_VIOLATION,
    INVALID_COLUMN_REFERENCE,
    NOT_NULL_VIOLATION,
    UNDEFINED_COLUMN,
    UNDEFINED_TABLE,
    UNIQUE_VIOLATION,
)
from expressions.rows import shown
from storage.reads import reads

Json = dict[str, Any]
ENFORCED = frozenset({Write.PUT, Write.ENFORCE})
"""What an insert does with an element that may refuse it."""
DATA_EXCEPTION = "22..."
"""The class of the codes by which a value of the wrong type is refused."""
WORDS = {
    "unique": "a row with the same {columns} as another one",
    "check": "a row that breaks {name}",
    "not null": "NULL in {columns}",
    "refers": "a row of {table} whose {columns} is not in {rule}",
    "referred": "to delete a row of {other}, or to change its {columns}, while a row of {table} refers to it",
    "table": "a statement that names table {name}",
    "table renamed": "a statement that names table {name}, which is {rule} then",
    "column": "a statement that names column {name}",
    "column renamed": "a statement that names column {name}, which is {rule} then",
    "conflict target": "ON CONFLICT ({columns})",
    "type": "a value of {name} that is no {rule}",
}


def refusals(plan: Plan) -> list[Json]:
    """The refusals in the order of versions, each with kind, code and names. `number` is the step that publishes the
    version; `rule` and `other` depend on the kind."""
    usual = {"table": plan.table, "rule": "", "other": ""}
    return [
        usual | {"number": number, "version": step.version} | one
        for number, step in enumerate(plan.forward)
        if step.kind is StepKind.PUBLISH
        for one in _of_step(plan, step)
    ]


def in_words(refusal: Json) -> str:
    names = refusal | {"columns": ", ".join(refusal["columns"])}
    return f"from v{refusal['version']} on {refusal['sqlstate']}: {WORDS[refusal['kind']].format(**names)}"


def _of_step(plan: Plan, step: Step) -> Iterator[Json]:
    if step == plan.publishes[0]:
        for element in plan.moving(MoveKind.RENAME):
            new = {"rule": name_in(plan.result, element)}
            if element.kind.family is Family.TABLE:
                yield _refusal("table renamed", UNDEFINED_TABLE, element.name, []) | new
            elif element.kind.is_column:
                yield _refusal("column renamed", UNDEFINED_COLUMN, element.name, [element.name]) | new
    for transition in step.transitions:
        if transition.element.kind is Kind.DERIVED_COLUMN:
            yield from _retyped(plan, transition)
        elif transition.before is State.PUBLIC:
            yield from _hidden(plan, transition.element)
        elif transition.element.kind.facts.is_rule and _begins_to_refuse(transition):
            yield from _enforced(plan, transition.element)


def _begins_to_refuse(transition: Transition) -> bool:
    before, after = (rule(transition.element.kind, state).insert for state in (transition.before, transition.after))
    return after in ENFORCED and before not in ENFORCED


def _enforced(plan: Plan, element: Element) -> Iterator[Json]:
    versions = [step.published for step in plan.publishes]
    if element.column is not None:
        yield _refusal("not null", NOT_NULL_VIOLATION, element.name, [_name(versions[0], ColumnId(element.column))])
        return
    found = definition_of(element, versions)
    version = next((one for one in versions if found is not None and definition_of(element, [one])), versions[0])
    if isinstance(found, Index) and set(found.column_ids) >= set(version.primary_key):
        return  # the primary key's values are unique, and others with them
    if isinstance(found, Index) and found.unique and not _is_null_everywhere(plan, version, found.column_ids):
        where = shown(version, found.where) if found.where else ""
        names = [_name(version, column) for column in found.column_ids]
        yield _refusal("unique", UNIQUE_VIOLATION, found.name, names) | {"rule": where}
    elif isinstance(found, Constraint) and found.rule == CHECK and not reads(found) <= _added(plan, version):
        assert found.expression is not None, found
        yield _refusal("check", CHECK_VIOLATION, found.name, []) | {"rule": shown(version, found.expression)}
    elif isinstance(found, Constraint) and found.rule == FOREIGN_KEY:
        yield from _referring(plan, version, found)


def _referring(plan: Plan, version: Descriptor, foreign_key: Constraint) -> Iterator[Json]:
    if _is_null_everywhere(plan, version, foreign_key.columns):
        return
    tables = {version.table_id: version} | {partner.table_id: partner for partner in plan.partners}
    assert foreign_key.references is not None, foreign_key
    parent = tables[foreign_key.references]
    own = [_name(version, column) for column in foreign_key.columns]
    there = [_name(parent, column) for column in foreign_key.reference_columns]
    names = {"rule": f"{parent.name} ({', '.join(there)})", "other": parent.name}
    yield _refusal("refers", FOREIGN_KEY_VIOLATION, foreign_key.name, own) | names
    yield _refusal("referred", FOREIGN_KEY_VIOLATION, foreign_key.name, there) | names


def _hidden(plan: Plan, element: Element) -> Iterator[Json]:
    """A name that statements can no longer use; one that the plan itself added is left out."""
    if plan.base is None:
        return
    if element.kind.family is Family.TABLE:
        yield _refusal("table", UNDEFINED_TABLE, element.name, [])
    elif element.kind.is_user_column:
        yield _refusal("column", UNDEFINED_COLUMN, element.name, [element.name])
    elif element.kind is Kind.UNIQUE_INDEX:
        index = next((one for one in plan.base.indexes if one.id == element.id), None)
        if index is None or _is_decided_by_another(plan.base, index):
            return
        names = [_name(plan.base, column) for column in index.column_ids]
        yield _refusal("conflict target", INVALID_COLUMN_REFERENCE, element.name, names)


def _is_decided_by_another(base: Descriptor, index: Index) -> bool:
    columns = set(index.column_ids)
    others = [one for one in base.public_indexes if one.unique and one.id != index.id and not one.where]
    return columns == set(base.primary_key) or any(set(one.column_ids) == columns for one in others)


def _retyped(plan: Plan, transition: Transition) -> Iterator[Json]:
    """While both types are served, a value must be one of both."""
    if transition.element not in plan.moving(MoveKind.ADD):
        return
    twin = definition_of(transition.element, [step.published for step in plan.publishes])
    assert isinstance(twin, Column), twin
    assert twin.derived is not None, f"{twin.name} follows from the column whose place it takes"
    assert plan.base is not None, "a column that changes its type was there"
    was = plan.base.column(twin.derived.source)
    is_cut = twin.derived.expression.endswith(f"({twin.length})")
    if transition.after is State.WRITE_ONLY and not is_cut and not holds_every(twin, was):
        yield _refusal("type", DATA_EXCEPTION, was.name, [was.name]) | {"rule": twin.type_name}
    elif transition.after is State.PUBLIC and not holds_every(was, twin):
        yield _refusal("type", DATA_EXCEPTION, was.name, [was.name]) | {"rule": was.type_name}


def _refusal(kind: str, sqlstate: str, name: str, columns: list[str]) -> Json:
    return {"kind": kind, "sqlstate": sqlstate, "name": name, "columns": columns}


def _added(plan: Plan, version: Descriptor) -> frozenset[ColumnId]:
    there = {column.id for column in plan.base.columns} if plan.base else set()
    return frozenset(column.id for column in version.columns if column.id not in there)


def _is_null_everywhere(plan: Plan, version: Descriptor, columns: tuple[ColumnId, ...]) -> bool:
    """True when an added column without a default is among them: it is NULL until it is public."""
    added = _added(plan, version)
    return any(column in added and version.column(column).fill_value is None for column in columns)


def _name(version: Descriptor, column: ColumnId) -> str:
    return version.column(column).shown
