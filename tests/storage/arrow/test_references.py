"""What many rows refer to is what `storage.integrity.references` says of each."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import (
    FOREIGN_KEY,
    PRIMARY,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexColumn,
    IndexId,
    TableId,
)
from catalog.values.types import SqlType
from storage import encoding
from storage.arrow.encoding import concat
from storage.arrow.references import Places, places_of
from storage.arrow.rows import StoredRows
from storage.buckets import storage_of
from storage.integrity.references import demands, place_of
from storage.pairs import StoredRow, row_key
from tests.rounds import drawn

STORAGES, BUCKETS = 3, 64
TYPES = (SqlType.TEXT, SqlType.BIGINT)
PARENT_A, PARENT_B = ColumnId(1), ColumnId(2)
CHILD_ID, CHILD_A, CHILD_B = ColumnId(1), ColumnId(2), ColumnId(3)
BY_BOTH = Index(IndexId(1), "by_both", (IndexColumn(PARENT_B, descending=True), IndexColumn(PARENT_A)), unique=True)

TO_KEY = ((CHILD_A, CHILD_B), (PARENT_A, PARENT_B), PRIMARY)
TO_KEY_TURNED = ((CHILD_B, CHILD_A), (PARENT_B, PARENT_A), PRIMARY)
TO_INDEX = ((CHILD_A, CHILD_B), (PARENT_A, PARENT_B), BY_BOTH.id)


def parent() -> Descriptor:
    columns = tuple(Column(ColumnId(n), f"p{n}", sql_type, not_null=True) for n, sql_type in enumerate(TYPES, 1))
    return Descriptor(TableId(1), "parent", 1, columns, (PARENT_A, PARENT_B), (BY_BOTH,))


def child() -> Descriptor:
    columns = (
        Column(CHILD_ID, "id", SqlType.BIGINT, not_null=True),
        Column(CHILD_A, "a", SqlType.TEXT, fill_value=encoding.encode(SqlType.TEXT, "filled")),
        Column(CHILD_B, "b", SqlType.BIGINT),
    )
    return Descriptor(TableId(2), "child", 1, columns, (CHILD_ID,))


def batch(rows: list[StoredRow]) -> StoredRows:
    columns = {c: pa.array([row.columns.get(c) for row in rows], pa.binary()) for c in (CHILD_A, CHILD_B)}
    return StoredRows(pa.array([row.key for row in rows], pa.binary()), columns, concat([]))


TEXTS = st.none() | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=3)
NUMBERS = st.none() | st.integers(-3, 3)
VALUES = st.lists(st.tuples(TEXTS, NUMBERS, st.booleans()), max_size=8)


@pytest.mark.parametrize("link", [TO_KEY, TO_KEY_TURNED, TO_INDEX], ids=["key", "key, other order", "index"])
@drawn(few=15, many=60)
@given(values=VALUES)
def test_both_say_the_same(link, values) -> None:
    columns, reference_columns, index = link
    foreign_key = Constraint(
        ConstraintId(1), "fk", FOREIGN_KEY, columns, references=TableId(1), reference_columns=reference_columns,
        index=index,
    )  # fmt: skip
    rows = []
    for number, (a, b, has_pair) in enumerate(values):
        stored = {CHILD_A: encoding.encode(SqlType.TEXT, a)} if has_pair else {}
        rows.append(StoredRow(row_key(child(), [number]), stored | {CHILD_B: encoding.encode(SqlType.BIGINT, b)}))
    places = places_of(child(), parent(), foreign_key, batch(rows), storages=STORAGES, buckets=BUCKETS)
    assert [found_of(places, n) for n in range(len(rows))] == [expected(foreign_key, row) for row in rows]
    assert len(set(places.keys.to_pylist())) == len(places)


def found_of(places: Places, number: int) -> tuple[bytes, int] | None:
    place = places.of_rows[number].as_py()
    return None if place is None else (places.keys[place].as_py(), places.homes[place].as_py())


def expected(foreign_key: Constraint, row: StoredRow) -> tuple[bytes, int] | None:
    """Where a new row's demand is looked up: a load asks for the same as an INSERT."""
    wanted = demands(child(), [(None, row)], [foreign_key])
    if not wanted:
        return None
    place = place_of(parent(), foreign_key, wanted[0].values, BUCKETS)
    return place.key, storage_of(place.bucket, STORAGES, BUCKETS)


def test_the_rows_of_places() -> None:
    places = Places(pa.array([b"a", b"b"]), pa.array([1, 2]), pa.array([0, None, 1, 0], pa.int32()))
    assert places.rows_of(pa.array([True, False])).to_pylist() == [True, False, False, True]
