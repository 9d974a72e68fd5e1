"""Operators and functions of dates and timestamps: their types, and what computes each of one row here."""

from expressions.functions.overloads import Named, Overload
from expressions.sqltypes import BOOL, DATE, FLOAT8, INT4, INTERVAL, NUMERIC, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ
from expressions.values import arithmetic, clock_times, intervals
from expressions.values.arithmetic import Compute


def operators() -> Named:
    yield "+", Overload((DATE, INT4), DATE, "({0} + {1})")
    yield "+", Overload((INT4, DATE), DATE, "({1} + {0})")
    yield "-", Overload((DATE, INT4), DATE, "({0} - {1})")
    yield "-", Overload((DATE, DATE), INT4, "CAST({0} - {1} AS INTEGER)", lambda a, b: (a - b).days)
    day = "CAST({{{}}} AS TIMESTAMP)"
    of_day, of_day_back = (_of_day(compute) for compute in (intervals.moved, intervals.moved_back))
    forth, other, back = (
        intervals.engine_moved(*operands) for operands in (("{0}", "{1}"), ("{1}", "{0}"), ("{0}", "{1}", "-"))
    )
    day_forth, day_other, day_back = (
        intervals.engine_moved(*operands)
        for operands in ((day.format(0), "{1}"), (day.format(1), "{0}"), (day.format(0), "{1}", "-"))
    )
    yield "+", Overload((DATE, INTERVAL), TIMESTAMP, day_forth, of_day)
    yield "+", Overload((INTERVAL, DATE), TIMESTAMP, day_other, _swapped(of_day))
    yield "-", Overload((DATE, INTERVAL), TIMESTAMP, day_back, of_day_back)
    for of in (TIMESTAMP, TIMESTAMPTZ):  # of which one is moved in the session's zone, by the engine alone
        moved = intervals.moved if of is TIMESTAMP else None
        yield "+", Overload((of, INTERVAL), of, forth, moved)
        yield "+", Overload((INTERVAL, of), of, other, moved and _swapped(moved))
        yield "-", Overload((of, INTERVAL), of, back, moved and intervals.moved_back)
        micros = "epoch_us({0}) - epoch_us({1})"
        yield "-", Overload((of, of), INTERVAL, intervals.of_engine_micros(micros), intervals.between)
    yield "+", Overload((DATE, TIME), TIMESTAMP, "(CAST({0} AS TIMESTAMP) + to_microseconds({1}))", clock_times.at)
    yield "+", Overload((TIME, DATE), TIMESTAMP, "(CAST({1} AS TIMESTAMP) + to_microseconds({0}))", clock_times.at_day)


def _of_day(compute: Compute) -> Compute:
    return lambda day, by: compute(arithmetic.midnight(day), by)


def _swapped(compute: Compute) -> Compute:
    return lambda a, b: compute(b, a)


_EXTRACTED_DAY = "numeric_of_whole(CAST(date_part({0}, {1}) AS BIGINT))"
_EXTRACTED = (
    "CASE WHEN lower({0}) = 'epoch' THEN numeric_of_units(epoch_us({1}), 6)"
    " WHEN lower({0}) IN ('second', 'seconds', 'sec', 'secs', 's') THEN"
    " numeric_of_units(CAST(date_part('microseconds', {1}) AS BIGINT), 6)"
    " WHEN lower({0}) IN ('millisecond', 'milliseconds', 'msec', 'msecs', 'ms') THEN"
    " numeric_of_units(CAST(date_part('microseconds', {1}) AS BIGINT), 3)"
    f" ELSE {_EXTRACTED_DAY} END"
)
_BINNED = (
    "CASE WHEN {1} IS NULL OR {2} IS NULL THEN NULL WHEN datepart('month', i) <> 0 OR datepart('year', i) <> 0 THEN"
    " CAST(error('SQLSTATE 0A000 timestamps cannot be binned into intervals containing months or years') AS TIMESTAMP)"
    " WHEN i <= INTERVAL 0 SECOND THEN CAST(error('SQLSTATE 22008 stride must be greater than zero') AS TIMESTAMP)"
    " ELSE time_bucket(i, {1}, {2}) END"
)


def functions() -> Named:
    yield "now", Overload((), TIMESTAMPTZ, "", arithmetic.now, strict=False)
    for name in ("transaction_timestamp", "statement_timestamp"):
        yield name, Overload((), TIMESTAMPTZ, "", arithmetic.now, strict=False)
    yield "clock_timestamp", Overload((), TIMESTAMPTZ, "now()")
    for of in (DATE, TIMESTAMP, TIMESTAMPTZ):
        yield "date_part", Overload((TEXT, of), FLOAT8, "CAST(date_part({0}, {1}) AS DOUBLE)")
        yield "extract", Overload((TEXT, of), NUMERIC, _EXTRACTED_DAY if of is DATE else _EXTRACTED)
    for of in (TIMESTAMP, TIMESTAMPTZ):
        yield "date_trunc", Overload((TEXT, of), of, f"CAST(date_trunc({{0}}, {{1}}) AS {of.duck})")
    of_day = "CAST(date_trunc({0}, CAST({1} AS TIMESTAMPTZ)) AS TIMESTAMPTZ)"
    yield "date_trunc", Overload((TEXT, DATE), TIMESTAMPTZ, of_day)
    yield "timezone", Overload((TEXT, TIMESTAMPTZ), TIMESTAMP, "({1} AT TIME ZONE {0})")
    yield "timezone", Overload((TEXT, TIMESTAMP), TIMESTAMPTZ, "({1} AT TIME ZONE {0})")
    yield "make_date", Overload((INT4, INT4, INT4), DATE, "make_date({0}, {1}, {2})")
    yield "to_timestamp", Overload((FLOAT8,), TIMESTAMPTZ, "to_timestamp({0})")
    for of in (DATE, TIMESTAMP, TIMESTAMPTZ):
        yield "isfinite", Overload((of,), BOOL, "isfinite({0})")
    for of in (TIMESTAMP, TIMESTAMPTZ):
        yield "age", Overload((of, of), INTERVAL, intervals.of_engine_interval("age({0}, {1})"))
    yield (
        "date_bin",
        Overload((INTERVAL, TIMESTAMP, TIMESTAMP), TIMESTAMP, intervals.with_engine_interval("{0}", _BINNED)),
    )
    yield "make_timestamp", Overload((INT4, INT4, INT4, INT4, INT4, FLOAT8), TIMESTAMP, "make_timestamp({all})")
