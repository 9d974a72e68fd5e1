"""Values of numeric: texts, precision, and bytes that sort as in PostgreSQL. A value is a `Decimal` whose exponent is
minus its scale; there is one zero of each scale, one NaN, and two infinities.

    key      30            zero                   negatives have every byte behind the first one inverted
             40 e d d .. 00  the exponent of the first digit, two digits a byte, an end: 12.5 is 40 8001 23 61 00
             10 20 30 40 50 60   -Infinity, negative, zero, positive, Infinity, NaN
    packed   two bytes of scale, then the key

1.0 and 1.00 have one key. A digit is stored as the hex digit above it: no byte ends a key, and PostgreSQL translates
without a loop (`storage.sql_values`). More than `DIGITS_MAX` digits are refused (PostgreSQL: 131,072 before the point).
"""

import re
import struct
from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_DOWN, ROUND_HALF_UP, Context, Decimal

from catalog.values.errors import Malformed, NumberOutOfRange, TooManyDigits

DIGITS_MAX = 20_000
WEIGHT_MAX = 131_072
"""Digits before the point that PostgreSQL has room for."""
SCALE_MAX = 16_383
PRECISION_MAX = 1000
EMIN, EMAX = max(-999_999_999, MIN_EMIN), min(999_999_999, MAX_EMAX)
"""A number of 32 bits, as in a browser, has smaller ones."""

CONTEXT = Context(prec=3 * DIGITS_MAX, rounding=ROUND_HALF_UP, Emin=EMIN, Emax=EMAX, traps=[])
"""More digits than any result has, so that what it computes is exact; NaN is a value, not an error."""

NAN, INFINITY, ZERO = Decimal("NaN"), Decimal("Infinity"), Decimal(0)
_NUMBER = re.compile(
    r"\s*(?P<number>[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE](?P<exponent>[+-]?\d+(?:_\d+)*))?)\s*",
    re.ASCII,
)
_WHOLE = re.compile(r"\s*([+-]?)0(?:[xX]((?:_?[0-9a-fA-F])+)|[oO]((?:_?[0-7])+)|[bB]((?:_?[01])+))\s*", re.ASCII)
_WORDS = {"nan": NAN, "infinity": INFINITY, "+infinity": INFINITY, "-infinity": -INFINITY}
_WORDS |= {"inf": INFINITY, "+inf": INFINITY, "-inf": -INFINITY}
_EXPONENT_DIGITS_MAX = 9
_BITS_MAX = 64_000
"""Of a number in base 16, 8 or 2: about as many as `DIGITS_MAX` digits have."""


TOO_MANY_DIGITS = f"a numeric may have at most {DIGITS_MAX} digits"
TOO_LARGE = "value overflows numeric format"


