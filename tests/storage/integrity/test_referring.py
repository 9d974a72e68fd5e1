"""By what rows that refer are found, of a table with the primary key (1, 2)."""

from dataclasses import replace

import pytest

from catalog.elements import ColumnId, Index, IndexColumn, IndexId
from storage.integrity.referring import way_to
from tests.references import TRIP_CODE, TRIP_ID, trips


def index(number: int, *columns: int, where: str | None = None) -> Index:
    parts = tuple(IndexColumn(ColumnId(column), descending=column == 4) for column in columns)
    return Index(IndexId(number), f"i{number}", parts, where=where)


@pytest.mark.parametrize(("columns", "indexes", "found"), [
    pytest.param((3,), (), (None, ()), id="nothing begins with it"),
    pytest.param((2, 1), (), (None, (1, 2)), id="the primary key has just these columns"),
    pytest.param((1,), (index(1, 1, 3),), (None, (1,)), id="of two that do as well the primary key"),
    pytest.param((3,), (index(1, 3, 1),), (1, (3,)), id="an index goes on with others"),
    pytest.param((3,), (index(1, 1, 3),), (None, ()), id="behind another column it finds nothing"),
    pytest.param((3, 4), (index(1, 4, 3),), (1, (4, 3)), id="in any order, descending or not"),
    pytest.param((3, 4), (index(1, 3, 1, 4),), (1, (3,)), id="up to the first column that is none of these"),
    pytest.param((3, 4), (index(1, 3), index(2, 4, 3), index(3, 3, 4, 1)), (2, (4, 3)), id="what has most of them"),
    pytest.param((3,), (index(1, 3, where="1"),), (None, ()), id="a partial index does not have all rows"),
])  # fmt: skip
def test_rows_are_found_by_what_begins_with_most_columns(
    columns: tuple[int, ...], indexes: tuple[Index, ...], found: tuple[int | None, tuple[int, ...]]
) -> None:
    table = replace(trips(), primary_key=(TRIP_ID, TRIP_CODE))
    by, leading = way_to(table, tuple(map(ColumnId, columns)), indexes)
    assert (by.id if by else None, leading) == found
