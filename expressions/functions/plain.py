"""Functions that are one line of the engine's language each, beside those of `expressions.functions`."""

from collections.abc import Iterator

from expressions.limits import guarded
from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    INTERVAL,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
)
from expressions.values.arrays import Line
from expressions.values.intervals import of_engine_interval, with_engine_interval

_WORD = "[\\p{{L}}\\p{{N}}]"
_INITCAP = (
    "list_transform([string_split({0}, '')], lambda c: array_to_string(list_transform(c, lambda x, i:"
    f" CASE WHEN i = 1 OR NOT regexp_full_match(c[i - 1], '{_WORD}') THEN upper(x) ELSE lower(x) END), ''))[1]"
)
_BUCKET = (
    "CASE WHEN {3} <= 0 THEN CAST(error('SQLSTATE 2201G count must be greater than zero') AS INTEGER)"
    " WHEN isnan({0}) OR isnan({1}) OR isnan({2}) THEN"
    " CAST(error('SQLSTATE 2201G operand, lower bound, and upper bound cannot be NaN') AS INTEGER)"
    " WHEN isinf({1}) OR isinf({2}) THEN"
    " CAST(error('SQLSTATE 2201G lower and upper bounds must be finite') AS INTEGER)"
    " WHEN {1} = {2} THEN CAST(error('SQLSTATE 2201G lower bound cannot equal upper bound') AS INTEGER)"
    " WHEN {1} < {2} THEN CASE WHEN {0} < {1} THEN 0 WHEN {0} >= {2} THEN {3} + 1"
    " ELSE CAST(floor(({0} - {1}) / ({2} - {1}) * {3}) AS INTEGER) + 1 END"
    " ELSE CASE WHEN {0} > {1} THEN 0 WHEN {0} <= {2} THEN {3} + 1"
    " ELSE CAST(floor(({1} - {0}) / ({1} - {2}) * {3}) AS INTEGER) + 1 END END"
)
_BINNED = (
    "CASE WHEN datepart('month', i) <> 0 OR datepart('year', i) <> 0 THEN"
    " CAST(error('SQLSTATE 0A000 timestamps cannot be binned into intervals containing months or years') AS TIMESTAMP)"
    " WHEN i <= INTERVAL 0 SECOND THEN CAST(error('SQLSTATE 22008 stride must be greater than zero') AS TIMESTAMP)"
    " ELSE time_bucket(i, {1}, {2}) END"
)


def functions() -> Iterator[Line]:
    for name in ("sinh", "cosh", "tanh", "cot"):
        yield name, (FLOAT8,), FLOAT8, f"{name}({{0}})"
    yield "width_bucket", (FLOAT8, FLOAT8, FLOAT8, INT4), INT4, _BUCKET
    for of, mask in ((INT4, 2**32 - 1), (INT8, 2**64 - 1)):
        bits = f"(CAST({{0}} AS HUGEINT) & {mask}::HUGEINT)"
        yield "to_hex", (of,), TEXT, f"lower(hex({bits}))"
        yield "to_bin", (of,), TEXT, f"bin({bits})"
    yield "bit_length", (TEXT,), INT4, "CAST(octet_length(encode({0})) * 8 AS INTEGER)"
    yield "initcap", (TEXT,), TEXT, _INITCAP
    joined = "left({0}, {2} - 1) || " + guarded("strlen({0}) + strlen({1})", "{1}") + " || substr({0}, {2} + %s)"
    refused = "CASE WHEN {2} <= 0 THEN error('SQLSTATE 22011 negative substring length not allowed') ELSE %s END"
    yield "overlay", (TEXT, TEXT, INT4), TEXT, refused % (joined % "length({1})")
    yield "overlay", (TEXT, TEXT, INT4, INT4), TEXT, refused % (joined % "{3}")
    yield "regexp_like", (TEXT, TEXT), BOOL, "regexp_matches({0}, {1})"
    yield "regexp_count", (TEXT, TEXT), INT4, "CAST(len(regexp_extract_all({0}, {1})) AS INTEGER)"
    found = "CASE WHEN regexp_matches({0}, {1}) THEN regexp_extract({0}, {1}) END"
    yield "regexp_substr", (TEXT, TEXT), TEXT, found
    yield "regexp_split_to_array", (TEXT, TEXT), ARRAY_OF[TEXT], "string_split_regex({0}, {1})"
    for of in (DATE, TIMESTAMP, TIMESTAMPTZ):
        yield "isfinite", (of,), BOOL, "isfinite({0})"
    for of in (TIMESTAMP, TIMESTAMPTZ):
        yield "age", (of, of), INTERVAL, of_engine_interval("age({0}, {1})")
    yield "date_bin", (INTERVAL, TIMESTAMP, TIMESTAMP), TIMESTAMP, with_engine_interval("{0}", _BINNED)
    yield "make_timestamp", (INT4, INT4, INT4, INT4, INT4, FLOAT8), TIMESTAMP, "make_timestamp({all})"


def sets() -> Iterator[Line]:
    yield "regexp_split_to_table", (TEXT, TEXT), TEXT, "string_split_regex({0}, {1})"
