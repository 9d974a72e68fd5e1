"""Arithmetic of numeric: PostgreSQL's results, digit for digit, with its scales; too many digits are refused
beforehand.

    1.10 + 2.005     3.105       the larger scale
    1.10 * 2.0       2.200       both scales together
    1 / 3.0          0.33333333333333333333      at least 16 digits that count, in groups of four
    7.5 % 2          1.5         the sign of the dividend
"""

import math
from collections.abc import Callable
from decimal import Decimal
from functools import wraps
from typing import Any

from catalog.values import floats, numerics
from catalog.values.errors import BadValue, TooManyDigits
from catalog.values.numerics import CONTEXT, DIGITS_MAX, NAN, SCALE_MAX, ZERO, scale_of
from expressions.errors import DIVISION_BY_ZERO, NUMBER_OUT_OF_RANGE, SqlError
from expressions.limits import look_at

DIGITS_OF_WORD = 4
"""PostgreSQL's digits are of base 10,000, which shows in the scale of a quotient."""
SIGNIFICANT_DIGITS = 16
DISPLAY_SCALE_MAX = 1000
DOUBLE_DIGITS, REAL_DIGITS = 15, 6

SHORT_BYTES = 1024
DIGITS_AT_ONCE = 4
"""Characters that count as much as a digit: some functions take its numbers apart."""

Number = Callable[..., Any]


def checked(compute: Number) -> Number:
    """The function, with the refusals of a number that is too large as SQL's."""

    @wraps(compute)
    def called(*args: Any) -> Any:
        for arg in args:
            if arg.__sizeof__() > SHORT_BYTES and isinstance(arg, Decimal):
                look_at(DIGITS_AT_ONCE * numerics.digits_of(arg))
        try:
            return compute(*args)
        except BadValue as error:
            raise SqlError(error.sqlstate, str(error)) from None

    return called


@checked
def add(a: Decimal, b: Decimal) -> Decimal:
    return numerics.plain(CONTEXT.add(a, b))


@checked
def subtract(a: Decimal, b: Decimal) -> Decimal:
    return numerics.plain(CONTEXT.subtract(a, b))


@checked
def multiply(a: Decimal, b: Decimal) -> Decimal:
    product = CONTEXT.multiply(a, b)
    if product.is_finite() and scale_of(product) > SCALE_MAX:
        if product.adjusted() > DIGITS_MAX:
            raise TooManyDigits(numerics.TOO_MANY_DIGITS)
        return numerics.with_scale(product, SCALE_MAX)
    return numerics.plain(product)


def negative(a: Decimal) -> Decimal:
    return NAN if a.is_nan() else a.copy_negate() if a else a


def absolute(a: Decimal) -> Decimal:
    return NAN if a.is_nan() else a.copy_abs()


def word(value: Decimal) -> tuple[int, int]:
    """The place of the first digit of base 10,000, and the digit."""
    if not value:
        return 0, 0
    weight = value.adjusted() // DIGITS_OF_WORD
    leading = value.adjusted() - weight * DIGITS_OF_WORD + 1
    digits = value.as_tuple().digits[:leading]
    first = 0
    for digit in (*digits, *[0] * (leading - len(digits))):
        first = first * 10 + digit
    return weight, first


def scale_of_quotient(a: Decimal, b: Decimal) -> int:
    (weight, first), (weight_below, first_below) = word(a), word(b)
    quotient = weight - weight_below - (first <= first_below)
    scale = max(SIGNIFICANT_DIGITS - quotient * DIGITS_OF_WORD, scale_of(a), scale_of(b), 0)
    return min(scale, DISPLAY_SCALE_MAX)


def refuse_zero(a: Decimal, b: Decimal) -> None:
    if not b and not a.is_nan():
        raise SqlError(DIVISION_BY_ZERO, "division by zero")


@checked
def divide(a: Decimal, b: Decimal) -> Decimal:
    refuse_zero(a, b)
    if a.is_nan() or b.is_nan():
        return NAN
    if b.is_infinite():
        return NAN if a.is_infinite() else ZERO
    if a.is_infinite():
        return numerics.plain(CONTEXT.divide(a, b))
    return _rounded_quotient(a, b, scale_of_quotient(a, b))


def _rounded_quotient(a: Decimal, b: Decimal, scale: int) -> Decimal:
    look_at(scale)
    if a.adjusted() - b.adjusted() + scale > 2 * DIGITS_MAX:
        raise TooManyDigits(numerics.TOO_MANY_DIGITS)
    whole, rest = CONTEXT.divmod(CONTEXT.scaleb(a.copy_abs(), scale), b.copy_abs())
    if CONTEXT.add(rest, rest) >= b.copy_abs():
        whole = CONTEXT.add(whole, 1)
    quotient = CONTEXT.scaleb(whole.quantize(Decimal(1), context=CONTEXT), -scale)
    return numerics.plain(quotient.copy_negate() if a.is_signed() != b.is_signed() else quotient)


@checked
def modulo(a: Decimal, b: Decimal) -> Decimal:
    refuse_zero(a, b)
    if a.is_nan() or b.is_nan() or a.is_infinite():
        return NAN
    if b.is_infinite():
        return a
    scale = max(scale_of(a), scale_of(b))
    return numerics.with_scale(CONTEXT.remainder(a, b), scale)


@checked
def of_float(digits: int, value: float) -> Decimal:
    """A double has 15 digits that count, a real 6."""
    if math.isnan(value) or math.isinf(value):
        return NAN if math.isnan(value) else Decimal(value)
    return numerics.plain(Decimal(f"{value:.{digits}g}"))


def to_double(value: Decimal) -> float:
    found = float(value)
    if (math.isinf(found) and value.is_finite()) or (found == 0 and value):
        raise SqlError(NUMBER_OUT_OF_RANGE, f'"{_shortened(value)}" is out of range for type double precision')
    return found


def to_real(value: Decimal) -> float:
    text = numerics.text_of(value)
    try:
        found = floats.read_real(text)
    except OverflowError:
        message = f'"{_shortened(value)}" is out of range for type real'
        raise SqlError(NUMBER_OUT_OF_RANGE, message) from None
    assert found is not None, text
    return found


_SHOWN_MAX = 60


def _shortened(value: Decimal) -> str:
    text = numerics.text_of(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}.."


def to_whole(name: str, limit: int, value: Decimal) -> int:
    if not value.is_finite():
        raise SqlError("0A000", f"cannot convert {'NaN' if value.is_nan() else 'infinity'} to {name}")
    if value.adjusted() < 40:
        whole = int(numerics.with_scale(value, 0))
        if -limit <= whole < limit:
            return whole
    raise SqlError(NUMBER_OUT_OF_RANGE, f"{name} out of range")
