"""Roots, logarithms and powers of numeric, with the scales that PostgreSQL gives them.

sqrt(2.0)   1.414213562373095      16 digits that count, at least as many behind the point as the operand has
2 ^ 0.5     1.4142135623730951     the weight of the result is estimated first, as PostgreSQL does
"""

import math
from decimal import Context, Decimal

from catalog.values import numerics
from catalog.values.numerics import CONTEXT, NAN, ZERO, digits_of, scale_of
from expressions.errors import DIVISION_BY_ZERO, PROGRAM_LIMIT, SqlError
from expressions.values.numerics import (
    DIGITS_OF_WORD,
    DISPLAY_SCALE_MAX,
    SIGNIFICANT_DIGITS,
    checked,
    overflow,
    word,
)

SLOW_DIGITS_MAX = 1000
"""Digits of what a root, a logarithm or a power is taken: their time grows much faster than the number of digits."""
LOG10_OF_E = 0.434294481903252
LN_OF_10 = 2.302585092994046


def _slow(*values: Decimal) -> None:
    for value in values:
        if value.is_finite() and (digits_of(value) > SLOW_DIGITS_MAX or abs(value.adjusted()) > SLOW_DIGITS_MAX):
            message = f"roots, logarithms and powers take numbers of at most {SLOW_DIGITS_MAX} digits"
            raise SqlError(PROGRAM_LIMIT, message)


def _scale_for(weight: int, *scales: int) -> int:
    return min(max(SIGNIFICANT_DIGITS - weight, *scales, 0), DISPLAY_SCALE_MAX)


def exact(scale: int, weight: float = 0) -> Context:
    """Enough digits that one rounding more does not matter."""
    context = CONTEXT.copy()
    context.prec = int(max(scale + abs(weight), 0)) + 60
    return context


@checked
def square_root(a: Decimal) -> Decimal:
    if a.is_nan():
        return NAN
    if a < 0:
        raise SqlError("2201F", "cannot take square root of a negative number")
    if a.is_infinite():
        return a
    _slow(a)
    weight = word(a)[0]
    first = weight * DIGITS_OF_WORD // 2 + 1 if weight >= 0 else 1 - (1 - weight * DIGITS_OF_WORD) // 2
    scale = _scale_for(first, scale_of(a))
    return numerics.with_scale(exact(scale, a.adjusted()).sqrt(a), scale)


def _weight_of_logarithm(a: Decimal) -> int:
    """About how many digits a natural logarithm has before its point."""
    if Decimal("0.9") <= a <= Decimal("1.1"):
        rest = CONTEXT.subtract(a, Decimal(1))
        if not rest:
            return 0
        weight, first = word(rest)
        return weight * DIGITS_OF_WORD + int(math.log10(first))
    logarithm = math.log(float(a.scaleb(-a.adjusted(), CONTEXT))) + a.adjusted() * LN_OF_10
    return int(math.log10(abs(logarithm)))


def _refuse_logarithm(a: Decimal) -> None:
    if a == 0:
        raise SqlError("2201E", "cannot take logarithm of zero")
    if a < 0:
        raise SqlError("2201E", "cannot take logarithm of a negative number")


@checked
def natural_logarithm(a: Decimal) -> Decimal:
    if a.is_nan():
        return NAN
    _refuse_logarithm(a)
    if a.is_infinite():
        return a
    _slow(a)
    scale = _scale_for(_weight_of_logarithm(a), scale_of(a))
    return numerics.with_scale(exact(scale, 10).ln(a), scale)


@checked
def logarithm(base: Decimal, a: Decimal) -> Decimal:
    """log(b, a)."""
    if base.is_nan() or a.is_nan():
        return NAN
    _refuse_logarithm(base)
    _refuse_logarithm(a)
    if base.is_infinite():
        return NAN if a.is_infinite() else ZERO
    if a.is_infinite():
        return a
    _slow(base, a)
    if base == 1:
        raise SqlError(DIVISION_BY_ZERO, "division by zero")
    scale = _scale_for(_weight_of_logarithm(a) - _weight_of_logarithm(base), scale_of(base), scale_of(a))
    context = exact(scale, 40)
    return numerics.with_scale(context.divide(context.ln(a), context.ln(base)), scale)


