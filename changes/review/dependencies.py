"""Rules for plans that move several elements (protocol section 4): version by version, run by run, and for the whole
plan."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from catalog.descriptor import Descriptor
from catalog.elements import NOT_NULL, REFERENCED, Column, ColumnId, Kind, State
from catalog.text.message import STATES, Text, Values, listed
from catalog.values.types import WHOLE, holds_as_stored, limit_of
from changes.plan.element_states import columns_read, state_of
from changes.plan.model import Element, MoveKind, Plan, Step, StepKind, Transition, is_final, point_of_no_return
from changes.review.defect import Fault
from storage.reads import reads

RANK = {State.ABSENT: 0, State.DELETE_ONLY: 1, State.WRITE_ONLY: 2, State.PUBLIC: 3}
Numbered = tuple[int, Descriptor]


def version_faults(base: Descriptor | None, steps: Sequence[Step]) -> Iterator[Fault]:
    """Faults of one version, or of two that are in use together."""
    versions = [(at, step.published) for at, step in enumerate(steps) if step.kind is StepKind.PUBLISH]
    for at, version in versions:
        for index in version.indexes:
            for column in _columns(version, reads(index)):
                if RANK[index.state] > RANK[column.state]:
                    states: Values = {"before": STATES[index.state], "after": STATES[column.state]}
                    why = Text(
                        "index {index} is {before} while column {column} is {after}: a node that may not write {column}"
                        " leaves an entry with a value that the row does not have",
                        {"index": index.name, "column": column.name, **states},
                    )
                    yield Fault(at, ("C5",), why)
        yield from _too_early(at, version)
        yield from _two_types(at, version)
        yield from _placed(at, version)
    known: list[Numbered] = [*([] if base is None else [(-1, base)]), *versions]
    for (_, before), (at, after) in pairwise(known):
        yield from _still_read(at, before, after)
        yield from _forgotten(at, before, after)
        yield from _another_type(at, before, after)


def _too_early(at: int, version: Descriptor) -> Iterator[Fault]:
    for constraint in version.constraints:
        for column in _columns(version, reads(constraint)):
            if column.state is State.DELETE_ONLY:
                why = Text(
                    "constraint {constraint} is {state} and column {column} is delete-only: a node writes rows without"
                    " the value that the constraint is about",
                    {"constraint": constraint.name, "state": STATES[constraint.state], "column": column.name},
                )
                yield Fault(at, ("C6",), why)


def _two_types(at: int, version: Descriptor) -> Iterator[Fault]:
    for column in version.columns:
        if column.derived is None:
            continue
        source = next((c for c in version.columns if c.id == column.derived.source), None)
        if source is None or source.state is not State.PUBLIC:
            why = Text(
                "column {column} is derived from a column that is not public: its value cannot be known",
                {"column": column.name},
            )
            yield Fault(at, ("C5",), why)
        if column.state is State.PUBLIC:
            why = Text(
                "column {column} is public and derived: users would write past its source", {"column": column.name}
            )
            yield Fault(at, ("C2",), why)


def _placed(at: int, version: Descriptor) -> Iterator[Fault]:
    """Exactly one placement is read, and a primary key is unique in each that rows are put into."""
    read = [placement for placement in version.placements if placement.state is State.PUBLIC]
    if len(read) != 1:
        why = Text("{n} placements are public: a row is read {n} times", {"n": len(read)})
        yield Fault(at, ("C4",), why if read else Text("no placement is public: no row is read"))
    guard = version.key_guard
    for placement in version.placements:
        if RANK[placement.state] < RANK[State.WRITE_ONLY] or set(placement.sharding_key) <= set(version.primary_key):
            continue
        if guard is None or RANK[guard.state] < RANK[placement.state]:
            why = Text(
                "placement {placement} is {state}, and no index over the primary key is: two nodes put the same primary"
                " key on two storages, and neither finds the other's row",
                {"placement": int(placement.id), "state": STATES[placement.state]},
            )
            yield Fault(at, ("C6",), why)


def _still_read(at: int, before: Descriptor, after: Descriptor) -> Iterator[Fault]:
    """A column leaves public while a constraint in one of the two versions in use reads it."""
    states = {column.id: column.state for column in after.columns}
    for column in before.public_columns:
        state = states.get(column.id, State.ABSENT)
        if state is State.PUBLIC:
            continue
        for constraint in before.constraints:
            if column.id in reads(constraint):
                why = Text(
                    "column {column} becomes {state} while constraint {constraint}, which reads it, is not absent yet:"
                    " a node that no longer writes the column breaks it for a node that enforces it",
                    {"column": column.name, "state": STATES[state], "constraint": constraint.name},
                )
                yield Fault(at, ("C6",), why)
        lives_on = any(c.id == column.id and c.derived is not None for c in after.columns)  # as the twin's other side
        if column.not_null and not lives_on:
            why = Text(
                "column {column} becomes {state} while it is NOT NULL: a node that no longer writes the column leaves"
                " rows without a value",
                {"column": column.name, "state": STATES[state]},
            )
            yield Fault(at, ("C2",), why)


def _forgotten(at: int, before: Descriptor, after: Descriptor) -> Iterator[Fault]:
    """A twin takes a column's place: the old one, which older nodes read, must follow it."""
    now = {column.id: column for column in after.columns}
    for twin in before.columns:
        taken = now.get(twin.id)
        if twin.derived is None or taken is None or taken.derived is not None:
            continue
        old = now.get(twin.derived.source)
        if old is None or old.derived is None or old.derived.source != twin.id:
            name = before.column(twin.derived.source).name if old is None else old.name
            why = Text(
                "column {column} is kept beside {other}, and follows from nothing: a node that uses the version before"
                " reads it, and misses new values",
                {"column": name, "other": taken.name},
            )
            yield Fault(at, ("C5",), why)


