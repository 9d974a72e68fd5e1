"""pg_size_pretty of a numeric: a number of bytes in the largest unit that leaves more than 10 of it.

Bytes keep their fraction; in every other unit halves are rounded away from zero.
"""

from decimal import Decimal

UNITS = ("kB", "MB", "GB", "TB", "PB")
BYTES_MAX, HALVES_MAX = 10 * 1024, 20 * 1024 - 1


def shown_size(size: Decimal) -> str:
    if not size.is_finite():
        return f"{size.copy_abs() if size.is_nan() else size} {UNITS[-1]}"
    if abs(size) < BYTES_MAX:
        return f"{size:f} bytes"
    halves = _cut(size, 512)
    for unit in UNITS[:-1]:
        if abs(halves) < HALVES_MAX:
            return f"{_rounded(halves)} {unit}"
        halves = _cut(Decimal(halves), 1024)
    return f"{_rounded(halves)} {UNITS[-1]}"


def _cut(size: Decimal, by: int) -> int:
    """The whole times, towards zero."""
    whole = abs(int(size)) // by
    return whole if size >= 0 else -whole


def _rounded(halves: int) -> int:
    return (abs(halves) + 1) // 2 * (1 if halves >= 0 else -1)
