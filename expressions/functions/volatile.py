"""Functions that have another value each time they are worked out."""

from expressions.typed import Call, Expr, walk

VOLATILE = frozenset(
    {
        "random",
        "gen_random_uuid",
        "uuidv4",
        "uuidv7",
        "clock_timestamp",
        "set_config",
        "array_shuffle",
        "array_sample",
        "sample",
    }
)
"""`sample` is the percentage of a TABLESAMPLE."""


def is_volatile(expr: Expr) -> bool:
    """True if such a function stands in the expression, also in a subquery."""
    return any(isinstance(part, Call) and part.name in VOLATILE for part in walk(expr))
