"""The functions of numeric that the query engine calls: it has no such numbers, only their packed form.

Each is the function that computes one row here (`expressions.values.numerics`), so the two cannot differ. What it
refuses comes back as the engine's error, with the SQLSTATE in it.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import duckdb

from catalog.values import numerics as values
from catalog.values.types import SqlType
from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError
from expressions.sqltypes import FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC
from expressions.values import arithmetic, numerics, powers
from expressions.values.deviations import DEVIATIONS, deviation, deviation_of
from nodes.execution.engine.stopping import stop_if_cancelled, to_stop

NUMBER, NUMBERS = "BLOB", "BLOB[]"
FUNCTION_WORD = "numeric_"
"""The beginning of their names."""
SHIFT = 16
"""Digits behind the point of what is added up over a window."""
SHIFTED_MAX = 10**22


def register(database: "duckdb.DuckDBPyConnection") -> None:
    """Make the functions known to an engine."""
    for name, (compute, arguments, result) in FUNCTIONS.items():
        nulls = "special" if name in GIVES_NULL else "default"
        database.create_function(
            f"{FUNCTION_WORD}{name}", refusing(compute, len(arguments)), [*arguments], result, null_handling=nulls
        )


def refusing(compute: Callable[..., Any], count: int, *, takes_null: bool = False) -> Callable[..., Any]:
    """The function, with a refusal that is found again in the engine's own message.

    The engine counts the names of its arguments.
    """

    def called(*args: Any) -> Any:
        if not takes_null and None in args:
            return None
        try:
            if to_stop:
                stop_if_cancelled()
            return compute(*args)
        except SqlError as error:
            detail = "" if error.detail is None else f" DETAIL {error.detail}"
            raise ValueError(f"SQLSTATE {error.sqlstate} {error.message}{detail}") from None

    return (
        lambda a: called(a),
        lambda a, b: called(a, b),
        lambda a, b, c: called(a, b, c),
        lambda a, b, c, d: called(a, b, c, d),
        lambda a, b, c, d, e: called(a, b, c, d, e),
        lambda a, b, c, d, e, f: called(a, b, c, d, e, f),
        lambda a, b, c, d, e, f, g: called(a, b, c, d, e, f, g),
    )[count - 1]


def _of_numbers(compute: Callable[..., Decimal]) -> Callable[..., bytes]:
    return lambda *args: values.packed(compute(*map(values.unpacked, args)))


def _to(compute: Callable[[Decimal], Any]) -> Callable[[bytes], Any]:
    return lambda data: compute(values.unpacked(data))


def _of(compute: Callable[[Any], Decimal]) -> Callable[[Any], bytes]:
    return lambda value: values.packed(compute(value))


def _at(compute: Callable[[Decimal, int], Decimal]) -> Callable[[bytes, int], bytes]:
    return lambda data, scale: values.packed(compute(values.unpacked(data), scale))


def _text(data: bytes) -> str:
    return values.text_of(values.unpacked(data))


def _is_valid(text: str) -> bool:
    try:
        arithmetic.text_to(SqlType.NUMERIC)(text)
    except SqlError:
        return False
    return True


def _fit(data: bytes, modifier: int) -> bytes:
    return values.packed(arithmetic.fit_to(modifier)(values.unpacked(data)))


def _over_list(
    compute: Callable[[Iterable[Decimal]], Decimal | None], *, is_distinct: bool = False
) -> Callable[[Sequence[bytes | None]], bytes | None]:
    def computed(items: Sequence[bytes | None]) -> bytes | None:
        known: Iterable[bytes] = (item for item in items if item is not None)
        if is_distinct:
            known = {data[values.SCALE_BYTES :]: data for data in known}.values()
        result = compute(map(values.unpacked, known))
        return None if result is None else values.packed(result)

    return computed


def _deviation(name: str) -> Callable[[str, str, int], bytes | None]:
    """Of integers, whose sums the engine has worked out."""

    def computed(squares: str, total: str, count: int) -> bytes | None:
        result = deviation(name, count, Decimal(total), Decimal(squares))
        return None if result is None else values.packed(result)

    return computed


def _average(total: str, count: int) -> bytes:
    return values.packed(numerics.divide(Decimal(total), Decimal(count)))


def _shifted(data: bytes) -> int:
    number = values.unpacked(data)
    is_exact = number.is_finite() and values.scale_of(number) <= SHIFT and abs(number) < SHIFTED_MAX
    if not is_exact:
        message = f"sums over a window take numerics below 10^22 with at most {SHIFT} digits behind the point"
        raise SqlError(FEATURE_NOT_SUPPORTED, message)
    return int(number.scaleb(SHIFT, values.CONTEXT))


def _unshifted(total: str, scale: int) -> Decimal:
    return Decimal(total).scaleb(-SHIFT, values.CONTEXT).quantize(Decimal((0, (1,), -scale)), context=values.CONTEXT)


def _shifted_sum(total: str, scale: int, _: int) -> bytes:
    return values.packed(values.bounded(_unshifted(total, scale)))


def _shifted_average(total: str, scale: int, count: int) -> bytes:
    return values.packed(numerics.divide(values.bounded(_unshifted(total, scale)), Decimal(count)))


def _units(count: int, scale: int) -> bytes:
    return values.packed(Decimal(count).scaleb(-scale, values.CONTEXT))


Function = tuple[Callable[..., Any], tuple[str, ...], str]
GIVES_NULL = frozenset({"scale", "least_scale", "sum_of", "avg_of", "sum_of_distinct",
    "avg_of_distinct", *(f"{name}{form}" for name in DEVIATIONS for form in ("", "_of", "_of_distinct"))})  # fmt: skip
"""Functions that may give NULL for what is none."""
_ONE, _TWO = (NUMBER,), (NUMBER, NUMBER)
FUNCTIONS: dict[str, Function] = {
    **{
        name: (_of_numbers(compute), _TWO, NUMBER)
        for name, compute in {
            "add": numerics.add, "subtract": numerics.subtract, "multiply": numerics.multiply,
            "divide": numerics.divide, "modulo": numerics.modulo, "power": powers.power,
            "div": numerics.whole_quotient, "log": powers.logarithm,
        }.items()
    },
    **{
        name: (_of_numbers(compute), _ONE, NUMBER)
        for name, compute in {
            "negative": numerics.negative, "absolute": numerics.absolute, "ceiling": numerics.ceiling,
            "floor": numerics.floor, "sign": numerics.sign, "round": numerics.rounded, "trunc": numerics.truncated,
            "sqrt": powers.square_root, "ln": powers.natural_logarithm, "log10": powers.decimal_logarithm,
            "exp": powers.exponential, "trimmed": numerics.trimmed,
        }.items()
    },
    "round_to": (_at(numerics.rounded), (NUMBER, "INTEGER"), NUMBER),
    "trunc_to": (_at(numerics.truncated), (NUMBER, "INTEGER"), NUMBER),
    "fit": (_fit, (NUMBER, "INTEGER"), NUMBER),
    "scale": (_to(numerics.shown_scale), _ONE, "INTEGER"),
    "least_scale": (_to(numerics.least_scale), _ONE, "INTEGER"),
    "of_whole": (_of(numerics.of_whole), ("BIGINT",), NUMBER),
    "of_units": (_units, ("BIGINT", "INTEGER"), NUMBER),
    "of_double": (_of(arithmetic.CASTS[FLOAT8, NUMERIC]), ("DOUBLE",), NUMBER),
    "of_real": (_of(arithmetic.CASTS[FLOAT4, NUMERIC]), ("DOUBLE",), NUMBER),
    "of_text": (_of(arithmetic.text_to(SqlType.NUMERIC)), ("VARCHAR",), NUMBER),
    "is_valid": (_is_valid, ("VARCHAR",), "BOOLEAN"),
    "text": (_text, _ONE, "VARCHAR"),
    **{f"to_{of.name}": (_to(arithmetic.CASTS[NUMERIC, of]), _ONE, "BIGINT") for of in (INT2, INT4, INT8)},
    "to_double": (_to(numerics.to_double), _ONE, "DOUBLE"),
    "to_real": (_to(numerics.to_real), _ONE, "DOUBLE"),
    "sum_of": (_over_list(numerics.sum_of), (NUMBERS,), NUMBER),
    "avg_of": (_over_list(numerics.average_of), (NUMBERS,), NUMBER),
    "sum_of_distinct": (_over_list(numerics.sum_of, is_distinct=True), (NUMBERS,), NUMBER),
    "avg_of_distinct": (_over_list(numerics.average_of, is_distinct=True), (NUMBERS,), NUMBER),
    **{name: (_deviation(name), ("VARCHAR", "VARCHAR", "BIGINT"), NUMBER) for name in DEVIATIONS},
    **{
        f"{name}_of{'_distinct' if only_once else ''}": (
            _over_list(partial(deviation_of, name), is_distinct=only_once), (NUMBERS,), NUMBER
        )
        for name in DEVIATIONS
        for only_once in (False, True)
    },
    "average": (_average, ("VARCHAR", "BIGINT"), NUMBER),
    "shifted": (_shifted, _ONE, "HUGEINT"),
    "shifted_sum": (_shifted_sum, ("VARCHAR", "BIGINT", "BIGINT"), NUMBER),
    "shifted_avg": (_shifted_average, ("VARCHAR", "BIGINT", "BIGINT"), NUMBER),
}  # fmt: skip
"""By the names that `expressions.functions` calls them, without "numeric_": the function, its arguments, its result."""
