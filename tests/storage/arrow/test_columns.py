"""Columns' pairs a batch at a time: what the plain functions say, row by row."""

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Constraint, ConstraintId, Derivation, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from expressions.errors import SqlError
from storage import encoding, pairs
from storage.arrow import columns as arrow_columns
from storage.arrow import encoding as arrow
from storage.arrow import rows as arrow_rows
from storage.asking import questions, with_answers
from storage.derived import derived_value, matches
from storage.integrity.constraints import constraint_violations
from tests.rounds import drawn
from tests.storage.arrow.test_rows import pairs_of, read
from tests.storage.test_mutations import AGE, NAME, PLAIN, user

TWIN = ColumnId(4)
ZONED = SqlType.TIMESTAMPTZ_ARRAY
"""Its text depends on the session: there is no cast of it."""
OWED = encoding.encode(SqlType.INTEGER, 7)
TEXTS = st.sampled_from(["7", "07", "-1", "x", "", "99999999999", None])
NUMBERS = st.none() | st.sampled_from([0, 1, 7, 18, 2**31 - 1])


def text(value: str | None) -> bytes:
    return encoding.encode(SqlType.TEXT, value)


def number(value: int | None) -> bytes:
    return encoding.encode(SqlType.INTEGER, value)


@st.composite
def stored(draw: st.DrawFn) -> list[pairs.StoredRow]:
    """Rows of (name, age, twin), with pairs missing here and there."""
    rows = []
    for key in draw(st.lists(st.integers(1, 20), unique=True, max_size=6)):
        columns = {NAME: text(draw(TEXTS)), AGE: number(draw(NUMBERS)), TWIN: number(draw(NUMBERS))}
        kept = draw(st.sets(st.sampled_from(sorted(columns))))
        rows.append(pairs.StoredRow(user(key, None).key, {c: v for c, v in columns.items() if c in kept}))
    return sorted(rows, key=lambda row: row.key)


def with_twin(expression: str, inverse: str | None = None, *, not_null: bool = False) -> tuple[Descriptor, Column]:
    twin = Column(TWIN, "twin", SqlType.INTEGER, State.WRITE_ONLY, not_null=not_null, filling=True)
    twin = replace(twin, derived=Derivation(NAME, expression, inverse))
    return replace(PLAIN, columns=(*PLAIN.columns, twin)), twin


def page_of(descriptor: Descriptor, rows: list[pairs.StoredRow]) -> arrow_rows.StoredRows:
    return read(descriptor, pairs_of(descriptor, rows), step=1000)


def outcome(compute: Callable[[], object]) -> object:
    """What is computed, or the words of the refusal."""
    try:
        return compute()
    except pairs.CannotDerive as refused:
        return str(refused)


def as_dict(found: arrow.Pairs) -> dict[bytes, bytes]:
    return dict(zip(found.keys.to_pylist(), found.values.to_pylist(), strict=True))


def key_of(row: pairs.StoredRow) -> bytes:
    return pairs.column_key(pairs.prefix(PLAIN, PLAIN.placement.id), row.key, TWIN)


@drawn(few=15, many=60)
@given(rows=stored())
def test_a_fill_puts_its_value_for_rows_without_a_pair(rows: list[pairs.StoredRow]) -> None:
    column = Column(TWIN, "more", SqlType.INTEGER, State.WRITE_ONLY, fill_value=OWED, filling=True)
    descriptor = replace(PLAIN, columns=(*PLAIN.columns, column))
    found = arrow_columns.fill_pairs(descriptor, PLAIN.placement.id, column, page_of(descriptor, rows))
    assert as_dict(found) == {key_of(row): OWED for row in rows if TWIN not in row.columns}


