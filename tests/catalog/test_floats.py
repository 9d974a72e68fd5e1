"""The real nearest to a decimal: exactly, and for a decimal of a million digits as quickly as for a short one."""

import math
import struct
import time
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catalog.values.floats import read_real, single

INFINITE_BITS = 0x7F800000
BITS = st.integers(0, INFINITE_BITS - 1) | st.sampled_from([0, 1, 0x7FFFFF, 0x800000, 0x3F800000, INFINITE_BITS - 1])


def real(bits: int) -> Fraction:
    """A real by its bits; for those of infinity the number that would come next."""
    if bits == INFINITE_BITS:
        return Fraction(2) ** 128
    return Fraction(struct.unpack("<f", struct.pack("<I", bits))[0])


def nearest(text: str) -> float:
    """The real by exact arithmetic alone: halfway between two the one whose last bit is even."""
    exact = abs(Fraction(Decimal(text)))
    low, high = 0, INFINITE_BITS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if real(middle) <= exact else (low, middle)
    below, above = exact - real(low), real(high) - exact
    bits = low if below < above or (below == above and low % 2 == 0) else high
    found = math.inf if bits == INFINITE_BITS else float(real(bits))
    return -found if text.startswith("-") else found


@given(BITS, st.integers(-2, 2), st.integers(-400, -2), st.sampled_from(["", "-"]), st.booleans())
@example(INFINITE_BITS - 1, -1, -400, "", True)
@example(INFINITE_BITS - 1, 0, -400, "-", False)
@example(0, 1, -400, "-", False)
def test_a_decimal_beside_the_middle_of_two_reals_is_the_nearer_one(
    bits: int, steps: int, power: int, sign: str, short: bool
) -> None:
    with localcontext(prec=600):
        middle = Decimal(float((real(bits) + real(bits + 1)) / 2)) + steps * Decimal(10) ** power
    text = sign + (f"{abs(middle):.9e}" if short else f"{abs(middle):e}")
    wanted = nearest(text)
    if math.isinf(wanted) or (wanted == 0 and Decimal(text) != 0):
        with pytest.raises(OverflowError):
            read_real(text)
    else:
        assert read_real(text) == wanted


@pytest.mark.parametrize("beginning", [
    pytest.param("0.1234567891", id="beside no middle"),
    pytest.param("1.000000059604644775390625", id="in the middle of two reals but for its last digit"),
])  # fmt: skip
def test_a_real_of_a_million_digits_is_read_at_once(beginning: str) -> None:
    """Whoever may SELECT may send one; a ratio of whole numbers of that size holds the whole process for a minute."""
    text = beginning + "0" * 900_000 + "1"
    started = time.thread_time()
    value = read_real(text)
    assert time.thread_time() - started < 0.1
    assert value == (1.00000011920928955 if beginning[0] == "1" else single(0.1234567891))