def read(text: str) -> Decimal | None:
    """The number of a text, or None. Raises `NumberOutOfRange` and `TooManyDigits`."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return _WORDS.get(text.strip().lower()) or _of_base(text)
    exponent = match["exponent"]
    if exponent is not None and len(exponent.lstrip("+-0_")) > _EXPONENT_DIGITS_MAX:
        raise NumberOutOfRange(TOO_LARGE)
    return plain(Decimal(match["number"].replace("_", "")))


def _of_base(text: str) -> Decimal | None:
    match = _WHOLE.fullmatch(text)
    if match is None:
        return None
    digits, base = next((found, base) for found, base in zip(match.groups()[1:], (16, 8, 2), strict=True) if found)
    value = int(digits.replace("_", ""), base) if len(digits) <= _BITS_MAX else 1 << _BITS_MAX + 1
    if value.bit_length() > _BITS_MAX:
        raise TooManyDigits(TOO_MANY_DIGITS)
    return bounded(Decimal(-value if match[1] == "-" else value))


def plain(value: Decimal) -> Decimal:
    """The number without exponent, and without a negative zero. Raises `NumberOutOfRange`, `TooManyDigits`."""
    if not value.is_finite():
        return value if not value.is_nan() else NAN
    exponent = exponent_of(value)
    if exponent > 0:
        if not value:
            return ZERO
        refuse_large(value)
        value = value.quantize(Decimal(1), context=CONTEXT)
    return bounded(value)


def bounded(value: Decimal) -> Decimal:
    """The number itself, positive when zero. Raises `NumberOutOfRange`, `TooManyDigits`."""
    if not value:
        if scale_of(value) > SCALE_MAX:
            raise NumberOutOfRange(TOO_LARGE)
        return abs(value) if value.is_signed() else value
    refuse_large(value)
    return value


def refuse_large(value: Decimal) -> None:
    """Raises `NumberOutOfRange`, `TooManyDigits`."""
    if not value.is_finite():
        return
    scale = max(-exponent_of(value), 0)
    before = max(value.adjusted() + 1, 0)
    if before > WEIGHT_MAX or scale > SCALE_MAX:
        raise NumberOutOfRange(TOO_LARGE)
    if before + scale > DIGITS_MAX:
        raise TooManyDigits(TOO_MANY_DIGITS)


def exponent_of(value: Decimal) -> int:
    exponent = CONTEXT.multiply(value, ZERO).as_tuple().exponent
    assert isinstance(exponent, int), value
    return exponent


def scale_of(value: Decimal) -> int:
    return -exponent_of(value) if value.is_finite() else 0


def digits_of(value: Decimal) -> int:
    return value.adjusted() - exponent_of(value) + 1 if value.is_finite() else 1


def text_of(value: Decimal) -> str:
    return f"{value:f}"


def with_scale(value: Decimal, scale: int, rounding: str = ROUND_HALF_UP) -> Decimal:
    """Rounded, halves away from zero, or cut, at so many digits behind the point, or before it."""
    if not value.is_finite():
        return value
    if -scale > value.adjusted() + 1 and rounding in (ROUND_HALF_UP, ROUND_DOWN):
        return Decimal((0, (0,), -max(scale, 0)))
    rounded = value.quantize(Decimal((0, (1,), -scale)), rounding, CONTEXT)
    return plain(rounded)


def cut(value: Decimal, scale: int) -> Decimal:
    return with_scale(value, scale, ROUND_DOWN)


# --- numeric(precision, scale)

FIELD_OVERFLOW = "numeric field overflow"
_SCALE_BITS = 0x7FF
_SCALE_SIGN = 0x400


def modifier_of(precision: int, scale: int) -> int:
    """Precision and scale in one number, as in PostgreSQL's catalog (there 4 is added)."""
    return precision << 16 | scale & _SCALE_BITS


def precision_and_scale(modifier: int) -> tuple[int, int]:
    return modifier >> 16, ((modifier & _SCALE_BITS) ^ _SCALE_SIGN) - _SCALE_SIGN


def modifier_named(given: Sequence[int]) -> int:
    """The modifier of numeric(precision[, scale]). Raises `ValueError` with PostgreSQL's words."""
    if len(given) not in (1, 2):
        raise ValueError("invalid NUMERIC type modifier")
    precision, scale = (*given, 0)[:2]
    if not 1 <= precision <= PRECISION_MAX:
        raise ValueError(f"NUMERIC precision {precision} must be between 1 and {PRECISION_MAX}")
    if abs(scale) > PRECISION_MAX:
        raise ValueError(f"NUMERIC scale {scale} must be between -{PRECISION_MAX} and {PRECISION_MAX}")
    return modifier_of(precision, scale)


def fitted(modifier: int, value: Decimal) -> Decimal:
    """The number as numeric(precision, scale) takes it. Raises `NumberOutOfRange`; its `detail` says the limit."""
    precision, scale = precision_and_scale(modifier)
    field = f"A field with precision {precision}, scale {scale}"
    if value.is_nan():
        return value
    if value.is_infinite():
        raise NumberOutOfRange(FIELD_OVERFLOW, detail=f"{field} cannot hold an infinite value.")
    room = precision - scale
    is_far = value and value.adjusted() > room  # more than a rounding too large: not worth the digits
    rounded = value if is_far else with_scale(value, scale)
    if rounded and rounded.adjusted() >= room:
        limit = f"10^{room}" if room else "1"
        raise NumberOutOfRange(FIELD_OVERFLOW, detail=f"{field} must round to an absolute value less than {limit}.")
    return rounded


def scale_of_modifier(modifier: int) -> int:
    return max(precision_and_scale(modifier)[1], 0)


# --- keys

