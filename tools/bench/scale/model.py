"""A model of cost: a fixed part, and one for each row. Fitted to relative errors, so that no size outweighs another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tools.bench.scale.points import Point

MILLION = 1_000_000

COSTS: tuple[tuple[str, str, Callable[[Point], float]], ...] = (
    ("submit to public", "s", lambda point: point.seconds),
    ("processors", "s", lambda point: point.processor_s),
    ("memory of Spark", "MB", lambda point: point.spark_mb),
    ("memory of all processes", "MB", lambda point: point.all_mb),
    ("WAL", "MB", lambda point: point.wal_mb),
)
"""Each with its unit, and where it stands in a point."""


@dataclass(frozen=True, slots=True)
class Model:
    """`error` is the largest relative error of the fitted points."""

    fixed: float
    per_million: float
    error: float

    def at(self, rows: int) -> float:
        return self.fixed + self.per_million * rows / MILLION


def fit(points: Sequence[tuple[int, float]]) -> Model:
    """The least squares of relative errors over (rows, value); neither part is negative."""
    rows = [count / MILLION for count, _ in points]
    values = [max(value, 1e-9) for _, value in points]
    ones, slopes = [1 / v for v in values], [n / v for n, v in zip(rows, values, strict=True)]
    a, b, d = _dot(ones, ones), _dot(ones, slopes), _dot(slopes, slopes)
    p, q, determinant = sum(ones), sum(slopes), a * d - b * b
    if len(set(rows)) < 2 or determinant <= 1e-12 * a * d:
        fixed, each = 0.0, q / d
    else:
        fixed, each = (d * p - b * q) / determinant, (a * q - b * p) / determinant
    if fixed < 0:
        fixed, each = 0.0, q / d
    elif each < 0:
        fixed, each = p / a, 0.0
    off = (abs(fixed + each * n - v) / v for n, v in zip(rows, values, strict=True))
    return Model(fixed, each, max(off))


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))


def models(points: Sequence[Point]) -> dict[str, Model]:
    return {name: fit([(point.rows, cost(point)) for point in points]) for name, _, cost in COSTS}
