"""Values of a file as columns of each type take them, or which row has one that they do not take."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State, TableId
from catalog.values.types import SqlType, fitted, parse_text
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


# --- times of a precision

MOMENTS = tuple(SqlType(name) for name in ("timestamp", "timestamptz", "time"))
WRITTEN = {SqlType.TIME: ("00:00:00", "10:00:00.4", "10:00:00.499999", "10:00:00.5", "23:59:59.500001", "24:00:00")}
WRITTEN |= dict.fromkeys(
    (SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ),
    (
        "1999-12-31 23:59:59.5", "1999-12-31 23:59:58.499999", "1969-12-31 23:59:59.05", "2000-01-01 00:00:00.5",
        "2024-02-29 12:00:00.123455", "0001-01-01 00:00:00.500001", "2024-02-29 12:00:00.0005",
    ),
)  # fmt: skip


def moments(of: SqlType, digits: int | None, given: pa.Array) -> list[Any]:
    """What is stored of the values of a file."""
    columns = (Column(ColumnId(1), "id", SqlType.INTEGER, not_null=True), Column(ColumnId(2), "m", of, length=digits))
    table = Descriptor(TableId(1), "moments", 1, columns, (ColumnId(1),))
    rows = typed_rows(table, {"id": pa.array(range(len(given)), pa.int32()), "m": given}, 0)
    return list(rows.columns[ColumnId(2)].to_pylist())


@pytest.mark.parametrize("of", MOMENTS, ids=lambda of: of.value)
@pytest.mark.parametrize("digits", [None, *range(7)])
def test_times_are_rounded_to_their_precision_however_the_file_has_them(of: SqlType, digits: int | None) -> None:
    """As texts that Arrow reads, as texts that it does not, and as values of Arrow's own types."""
    texts = [*WRITTEN[of], None]
    parsed = [None if text is None else parse_text(of, text) for text in texts]
    stored = [encode(of, fitted(of, digits, value)) for value in parsed]
    assert moments(of, digits, pa.array(texts)) == stored
    assert moments(of, digits, pa.array([None if text is None else f" {text}" for text in texts])) == stored
    kind = pa.time64("us") if of is SqlType.TIME else pa.timestamp("us", "UTC" if of is SqlType.TIMESTAMPTZ else None)
    if of is SqlType.TIME:
        parsed, stored = parsed[:-2], stored[:-2]  # Arrow's has no 24:00
        values = [(dt.datetime(2024, 1, 1) + value).time() for value in parsed]  # noqa: DTZ001 - a time of day
    else:
        values = parsed
    assert moments(of, digits, pa.array(values, kind)) == stored


def test_arrays_of_times_are_rounded_one_by_one() -> None:
    of, (first, second) = SqlType.TIMESTAMP_ARRAY, WRITTEN[SqlType.TIMESTAMP][:2]
    values = [(parse_text(SqlType.TIMESTAMP, first), None), (parse_text(SqlType.TIMESTAMP, second),), None]
    stored = [encode(of, fitted(of, 0, value)) for value in values]
    assert moments(of, 0, pa.array([[first, None], [second], None])) == stored
    assert moments(of, 0, pa.array([f'{{"{first}",NULL}}', f'{{"{second}"}}', None])) == stored


def test_a_moment_that_would_be_of_the_year_10000_is_named() -> None:
    texts = ["9999-12-31 23:59:59.4", "9999-12-31 23:59:59.5"]
    for given in (pa.array(texts), pa.array([f" {text}" for text in texts])):
        with pytest.raises(CannotLoad, match="row 2: column m: timestamp out of range"):
            moments(SqlType.TIMESTAMP, 0, given)
        assert len(moments(SqlType.TIMESTAMP, 1, given)) == 2
