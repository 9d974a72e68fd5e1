"""Operators over one row, with PostgreSQL's results."""

import datetime as dt
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from catalog.values import floats
from catalog.values.errors import BadValue, InvalidDatetime
from catalog.values.types import DOCUMENTS, TEXTS, SqlType, fitted, to_text
from expressions import sqltypes as pg
from expressions.dates.reading import NeedsNow
from expressions.errors import DIVISION_BY_ZERO, NUMBER_OUT_OF_RANGE, SqlError
from expressions.limits import look_at, look_over, pass_chars
from expressions.typed import parse_value
from expressions.values import numerics

Compute = Callable[..., Any]
LIMITS = {pg.INT2: 2**15, pg.INT4: 2**31, pg.INT8: 2**63}


def out_of_range(of: pg.Type) -> SqlError:
    return SqlError(NUMBER_OUT_OF_RANGE, f"{of.name} out of range")


def division_by_zero() -> SqlError:
    return SqlError(DIVISION_BY_ZERO, "division by zero")


def ranged(of: pg.Type, value: int) -> int:
    limit = LIMITS[of]
    if not -limit <= value < limit:
        raise out_of_range(of)
    return value


def whole(of: pg.Type, compute: Callable[..., int]) -> Compute:
    """Integer arithmetic that refuses what does not fit."""

    def checked(*args: int) -> int:
        return ranged(of, compute(*args))

    return checked


def divide_whole(a: int, b: int) -> int:
    """Towards zero, as PostgreSQL divides."""
    if b == 0:
        raise division_by_zero()
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def modulo(a: int, b: int) -> int:
    return a - b * divide_whole(a, b)


def real(compute: Callable[..., float]) -> Compute:
    """Arithmetic of doubles: infinite only from the infinite."""

    def checked(*args: float) -> float:
        try:
            value = compute(*args)
        except OverflowError:
            value = math.inf
        if math.isinf(value) and not any(math.isinf(a) for a in args):
            raise SqlError(NUMBER_OUT_OF_RANGE, "value out of range: overflow")
        return value

    return checked


def multiply_real(a: float, b: float) -> float:
    return nonzero(a * b, is_tiny=a != 0 and b != 0)


def nonzero(value: float, *, is_tiny: bool) -> float:
    """The value. Raises 22003 for a zero that is the rest of a number too small for a double."""
    if value == 0 and is_tiny:
        raise SqlError(NUMBER_OUT_OF_RANGE, "value out of range: underflow")
    return value


def single(compute: Callable[..., float]) -> Compute:
    """Arithmetic of reals: worked out in double precision, which is exact enough to be rounded once."""
    checked = real(compute)
    return lambda *args: to_single(checked(*args))


def to_single(value: float) -> float:
    """A double as a real. Raises 22003 for one that is too large, or too small."""
    found = floats.single(value)
    if math.isinf(found) and not math.isinf(value):
        raise SqlError(NUMBER_OUT_OF_RANGE, "value out of range: overflow")
    if found == 0 and value != 0:
        raise SqlError(NUMBER_OUT_OF_RANGE, "value out of range: underflow")
    return found


def divide_real(a: float, b: float) -> float:
    if b == 0 and a == a:
        raise division_by_zero()
    return nonzero(a / b, is_tiny=a != 0 and not math.isinf(b)) if b else math.nan


def order_key(value: Any) -> Any:
    """NaN equals itself and is the greatest of numbers."""
    if isinstance(value, tuple):  # an array: a NULL is the greatest of elements
        return 0, tuple((2,) if item is None else order_key(item) for item in value)
    return (1, 0.0) if isinstance(value, float | Decimal) and value != value else (0, value)


def compare(test: Callable[[Any, Any], bool]) -> Compute:
    def compared(a: Any, b: Any) -> bool:
        return test(order_key(a), order_key(b)) if isinstance(a, float | Decimal) else test(a, b)

    return compared


COMPARISONS: dict[str, Compute] = {
    "=": compare(operator.eq),
    "<>": compare(operator.ne),
    "<": compare(operator.lt),
    "<=": compare(operator.le),
    ">": compare(operator.gt),
    ">=": compare(operator.ge),
}

# Computed with their arguments unevaluated: (context, *thunks).


