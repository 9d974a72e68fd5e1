"""Functions of mathematics that the query engine has not, for one value: it calls the same ones.

Angles in degrees are as PostgreSQL works them out, so that those of round angles are exact: sind(30) is 0.5.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from expressions.errors import NUMBER_OUT_OF_RANGE, PROGRAM_LIMIT, SqlError
from expressions.sqltypes import FLOAT8, INT4, INT8, NUMERIC, TEXT
from expressions.values.own import lines

FACTORIAL_MAX = 3000
"""The factorial of more has more digits than are worth the wait."""
_DEGREE = 0.0174532925199432957692
_SIN_30, _COS_60_FROM_1 = math.sin(30 * _DEGREE), 1 - math.cos(60 * _DEGREE)
_ASIN_HALF, _ACOS_HALF = math.asin(0.5), math.acos(0.5)


def factorial(number: int) -> Decimal:
    if number < 0:
        raise SqlError(NUMBER_OUT_OF_RANGE, "factorial of a negative number is undefined")
    if number > FACTORIAL_MAX:
        raise SqlError(PROGRAM_LIMIT, f"a factorial is worked out of at most {FACTORIAL_MAX}")
    return Decimal(math.factorial(number))


def to_octal(bits: int) -> Callable[[int], str]:
    return lambda value: format(value % (1 << bits), "o")


def gamma(value: float) -> float:
    if value == -math.inf or (value <= 0 and value == math.floor(value) and value != 0):
        raise overflow()
    return _finite(math.gamma, value)


def log_gamma(value: float) -> float:
    return math.inf if math.isinf(value) else _finite(math.lgamma, value)


def _finite(compute: Callable[[float], float], value: float) -> float:
    try:
        found = compute(value)
    except (OverflowError, ValueError):
        raise overflow() from None
    if math.isinf(found) and not math.isinf(value):
        raise overflow()
    return found


def overflow() -> SqlError:
    return SqlError(NUMBER_OUT_OF_RANGE, "value out of range: overflow")


def beyond() -> SqlError:
    return SqlError(NUMBER_OUT_OF_RANGE, "input is out of range")


def _sine(angle: float) -> float:
    """Of 0 to 90 degrees."""
    return math.sin(angle * _DEGREE) / _SIN_30 / 2 if angle <= 30 else _small_cosine(90 - angle)


def _cosine(angle: float) -> float:
    return _small_cosine(angle) if angle <= 60 else math.sin((90 - angle) * _DEGREE) / _SIN_30 / 2


def _small_cosine(angle: float) -> float:
    return 1 - (1 - math.cos(angle * _DEGREE)) / _COS_60_FROM_1 / 2


_TANGENT_45 = _sine(45.0) / _cosine(45.0)


def _upper_half(angle: float) -> tuple[float, bool]:
    """The angle of 0 to 180 degrees that one of 0 degrees or more is, or mirrors: and whether it mirrors it."""
    if math.isinf(angle):
        raise beyond()
    reduced = math.fmod(angle, 360)
    return (360 - reduced, True) if reduced > 180 else (reduced, False)


def sine_of_degrees(angle: float) -> float:
    half, is_below = _upper_half(abs(angle))
    found = _sine(180 - half if half > 90 else half)
    return -found if is_below != (angle < 0) else found


def cosine_of_degrees(angle: float) -> float:
    half, _ = _upper_half(abs(angle))
    return -_cosine(180 - half) if half > 90 else _cosine(half)


def tangent_of_degrees(angle: float) -> float:
    half, is_below = _upper_half(abs(angle))
    quarter = 180 - half if half > 90 else half
    cosine = _cosine(quarter)
    found = _sine(quarter) / cosine / _TANGENT_45 if cosine else math.inf
    is_negative = (is_below != (angle < 0)) != (half > 90)
    return -found if is_negative and found else found


def degrees_of_sine(value: float) -> float:
    if not -1 <= value <= 1:
        raise beyond()
    size = abs(value)
    found = math.asin(size) / _ASIN_HALF * 30 if size <= 0.5 else 90 - math.acos(size) / _ACOS_HALF * 60
    return math.copysign(found, value)


def degrees_of_cosine(value: float) -> float:
    if not -1 <= value <= 1:
        raise beyond()
    size = abs(value)
    found = 90 - math.asin(size) / _ASIN_HALF * 30 if size <= 0.5 else math.acos(size) / _ACOS_HALF * 60
    return found if value >= 0 else 180 - found


def degrees_of_tangent(value: float) -> float:
    return math.atan(value) / math.atan(1.0) * 45


_ONE: tuple[Any, ...] = (FLOAT8,)
OF_DOUBLES = tuple(
    lines(
        "doubles",
        ("erf", _ONE, FLOAT8, math.erf),
        ("erfc", _ONE, FLOAT8, math.erfc),
        ("gamma", _ONE, FLOAT8, gamma),
        ("lgamma", _ONE, FLOAT8, log_gamma),
        ("sind", _ONE, FLOAT8, sine_of_degrees),
        ("cosd", _ONE, FLOAT8, cosine_of_degrees),
        ("tand", _ONE, FLOAT8, tangent_of_degrees),
        ("asind", _ONE, FLOAT8, degrees_of_sine),
        ("acosd", _ONE, FLOAT8, degrees_of_cosine),
        ("atand", _ONE, FLOAT8, degrees_of_tangent),
    )
)
"""NaN is not for them: the engine takes a NaN that a function gives it for NULL."""
OF_INTEGERS = tuple(
    lines(
        "integers",
        ("factorial", (INT8,), NUMERIC, factorial),
        ("to_oct", (INT4,), TEXT, to_octal(32)),
        ("to_oct", (INT8,), TEXT, to_octal(64)),
    )
)
