"""stddev and variance of integers and numerics: exact, with the digits that PostgreSQL shows.

variance   (n * sum of squares - square of sum) / (n * (n - 1))     divided once, then rounded
stddev     the root of that, with as many digits
"""

from collections.abc import Iterable
from decimal import Decimal

from catalog.values import numerics
from catalog.values.numerics import CONTEXT, NAN, ZERO
from expressions.values.numerics import checked, divide, scale_of_quotient
from expressions.values.powers import exact

DEVIATIONS = ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop")


@checked
def deviation(name: str, count: int, total: Decimal, squares: Decimal) -> Decimal | None:
    """That of so many numbers, by their sum and the sum of their squares; None of too few."""
    spare = 0 if name.endswith("_pop") else 1
    if count <= spare:
        return None
    if not (total.is_finite() and squares.is_finite()):
        return NAN
    above = CONTEXT.subtract(CONTEXT.multiply(Decimal(count), squares), CONTEXT.multiply(total, total))
    if above <= 0:
        return ZERO
    below = Decimal(count * (count - spare))
    variance: Decimal = divide(above, below)
    if not name.startswith("stddev"):
        return variance
    scale = scale_of_quotient(above, below)
    return numerics.with_scale(exact(scale, variance.adjusted()).sqrt(variance), scale)


def deviation_of(name: str, values: Iterable[Decimal]) -> Decimal | None:
    """That of all these numbers."""
    count, total, squares = 0, ZERO, ZERO
    for value in values:
        count += 1
        total, squares = CONTEXT.add(total, value), CONTEXT.add(squares, CONTEXT.multiply(value, value))
    result: Decimal | None = deviation(name, count, total, squares)
    return result
