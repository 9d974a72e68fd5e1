"""A file as batches of rows, always the same, so that all attempts and workers agree on chunk 7. In CSV an empty field
is NULL, an empty one in quotes the empty text. Each worker reads the whole file, a tenth of the cost of writing, since
only its beginning tells which quotes are open."""

from collections.abc import Generator, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from spark_tasks.load.file_rows import CannotLoad

CHUNK_ROWS = 5000
"""Rows of a transaction (docs/how-to/load-your-data.md)."""
BLOCKS = (2**20, 2**24, 2**27)
"""Bytes of a CSV file that are read at once: a row must fit. The larger ones are for files that need them."""
TOO_LARGE = "straddling object"
"""What Arrow says of a row that does not fit."""
TAKEN_BY_NONE = (pa.types.is_nested, pa.types.is_duration, pa.types.is_interval)
"""Of Arrow's types those that no column has."""
LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
OF_BYTES = (pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
QUOTE = b'"'
READ_AT_ONCE = 1 << 22


def refuse_unknown(path: Path) -> None:
    """Raises `CannotLoad` for other files."""
    if not path.exists():
        raise CannotLoad(f"there is no file {path}")
    if path.suffix not in (".csv", ".parquet"):
        raise CannotLoad(f"{path.name} is neither .csv nor .parquet")
    if not path.is_file():
        raise CannotLoad(f"{path.name} is no regular file")


def refuse_unclosed(path: Path) -> None:
    """Refuses a CSV file with an unclosed quote, as COPY does. Raises `CannotLoad`."""
    quotes = 0
    if path.suffix != ".csv" or not path.is_file():
        return
    try:
        with path.open("rb") as file:
            while part := file.read(READ_AT_ONCE):
                quotes += part.count(QUOTE)
    except OSError as error:
        raise CannotLoad(f"{path.name} cannot be read: {error.strerror or error}") from None
    if quotes % 2:
        raise CannotLoad(f"{path.name} has an odd number of quotes: a quoted value does not end")


def batches_of(path: Path) -> Generator[pa.RecordBatch, None, None]:
    """The file's rows, `CHUNK_ROWS` at a time. Raises `CannotLoad`."""
    refuse_unknown(path)
    try:
        yield from in_chunks(_csv(path) if path.suffix == ".csv" else _parquet(path))
    except pa.ArrowException as error:
        raise CannotLoad(f"{path.name} cannot be read: {str(error).splitlines()[0]}") from None
    except OSError as error:
        raise CannotLoad(f"{path.name} cannot be read: {error.strerror or error}") from None


def chunks_of(path: Path, part: int, parts: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Every `parts`-th chunk from `part` on, each with its first row's number."""
    for number, batch in enumerate(batches_of(path)):
        if number % parts == part:
            yield number * CHUNK_ROWS, batch


def in_chunks(batches: Iterable[pa.RecordBatch], rows: int = CHUNK_ROWS) -> Iterator[pa.RecordBatch]:
    kept: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        place = 0
        while place < batch.num_rows:
            part = batch.slice(place, rows - count)
            place, count = place + part.num_rows, count + part.num_rows
            kept.append(part)
            if count == rows:
                yield pa.concat_batches(kept)
                kept, count = [], 0
    if kept:
        yield pa.concat_batches(kept)


def _csv(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows as texts; a row larger than the blocks has the file read again in larger ones."""
    given = 0
    for block in BLOCKS:
        skipped = 0
        try:
            for batch in _in_blocks(path, block):
                rest = batch.slice(max(0, given - skipped))
                skipped += batch.num_rows
                if rest.num_rows:
                    given += rest.num_rows
                    yield rest
        except pa.ArrowInvalid as error:
            if TOO_LARGE not in str(error) or block == BLOCKS[-1]:
                raise
        else:
            return


def _in_blocks(path: Path, block: int) -> Iterator[pa.RecordBatch]:
    if not path.stat().st_size:
        raise CannotLoad(f"{path.name} is empty: its first line names the columns")
    read = arrow_csv.ReadOptions(use_threads=False, block_size=block)
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    with arrow_csv.open_csv(path, read, parse) as head:
        names = head.schema.names
    _refuse_repeated(path, names)
    convert = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    with arrow_csv.open_csv(path, read, parse, convert) as reader:
        yield from reader


def _parquet(path: Path) -> Iterator[pa.RecordBatch]:
    with parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        _refuse_repeated(path, names)
        for batch in file.iter_batches(CHUNK_ROWS, use_threads=False):
            columns = [_plain(name, column) for name, column in zip(names, batch.columns, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names=names)


def _plain(name: str, column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_timestamp(column.type):
        zone = None if column.type.tz is None else "UTC"
        return column.cast(pa.timestamp("us", zone))
    if pa.types.is_time(column.type):
        return column.cast(pa.time64("us"), safe=False)
    if any(is_of(column.type) for is_of in OF_BYTES):
        return column.cast(pa.binary())
    if any(is_of(column.type) for is_of in LISTS):
        lists = column.cast(pa.list_(column.type.value_type))
        items = _plain(name, lists.flatten())
        # where each list begins among all items; null for NULL
        counts = pc.fill_null(pc.list_value_length(lists), 0)
        return pa.ListArray.from_arrays(
            pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(counts).cast(pa.int32())]),
            items,
            mask=lists.is_null(),
        )
    if any(is_of(column.type) for is_of in TAKEN_BY_NONE):
        raise CannotLoad(f"column {name} of the file is of type {column.type}, which no column takes")
    return column


def _refuse_repeated(path: Path, names: list[str]) -> None:
    for one, other in pairwise(sorted(names)):
        if one == other:
            raise CannotLoad(f"{path.name} has two columns {one}")