def decimal_logarithm(a: Decimal) -> Decimal:
    result: Decimal = logarithm(Decimal(10), a)
    return result


@checked
def exponential(a: Decimal) -> Decimal:
    if a.is_nan():
        return NAN
    if a.is_infinite():
        return a if a > 0 else ZERO
    _slow(a)
    weight = float(a) * LOG10_OF_E
    _refuse_power(weight)
    scale = _scale_for(int(weight), scale_of(a))
    if weight < -DISPLAY_SCALE_MAX - 1:
        return numerics.with_scale(ZERO, scale)
    return numerics.with_scale(exact(scale, weight).exp(a), scale)


def _refuse_power(weight: float) -> None:
    """Refuse a result of more digits before the point than a power may have."""
    if weight > numerics.WEIGHT_MAX:
        raise overflow()
    if weight > SLOW_DIGITS_MAX:
        raise SqlError(PROGRAM_LIMIT, f"a power may have at most {SLOW_DIGITS_MAX} digits")


@checked
def power(base: Decimal, exponent: Decimal) -> Decimal:
    if base.is_nan() or exponent.is_nan():
        if exponent == 0 or base == 1:
            return Decimal(1)
        return NAN
    is_whole = exponent.is_infinite() or exponent == exponent.to_integral_value()
    if base == 0 and exponent < 0:
        raise SqlError("2201F", "zero raised to a negative power is undefined")
    if base < 0 and not is_whole:
        raise SqlError("2201F", "a negative number raised to a non-integer power yields a complex result")
    if base.is_infinite() or exponent.is_infinite():
        return _infinite_power(base, exponent)
    _slow(base, exponent)
    is_small = is_whole and exponent.adjusted() < 10 and -(2**31) <= int(exponent) < 2**31
    return _whole_power(base, exponent) if is_small else _real_power(base, exponent)


def _infinite_power(base: Decimal, exponent: Decimal) -> Decimal:
    """With an infinite operand."""
    one = Decimal(1)
    if base == 1 or exponent == 0:
        return one
    if exponent.is_infinite():
        size = abs(base)
        if size == 1:
            return one
        return numerics.INFINITY if (size > 1) == (exponent > 0) else ZERO
    if exponent < 0:
        return ZERO
    is_odd = exponent == exponent.to_integral_value() and CONTEXT.remainder(exponent, Decimal(2)) != 0
    return base if base > 0 or is_odd else numerics.INFINITY


def _whole_power(base: Decimal, exponent: Decimal) -> Decimal:
    times = int(exponent)
    weight = 0.0
    if base:
        weight = times * (math.log10(abs(float(base.scaleb(-base.adjusted(), CONTEXT)))) + base.adjusted())
    if weight + 1 < -DISPLAY_SCALE_MAX:
        return numerics.with_scale(ZERO, DISPLAY_SCALE_MAX)
    _refuse_power(weight)
    scale = _scale_for(int(weight), scale_of(base), scale_of(exponent))
    if not base:
        return numerics.with_scale(ZERO if times else Decimal(1), scale)
    return numerics.with_scale(exact(scale, weight).power(base, times), scale)


def _real_power(base: Decimal, exponent: Decimal) -> Decimal:
    if not base:
        return numerics.with_scale(ZERO, _scale_for(0, scale_of(base), scale_of(exponent)))
    sign_of_result = -1 if base < 0 and CONTEXT.remainder(exponent, Decimal(2)) != 0 else 1
    size = base.copy_abs()
    logarithm_of_size = math.log10(float(size.scaleb(-size.adjusted(), CONTEXT))) + size.adjusted()
    weight = float(exponent) * logarithm_of_size if logarithm_of_size else 0.0
    if weight < -DISPLAY_SCALE_MAX - 1:
        return numerics.with_scale(ZERO, DISPLAY_SCALE_MAX)
    _refuse_power(weight)
    scale = _scale_for(int(weight), scale_of(base), scale_of(exponent))
    context = exact(scale, weight)
    product = context.multiply(context.ln(size), exponent)
    return numerics.with_scale(CONTEXT.multiply(context.exp(product), Decimal(sign_of_result)), scale)
