"""Values of a file as columns of each type take them, or which row has one that they do not take."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State, TableId
from catalog.values.types import SqlType
from spark_tasks.load.file_rows import CannotLoad, typed_rows
from storage.encoding import NULL, encode

TABLE = Descriptor(
    TableId(1),
    "labels",
    1,
    (
        Column(ColumnId(1), "id", SqlType.SMALLINT, not_null=True),
        Column(ColumnId(2), "name", SqlType.VARCHAR, length=3),
        Column(ColumnId(3), "code", SqlType.CHAR, length=2),
        Column(ColumnId(4), "size", SqlType.REAL),
    ),
    (ColumnId(1),),
)


def row(key: str = "1", name: str = "abc", code: str = "a", size: str = "0.1") -> dict[str, pa.Array]:
    return {"id": pa.array(["7", key]), **{k: pa.array(["x", v]) for k, v in (("name", name), ("code", code))},
            "size": pa.array(["1", size])}  # fmt: skip


def test_values_come_in_as_an_insert_would_store_them() -> None:
    rows = typed_rows(TABLE, row(name="ab   ", code="a     "), 0)
    assert rows.keys.to_pylist()[1] == encode(SqlType.SMALLINT, 1)
    stored = {column: data.to_pylist()[1] for column, data in rows.columns.items()}
    assert stored[ColumnId(2)] == encode(SqlType.VARCHAR, "ab ")
    assert stored[ColumnId(3)] == encode(SqlType.CHAR, "a")
    assert stored[ColumnId(4)] == encode(SqlType.REAL, 0.10000000149011612)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (row(name="abcd"), "row 2: column name: value too long for type character varying"),
        (row(code="a b"), "row 2: column code: value too long for type character"),
        (row(key="40000"), 'row 2: column id: value "40000" is out of range for type smallint'),
        (row(size="1e60"), 'row 2: column size: "1e60" is out of range for type real'),
    ],
    ids=["a varchar too long", "a char too long", "a smallint too large", "a real too large"],
)
def test_a_value_that_its_column_cannot_hold_is_named(texts: dict[str, pa.Array], message: str) -> None:
    with pytest.raises(CannotLoad, match=message):
        typed_rows(TABLE, texts, 0)


@pytest.mark.parametrize(
    ("changes", "value"),
    [
        ({"default": "7", "added_with_default": True, "fill_value": encode(SqlType.REAL, 7.0), "filling": True}, 7.0),
        ({"default": None}, None),
        (
            {"default": "7"},
            "column size is being dropped and has a default, .*: load the file when that change has ended",
        ),
    ],
    ids=["being added", "being dropped, without a default", "being dropped, with a default"],
)
def test_a_hidden_column_gets_what_an_insert_puts_or_nothing_is_loaded(changes: dict[str, Any], value: Any) -> None:
    """A drop that is cancelled makes the column public again: a NULL put meanwhile would stand in a required column."""
    *others, size = TABLE.columns
    moving = replace(TABLE, columns=(*others, replace(size, not_null=True, state=State.WRITE_ONLY, **changes)))
    texts = {name: array for name, array in row().items() if name != "size"}
    if isinstance(value, str):
        with pytest.raises(CannotLoad, match=value):
            typed_rows(moving, texts, 0)
    else:
        stored = encode(SqlType.REAL, value) if value is not None else NULL
        assert typed_rows(moving, texts, 0).columns[size.id].to_pylist() == [stored, stored]


SHIFTS = Descriptor(
    TableId(2),
    "shifts",
    1,
    (Column(ColumnId(1), "id", SqlType.SMALLINT, not_null=True), Column(ColumnId(2), "at", SqlType.TIME)),
    (ColumnId(1),),
)


def shift(micros: int | None) -> dict[str, pa.Array]:
    """A row with a time as Parquet has it: any number of microseconds."""
    return {"id": pa.array([1, 2], pa.int16()), "at": pa.array([0, micros], pa.int64()).view(pa.time64("us"))}


@pytest.mark.parametrize("micros", [-1, 86_400_000_001])
def test_microseconds_that_are_no_time_of_day_are_named(micros: int) -> None:
    """They would be stored, and no statement could read the row."""
    with pytest.raises(CannotLoad, match=f"row 2: column at: {micros} microseconds are no time of day"):
        typed_rows(SHIFTS, shift(micros), 0)


@pytest.mark.parametrize(("micros", "stored"), [(86_400_000_000, dt.timedelta(days=1)), (None, None)])
def test_a_time_of_a_file_goes_to_the_end_of_the_day(micros: int | None, stored: dt.timedelta | None) -> None:
    rows = typed_rows(SHIFTS, shift(micros), 0)
    assert rows.columns[ColumnId(2)].to_pylist()[1] == encode(SqlType.TIME, stored)