def joined(*, decided: bool) -> Compute:
    """AND, which one False decides; OR, which one True does."""

    def compute(_: Any, *thunks: Callable[[], Any]) -> bool | None:
        result: bool | None = not decided
        for thunk in thunks:
            value: bool | None = thunk()
            if value is decided:
                return decided
            if value is None:
                result = None
        return result

    return compute


conjunction, disjunction = joined(decided=False), joined(decided=True)


def is_value(wanted: bool | None, *, negated: bool) -> Compute:
    """IS NULL, IS TRUE and the like."""
    return lambda _, thunk: (thunk() is wanted) is not negated


def coalesce(_: Any, *thunks: Callable[[], Any]) -> Any:
    return next((value for thunk in thunks if (value := thunk()) is not None), None)


def case(_: Any, *thunks: Callable[[], Any]) -> Any:
    """Condition, value, condition, value, .., default."""
    for number in range(0, len(thunks) - 1, 2):
        if thunks[number]() is True:
            return thunks[number + 1]()
    return thunks[-1]()


def one_of(_: Any, needle: Callable[[], Any], *thunks: Callable[[], Any]) -> bool | None:
    """x IN (..): NULL when it is not found and something compared is NULL."""
    wanted = needle()
    result: bool | None = False
    for thunk in thunks:
        value = thunk()
        if value is None or wanted is None:
            result = None
        elif COMPARISONS["="](wanted, value):
            return True
    return result


def among(compare: Compute, *, decided: bool) -> Compute:
    """x operator ANY (array), which one True decides; x operator ALL (array), which one False does."""

    def compute(_: Any, value: Callable[[], Any], items: Callable[[], Any]) -> bool | None:
        listed, one = items(), value()
        if listed is None:
            return None
        look_over(listed)
        tests = [None if one is None or item is None else compare(one, item) for item in listed]
        if decided in tests:
            return decided
        return None if None in tests else not decided

    return compute


@dataclass(frozen=True, slots=True)
class OneOfValues:
    """x IN (..) of constants: looked up, not compared one by one. Two of the same constants are equal."""

    known: frozenset[Any]
    has_null: bool

    @staticmethod
    def of(values: Sequence[Any]) -> "OneOfValues":
        return OneOfValues(frozenset(order_key(v) for v in values if v is not None), any(v is None for v in values))

    def __call__(self, _: Any, needle: Callable[[], Any]) -> bool | None:
        wanted = needle()
        if wanted is None:
            return None
        return True if order_key(wanted) in self.known else None if self.has_null else False


def distinct(_: Any, a: Callable[[], Any], b: Callable[[], Any]) -> bool:
    x, y = a(), b()
    if x is None or y is None:
        return x is not y
    return not COMPARISONS["="](x, y)


def nullif(_: Any, a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    x, y = a(), b()
    return None if x is not None and y is not None and COMPARISONS["="](x, y) else x


def extreme(choose: Callable[..., Any]) -> Compute:
    """GREATEST and LEAST ignore NULLs."""

    def chosen(_: Any, *thunks: Callable[[], Any]) -> Any:
        values = [value for thunk in thunks if (value := thunk()) is not None]
        return choose(values, key=order_key) if values else None

    return chosen


def now(context: Any) -> dt.datetime:
    moment: dt.datetime = context.now
    return moment


def current_setting(context: Any, name: Callable[[], Any], missing_ok: Callable[[], Any] = lambda: False) -> Any:
    wanted, is_optional = name(), missing_ok()
    if wanted is None or is_optional is None:
        return None
    return context.session.current_setting(wanted, missing_ok=is_optional)


# Casts: one value in, one out.


def double_to_whole(of: pg.Type) -> Compute:
    def rounded(value: float) -> int:
        if value != value or math.isinf(value):
            raise out_of_range(of)
        return ranged(of, round(value))

    return rounded


def text_to(of: SqlType) -> Compute:
    """Dates may have any of PostgreSQL's forms but those that depend on the time of the transaction."""
    look = look_at if of in DOCUMENTS else pass_chars

    def parsed(text: str) -> Any:
        look(len(text))
        try:
            return parse_value(pg.OF_SQL_TYPE[of], text)
        except NeedsNow:
            raise SqlError(InvalidDatetime.sqlstate, f'"{text}" is another time in each transaction') from None

    return parsed


def fit_of(of: SqlType, length: int | None, *, is_explicit: bool = False) -> Compute | None:
    """The function that gives a value its length or precision; None: the type has none. An explicit cast cuts a long
    text; an assignment cuts blanks only and refuses the rest. Numbers and times are rounded; a number of too many
    digits is refused."""
    if length is None:
        return None
    if of.element is not None:
        fit = fit_of(of.element, length, is_explicit=is_explicit)
        assert fit is not None
        return lambda items: tuple(None if item is None else fit(item) for item in items)
    is_text = of in TEXTS

    def fitting(value: Any) -> Any:
        try:
            kept = value[:length] if is_text and is_explicit else fitted(of, length, value)
        except BadValue as bad:
            raise SqlError(bad.sqlstate, str(bad), detail=bad.detail) from None
        return kept.rstrip(" ") if of is SqlType.CHAR and isinstance(kept, str) else kept

    return fitting


def text_of(of: SqlType) -> Compute:
    if of is SqlType.BOOLEAN:
        return lambda value: "true" if value else "false"
    return lambda value: to_text(of, value)


def midnight(value: dt.date) -> dt.datetime:
    return dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001 - a timestamp without a zone


def time_of(value: dt.datetime) -> dt.timedelta:
    return dt.timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)


