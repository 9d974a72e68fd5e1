"""Queries over values that the engine compares only in part, such as numerics, whose 1.0 and 1.00 are one number.

    ORDER BY price          ORDER BY the key of price
    GROUP BY price          GROUP BY the key of price; a target shows a price of the group
    SELECT DISTINCT price   DISTINCT ON the key of price

PostgreSQL shows the first of the values that are equal, and so does the engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from expressions.errors import unsupported
from expressions.sqltypes import KEYED, key_text
from expressions.typed import Call, Expr, Fragment, joined, sort_key, walk
from nodes.sql.query import Output, Parts, Target

Order = Sequence[tuple[Expr | int, str]]


def grouped(groups: Sequence[Expr] | None, exprs: Sequence[Expr]) -> tuple[list[Expr] | None, list[Expr]]:
    """The keys of GROUP BY, and the expressions over groups with one value of each group in the place of all."""
    shown = {group: _one_of(group) for group in groups or () if group.type in KEYED}
    if not shown:
        return None if groups is None else list(groups), list(exprs)
    return [sort_key(group) for group in groups or ()], [_over_groups(expr, shown) for expr in exprs]


def _one_of(group: Expr) -> Expr:
    return Fragment(("any_value(", group, ")"), group.type, is_aggregate=True, offset=group.offset)


def _over_groups(expr: Expr, shown: Mapping[Expr, Expr]) -> Expr:
    if expr in shown:
        return shown[expr]
    if isinstance(expr, Call):
        return replace(expr, args=tuple(_over_groups(arg, shown) for arg in expr.args))
    if not isinstance(expr, Fragment) or expr.is_aggregate:
        return expr
    if expr.is_query:
        if any(part in shown for part in walk(expr)):
            raise unsupported("a subquery that reads a numeric its query groups by", expr.offset)
        return expr
    return replace(expr, parts=tuple(p if isinstance(p, str) else _over_groups(p, shown) for p in expr.parts))


def sorted_by(order: Order, targets: Sequence[Target]) -> list[tuple[Expr | int, str]]:
    """ORDER BY, with the keys of what is sorted by its keys."""
    found: list[tuple[Expr | int, str]] = []
    for key, direction in order:
        expr = targets[key - 1].expr if isinstance(key, int) else key
        found.append((sort_key(expr) if expr.type in KEYED else key, direction))
    return found


def distinct_on(exprs: Sequence[Expr]) -> Parts:
    """DISTINCT over all columns: by their keys, where values have such."""
    if not any(expr.type in KEYED for expr in exprs):
        return ("DISTINCT ",)
    return ("DISTINCT ON (", *joined((sort_key(expr),) for expr in exprs), ") ")


def without_equals(parts: Parts, outputs: Sequence[Output], name: str, word: str, *, is_all: bool) -> Parts:
    """A set operation that leaves no two equal rows: of UNION ALL they are left out here."""
    if is_all or not any(output.type in KEYED for output in outputs):
        return parts
    if word != "UNION":
        raise unsupported(f"{word} of numerics", hint="cast them to text, or use EXISTS")
    keys = ", ".join(key_text(output.type, f"{name}.o{i}") for i, output in enumerate(outputs))
    return (f"SELECT DISTINCT ON ({keys}) * FROM (", *parts, f") AS {name}")
