"""GROUP BY as a list of sets: GROUPING SETS, ROLLUP and CUBE are ways to write them.

GROUP BY a, ROLLUP (b, c)     (a, b, c), (a, b), (a)
GROUP BY CUBE (a, (b, c))     (a, b, c), (a), (b, c), ()
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, product
from math import prod
from typing import Any

from postgast import pg_query_pb2 as pb

from expressions.errors import STATEMENT_TOO_COMPLEX, TOO_MANY_COLUMNS, SqlError
from expressions.typed import Expr, joined

Node = Any
Set = tuple[int, ...]
"""Places of expressions."""
SETS_MAX = 256
"""Grouping sets of one query."""
CUBE_MAX = 12


@dataclass(eq=False)
class Groups:
    """The expressions of GROUP BY; with grouping sets, which of them each set has."""

    exprs: list[Expr] = field(default_factory=list)
    sets: list[Set] | None = None
    _places: dict[Expr, int] = field(default_factory=dict)

    @property
    def common(self) -> list[Expr]:
        """The expressions that every set has."""
        if self.sets is None:
            return self.exprs
        return [expr for place, expr in enumerate(self.exprs) if all(place in one for one in self.sets)]

    def place(self, expr: Expr) -> int:
        place = self._places.setdefault(expr, len(self.exprs))
        if place == len(self.exprs):
            self.exprs.append(expr)
        return place

    def add(self, expr: Expr) -> None:
        """Group by this, too, in every set."""
        place = self.place(expr)
        if self.sets is not None:
            self.sets = [one if place in one else (*one, place) for one in self.sets]

    def parts(self, keys: Sequence[Expr]) -> "list[str | Expr]":
        """The clause, with these keys in the places of the expressions."""
        if self.sets is None:
            return joined((key,) for key in keys)
        sets = (("(", *joined((keys[place],) for place in one), ")") for one in self.sets)
        return ["GROUPING SETS (", *joined(sets), ")"]


def groups_of(items: Sequence[Node], expr: Callable[[Node], Expr], *, is_distinct: bool) -> Groups:
    """The groups of a GROUP BY; with `is_distinct` no set comes twice."""
    groups = Groups()
    reader = _Sets(groups, expr)
    sets = [reader.sets(item) for item in items]
    _check_number(prod(map(len, sets)))
    if any(item.WhichOneof("node") == "grouping_set" for item in items):
        groups.sets = [tuple(dict.fromkeys(chain(*several))) for several in product(*sets)]
        if is_distinct:
            groups.sets = list({frozenset(one): one for one in reversed(groups.sets)}.values())
    return groups


def _check_number(sets: int) -> None:
    """Raises 54001 for too many sets, before they are made."""
    if sets > SETS_MAX:
        raise SqlError(STATEMENT_TOO_COMPLEX, f"too many grouping sets present (maximum {SETS_MAX})")


@dataclass(frozen=True, slots=True)
class _Sets:
    groups: Groups
    expr: Callable[[Node], Expr]

    def sets(self, item: Node) -> list[Set]:
        if item.WhichOneof("node") != "grouping_set":
            return [self.one(item)]
        kind, content = pb.GroupingSetKind.Name(item.grouping_set.kind), item.grouping_set.content
        if kind == "GROUPING_SET_EMPTY":
            return [()]
        if kind == "GROUPING_SET_SETS":
            found: list[Set] = []
            for inner in content:
                found += self.sets(inner)
                _check_number(len(found))
            return found
        elements = [self.one(inner) for inner in content]
        if kind == "GROUPING_SET_ROLLUP":
            _check_number(len(elements) + 1)
            return [tuple(chain(*elements[:count])) for count in range(len(elements), -1, -1)]
        if len(elements) > CUBE_MAX:
            place = item.grouping_set.location
            raise SqlError(TOO_MANY_COLUMNS, f"CUBE is limited to {CUBE_MAX} elements", place)
        _check_number(2 ** len(elements))
        sizes = range(len(elements), -1, -1)
        return [tuple(chain(*some)) for size in sizes for some in combinations(elements, size)]

    def one(self, item: Node) -> Set:
        """An expression, or several in brackets."""
        if item.WhichOneof("node") == "row_expr":
            return tuple(place for inner in item.row_expr.args for place in self.one(inner))
        return (self.groups.place(self.expr(item)),)
