"""Numerics in the binary format: digits of base 10,000, the place of the first one, sign and scale.

12345.60   0003 0001 0000 0002   0001 0929 1770      1 2345 6000, two digits of them shown behind the point
"""

import struct
from decimal import Decimal

from catalog.values import numerics

HEAD = struct.Struct("!HhHH")
NEGATIVE = 0x4000
SIGNS = {0x0000: 0, NEGATIVE: 1}
NOT_A_NUMBER, PLUS_INFINITY, MINUS_INFINITY = 0xC000, 0xD000, 0xF000
WORDS = {NOT_A_NUMBER: numerics.NAN, PLUS_INFINITY: numerics.INFINITY, MINUS_INFINITY: -numerics.INFINITY}
SCALE_OF_INFINITY = 32
"""PostgreSQL takes a part of an infinity's sign for its scale."""
WORD = 4
WORD_MAX = 9999


def numeric_bytes(value: Decimal) -> bytes:
    if not value.is_finite():
        if value.is_nan():
            return HEAD.pack(0, 0, NOT_A_NUMBER, 0)
        return HEAD.pack(0, 0, PLUS_INFINITY if value > 0 else MINUS_INFINITY, SCALE_OF_INFINITY)
    scale = numerics.scale_of(value)
    if not value:
        return HEAD.pack(0, 0, 0, scale)
    weight = value.adjusted() // WORD
    leading = (weight + 1) * WORD - value.adjusted() - 1
    digits = bytes(leading) + bytes(value.as_tuple().digits).rstrip(b"\x00")
    digits += bytes(-len(digits) % WORD)
    places = (digits[place::WORD] for place in range(WORD))
    words = [1000 * a + 100 * b + 10 * c + d for a, b, c, d in zip(*places, strict=True)]
    sign = NEGATIVE if value.is_signed() else 0
    return HEAD.pack(len(words), weight, sign, scale) + struct.pack(f"!{len(words)}H", *words)


def numeric_of(data: bytes) -> Decimal:
    """Raises `ValueError` for bytes that are none, `BadValue` for a number that is too large."""
    count, weight, sign, scale = HEAD.unpack_from(data)
    words = struct.unpack(f"!{count}H", data[HEAD.size :])
    if scale > numerics.SCALE_MAX or any(word > WORD_MAX for word in words):
        raise ValueError(data)
    if sign in WORDS:
        return WORDS[sign]
    digits = bytes(int(figure) for word in words for figure in f"{word:04d}")
    exponent = (weight - count + 1) * WORD
    value = Decimal((SIGNS[sign], tuple(digits), exponent))
    numerics.refuse_large(Decimal((0, (1,), max(value.adjusted(), 0))))
    return numerics.cut(value, scale)
