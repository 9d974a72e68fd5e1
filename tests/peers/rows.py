"""The rows that every system gets: those of `tools.bench.rows`, as CSV."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv

from tools.bench.rows import BATCH, values

TABLE = "bench_peers"
NAMES = ("id", "name", "age", "score", "note", "born")


def write_csv(folder: Path, rows: int) -> Path:
    path, chance = folder / "rows.csv", random.Random(7)
    options = arrow_csv.WriteOptions(include_header=False)
    schema = pa.schema([(name, kind) for name, kind in zip(NAMES, KINDS, strict=True)])
    with arrow_csv.CSVWriter(path, schema, write_options=options) as out:
        for first in range(0, rows, BATCH):
            columns = values(range(first, min(first + BATCH, rows)), chance)
            out.write_table(pa.table(list(columns.values()), schema=schema))
    return path


KINDS = (pa.int64(), pa.string(), pa.int32(), pa.float64(), pa.string(), pa.date32())
