"""Queries over values that the engine compares only in part, such as numerics, whose 1.0 and 1.00 are one number,
and intervals, whose 1 month and 30 days are one span.

    ORDER BY price          ORDER BY the key of price
    GROUP BY price          GROUP BY the key of price; a target shows a price of the group
    SELECT DISTINCT price   DISTINCT ON the key of price
    INTERSECT, EXCEPT       rows of the left side whose keys the right side has, or has not

PostgreSQL shows the first of the values that are equal, and so does the engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from expressions.errors import unsupported
from expressions.sqltypes import KEYED, key_text
from expressions.typed import Call, Expr, Fragment, joined, sort_key, walk
from nodes.sql.queries.grouping_sets import Groups
from nodes.sql.queries.query import Parts, Target
from nodes.wire.columns import Output

Order = Sequence[tuple[Expr | int, str]]


def grouped(groups: Groups | None, exprs: Sequence[Expr]) -> tuple[Parts, list[Expr]]:
    """GROUP BY with its keys, and the expressions over groups with one value of each group in the place of all."""
    if groups is None:
        return (), list(exprs)
    clause = (" GROUP BY ", *groups.parts([sort_key(group) for group in groups.exprs]))
    shown = {group: _one_of(group, groups) for group in groups.exprs if group.type in KEYED}
    return clause, [_over_groups(expr, shown) for expr in exprs] if shown else list(exprs)


def _one_of(group: Expr, groups: Groups) -> Expr:
    """A value of the group; none in the sets that do not have it."""
    value: Parts = ("any_value(", group, ")")
    if groups.sets is not None:
        value = ("CASE WHEN GROUPING(", sort_key(group), ") = 0 THEN ", *value, " END")
    return Fragment(value, group.type, is_aggregate=True, offset=group.offset)


def _over_groups(expr: Expr, shown: Mapping[Expr, Expr]) -> Expr:
    if expr in shown:
        return shown[expr]
    if isinstance(expr, Call):
        return replace(expr, args=tuple(_over_groups(arg, shown) for arg in expr.args))
    if not isinstance(expr, Fragment) or expr.is_aggregate:
        return expr
    if expr.is_query:
        if any(part in shown for part in walk(expr)):
            raise unsupported("a subquery that reads a numeric or interval its query groups by", expr.offset)
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


def by_keys(word: str, sides: Sequence[Parts], outputs: Sequence[Output], name: str, *, is_all: bool) -> Parts:
    """UNION, INTERSECT or EXCEPT of rows that are the same when their keys are; the first ones are shown."""
    left, right = sides
    both: Parts = (*left, " UNION ALL ", *right)
    if word == "UNION" and is_all:
        return both
    keys = [key_text(output.type, f"{name}.o{i}") for i, output in enumerate(outputs)]
    if word == "UNION":
        return (f"SELECT DISTINCT ON ({', '.join(keys)}) * FROM (", *both, f") AS {name}")
    others = [key_text(output.type, f"{name}b.o{i}") for i, output in enumerate(outputs)]
    tests = [f"{a} IS NOT DISTINCT FROM {b}" for a, b in zip(keys, others, strict=True)]
    copy, other = (f"row_number() OVER (PARTITION BY {', '.join(each)}) AS copy" for each in (keys, others))
    tests += [f"{name}.copy = {name}b.copy"] if is_all else []
    shown = ", ".join(f"{name}.o{i}" for i in range(len(outputs)))
    numbered: Parts = (f"(SELECT *, {copy} FROM (", *left, f") AS {name}) AS {name}")
    found: Parts = (f"(SELECT *, {other} FROM (", *right, f") AS {name}b) AS {name}b")
    exists = "EXISTS" if word == "INTERSECT" else "NOT EXISTS"
    once = "" if is_all else f"{name}.copy = 1 AND "
    matching: Parts = (f"{exists} (SELECT 1 FROM ", *found, f" WHERE {' AND '.join(tests)})")
    return (f"SELECT {shown} FROM ", *numbered, f" WHERE {once}", *matching)
