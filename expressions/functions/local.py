"""The operators and functions that are computed here: those that schemas of the lab may have and writes by key use
most. Of sums of times, which bound keys, and of defaults that each row computes anew only the types are known."""

from expressions.functions.overloads import Named, Overload
from expressions.sqltypes import (
    BOOL,
    DATE,
    DOCUMENTS,
    FLOAT4,
    FLOAT8,
    FLOATS,
    INT4,
    INTEGERS,
    INTERVAL,
    NUMERIC,
    STORED,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
)
from expressions.values import arithmetic, numerics, texts


def operators() -> Named:
    yield from _of_integers()
    yield from _of_floats()
    pair = (NUMERIC, NUMERIC)
    for name, compute in (
        ("+", numerics.add), ("-", numerics.subtract), ("*", numerics.multiply), ("/", numerics.divide),
        ("%", numerics.modulo),
    ):  # fmt: skip
        yield name, Overload(pair, NUMERIC, compute)
    yield "-", Overload((NUMERIC,), NUMERIC, numerics.negative)
    yield "+", Overload((NUMERIC,), NUMERIC, lambda a: a)
    yield from _comparisons()
    yield "-", Overload((DATE, DATE), INT4, lambda a, b: (a - b).days)
    for name in ("+", "-"):
        yield name, Overload((DATE, INT4), DATE)
        for of in (TIMESTAMP, TIMESTAMPTZ):
            yield name, Overload((of, INTERVAL), of)
    yield "||", Overload((TEXT, TEXT), TEXT, texts.concatenated)
    yield "~~", Overload((TEXT, TEXT), BOOL, texts.like)
    yield "!~~", Overload((TEXT, TEXT), BOOL, texts.not_like)


def _of_integers() -> Named:
    for of in INTEGERS:
        pair = (of, of)
        yield "+", Overload(pair, of, arithmetic.whole(of, lambda a, b: a + b))
        yield "-", Overload(pair, of, arithmetic.whole(of, lambda a, b: a - b))
        yield "*", Overload(pair, of, arithmetic.whole(of, lambda a, b: a * b))
        yield "/", Overload(pair, of, arithmetic.whole(of, arithmetic.divide_whole))
        yield "%", Overload(pair, of, arithmetic.whole(of, arithmetic.modulo))
        yield "-", Overload((of,), of, arithmetic.whole(of, lambda a: -a))
        yield "+", Overload((of,), of, lambda a: a)


def _of_floats() -> Named:
    for name, compute in (
        ("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", arithmetic.multiply_real),
        ("/", arithmetic.divide_real),
    ):  # fmt: skip
        for pair in ((FLOAT8, FLOAT8), (FLOAT4, FLOAT8), (FLOAT8, FLOAT4)):
            yield name, Overload(pair, FLOAT8, arithmetic.real(compute))
        yield name, Overload((FLOAT4, FLOAT4), FLOAT4, arithmetic.single(compute))
    for of in FLOATS:
        yield "-", Overload((of,), of, lambda a: -a)
        yield "+", Overload((of,), of, lambda a: a)


def _comparisons() -> Named:
    for pair in ((FLOAT4, FLOAT8), (FLOAT8, FLOAT4)):
        for name, compute in arithmetic.COMPARISONS.items():
            yield name, Overload(pair, BOOL, compute)
    for of in (one for one in STORED if one not in (VARCHAR, *DOCUMENTS)):
        for name, compute in arithmetic.COMPARISONS.items():
            yield name, Overload((of, of), BOOL, compute)


def functions() -> Named:
    for of in INTEGERS:
        yield "abs", Overload((of,), of, arithmetic.whole(of, abs))
    for of in FLOATS:
        yield "abs", Overload((of,), of, abs)
    yield "abs", Overload((NUMERIC,), NUMERIC, numerics.absolute)
    yield "upper", Overload((TEXT,), TEXT, texts.upper)
    yield "lower", Overload((TEXT,), TEXT, texts.lower)
    for name in ("length", "char_length", "character_length"):
        yield name, Overload((TEXT,), INT4, len)
    yield "like_escape", Overload((TEXT, TEXT), TEXT, texts.escaped_by)
    for name in ("now", "transaction_timestamp", "statement_timestamp"):
        yield name, Overload((), TIMESTAMPTZ, arithmetic.now, strict=False)
    yield "current_setting", Overload((TEXT,), TEXT, arithmetic.current_setting, strict=False)
    yield "current_setting", Overload((TEXT, BOOL), TEXT, arithmetic.current_setting, strict=False)
    yield "random", Overload((), FLOAT8)
    yield "clock_timestamp", Overload((), TIMESTAMPTZ)
    for name in ("gen_random_uuid", "uuidv4"):
        yield name, Overload((), UUID)


def _by_name(group: Named) -> dict[str, tuple[Overload, ...]]:
    table: dict[str, tuple[Overload, ...]] = {}
    for name, overload in group:
        table[name] = (*table.get(name, ()), overload)
    return table


OPERATORS, FUNCTIONS = _by_name(operators()), _by_name(functions())
