"""What a fill owes a row: what an insert would have put and the row lacks; Arrow says the same of many."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import Column, Derivation, Index, IndexColumn, IndexId, Placement, PlacementId, State
from catalog.values.types import SqlType
from storage import pairs
from storage.arrow import columns as arrow_columns
from storage.arrow import rows as arrow_rows
from storage.mutations import fill_row, insert_row
from storage.store import MemoryStore
from tests.rounds import drawn
from tests.storage.arrow.test_columns import AGE, NAME, OWED, PLAIN, TWIN, as_dict, outcome, page_of, stored
from tests.storage.test_mutations import user

D, W, P = State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC
COPY = PlacementId(2)

FILLED = [
    Column(TWIN, "more", SqlType.INTEGER, W, fill_value=OWED, filling=True),
    Column(TWIN, "twin", SqlType.INTEGER, W, filling=True, derived=Derivation(NAME, '"#2"::integer')),
    Column(TWIN, "there", SqlType.INTEGER),
]


@st.composite
def filling(draw: st.DrawFn) -> Descriptor:
    """A version that fills a column, one or two indexes, or both; some of them over the column itself."""
    column = draw(st.sampled_from(FILLED))
    over = [NAME, AGE] if column.derived else [NAME, AGE, TWIN]
    wheres = [None, '"#3" > 1', '7 / "#3" > 0']
    states = [(W, True), (W, False), (D, False), (P, False)]
    indexes = []
    for number in range(1, draw(st.integers(1, 3))):
        parts = draw(st.lists(st.sampled_from(over), min_size=1, max_size=2, unique=True))
        state, is_filling = draw(st.sampled_from(states))
        indexes.append(
            Index(
                IndexId(number),
                f"by_{number}",
                tuple(IndexColumn(part, draw(st.booleans())) for part in parts),
                unique=draw(st.booleans()),
                where=draw(st.sampled_from(wheres)),
                state=state,
                filling=is_filling,
            )
        )
    return replace(PLAIN, columns=(*PLAIN.columns, column), indexes=tuple(indexes))


def one_by_one(descriptor: Descriptor, rows: list[pairs.StoredRow]) -> dict[bytes, bytes]:
    return {op.key: op.value for row in rows for op in fill_row(descriptor, row)}


def at_once(descriptor: Descriptor, rows: list[pairs.StoredRow]) -> dict[bytes, bytes]:
    place, page = descriptor.placement.id, page_of(descriptor, rows)
    found: dict[bytes, bytes] = {}
    for column in descriptor.columns:
        if column.filling:
            found |= as_dict(arrow_columns.fill_pairs(descriptor, place, column, page))
    for index in descriptor.indexes:
        if index.filling:
            found |= as_dict(arrow_rows.index_entries(descriptor, place, index, page))
    return found


@drawn(few=50, many=200)
@given(descriptor=filling(), rows=stored())
def test_arrow_fills_many_rows_as_each_alone(descriptor: Descriptor, rows: list[pairs.StoredRow]) -> None:
    for row in rows:  # row by row: of several refusals each names the first it meets
        alone = outcome(lambda row=row: at_once(descriptor, [row]))
        assert alone == outcome(lambda row=row: one_by_one(descriptor, [row]))
    try:
        expected = one_by_one(descriptor, rows)
    except pairs.CannotDerive:
        return
    assert at_once(descriptor, rows) == expected


@drawn(few=25, many=100)
@given(descriptor=filling(), rows=stored())
def test_a_row_that_was_filled_is_as_if_it_had_been_inserted(
    descriptor: Descriptor, rows: list[pairs.StoredRow]
) -> None:
    """Every pair that an insert puts for an element that is filled is a pair of the fill, or exists."""
    for row in rows:
        columns = {c.id: pairs.missing_value(c) for c in descriptor.stored_columns if c.derived is None}
        try:
            inserted = insert_row(descriptor, pairs.StoredRow(row.key, {**columns, **row.columns}))
            expected = {op.key: op for op in fill_row(descriptor, row)}
        except pairs.CannotDerive:
            continue
        for op in inserted:
            name = pairs.name_of(descriptor, op.key)
            column = None if name.column in (None, 0) else descriptor.column(name.column)
            element = descriptor.index(name.index) if name.index else column
            if element is not None and element.filling and name.column not in row.columns:
                assert (expected[op.key].bucket, expected[op.key].value) == (op.bucket, op.value)


@pytest.mark.parametrize("by_value", [False, True], ids=["spread by key", "spread by value"])
@drawn(few=12, many=40)
@given(rows=stored())
def test_a_placement_is_filled_with_all_that_a_row_has(by_value: bool, rows: list[pairs.StoredRow]) -> None:
    copy = Placement(COPY, sharding_key=(AGE,) if by_value else (), state=W, filling=True)
    index = Index(IndexId(1), "by_age", (IndexColumn(AGE),))
    descriptor = replace(PLAIN, placements=(PLAIN.placement, copy), indexes=(index,))
    for full in rows:
        row = pairs.StoredRow(full.key, {c: v for c, v in full.columns.items() if c != TWIN})
        store = MemoryStore()
        for op in fill_row(descriptor, row):
            assert store.fill(op)
        there = sorted((k, v) for some in store.pairs for k, v in some.items())
        assert all(pairs.name_of(descriptor, key).placement == COPY for key, _ in there)
        values = [pair for pair in there if not pairs.name_of(descriptor, pair[0]).index]
        assert pairs.rows_of(descriptor, copy, values) == [row]
        assert len(there) - len(values) == 1


def test_a_version_that_fills_nothing_puts_nothing() -> None:
    assert fill_row(PLAIN, user(7, "Ada")) == []
