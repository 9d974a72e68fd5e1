"""PostgreSQL's answers to questions about rows: what the evaluator says, where both can compute."""

from collections.abc import Sequence
from decimal import Decimal

import psycopg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.types import INT_LIMITS, UNSORTED, SqlType, Value
from expressions.errors import SqlError
from expressions.rows import canonical, columns_of, is_local, value_of
from storage.answers import Question
from storage.asking import answers_of, arrays_of, question_sql
from storage.encoding import NULL, decode, encode_value
from storage.postgres import USERS_SETTINGS
from tests.rounds import drawn
from tests.storage.sql_values.sessions import Session, settings
from tests.storage.sql_values.values import columns_and_values, lengths_of, values_of

SAME_SESSIONS = [HealthCheck.function_scoped_fixture]
ID, ONE, OTHER = (ColumnId(number) for number in (1, 2, 3))
NUMBERS = {*INT_LIMITS, SqlType.REAL, SqlType.DOUBLE, SqlType.NUMERIC}
TEXTS = {SqlType.TEXT, SqlType.VARCHAR, SqlType.CHAR}


def table(sql_type: SqlType, length: int | None = None) -> Descriptor:
    columns = (Column(ONE, "a", sql_type, length=length), Column(OTHER, "b", sql_type, length=length))
    return Descriptor(TableId(1), "t", 3, (Column(ID, "id", SqlType.BIGINT, not_null=True), *columns), (ID,))


def written(sql_type: SqlType) -> list[tuple[str, SqlType]]:
    """Expressions over two columns of a type that are computed on both sides, and their types."""
    found = [("a", sql_type), ("coalesce(a, b)", sql_type), ("a IS NULL OR b IS NOT NULL", SqlType.BOOLEAN)]
    found += [("CASE WHEN a IS NULL THEN b ELSE a END", sql_type)]
    if sql_type not in UNSORTED:
        found += [(f"a {operator} b", SqlType.BOOLEAN) for operator in ("=", "<>", "<", ">=")]
        found += [("a IN (b, b)", SqlType.BOOLEAN), ("a BETWEEN b AND b", SqlType.BOOLEAN)]
    if sql_type in NUMBERS:
        found += [(f"a {operator} b", sql_type) for operator in "+-*/"] + [("abs(a)", sql_type), ("-a", sql_type)]
    if sql_type in TEXTS:
        found += [("a || b", SqlType.TEXT), ("length(a)", SqlType.INTEGER), ("upper(a)", SqlType.TEXT)]
        found += [("a LIKE '%a_'", SqlType.BOOLEAN)]
    return found if sql_type is SqlType.JSON else [*found, ("a::text", SqlType.TEXT)]


def literal(inputs: Sequence[bytes]) -> bytes:
    return b"{" + b",".join(b'"\\\\x' + data.hex().encode() + b'"' for data in inputs) + b"}"


def answered(session: Session, descriptor: Descriptor, asked: Sequence[Question]) -> list[object]:
    """The answers, an error as its code."""
    sql = question_sql(descriptor, asked[0].text, asked[0].returns).encode()

    def ask(arrays: list[list[bytes]]) -> list[bytes | None]:
        pgconn = session.connection.pgconn
        result = pgconn.exec_params(sql, [literal(column) for column in arrays], result_format=1)
        if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
            error = psycopg.errors.error_from_result(result)
            raise SqlError(error.sqlstate or "", str(error))
        return [result.get_value(number, 0) for number in range(result.ntuples)]

    found = answers_of(asked, ask)
    return [shown(found[one]) for one in asked]


def shown(value: object) -> object:
    return f"error {value.sqlstate}" if isinstance(value, SqlError) else value


def computed(descriptor: Descriptor, question: Question) -> object:
    ids = sorted(columns_of(question.text))
    values = {c: decode(descriptor.column(c).type, data)[0] for c, data in zip(ids, question.inputs, strict=True)}
    try:
        found = value_of(descriptor, question.text, values)
        return decode(question.returns, encode_value(question.returns, found))[0]
    except SqlError as error:
        return shown(error)


def same(one: object, other: object) -> bool:
    return repr(one) == repr(other)  # NaN is itself, 1.0 is not 1.00


