"""The constraints that one row breaks: NOT NULL by NULL or a missing pair that reads as NULL, CHECK by false or an
error (NULL is not false). Enforced from write-only on, relied on in public (C6). Foreign keys and unique indexes need
other rows: `storage.integrity.references`."""

from collections.abc import Iterator
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, NOT_NULL, Column, Constraint, State
from catalog.states import Write, rule
from catalog.text.sentence import Sentence
from catalog.values.types import SqlType
from storage import encoding
from storage.pairs import CannotDerive, StoredRow, computed, encoded_value


@dataclass(frozen=True, slots=True)
class Broken:
    """A constraint that a row breaks; None: a column's own NOT NULL. `why` follows the row's name: "has NULL in age,
    which is NOT NULL". `cannot`: CHECK had no value."""

    state: State
    why: str
    constraint: Constraint | None = None
    column: Column | None = None
    cannot: CannotDerive | None = None


def constraint_violations(descriptor: Descriptor, row: StoredRow) -> list[Broken]:
    """Every write-only or public constraint that `row` breaks."""
    found = [*_nulls(descriptor, row)]
    for constraint in descriptor.constraints:
        if rule(constraint.kind, constraint.state).insert is Write.ENFORCE:
            found += _broken(descriptor, row, constraint)
    return found


def _nulls(descriptor: Descriptor, row: StoredRow) -> Iterator[Broken]:
    for column in descriptor.stored_columns:
        if column.not_null and column.state is State.PUBLIC and _is_null(descriptor, row, column):
            why = Sentence("has NULL in {column}, which is NOT NULL", column=column.name)
            yield Broken(State.PUBLIC, why, column=column)


def _is_null(descriptor: Descriptor, row: StoredRow, column: Column) -> bool:
    return encoded_value(descriptor, row, column.id) == encoding.NULL


def _broken(descriptor: Descriptor, row: StoredRow, constraint: Constraint) -> Iterator[Broken]:
    if constraint.rule == NOT_NULL:
        for column_id in constraint.columns:
            column = descriptor.column(column_id)
            if _is_null(descriptor, row, column):
                why = f"has NULL in {column.name}, which constraint {constraint.name} forbids"
                yield Broken(constraint.state, why, constraint, column)
    elif constraint.rule == CHECK:
        yield from _failed(descriptor, row, constraint)


def _failed(descriptor: Descriptor, row: StoredRow, constraint: Constraint) -> Iterator[Broken]:
    assert constraint.expression is not None, constraint
    try:
        what = f"constraint {constraint.name}"
        if computed(descriptor, row, constraint.expression, what, SqlType.BOOLEAN) is False:
            fails = Sentence("breaks constraint {constraint}", constraint=constraint.name)
            yield Broken(constraint.state, fails, constraint)
    except CannotDerive as cannot:
        why = f"breaks constraint {constraint.name}, which has no value for it: {cannot.why}"
        yield Broken(constraint.state, why, constraint, cannot=cannot)