MINUS_INFINITY, NEGATIVE, NONE, POSITIVE, PLUS_INFINITY, NOT_A_NUMBER = 0x10, 0x20, 0x30, 0x40, 0x50, 0x60
END = 0
_EXPONENT = struct.Struct(">H")
_MIDDLE = 1 << 15
_SCALE = struct.Struct(">H")
SCALE_BYTES = _SCALE.size
_INVERSE = bytes(255 - byte for byte in range(256))
_TWO_ZEROS = 0x11
_PAIRS = {_TWO_ZEROS + 16 * tens + ones: bytes((tens, ones)) for tens in range(10) for ones in range(10)}


def key_of(value: Decimal) -> bytes:
    """Bytes that sort as the numbers do, and end by themselves, without the scale."""
    if not value.is_finite():
        return bytes((NOT_A_NUMBER if value.is_nan() else MINUS_INFINITY if value < 0 else PLUS_INFINITY,))
    if not value:
        return bytes((NONE,))
    sign, digits, _ = value.as_tuple()
    significant = bytes(digits).rstrip(b"\x00")
    tens, ones = significant[::2], significant[1::2] + b"\x00"
    pairs = bytes(_TWO_ZEROS + 16 * ten + one for ten, one in zip(tens, ones, strict=False))
    magnitude = _EXPONENT.pack(value.adjusted() + _MIDDLE) + pairs + b"\x00"
    return bytes((NEGATIVE,)) + magnitude.translate(_INVERSE) if sign else bytes((POSITIVE,)) + magnitude


def key_length(data: bytes, start: int, *, flip: int = 0) -> int:
    """The length of the key at `start`; `flip` is 255 where inverted. Raises `Malformed`."""
    kind = data[start] ^ flip if start < len(data) else -1
    if kind in (NEGATIVE, POSITIVE):
        end = data.find(END ^ flip ^ (255 if kind == NEGATIVE else 0), start + 1 + _EXPONENT.size)
        if end > start:
            return end + 1 - start
    elif kind in (MINUS_INFINITY, NONE, PLUS_INFINITY, NOT_A_NUMBER):
        return 1
    raise Malformed("the key of a numeric has no end")


_SPECIAL = {MINUS_INFINITY: -INFINITY, PLUS_INFINITY: INFINITY, NOT_A_NUMBER: NAN}


def of_key(key: bytes, scale: int = 0) -> Decimal:
    """The number of a key, with its digits or `scale`. Raises `Malformed`."""
    kind = key[0]
    if kind == NONE:
        return Decimal((0, (0,), -scale))
    if kind in _SPECIAL:
        return _SPECIAL[kind]
    if kind not in (NEGATIVE, POSITIVE) or len(key) < 2 + _EXPONENT.size:
        raise Malformed(f"the bytes {key[:16].hex()} are the key of no numeric")
    magnitude = key[1:].translate(_INVERSE) if kind == NEGATIVE else key[1:]
    exponent = _EXPONENT.unpack_from(magnitude)[0] - _MIDDLE
    try:
        digits = b"".join([_PAIRS[pair] for pair in magnitude[_EXPONENT.size : -1]])
    except KeyError:
        raise Malformed(f"the bytes {key[:16].hex()} are the key of no numeric") from None
    if not digits[-1:].strip(b"\x00"):
        digits = digits[:-1]
    scale = max(scale, len(digits) - 1 - exponent)
    count = exponent + 1 + scale
    if count > DIGITS_MAX:
        raise Malformed("the key of a numeric of too many digits")
    return Decimal((int(kind == NEGATIVE), tuple(digits.ljust(count, b"\x00")), -scale))


def packed(value: Decimal) -> bytes:
    return _SCALE.pack(scale_of(value)) + key_of(value)


def packed_bytes_max(value: Decimal) -> int:
    return SCALE_BYTES + 1 + _EXPONENT.size + (digits_of(value) + 1) // 2 + 1


def unpacked(data: bytes) -> Decimal:
    """Raises `Malformed`."""
    if len(data) <= SCALE_BYTES:
        raise Malformed("too few bytes for a numeric")
    return of_key(data[SCALE_BYTES:], _SCALE.unpack_from(data)[0])


def packed_key(key: bytes, scale: int = 0) -> bytes:
    """The packed form of a key's number, at this scale or with its digits."""
    return packed(of_key(key, scale))