EXPRESSIONS = [
    pytest.param('"#2"::integer', id="one column"),
    pytest.param('length("#2") + "#3"', id="two columns"),
    pytest.param('"#1"::integer * 2', id="of the key"),
    pytest.param("1 + 1", id="of none"),
    pytest.param('100 / "#3"', id="with no value for some"),
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
@drawn(few=15, many=60)
@given(rows=stored(), not_null=st.booleans())
def test_a_fill_puts_what_the_expression_says(expression: str, rows: list[pairs.StoredRow], not_null: bool) -> None:
    descriptor, twin = with_twin(expression, not_null=not_null)

    def one_by_one() -> dict[bytes, bytes]:
        return {key_of(r): derived_value(descriptor, twin, r) for r in rows if TWIN not in r.columns}

    def at_once() -> dict[bytes, bytes]:
        return as_dict(arrow_columns.fill_pairs(descriptor, PLAIN.placement.id, twin, page_of(descriptor, rows)))

    assert outcome(at_once) == outcome(one_by_one)


@pytest.mark.parametrize("inverse", [None, '"#4"::text'])
@drawn(few=20, many=80)
@given(rows=stored())
def test_pairs_that_do_not_follow_are_found(inverse: str | None, rows: list[pairs.StoredRow]) -> None:
    descriptor, twin = with_twin('"#2"::integer', inverse)
    page = page_of(descriptor, rows)
    wrong = arrow_columns.mismatched(descriptor, twin, page).to_pylist()
    assert wrong == [TWIN in row.columns and not matches(descriptor, twin, row) for row in rows]
    assert arrow_columns.missing(twin, page).to_pylist() == [TWIN not in row.columns for row in rows]


CONSTRAINTS = [
    pytest.param(Constraint(ConstraintId(1), "adult", "check", (AGE,), '"#3" > 17'), id="check"),
    pytest.param(Constraint(ConstraintId(1), "some", "check", (AGE, NAME), '7 / "#3" > length("#2")'), id="no value"),
    pytest.param(Constraint(ConstraintId(1), "named", "not null", (NAME,)), id="not null"),
]


@pytest.mark.parametrize("constraint", CONSTRAINTS)
@drawn(few=15, many=60)
@given(rows=stored(), is_filling=st.booleans())
def test_rows_that_break_a_constraint_are_found(
    constraint: Constraint, rows: list[pairs.StoredRow], is_filling: bool
) -> None:
    age = replace(PLAIN.columns[2], state=State.WRITE_ONLY, fill_value=OWED, filling=True)
    columns = (*PLAIN.columns[:2], age if is_filling else PLAIN.columns[2])
    descriptor = replace(PLAIN, columns=columns, constraints=(constraint,))
    found = arrow_columns.breaks(descriptor, constraint, page_of(descriptor, rows)).to_pylist()
    assert found == [bool(constraint_violations(descriptor, row)) for row in rows]


CONDITIONS = ['"#3" > 1', '"#2" LIKE \'%7\' OR "#3" IS NULL', '"#1" < 10', "TRUE", '7 / "#3" > 0']


@pytest.mark.parametrize("where", CONDITIONS)
@drawn(few=12, many=40)
@given(rows=stored(), unique=st.booleans())
def test_entries_of_a_partial_index_are_those_that_a_statement_puts(
    where: str, rows: list[pairs.StoredRow], unique: bool
) -> None:
    index = Index(IndexId(1), "some", (IndexColumn(AGE, descending=True),), unique=unique, where=where)
    descriptor, place = replace(PLAIN, indexes=(index,)), PLAIN.placement
    page = page_of(descriptor, rows)

    def one_by_one() -> list[tuple[bytes, bytes]]:
        return [e for row in rows if (e := pairs.index_entry(descriptor, place, index, row)) is not None]

    def at_once() -> list[tuple[bytes, bytes]]:
        found = arrow_rows.index_entries(descriptor, place.id, index, page)
        return list(zip(found.keys.to_pylist(), found.values.to_pylist(), strict=True))

    assert outcome(at_once) == outcome(one_by_one)
    there = arrow_rows.accepted(descriptor, index, page, now=True)
    assert there.to_pylist() == [pairs.entry_now(descriptor, place, index, row) is not None for row in rows]


@pytest.mark.parametrize("sql_type", [pytest.param(t, id=t.value) for t in SqlType if t is not ZONED])
@drawn(few=8, many=20)
@given(data=st.data())
def test_values_of_every_type_are_derived(sql_type: SqlType, data: st.DataObject) -> None:
    from tests.storage.arrow.test_rows import NULLABLE, table_of

    table = table_of([sql_type], [SqlType.BIGINT])
    twin = Column(ColumnId(3), "twin", SqlType.TEXT, State.WRITE_ONLY, derived=Derivation(ColumnId(2), '"#2"::text'))
    descriptor = replace(table, columns=(*table.columns, twin))
    values = data.draw(st.lists(NULLABLE[sql_type], max_size=6))
    rows = [
        pairs.StoredRow(pairs.row_key(table, [n]), {ColumnId(2): encoding.encode(sql_type, value)})
        for n, value in enumerate(values)
    ]
    found = arrow_columns.derived_values(descriptor, twin, page_of(descriptor, rows))
    assert found.to_pylist() == [derived_value(descriptor, twin, row) for row in rows]
    assert found.type == pa.binary()


# --- what PostgreSQL is asked for

ASKED = 'reverse("#2")'


def reversed_texts(arrays: list[list[bytes]]) -> list[bytes | None]:
    """What PostgreSQL answers; it has no value for a text with an x."""
    [names] = ([encoding.decode(SqlType.TEXT, data)[0] for data in column] for column in arrays)
    if any(name is not None and "x" in name for name in names):
        raise SqlError("22000", "no text with an x")
    return [text(None if name is None else name[::-1]) for name in names]


def asked_twin() -> tuple[Descriptor, Column]:
    twin = Column(TWIN, "twin", SqlType.TEXT, State.WRITE_ONLY, filling=True, derived=Derivation(NAME, ASKED, None))
    return replace(PLAIN, columns=(*PLAIN.columns, twin)), twin


@given(rows=stored())
def test_values_that_postgresql_computes_are_those_of_each_row_by_itself(rows: list[pairs.StoredRow]) -> None:
    descriptor, twin = asked_twin()
    page = replace(page_of(descriptor, rows), ask=lambda sql, arrays: reversed_texts(arrays))

    def asked(row: pairs.StoredRow) -> bytes | None:
        row = with_answers(descriptor, row, questions, lambda sql, arrays: reversed_texts(arrays))
        try:
            return derived_value(descriptor, twin, row)
        except pairs.CannotDerive:
            return None

    expected = [asked(row) for row in rows]
    if None in expected:
        with pytest.raises(pairs.CannotDerive, match="no text with an x"):
            arrow_columns.derived_values(descriptor, twin, page)
        return
    assert arrow_columns.derived_values(descriptor, twin, page).to_pylist() == expected


def test_equal_rows_are_asked_for_once_and_only_halves_with_a_row_that_fails_again() -> None:
    descriptor, twin = asked_twin()
    names = ["a", "b", "a", "c", "d", "b", "x"]
    rows = [pairs.StoredRow(user(n, None).key, {NAME: text(name)}) for n, name in enumerate(names)]
    asked: list[int] = []

    def ask(sql: str, arrays: list[list[bytes]]) -> list[bytes | None]:
        asked.append(len(arrays[0]))
        return reversed_texts(arrays)

    page = replace(page_of(descriptor, rows), ask=ask)
    with pytest.raises(pairs.CannotDerive, match="row id = 6"):
        arrow_columns.derived_values(descriptor, twin, page)
    assert asked[0] == 5
    assert sum(asked) <= 5 + 5 + 3 + 3
    asked.clear()
    arrow_columns.derived_values(descriptor, twin, page.slice(0, 6))
    assert asked == [4]
