"""Texts of real and double precision: read strictly, written as the shortest decimal that reads back equal. A real is
a Python float that 32 bits hold exactly."""

import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

_FORM = re.compile(r"\s*([+-]?(\d++\.?\d*+|\.\d++)([eE][+-]?\d++)?|[+-]?inf(inity)?|nan)\s*", re.ASCII | re.IGNORECASE)
_SINGLE = struct.Struct("<f")
_BITS = struct.Struct("<I")
_SINGLE_DIGITS_MAX, _DOUBLE_DIGITS_MAX = 9, 17
FIRST_TIE = 2.0**53
"""From here on a short decimal may lie in the middle between two doubles."""
_INFINITE_BITS = 0x7F800000
_BEYOND = 2.0**128
DOUBLE_PLAIN_BELOW, REAL_PLAIN_BELOW = 15, 6
"""Powers of ten from which on PostgreSQL writes an exponent."""


def single(value: float) -> float:
    """The nearest 32-bit number; infinite beyond."""
    try:
        return float(_SINGLE.unpack(_SINGLE.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def read_double(text: str) -> float | None:
    """The nearest double, None for no number. Raises `OverflowError`."""
    if not _FORM.fullmatch(text):
        return None
    value = float(text)
    _refuse_lost(text, value)
    return value


def read_real(text: str) -> float | None:
    """The nearest real of the decimal itself: a double in between would round twice."""
    double = float(text) if _FORM.fullmatch(text) else None
    if double is None:
        return None
    value = single(double)
    if math.isfinite(double) and single(double) != double:
        value = _nearest_real(text, double, value)
    _refuse_lost(text, value)
    return value


def _refuse_lost(text: str, value: float) -> None:
    word = text.lower()
    is_lost = value == 0 and any(digit in word.partition("e")[0] for digit in "123456789")
    if is_lost or (math.isinf(value) and "n" not in word):
        raise OverflowError(text)


def _nearest_real(text: str, double: float, guess: float) -> float:
    """The real nearest to the decimal, by the real nearest to its double. They differ only when the double lies in the
    middle between two reals: then the decimal decides, without a slow ratio of whole numbers."""
    toward_zero, away = neighbours(guess)
    other = away if abs(double) > abs(guess) else toward_zero
    if double != (_bounded(guess) + _bounded(other)) / 2:
        return guess
    exact, middle = Decimal(text.strip()), Decimal(double)
    return guess if exact == middle else max(guess, other) if exact > middle else min(guess, other)


def _bounded(value: float) -> float:
    """Itself; for infinity the number after the last real."""
    return math.copysign(_BEYOND, value) if math.isinf(value) else value


def neighbours(value: float) -> tuple[float, float]:
    """The reals next to one, towards zero and away from it."""
    bits, sign = int(_BITS.unpack(_SINGLE.pack(abs(value)))[0]), math.copysign(1.0, value)
    below = sign * _of_bits(bits - 1) if bits else -_of_bits(1)
    return below, sign * _of_bits(min(bits + 1, _INFINITE_BITS))


def _of_bits(bits: int) -> float:
    return float(_SINGLE.unpack(_BITS.pack(bits))[0])


def double_text(value: float) -> str:
    """The shortest decimal, with PostgreSQL's choice of exponent (float8out)."""
    special = _special(value)
    if special is not None:
        return special
    shortest = repr(value)
    if abs(value) >= FIRST_TIE and not _is_double(shortest, value):
        return _written(_shortest(value, _DOUBLE_DIGITS_MAX, _is_double), DOUBLE_PLAIN_BELOW)
    return _written(Decimal(shortest), DOUBLE_PLAIN_BELOW)


def real_text(value: float) -> str:
    """The shortest decimal of a real (float4out)."""
    return _special(value) or _written(_shortest(value, _SINGLE_DIGITS_MAX, _is_single), REAL_PLAIN_BELOW)


def _special(value: float) -> str | None:
    if value != value:
        return "NaN"
    return None if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _shortest(value: float, digits_max: int, reads_back: Callable[[str, float], bool]) -> Decimal:
    is_power = math.frexp(value)[0] in (0.5, -0.5)
    for digits in range(1, digits_max):
        near = f"{value:.{digits - 1}e}"
        if reads_back(near, value):
            return Decimal(near)
        if is_power:  # below it numbers lie closer together: the nearest decimal may be none where the next one is
            middle = Decimal(near)
            step = Decimal((0, (1,), middle.adjusted() - digits + 1))
            for other in (middle - step, middle + step):
                if reads_back(str(other), value):
                    return other
    return Decimal(f"{value:.{digits_max - 1}e}")


def _is_single(decimal: str, value: float) -> bool:
    """True if the decimal is this real, not in the middle between two."""
    double = float(decimal)
    return single(double) == value and not any(
        (value + other) / 2 == double and Fraction(Decimal(decimal)) == Fraction(double) for other in neighbours(value)
    )


def _is_double(decimal: str, value: float) -> bool:
    if float(decimal) != value:
        return False
    twice = 2 * Fraction(Decimal(decimal)) - Fraction(value)
    others = (math.nextafter(value, way) for way in (-math.inf, math.inf))
    return not any(math.isfinite(other) and Fraction(other) == twice for other in others)


def _written(number: Decimal, plain_below: int) -> str:
    sign, digits, exponent = number.normalize().as_tuple()
    assert isinstance(exponent, int)
    power = len(digits) + exponent - 1
    if number != 0 and not -4 <= power < plain_below:
        mantissa = "".join(map(str, digits))
        point = "." if len(digits) > 1 else ""
        return f"{'-' if sign else ''}{mantissa[0]}{point}{mantissa[1:]}e{'-' if power < 0 else '+'}{abs(power):02d}"
    return f"{number.normalize():f}"
