"""Which constraints a row breaks, in each state."""

from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Constraint, ConstraintId, State
from catalog.values.types import SqlType
from storage import encoding
from storage.integrity.clauses import check
from storage.integrity.constraints import constraint_violations
from storage.mutations import insert_row
from storage.pairs import StoredRow
from storage.store import MemoryStore
from tests.storage.test_mutations import AGE, NAME, PLAIN, run, user

ADULT = Constraint(ConstraintId(1), "adult", "check", (AGE,), '"#3" > 17')
NAMED = Constraint(ConstraintId(2), "named", "not null", (NAME,))


def constrained(*constraints: Constraint, state: State = State.PUBLIC) -> Descriptor:
    return replace(PLAIN, constraints=tuple(replace(c, state=state) for c in constraints))


NOT_NULL = replace(PLAIN, columns=(PLAIN.columns[0], replace(PLAIN.columns[1], not_null=True), PLAIN.columns[2]))
DIVIDING = replace(ADULT, expression='1 / "#3" > 0')


@pytest.mark.parametrize(("descriptor", "row", "why"), [
    pytest.param(constrained(ADULT), user(1, "ann", 17), ["breaks constraint adult"], id="check false"),
    pytest.param(constrained(ADULT), user(1, "ann", 18), [], id="check true"),
    pytest.param(constrained(ADULT), user(1, "ann", None), [], id="check null: not false"),
    pytest.param(constrained(DIVIDING), user(1, "ann", 0),
        ["breaks constraint adult, which has no value for it: division by zero"], id="check without a value"),
    pytest.param(constrained(NAMED), user(1, None), ["has NULL in name, which constraint named forbids"],
        id="not null"),
    pytest.param(constrained(NAMED), StoredRow(user(1, None).key), ["has NULL in name, which constraint named forbids"],
        id="not null: a missing pair reads as NULL"),
    pytest.param(NOT_NULL, user(1, None), ["has NULL in name, which is NOT NULL"], id="a column's own"),
    pytest.param(constrained(ADULT, NAMED), user(1, None, 3),
        ["breaks constraint adult", "has NULL in name, which constraint named forbids"], id="all of them"),
])  # fmt: skip
def test_what_a_row_breaks(descriptor: Descriptor, row: StoredRow, why: list[str]) -> None:
    assert [broken.why for broken in constraint_violations(descriptor, row)] == why


@pytest.mark.parametrize(
    ("state", "enforced", "relied_on"),
    [(State.ABSENT, False, False), (State.WRITE_ONLY, True, False), (State.PUBLIC, True, True)],
)
def test_enforced_from_write_only_on_and_relied_on_in_public(state: State, enforced: bool, relied_on: bool) -> None:
    descriptor, row, store = constrained(ADULT, NAMED, state=state), user(1, None, 3), MemoryStore()
    assert [broken.state for broken in constraint_violations(descriptor, row)] == [state] * 2 * enforced
    run(store, insert_row(PLAIN, row))
    assert [v.clause for v in check(descriptor, store.contents())] == ["C6"] * 2 * relied_on


def test_a_filling_column_reads_as_its_fill_value() -> None:
    fill_value = encoding.encode(SqlType.INTEGER, 21)
    filling = replace(
        PLAIN.columns[2], state=State.WRITE_ONLY, added_with_default=True, fill_value=fill_value, filling=True
    )
    descriptor = replace(constrained(ADULT), columns=(*PLAIN.columns[:2], filling))
    assert constraint_violations(descriptor, StoredRow(user(1, "ann").key, {})) == []


def test_a_missing_pair_of_a_not_null_column_is_reported_once() -> None:
    store = MemoryStore()
    run(store, insert_row(replace(PLAIN, columns=(PLAIN.columns[0],)), user(1, None)))
    assert [v.clause for v in check(NOT_NULL, store.contents())] == ["C2"]
