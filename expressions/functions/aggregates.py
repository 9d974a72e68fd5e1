"""Aggregates and window functions: their types, and the query engine's name for each."""

from expressions.functions.overloads import Named, Overload
from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    DOCUMENTS,
    FLOAT8,
    FLOATS,
    INT2,
    INT4,
    INT8,
    INTEGERS,
    INTERVAL,
    JSON,
    NUMERIC,
    STORED,
    TEXT,
    UUID,
    VARCHAR,
    Type,
)

DEVIATIONS = ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop")


def aggregates() -> Named:
    def agg(name: str, args: tuple[Type, ...], result: Type, template: str) -> tuple[str, Overload]:
        return name, Overload(args, result, template, aggregate=True)

    for of in (*STORED, *ARRAY_OF.values()):
        yield agg("count", (of,), INT8, "count")
        if of not in (BOOL, UUID, VARCHAR, *DOCUMENTS, ARRAY_OF[JSON]):
            yield agg("min", (of,), of, "min")
            yield agg("max", (of,), of, "max")
    for of in (*INTEGERS, NUMERIC):
        yield agg("sum", (of,), INT8 if of in (INT2, INT4) else NUMERIC, "sum")
        yield agg("avg", (of,), NUMERIC, "avg")
    for name in ("sum", "avg"):
        yield agg(name, (INTERVAL,), INTERVAL, name)
    for of in FLOATS:
        yield agg("sum", (of,), of, "sum")
        yield agg("avg", (of,), FLOAT8, "avg")
    for name in DEVIATIONS:
        yield agg(name, (FLOAT8,), FLOAT8, name)
        for of in (*INTEGERS, NUMERIC):
            yield agg(name, (of,), NUMERIC, name)
    for name in ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2"):
        yield agg(name, (FLOAT8, FLOAT8), FLOAT8, name)
    for name in ("regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy"):
        yield agg(name, (FLOAT8, FLOAT8), FLOAT8, name)
    for of in (*STORED, *ARRAY_OF.values()):
        yield agg("any_value", (of,), of, "any_value")
    for of, array in ARRAY_OF.items():
        yield agg("array_agg", (of,), array, "array_agg")
    yield agg("bool_and", (BOOL,), BOOL, "bool_and")
    yield agg("every", (BOOL,), BOOL, "bool_and")
    yield agg("bool_or", (BOOL,), BOOL, "bool_or")
    yield agg("string_agg", (TEXT, TEXT), TEXT, "string_agg")
    for of in INTEGERS:
        yield agg("bit_and", (of,), of, "bit_and")
        yield agg("bit_or", (of,), of, "bit_or")
        yield agg("bit_xor", (of,), of, "bit_xor")


def windows() -> Named:
    for name in ("row_number", "rank", "dense_rank"):
        yield name, Overload((), INT8, name, aggregate=True)
    for name in ("percent_rank", "cume_dist"):
        yield name, Overload((), FLOAT8, name, aggregate=True)
    yield "ntile", Overload((INT4,), INT4, "ntile", aggregate=True)
    for of in (*STORED, *ARRAY_OF.values()):
        for name in ("first_value", "last_value"):
            yield name, Overload((of,), of, name, aggregate=True)
        yield "nth_value", Overload((of, INT4), of, "nth_value", aggregate=True)
        for name in ("lag", "lead"):
            yield name, Overload((of,), of, name, aggregate=True)
            yield name, Overload((of, INT4), of, name, aggregate=True)
            yield name, Overload((of, INT4, of), of, name, aggregate=True)
