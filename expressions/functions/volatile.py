"""Volatile functions: another value each time. PostgreSQL computes them for each row of a query; `worked_out_here` does
for those that a default may have."""

import random
import uuid
from collections.abc import Callable
from dataclasses import replace

from catalog import clock
from expressions.typed import Call, Expr, PyValue, walk

VOLATILE = frozenset(
    {"random", "gen_random_uuid", "uuidv4", "uuidv7", "clock_timestamp", "set_config", "array_shuffle", "array_sample"}
)

_OUT_OF_NOTHING: dict[str, Callable[[], PyValue]] = {
    "random": random.SystemRandom().random,
    "gen_random_uuid": uuid.uuid4,
    "uuidv4": uuid.uuid4,
    "clock_timestamp": clock.now,
}
"""Those that take nothing: another value for each row, whatever the row is."""


def is_volatile(expr: Expr) -> bool:
    """True if such a function stands in the expression, also in a subquery."""
    return any(isinstance(part, Call) and part.name in VOLATILE for part in walk(expr))


def worked_out_here(expr: Expr) -> Expr:
    """The expression such that `evaluate` makes another value each time, where it consists of calls."""
    if not isinstance(expr, Call):
        return expr
    compute = _OUT_OF_NOTHING.get(expr.name) if not expr.args else expr.compute
    return replace(expr, args=tuple(map(worked_out_here, expr.args)), compute=compute or expr.compute)