def _another_type(at: int, before: Descriptor, after: Descriptor) -> Iterator[Fault]:
    """A type changes in place only where it takes all stored values, and writes none that the old one lacks."""
    now = {column.id: column for column in after.columns}
    for was in before.columns:
        new = now.get(was.id)
        if new is not None and {new.type, was.type} <= WHOLE and limit_of(new.type, new.length) > limit_of(was.type):
            why = Text(
                "column {column} is {new} at once, after {old}: a node on the version before cannot read what {old} has"
                " no room for",
                {"column": was.name, "new": new.type_name, "old": was.type_name},
            )
            yield Fault(at, (), why)
        if new is not None and not holds_as_stored(new.type, new.length, was.type, was.length):
            why = Text(
                "column {column} is {new} at once, after {old}: an existing row, or one that a node on the version"
                " before writes, may not be {new}",
                {"column": was.name, "new": new.type_name, "old": was.type_name},
            )
            yield Fault(at, (), why)


# --- runs


def run_faults(steps: Sequence[Step], versions: Sequence[Descriptor]) -> Iterator[Fault]:
    filled: set[Element] = set()
    deleted: set[Element] = set()
    for at, step in enumerate(steps):
        if step.kind is StepKind.FILL:
            yield from _fill_order(at, step, steps, filled, versions)
        if step.kind is StepKind.VERIFY:
            is_rule = [element.kind is Kind.CONSTRAINT for element in step.elements]
            why = Text("constraints are verified last: fills may break them")
            yield from _out_of_order(at, step, is_rule, why)
        if step.kind is StepKind.DELETE:
            why = Text("entries are deleted first, then values, then rows: a pair that is left must still find its row")
            ranks = [0 if element.kind.is_index else 1 if element.kind.is_column else 2 for element in step.elements]
            yield from _out_of_order(at, step, ranks, why)
            yield from _delete_order(at, step, deleted, versions)


def _fill_order(
    at: int, step: Step, steps: Sequence[Step], filled: set[Element], versions: Sequence[Descriptor]
) -> Iterator[Fault]:
    to_fill = {e for one in steps if one.kind is StepKind.FILL for e in one.elements if e.kind.is_column}
    for element in step.elements:
        if element.kind.is_index:
            covered = {column for column in to_fill if column.id in columns_read(element, versions)}
            for column in covered - filled:
                both: Values = {"element": element.text, "column": column.text}
                why = Text("{element} is filled before {column}, which it covers: its entries lack the value", both)
                yield Fault(at, ("C4", "C5"), why)
        filled.add(element)


def _delete_order(at: int, step: Step, deleted: set[Element], versions: Sequence[Descriptor]) -> Iterator[Fault]:
    for element in step.elements:
        if element.kind.is_index:
            dropped_columns = {
                column for column in deleted if column.kind.is_column and column.id in columns_read(element, versions)
            }
            for column in dropped_columns:
                both: Values = {"element": element.text, "column": column.text}
                why = Text("the values of {column} are deleted before the entries of {element}, which covers it", both)
                yield Fault(at, ("C5",), why)
        deleted.add(element)


def _out_of_order(at: int, step: Step, ranks: Sequence[int], why: Text) -> Iterator[Fault]:
    if ranks != sorted(ranks):
        values: Values = {"word": step.kind.value, "elements": listed([e.text for e in step.elements]), "why": why}
        yield Fault(at, ("C5",), Text("`{word}` {elements}: {why}", values))


# --- the whole plan


def plan_faults(plan: Plan) -> Iterator[Fault]:
    yield from _contradictions(plan)
    yield from _irreversible(plan)
    yield from _unsaid(plan)


