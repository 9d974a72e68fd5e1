"""A file as batches: the same rows whoever reads, and what is no such file is refused with what is wrong."""

import csv
import datetime as dt
import re
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.elements import Column, ColumnId
from catalog.values.errors import BadValue
from catalog.values.types import SqlType, parse_text
from spark_tasks.load import file_batches
from spark_tasks.load.file_batches import CHUNK_ROWS, batches_of, chunks_of, in_chunks
from spark_tasks.load.file_rows import PLAIN, CannotLoad, _parse

TEXTS = st.text(st.sampled_from("ab,\"\n 'é"), max_size=6)


def rows_of(path: Path) -> list[dict[str, object]]:
    return [row for batch in batches_of(path) for row in batch.to_pylist()]


@given(rows=st.lists(st.tuples(TEXTS, TEXTS), max_size=20))
def test_a_csv_file_is_read_as_the_standard_library_reads_it(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([("one", "other"), *rows])
    assert [tuple(row.values()) for row in rows_of(path)] == rows


def test_an_empty_field_is_null_and_an_empty_text_is_in_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,name\n1,\n2,""\n')
    assert rows_of(path) == [{"id": "1", "name": None}, {"id": "2", "name": ""}]


def test_a_row_larger_than_a_block_is_read_in_larger_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_batches, "BLOCKS", (2**10, 2**20))
    path = tmp_path / "a.csv"
    rows = [(str(n), "x" * (5000 if n == 300 else 3)) for n in range(400)]
    path.write_text("id,name\n" + "".join(f"{key},{name}\n" for key, name in rows))
    assert [tuple(row.values()) for row in rows_of(path)] == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.csv is empty: its first line names the columns"),
        ("id,name,id\n1,a,2\n", "a.csv has two columns id"),
        ("id,name\n1,a\n2\n", "Expected 2 columns, got 1"),
        ("id,name\n1,a,b\n", "Expected 2 columns, got 3"),
        (b"id,name\n1,\xff\n", "invalid UTF8 data"),
    ],
    ids=["nothing", "a name twice", "a field too few", "a field too many", "no UTF-8"],
)
def test_a_malformed_csv_file_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CannotLoad, match=message):
        rows_of(path)


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_quoted_value_that_does_not_end_does_not_swallow_the_rest(tmp_path: Path, is_closed: bool) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,name\n1,"a ""b"""\n2,"c\n3,d\n' + ('"\n' if is_closed else ""))
    with nullcontext() if is_closed else pytest.raises(CannotLoad, match="a quoted value does not end"):
        file_batches.refuse_unclosed(path)


def test_what_is_no_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(b"no")
    with pytest.raises(CannotLoad, match=r"a\.parquet cannot be read"):
        rows_of(path)


def test_a_parquet_column_that_no_column_takes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"id": [1], "tags": [{"a": 1}]}), path)
    with pytest.raises(CannotLoad, match="column tags of the file is of type struct"):
        rows_of(path)


INSTANTS = {
    "date": pa.array([dt.date(2026, 1, 2)]),
    "time": pa.array([dt.time(1, 2)]),
    "timestamp": pa.array([dt.datetime.fromisoformat("2026-01-02")], pa.timestamp("us")),
    "boolean": pa.array([True]),
}


@pytest.mark.parametrize("sql_type", [SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT, SqlType.DOUBLE])
@pytest.mark.parametrize("values", INSTANTS.values(), ids=list(INSTANTS))
def test_an_instant_or_a_truth_is_no_number(sql_type: SqlType, values: pa.Array) -> None:
    """Arrow would count days, or fail in words of its own."""
    with pytest.raises(CannotLoad, match="row 1: column value"):
        _parse(Column(ColumnId(2), "value", sql_type), values, 0)


def test_variants_of_a_type_come_as_ours(tmp_path: Path) -> None:
    path, moment = tmp_path / "a.parquet", dt.datetime.fromisoformat("2026-01-02 03:04:05.000006")
    columns = {
        "word": pa.array(["a", "b"]).dictionary_encode(),
        "at": pa.array([moment, None], pa.timestamp("ns")),
        "there": pa.array([0, None], pa.timestamp("ms", "Asia/Shanghai")),
    }
    parquet.write_table(pa.table(columns), path, store_schema=True)
    (batch,) = batches_of(path)
    assert batch.schema.types == [pa.string(), pa.timestamp("us"), pa.timestamp("us", "UTC")]
    assert batch.column(1)[0].as_py() == moment


@given(sizes=st.lists(st.integers(0, 9), max_size=8), rows=st.integers(1, 7))
def test_batches_of_any_size_become_chunks_of_one(sizes: list[int], rows: int) -> None:
    numbers = iter(range(100))
    batches = [pa.record_batch({"n": [next(numbers) for _ in range(size)]}) for size in sizes if size]
    chunks = [chunk.column(0).to_pylist() for chunk in in_chunks(batches, rows)]
    assert [n for chunk in chunks for n in chunk] == list(range(sum(sizes)))
    assert {len(chunk) for chunk in chunks[:-1]} <= {rows}


def test_workers_share_out_all_chunks(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id\n" + "".join(f"{n}\n" for n in range(3 * CHUNK_ROWS + 1)))
    parts = [list(chunks_of(path, part, 2)) for part in range(2)]
    firsts = [(first, batch.column(0)[0].as_py()) for part in parts for first, batch in part]
    assert firsts == [(0, "0"), (2 * CHUNK_ROWS, "10000"), (CHUNK_ROWS, "5000"), (3 * CHUNK_ROWS, "15000")]


YEARS, DAYS = st.sampled_from(["0001", "0000", "1999", "2024"]), st.sampled_from(["01", "02", "12", "13", "29", "31"])
HOURS = st.sampled_from(["00", "07", "23", "24", "59", "60"])
MOMENTS = st.builds(
    lambda year, month, day, *time: f"{year}-{month}-{day}{time[0]}{time[1]}:{time[2]}:{time[3]}{time[4]}",
    *(YEARS, DAYS, DAYS, st.sampled_from(" T"), HOURS, HOURS, HOURS),
    st.sampled_from(["", ".5", ".123456", ".1234567", "+02", "Z", "."]),
)
WORDS = {
    SqlType.DATE: MOMENTS.map(lambda text: text[:10]) | st.sampled_from(["2024-2-9", "now", "2024-02-29 ", "infinity"]),
    SqlType.TIMESTAMP: MOMENTS,
    SqlType.TIMESTAMPTZ: MOMENTS,
    SqlType.BOOLEAN: st.sampled_from(["t", "f", "true", "false", "yes", "1", "T", " t", "tr"]),
}


@pytest.mark.parametrize("sql_type", list(PLAIN))
@given(data=st.data())
def test_a_column_is_parsed_as_its_values_one_by_one(sql_type: SqlType, data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.none() | WORDS[sql_type], min_size=1, max_size=4))
    column = Column(ColumnId(2), "value", sql_type)
    given = pa.array(texts, pa.string())
    try:
        wanted = [None if text is None else parse_text(sql_type, text) for text in texts]
    except BadValue as bad:
        refusal = re.escape(str(bad))
    else:
        assert _parse(column, given, 0).to_pylist() == wanted
        return
    with pytest.raises(CannotLoad, match=refusal):
        _parse(column, given, 0)