@pytest.mark.parametrize("sql_type", list(SqlType), ids=lambda of: of.value)
@drawn(few=3, many=200, suppress_health_check=SAME_SESSIONS)
@given(data=st.data())
def test_postgres_answers_what_the_evaluator_says(client: Session, sql_type: SqlType, data: st.DataObject) -> None:
    descriptor = table(sql_type, data.draw(lengths_of(sql_type)))
    rows = data.draw(st.lists(st.tuples(*[st.none() | values_of(sql_type)] * 2), min_size=1, max_size=4))
    client.set(USERS_SETTINGS)
    for text, returns in written(sql_type):
        kept = canonical(descriptor, text, returns=returns, what="a check")
        assert is_local(descriptor, kept)
        questions = [question(descriptor, kept, returns, row) for row in rows]
        answers = answered(client, descriptor, questions)
        for one, answer in zip(questions, answers, strict=True):
            assert same(answer, computed(descriptor, one)), (text, one)


def question(descriptor: Descriptor, text: str, returns: SqlType, row: Sequence[Value | None]) -> Question:
    values = dict(zip((ONE, OTHER), row, strict=True))
    ids = sorted(columns_of(text))
    return Question(text, returns, tuple(encode_value(descriptor.column(c).type, values[c]) for c in ids))


@pytest.mark.parametrize("sql_type", [of for of in SqlType if not of.element], ids=lambda of: of.value)
@drawn(few=3, many=200, suppress_health_check=SAME_SESSIONS)
@given(data=st.data())
def test_no_setting_of_a_client_reaches_a_value(client: Session, sql_type: SqlType, data: st.DataObject) -> None:
    """W1: an expression that makes no text has the same values under any settings."""
    column, value = data.draw(columns_and_values(sql_type))
    descriptor = table(sql_type, column.length)
    asked = [Question(f'COALESCE("#{ONE}", "#{ONE}")', sql_type, (encode_value(sql_type, value),))]
    client.set(USERS_SETTINGS)
    expected = answered(client, descriptor, asked)
    client.set(data.draw(settings))
    assert same(answered(client, descriptor, asked), expected)
    assert same(expected, [value])


def asked(
    text: str, returns: SqlType, *rows: tuple[Value | None, ...], of: SqlType = SqlType.INTEGER
) -> list[Question]:
    return [Question(text, returns, tuple(encode_value(of, value) for value in row)) for row in rows]


def test_what_only_postgres_computes(client: Session) -> None:
    jsons, text = table(SqlType.JSONB), f"""jsonb_path_exists("#{ONE}", '$.a ? (@ > 1)')"""
    assert not is_local(jsons, text)
    rows = [b"\x01" + written.encode() + b"\x00" for written in ('{"a": 2}', '{"a": 1}')]
    questions = [Question(text, SqlType.BOOLEAN, (data,)) for data in [*rows, NULL]]
    assert answered(client, jsons, questions) == [True, False, None]


def test_rows_without_a_value_are_told_from_the_others(client: Session) -> None:
    questions = asked(f'6 / "#{ONE}"', SqlType.INTEGER, *((number,) for number in (1, 0, 3, 2, 0, 6)))
    assert answered(client, table(SqlType.INTEGER), questions) == [6, "error 22012", 2, 3, "error 22012", 1]


def test_values_that_no_column_has_are_errors(client: Session) -> None:
    infinite = asked(f"""CASE WHEN "#{ONE}" > 0 THEN 'infinity'::date END""", SqlType.DATE, (1,), (0,))
    assert answered(client, table(SqlType.INTEGER), infinite) == ["error 22008", None]


@pytest.mark.parametrize(("one", "other"), [
    ("9" * 20_000, "1"), ("1" + "0" * 11_999, "0." + "0" * 11_998 + "1"),
    ("1" + "0" * 4_000, "0." + "0" * 15_999 + "1"),
])  # fmt: skip
def test_a_number_of_more_digits_than_are_kept_is_the_same_error_on_both_sides(
    client: Session, one: str, other: str
) -> None:
    descriptor = table(SqlType.NUMERIC)
    kept = canonical(descriptor, "a + b", returns=SqlType.NUMERIC, what="a check")
    question_of_both = question(descriptor, kept, SqlType.NUMERIC, (Decimal(one), Decimal(other)))
    assert answered(client, descriptor, [question_of_both]) == ["error 54000"]
    assert computed(descriptor, question_of_both) == "error 54000"


def test_an_expression_of_no_column_has_one_answer(client: Session) -> None:
    assert answered(client, table(SqlType.INTEGER), [Question("1 < 2", SqlType.BOOLEAN, ())]) == [True]


def test_many_columns_stand_in_the_order_of_their_ids() -> None:
    questions = asked(f'"#{OTHER}" - "#{ONE}"', SqlType.INTEGER, (1, 5), (2, 7))
    assert arrays_of(questions) == [[encode_value(SqlType.INTEGER, n) for n in numbers] for numbers in ((1, 2), (5, 7))]