def _contradictions(plan: Plan) -> Iterator[Fault]:
    added, dropped = plan.moving(MoveKind.ADD), set(plan.moving(MoveKind.DROP))
    versions = [step.published for step in plan.publishes]
    dropped_columns = {element.id for element in dropped if element.kind.is_column}
    for element in added:
        if element in dropped:
            why = Text("{element} is added and dropped in one plan: it has no rollback", {"element": element.text})
            yield Fault(0, (), why)
        if element.kind.is_index or element.kind is Kind.CONSTRAINT:
            for column in sorted(dropped_columns & columns_read(element, versions)):
                name = next((one.name for one in dropped if one.kind.is_column and one.id == column), str(column))
                values: Values = {"element": element.text, "column": name}
                why = Text("{element} depends on column {column}, which the same plan drops", values)
                yield Fault(0, ("C5",), why)


def _irreversible(plan: Plan) -> Iterator[Fault]:
    """Nothing is lost before all additions are verified (X6)."""
    first = point_of_no_return(plan.moves, plan.forward)
    if first is not None and plan.point_of_no_return > first:
        why = Text(
            "there is no rollback from here, but the plan says so only at step {n} (X6)",
            {"n": plan.point_of_no_return + 1},
        )
        yield Fault(first, (), why)
    dropped = set(plan.moving(MoveKind.DROP))
    unverified = {element for element in plan.moving(MoveKind.ADD) if element.kind.facts.unfilled_breaks}
    for at, step in enumerate(plan.forward):
        if step.kind is StepKind.VERIFY:
            unverified -= set(step.elements)
        if step.kind is StepKind.DELETE:
            lost = [element for element in step.elements if element in dropped]
        else:
            lost = [t.element for t in step.transitions if t.element in dropped and is_final(plan.moves, t)]
        if lost and unverified:
            why = Text(
                "{lost} is given up before {elements} is verified: if that fails, nothing is as before (X6)",
                {"lost": listed([element.text for element in lost])}
                | {"elements": listed([element.text for element in sorted(unverified, key=str)])},
            )
            yield Fault(at, (), why)


def _unsaid(plan: Plan) -> Iterator[Fault]:
    """Versions that do not follow each other, or move what the plan does not name."""
    before = plan.base
    for at, step in enumerate(plan.forward):
        if step.kind is not StepKind.PUBLISH:
            continue
        after = step.published
        number = 1 if before is None else before.version + 1
        if (after.table_id, after.version, step.version) != (plan.table_id, number, number):
            why = Text(
                "it publishes {after} of table {table}, and {next} is next (L7)",
                {"after": str(after), "table": int(after.table_id), "next": f"{plan.table}@{number}"},
            )
            yield Fault(at, (), why)
        moved = set(step.transitions)
        for transition in _transitions(plan, before, after):
            if transition not in moved:
                values: Values = {"after": str(after), "transition": str(transition)}
                yield Fault(at, (), Text("{after} moves {transition}, and the plan does not say so", values))
        before = after


def _transitions(plan: Plan, before: Descriptor | None, after: Descriptor) -> Iterator[Transition]:
    named = {(move.element.kind.family.value, move.element.id): move.element for move in plan.moves}
    found = {} if before is None else _elements(before)
    found |= {key: one for key, one in _elements(after).items() if key not in found}
    for key, element in found.items():
        moving = named.get(key, element)
        old = State.ABSENT if before is None else state_of(before, moving)
        new = state_of(after, moving)
        is_new_table = before is None and key[0] != "table"
        if old is not new and not is_new_table:
            yield Transition(moving, old, new)


def _elements(version: Descriptor) -> dict[tuple[str, int], Element]:
    found = {("table", int(version.table_id)): Element(Kind.TABLE, version.table_id, version.name)}
    found |= {("column", int(c.id)): Element(c.kind, c.id, c.name) for c in version.columns}
    found |= {("index", int(i.id)): Element(i.kind, i.id, i.name) for i in version.indexes}
    found |= {("placement", int(p.id)): Element(p.kind, p.id, str(p.id)) for p in version.placements}
    for constraint in version.constraints:
        if constraint.rule == REFERENCED and constraint.references == version.table_id:
            continue  # the other side of the table's own foreign key: `changes.review.foreign_keys`
        column = constraint.columns[0] if constraint.rule == NOT_NULL else None
        element = Element(Kind.CONSTRAINT, constraint.id, constraint.name, column)
        found["constraint", int(constraint.id)] = element
    return found


# --- dependents


def _columns(version: Descriptor, ids: frozenset[ColumnId]) -> Iterator[Column]:
    return (column for column in version.columns if column.id in ids)
