"""Rows that break a rule are told with the values that break it."""

from dataclasses import replace

import pytest

from catalog.elements import Constraint, ConstraintId, Index, IndexColumn, IndexId
from storage.integrity.constraints import constraint_violations
from storage.integrity.offenders import broken_words, duplicate_words
from storage.pairs import StoredRow, index_values
from tests.storage.test_mutations import AGE, NAME, PLAIN, user

ONE = Index(IndexId(1), "one", (IndexColumn(NAME),), unique=True)
TWO = replace(ONE, columns=(IndexColumn(AGE, descending=True), IndexColumn(NAME)))


@pytest.mark.parametrize(("index", "name", "words"), [
    pytest.param(ONE, "LAX", "the same value (name) = ('LAX') in unique index one", id="one column"),
    pytest.param(TWO, "O'Hare", "the same values (age, name) = (3, 'O''Hare') in unique index one", id="several"),
    pytest.param(ONE, "x" * 99, f"the same value (name) = ('{'x' * 60}..') in unique index one", id="a long text"),
])  # fmt: skip
def test_duplicates_are_two_rows_and_their_values(index: Index, name: str, words: str) -> None:
    first, second = user(7, name, 3), user(9, name, 3)
    said = duplicate_words(PLAIN, index, first.key, second.key, index_values(PLAIN, index, first))
    assert said == f"row id = 7 and row id = 9 have {words}"


@pytest.mark.parametrize(("rule", "expression", "row", "words"), [
    pytest.param("check", '"#3" > 17', user(7, "ann", 3), "row id = 7 with (age) = (3) breaks constraint c", id="age"),
    pytest.param("check", '"#2" <> \'ann\' OR "#3" > 17 OR "#1" > 9', user(7, "ann", 3),
        "row id = 7 with (id, name, age) = (7, 'ann', 3) breaks constraint c",
        id="several columns, the key among them"),
    pytest.param("check", '"#3" IS NOT NULL', StoredRow(user(7, None).key),
        "row id = 7 with (age) = (NULL) breaks constraint c", id="no value"),
    pytest.param("check", "false", user(7, None), "row id = 7 breaks constraint c", id="no column is read"),
    pytest.param("not null", None, user(7, None), "row id = 7 has NULL in name, which constraint c forbids",
        id="not null"),
])  # fmt: skip
def test_a_row_and_what_it_breaks(rule: str, expression: str | None, row: StoredRow, words: str) -> None:
    constraint = Constraint(ConstraintId(1), "c", rule, (NAME,), expression)
    descriptor = replace(PLAIN, constraints=(constraint,))
    [broken] = constraint_violations(descriptor, row)
    assert broken_words(descriptor, row, broken) == words
