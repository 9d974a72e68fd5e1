"""Rows under expressions that PostgreSQL computes: what they ask, and what their pairs are once it is answered."""

from dataclasses import replace

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import (
    CHECK,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Derivation,
    Index,
    IndexColumn,
    IndexId,
    State,
    TableId,
)
from catalog.values.types import SqlType
from expressions.errors import SqlError
from storage.answers import Answers, Question, Unanswered
from storage.asking import asks, questions, questions_of_entries, questions_of_new
from storage.derived import matches
from storage.encoding import NULL, encode, encode_value
from storage.integrity.constraints import constraint_violations
from storage.mutations import Act, delete_row, fill_row, insert_row, update_row
from storage.pairs import CannotDerive, StoredRow

ID, TEXT, TWIN = (ColumnId(n) for n in (1, 2, 3))
TWIN_OF, BACK, WHERE, RULE = 'f("#2")', 'g("#3")', 'h("#3")', 'k("#2")'
"""Functions that only PostgreSQL knows."""
INDEX, CONSTRAINT = IndexId(1), ConstraintId(1)
T = Descriptor(
    TableId(1),
    "t",
    3,
    (
        Column(ID, "id", SqlType.BIGINT, not_null=True),
        Column(TEXT, "a", SqlType.TEXT),
        Column(TWIN, "b", SqlType.INTEGER, state=State.WRITE_ONLY, derived=Derivation(TEXT, TWIN_OF, BACK)),
    ),
    (ID,),
    indexes=(Index(INDEX, "i", (IndexColumn(TEXT),), state=State.PUBLIC, where=WHERE),),
    constraints=(Constraint(CONSTRAINT, "c", CHECK, expression=RULE, state=State.PUBLIC),),
)
OLD, NEW = (encode(SqlType.TEXT, text) for text in ("old", "new"))
ONE, TWO = (encode_value(SqlType.INTEGER, number) for number in (1, 2))
KEY = encode(SqlType.BIGINT, 7)
DERIVED = {Question(TWIN_OF, SqlType.INTEGER, (OLD,)): 1, Question(TWIN_OF, SqlType.INTEGER, (NEW,)): 2}
ACCEPTED = {Question(WHERE, SqlType.BOOLEAN, (data,)): True for data in (ONE, TWO)}
KEPT = {Question(RULE, SqlType.BOOLEAN, (data,)): True for data in (OLD, NEW)}
ALL: Answers = {**DERIVED, **ACCEPTED, **KEPT}


def row(answers: Answers, **columns: bytes) -> StoredRow:
    return StoredRow(KEY, {TEXT: columns.get("a", OLD)} | ({TWIN: columns["b"]} if "b" in columns else {}), answers)


def test_it_is_known_whether_a_version_asks_anything() -> None:
    assert asks(T)
    assert not asks(replace(T, columns=T.columns[:2], indexes=(), constraints=()))


def test_a_new_row_asks_for_its_derived_values_and_then_for_what_reads_them() -> None:
    assert questions_of_new(T, row({})) == [Question(TWIN_OF, SqlType.INTEGER, (OLD,))]
    assert questions_of_new(T, row(DERIVED)) == [
        Question(WHERE, SqlType.BOOLEAN, (ONE,)),
        Question(RULE, SqlType.BOOLEAN, (OLD,)),
    ]
    assert questions_of_new(T, row(ALL)) == []


def test_an_old_row_asks_for_its_entries() -> None:
    assert questions_of_entries(T, row({}, b=ONE)) == [Question(WHERE, SqlType.BOOLEAN, (ONE,))]
    assert len(questions(T, row({}, b=ONE))) == 4


def test_nothing_is_done_before_the_answers_are_there() -> None:
    for answers in ({}, DERIVED):
        with pytest.raises(Unanswered):
            insert_row(T, row(answers))
    with pytest.raises(Unanswered):
        delete_row(T, row(DERIVED, b=ONE))
    with pytest.raises(Unanswered):
        constraint_violations(T, row(ACCEPTED, b=ONE))
    with pytest.raises(Unanswered):
        matches(T, T.column(TWIN), row({}, b=ONE))


def test_a_row_is_written_by_its_answers() -> None:
    assert [op.value for op in insert_row(T, row(ALL)) if op.act is Act.PUT] == [OLD, ONE, b""]
    assert len(delete_row(T, row(ALL, b=ONE))) == 4
    ops = update_row(T, row(ALL, b=ONE), {TEXT: NEW})
    assert [op.value for op in ops if op.act is Act.PUT] == [NEW, TWO, b""]


def test_a_condition_that_says_no_leaves_the_row_out() -> None:
    answers = ALL | {Question(WHERE, SqlType.BOOLEAN, (ONE,)): None}
    assert [op.value for op in insert_row(T, row(answers)) if op.act is Act.PUT] == [OLD, ONE]
    assert len(delete_row(T, row(answers, b=ONE))) == 3


def test_an_error_is_an_answer() -> None:
    failed = SqlError("22012", "division by zero")
    with pytest.raises(CannotDerive) as caught:
        insert_row(T, row(ALL | {Question(TWIN_OF, SqlType.INTEGER, (OLD,)): failed}))
    assert (caught.value.sqlstate, caught.value.why) == ("22012", "division by zero")
    assert str(caught.value) == "column b has no value for row id = 7: division by zero"
    where = ALL | {Question(WHERE, SqlType.BOOLEAN, (ONE,)): failed}
    assert len(delete_row(T, row(where, b=ONE))) == 3, "no entry was ever put"
    rule = ALL | {Question(RULE, SqlType.BOOLEAN, (OLD,)): failed}
    (broken,) = constraint_violations(T, row(rule, b=ONE))
    assert broken.cannot is not None


def test_a_check_is_broken_by_false_alone() -> None:
    for value, count in ((True, 0), (None, 0), (False, 1)):
        answers = {Question(RULE, SqlType.BOOLEAN, (OLD,)): value}
        assert len(constraint_violations(T, row(answers, b=ONE))) == count


def test_a_derived_pair_is_right_when_its_inverse_says_so() -> None:
    answers = DERIVED | {Question(BACK, SqlType.TEXT, (TWO,)): "old", Question(BACK, SqlType.TEXT, (NULL,)): None}
    assert matches(T, T.column(TWIN), row(answers, b=ONE))
    assert matches(T, T.column(TWIN), row(answers, b=TWO)), "f('old') is 1, and g(2) is 'old'"
    assert not matches(T, T.column(TWIN), row(answers, b=NULL))


def test_a_fill_puts_what_is_answered() -> None:
    filling = replace(T, columns=(*T.columns[:2], replace(T.columns[2], filling=True)))
    with pytest.raises(Unanswered):
        fill_row(filling, row({}))
    assert ONE in [op.value for op in fill_row(filling, row(ALL))]
