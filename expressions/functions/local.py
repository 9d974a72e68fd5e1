"""The operators and functions that are computed here: those that schemas of the lab may have and writes by key use
most. Of sums of times, which bound keys, and of defaults that each row computes anew only the types are known."""

import operator

from expressions import sqltypes as pg
from expressions.functions.overloads import Named, Overload
from expressions.values import arithmetic, numerics, texts


def operators() -> Named:
    yield from _of_integers()
    yield from _of_floats()
    pair = (pg.NUMERIC, pg.NUMERIC)
    for name, compute in (
        ("+", numerics.add), ("-", numerics.subtract), ("*", numerics.multiply), ("/", numerics.divide),
        ("%", numerics.modulo),
    ):  # fmt: skip
        yield name, Overload(pair, pg.NUMERIC, compute)
    yield "-", Overload((pg.NUMERIC,), pg.NUMERIC, numerics.negative)
    yield "+", Overload((pg.NUMERIC,), pg.NUMERIC, lambda a: a)
    yield from _comparisons()
    yield "-", Overload((pg.DATE, pg.DATE), pg.INT4, lambda a, b: (a - b).days)
    for name in ("+", "-"):
        yield name, Overload((pg.DATE, pg.INT4), pg.DATE)
        for of in (pg.TIMESTAMP, pg.TIMESTAMPTZ):
            yield name, Overload((of, pg.INTERVAL), of)
    yield "||", Overload((pg.TEXT, pg.TEXT), pg.TEXT, texts.concatenated)
    yield "~~", Overload((pg.TEXT, pg.TEXT), pg.BOOL, texts.like)
    yield "!~~", Overload((pg.TEXT, pg.TEXT), pg.BOOL, texts.not_like)


def _of_integers() -> Named:
    for of in pg.INTEGERS:
        for name, compute in (
            ("+", operator.add), ("-", operator.sub), ("*", operator.mul), ("/", arithmetic.divide_whole),
            ("%", arithmetic.modulo),
        ):  # fmt: skip
            yield name, Overload((of, of), of, arithmetic.whole(of, compute))
        yield "-", Overload((of,), of, arithmetic.whole(of, lambda a: -a))
        yield "+", Overload((of,), of, lambda a: a)


def _of_floats() -> Named:
    for name, compute in (
        ("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", arithmetic.multiply_real),
        ("/", arithmetic.divide_real),
    ):  # fmt: skip
        for pair in ((pg.FLOAT8, pg.FLOAT8), (pg.FLOAT4, pg.FLOAT8), (pg.FLOAT8, pg.FLOAT4)):
            yield name, Overload(pair, pg.FLOAT8, arithmetic.real(compute))
        yield name, Overload((pg.FLOAT4, pg.FLOAT4), pg.FLOAT4, arithmetic.single(compute))
    for of in pg.FLOATS:
        yield "-", Overload((of,), of, lambda a: -a)
        yield "+", Overload((of,), of, lambda a: a)


def _comparisons() -> Named:
    alike = [(of, of) for of in pg.STORED if of not in (pg.VARCHAR, *pg.DOCUMENTS)]
    for pair in ((pg.FLOAT4, pg.FLOAT8), (pg.FLOAT8, pg.FLOAT4), *alike):
        for name, compute in arithmetic.COMPARISONS.items():
            yield name, Overload(pair, pg.BOOL, compute)


def functions() -> Named:
    for of in pg.INTEGERS:
        yield "abs", Overload((of,), of, arithmetic.whole(of, abs))
    for of in pg.FLOATS:
        yield "abs", Overload((of,), of, abs)
    yield "abs", Overload((pg.NUMERIC,), pg.NUMERIC, numerics.absolute)
    yield "upper", Overload((pg.TEXT,), pg.TEXT, texts.upper)
    yield "lower", Overload((pg.TEXT,), pg.TEXT, texts.lower)
    for name in ("length", "char_length", "character_length"):
        yield name, Overload((pg.TEXT,), pg.INT4, len)
    yield "like_escape", Overload((pg.TEXT, pg.TEXT), pg.TEXT, texts.escaped_by)
    for name in ("now", "transaction_timestamp", "statement_timestamp"):
        yield name, Overload((), pg.TIMESTAMPTZ, arithmetic.now, strict=False)
    yield "current_setting", Overload((pg.TEXT,), pg.TEXT, arithmetic.current_setting, strict=False)
    yield "current_setting", Overload((pg.TEXT, pg.BOOL), pg.TEXT, arithmetic.current_setting, strict=False)
    yield "random", Overload((), pg.FLOAT8)
    yield "clock_timestamp", Overload((), pg.TIMESTAMPTZ)
    for name in ("gen_random_uuid", "uuidv4"):
        yield name, Overload((), pg.UUID)


def _by_name(group: Named) -> dict[str, tuple[Overload, ...]]:
    table: dict[str, tuple[Overload, ...]] = {}
    for name, overload in group:
        table[name] = (*table.get(name, ()), overload)
    return table


OPERATORS, FUNCTIONS = _by_name(operators()), _by_name(functions())
