"""Arrays in files: lists of Parquet and texts of CSV come in as PostgreSQL's arrays, or are refused by their row."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.types import SqlType, parse_text
from spark_tasks.load.file_batches import batches_of
from spark_tasks.load.file_rows import CannotLoad, typed_rows
from storage.encoding import decode

TABLE = Descriptor(
    TableId(1),
    "lists",
    1,
    (
        Column(ColumnId(1), "id", SqlType.INTEGER, not_null=True),
        Column(ColumnId(2), "n", SqlType.INTEGER_ARRAY),
        Column(ColumnId(3), "t", SqlType.VARCHAR_ARRAY, length=3),
        Column(ColumnId(4), "at", SqlType.TIMESTAMP_ARRAY),
        Column(ColumnId(5), "b", SqlType.BYTEA_ARRAY),
        Column(ColumnId(6), "plain", SqlType.TEXT),
    ),
    (ColumnId(1),),
)


def loaded(path: Path) -> list[dict[str, Any]]:
    """The values of the rows that a file has, by the names of their columns."""
    (batch,) = batches_of(path)
    rows = typed_rows(TABLE, dict(zip(batch.schema.names, batch.columns, strict=True)), 0)
    found: list[dict[str, Any]] = []
    for place in range(len(rows)):
        columns = ((TABLE.column(column), data[place].as_py()) for column, data in rows.columns.items())
        found.append({column.name: decode(column.type, data)[0] for column, data in columns if data is not None})
    return found


@pytest.mark.parametrize("list_of", [pa.list_, pa.large_list])
def test_lists_of_a_parquet_file_are_arrays(tmp_path: Path, list_of: Any) -> None:
    path = tmp_path / "a.parquet"
    moment = dt.datetime.fromisoformat("2026-01-02 03:04:05.5")
    parquet.write_table(
        pa.table({
            "id": [1, 2, 3],
            "n": pa.array([[1, None], None, []], list_of(pa.int64())),
            "t": pa.array([["abc", "a  "], [], [None]], list_of(pa.string())),
            "at": pa.array([[moment], None, []], list_of(pa.timestamp("ns"))),
            "b": pa.array([[b"\x00", b""], None, None], list_of(pa.binary())),
        }),
        path,
    )  # fmt: skip
    first, second, third = loaded(path)
    assert first == {"n": (1, None), "t": ("abc", "a  "), "at": (moment,), "b": (b"\x00", b""), "plain": None}
    assert (second["n"], second["t"], second["at"]) == (None, (), None)
    assert (third["n"], third["t"], third["b"]) == ((), (None,), None)


def test_texts_of_a_csv_file_are_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,n,t\n1,"{1,NULL}","{""a,"",NULL}"\n2,,{}\n')
    first, second = loaded(path)
    assert (first["n"], first["t"]) == ((1, None), ("a,", None))
    assert (second["n"], second["t"]) == (None, ())
    assert first["n"] == parse_text(SqlType.INTEGER_ARRAY, "{1,NULL}")


@pytest.mark.parametrize(
    ("name", "column", "message"),
    [
        ("n", pa.array([[1], [2**40]]), "row 2: column n: .* out of range for type integer"),
        ("n", pa.array([["1"], ["1", "x"]]), "row 2: column n: invalid input syntax for type integer"),
        ("t", pa.array([["a"], ["abcd"]]), r"row 2: column t: value too long for type character varying\(3\)"),
        ("n", pa.array([[[1]], [[2]]]), "column n of the file has lists of lists"),
        ("plain", pa.array([["a"], ["b"]]), "column plain of the file is of type list<.*which only an array takes"),
        ("n", pa.array([[b"a"], [b"b"]]), "column n of the file is of type binary, which only a bytea column takes"),
        ("n", pa.array([[0] * (2**17 + 1), []], pa.list_(pa.int8())), "at most 131072 elements"),
    ],
)
def test_what_no_array_takes_is_refused(tmp_path: Path, name: str, column: pa.Array, message: str) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"id": [1, 2], name: column}), path)
    with pytest.raises(CannotLoad, match=message):
        loaded(path)


def test_a_bigint_that_still_takes_integers_alone_refuses_others_by_their_row() -> None:
    columns = (TABLE.columns[0], Column(ColumnId(2), "miles", SqlType.BIGINT, length=4))
    table = Descriptor(TableId(1), "flights", 2, columns, (ColumnId(1),))
    for beyond in (2**31, -(2**31) - 1):
        given = {"id": pa.array([1, 2, 3]), "miles": pa.array([2**31 - 1, None, beyond])}
        with pytest.raises(CannotLoad, match=f"row 3: column miles: {beyond} is out of range for type integer"):
            typed_rows(table, given, 0)
    assert len(typed_rows(table, {"id": pa.array([1, 2]), "miles": pa.array([2**31 - 1, -(2**31)])}, 0)) == 2