CASTS: dict[tuple[pg.Type, pg.Type], Compute] = {
    **{(a, b): whole(b, lambda v: v) for a in pg.INTEGERS for b in pg.INTEGERS if a is not b},
    **{(whole_type, pg.FLOAT8): float for whole_type in pg.INTEGERS},
    **{(whole_type, pg.FLOAT4): lambda v: floats.single(float(v)) for whole_type in pg.INTEGERS},
    **{(of, whole_type): double_to_whole(whole_type) for of in pg.FLOATS for whole_type in pg.INTEGERS},
    **{(whole_type, pg.NUMERIC): Decimal for whole_type in pg.INTEGERS},
    **{(pg.NUMERIC, of): partial(numerics.to_whole, of.name, limit) for of, limit in LIMITS.items()},
    (pg.FLOAT8, pg.NUMERIC): partial(numerics.of_float, numerics.DOUBLE_DIGITS),
    (pg.FLOAT4, pg.NUMERIC): partial(numerics.of_float, numerics.REAL_DIGITS),
    (pg.NUMERIC, pg.FLOAT8): numerics.to_double,
    (pg.NUMERIC, pg.FLOAT4): numerics.to_real,
    (pg.FLOAT4, pg.FLOAT8): lambda v: v,
    (pg.FLOAT8, pg.FLOAT4): to_single,
    (pg.BOOL, pg.INT4): int,
    (pg.INT4, pg.BOOL): bool,
    (pg.DATE, pg.TIMESTAMP): midnight,
    (pg.DATE, pg.TIMESTAMPTZ): lambda v: midnight(v).replace(tzinfo=dt.UTC),
    (pg.TIMESTAMP, pg.TIMESTAMPTZ): lambda v: v.replace(tzinfo=dt.UTC),
    (pg.TIMESTAMPTZ, pg.TIMESTAMP): lambda v: v.replace(tzinfo=None),
    (pg.TIMESTAMP, pg.DATE): lambda v: v.date(),
    (pg.TIMESTAMPTZ, pg.DATE): lambda v: v.date(),
    (pg.TIMESTAMP, pg.TIME): time_of,
    (pg.TIMESTAMPTZ, pg.TIME): time_of,
    (pg.TEXT, pg.TEXT): lambda v: v,
    (pg.NAME, pg.TEXT): lambda v: v,
    (pg.BPCHAR, pg.VARCHAR): lambda v: v,
    (pg.VARCHAR, pg.BPCHAR): lambda v: v.rstrip(" "),
}

ZONED = frozenset(
    {(pg.TIMESTAMPTZ, of) for of in (pg.TIMESTAMP, pg.DATE, pg.TEXT, pg.TIME)}
    | {(of, pg.TIMESTAMPTZ) for of in (pg.TIMESTAMP, pg.DATE, pg.TEXT)}
    | {(pg.ARRAY_OF[pg.TIMESTAMPTZ], pg.TEXT)}
)
"""Casts that depend on the time zone."""
