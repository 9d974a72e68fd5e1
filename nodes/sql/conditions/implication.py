"""Implication: does what a query asks for lie wholly within a partial index?

    index WHERE delay > 60 AND dest IS NOT NULL
    query WHERE delay > 90 AND dest = 'JFK'          yes: 90 > 60, and NULL is never equal to anything

A row is in the index when the predicate is true; NULL is no. Saying no costs time, saying yes by mistake loses rows, so
every rule here proves truth from the query's conditions alone, whatever the data.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId
from expressions.errors import SqlError
from expressions.typed import Call, ColumnRef, Context, Expr, PyValue, evaluate, is_constant, is_simple, walk
from nodes.sql.conditions.predicates import FLIPPED, Bound, column_bounds, conjuncts, decisive

COMBINATIONS_MAX = 500
"""Combinations of known values that are tried at most for one conjunct of a predicate."""


def is_implied(descriptor: Descriptor, predicate: Expr, conditions: Sequence[Expr], context: Context) -> bool:
    """True if `predicate` is true for every row for which all `conditions` are true."""
    given = [part for condition in conditions for part in conjuncts(condition)]
    known = _Known(descriptor, given, context)
    return all(known.implies(part) for part in conjuncts(predicate))


class _Known:
    def __init__(self, descriptor: Descriptor, given: Sequence[Expr], context: Context) -> None:
        self.descriptor, self.given, self.context = descriptor, given, context
        self.bounds: Mapping[ColumnId, Bound] = column_bounds(descriptor, given, context)

    def implies(self, wanted: Expr) -> bool:
        if (
            isinstance(wanted, Call)
            and wanted.name == "OR"
            and any(all(map(self.implies, conjuncts(arg))) for arg in wanted.args)
        ):
            return True
        return (
            any(_same(wanted, part, self.context) for part in self.given)
            or self._holds_for_known_values(wanted)
            or self._is_wider(wanted)
            or self._is_about_null(wanted)
        )

    def _holds_for_known_values(self, wanted: Expr) -> bool:
        """Of `kind IN ('a', 'b')` both can be tried."""
        columns = sorted({ref.column_id for ref in walk(wanted) if isinstance(ref, ColumnRef)})
        sets = [self.bounds.get(ColumnId(c), Bound()).values for c in columns]
        if not is_simple(wanted) or None in sets:
            return False
        rows = itertools.islice(itertools.product(*(s or () for s in sets)), COMBINATIONS_MAX + 1)
        tried = [_is_true(wanted, dict(zip(columns, row, strict=True)), self.context) for row in rows]
        return len(tried) <= COMBINATIONS_MAX and all(tried)

    def _is_wider(self, wanted: Expr) -> bool:
        """`delay > 60` follows from `delay > 90`, and `delay <> 60` too."""
        if not isinstance(wanted, Call) or len(wanted.args) != 2 or not any(is_constant(arg) for arg in wanted.args):
            return False
        if wanted.name == "<>":
            return any(self._is_wider(replace(wanted, name=name)) for name in ("<", ">"))
        if wanted.name not in FLIPPED:
            return False
        for column, asked in column_bounds(self.descriptor, [wanted], self.context).items():
            given = self.bounds.get(column, Bound())
            if asked.low is not None and given.low is not None:
                return _is_above(given.low, asked.low)
            if asked.high is not None and given.high is not None:
                return _is_below(given.high, asked.high)
        return False

    def _is_about_null(self, wanted: Expr) -> bool:
        """`x IS NOT NULL` follows from anything true that a NULL in x would have made NULL."""
        if not isinstance(wanted, Call) or wanted.name != "IS NOT NULL":
            return False
        return any(_same(wanted.args[0], part, self.context) for given in self.given for part in decisive(given))


def _same(one: Expr, other: Expr, context: Context) -> bool:
    """True if two expressions say the same: columns by id, constants by value, calls by name and type."""
    if isinstance(one, ColumnRef) and isinstance(other, ColumnRef):
        return one.column_id == other.column_id
    if is_constant(one) and is_constant(other):
        value = _value(one, context)
        return one.type is other.type and value is not None and value == _value(other, context)
    if not isinstance(one, Call) or not isinstance(other, Call):
        return False
    if (one.name, one.type, len(one.args)) != (other.name, other.type, len(other.args)):
        return False
    return all(_same(a, b, context) for a, b in zip(one.args, other.args, strict=True))


def _is_above(given: tuple[PyValue, bool], asked: tuple[PyValue, bool]) -> bool:
    """True if what lies above `given` (a value, and whether it is included) lies above `asked`."""
    return bool(given[0] > asked[0]) or (given[0] == asked[0] and (asked[1] or not given[1]))  # type: ignore[operator]


def _is_below(given: tuple[PyValue, bool], asked: tuple[PyValue, bool]) -> bool:
    return bool(given[0] < asked[0]) or (given[0] == asked[0] and (asked[1] or not given[1]))  # type: ignore[operator]


def _is_true(expr: Expr, row: Mapping[int, PyValue], context: Context) -> bool:
    try:
        return evaluate(expr, row, context) is True
    except SqlError:
        return False  # the predicate has no value for it: no entry can be expected


def _value(expr: Expr, context: Context) -> PyValue:
    try:
        return evaluate(expr, {}, context)
    except SqlError:
        return None
