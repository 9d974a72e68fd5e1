"""Casts, arrays and what is taken out of them."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from expressions.analysis import array_elements
from expressions.analysis.array_elements import refuse_elements
from expressions.analysis.calls import Calls
from expressions.analysis.scopes import Scope
from expressions.analysis.tree import (
    interval_literal,
    interval_unit_of_name,
    length_of_name,
    location_of,
    refuse_long_list,
    type_of_name,
)
from expressions.errors import (
    DATATYPE_MISMATCH,
    INDETERMINATE_TYPE,
    SqlError,
    unsupported,
)
from expressions.functions import allowed
from expressions.sqltypes import (
    ARRAY_OF,
    INT4,
    INTERVAL,
    JSONB,
    MOMENTS,
    NAME,
    NO_MODIFIER,
    NUMERIC,
    TEXT,
    TEXTUAL,
    UNKNOWN,
    Type,
)
from expressions.typed import Call, Expr, Literal, lazy_call, modifier_of
from expressions.values import array_parts

Node = Any


class Casts(Calls):
    """The analysis of casts and arrays; that of their operands is the subclass's."""

    def _type_cast(self, node: Node, scope: Scope) -> Expr:
        if node.arg.WhichOneof("node") == "a_array_expr" and not len(node.arg.a_array_expr.elements):
            nothing: Any = ()
            return Literal(nothing, type_of_name(node.type_name), node.location)
        if node.arg.WhichOneof("node") == "a_array_expr" and len(node.type_name.array_bounds):
            array = self._array(node.arg.a_array_expr, scope, type_of_name(node.type_name))
            return self.of_length(array, length_of_name(node.type_name), is_explicit=True, offset=node.location)
        arg = self.expr(node.arg, scope)
        place = node.location if node.location >= 0 else arg.offset
        unit = interval_unit_of_name(node.type_name)
        if unit is not None:
            return self._interval(arg, unit, place)
        cast = self.cast(arg, type_of_name(node.type_name), place)
        if cast is arg and cast.type in (NUMERIC, *MOMENTS) and modifier_of(cast) != NO_MODIFIER:
            same = lambda value: value  # noqa: E731 - its scale or precision is its own
            cast = Call("cast", (arg,), cast.type, same, offset=place)
        return self.of_length(cast, length_of_name(node.type_name), is_explicit=True, offset=place)

    def _interval(self, arg: Expr, unit: str, offset: int) -> Expr:
        """`interval '5' day` and the like: the unit of a number without one, and the least that is kept."""
        if arg.type is UNKNOWN and isinstance(arg, Literal) and isinstance(arg.value, str):
            arg = Literal(interval_literal(arg.value, unit, arg.offset), INTERVAL, arg.offset)
        value = self.cast(arg, INTERVAL, offset)
        return (
            value
            if unit == "second"
            else self.function("date_trunc", allowed.FUNCTIONS["date_trunc"], (Literal(unit, TEXT), value), offset)
        )

    def _a_array_expr(self, node: Node, scope: Scope) -> Expr:
        refuse_long_list(len(node.elements), node.location)
        if not len(node.elements):
            raise SqlError(
                INDETERMINATE_TYPE,
                "cannot determine type of empty array",
                node.location,
                hint="cast it, as in ARRAY[]::integer[]",
            )
        args, of = self.common([self.expr(item, scope) for item in node.elements], "ARRAY")
        if of in TEXTUAL:
            args, of = [self.coerce(arg, TEXT) for arg in args], TEXT
        refuse_elements(of, node.location)
        return lazy_call("array", args, ARRAY_OF[of], array_parts.made, node.location)

    def _array(self, node: Node, scope: Scope, of: Type) -> Expr:
        """ARRAY[..] under a cast: it is its elements that are cast."""
        refuse_long_list(len(node.elements), node.location)
        element = of.element
        assert element is not None
        args = tuple(self.cast(self.expr(item, scope), element, node.location) for item in node.elements)
        return lazy_call("array", args, of, array_parts.made, node.location)

    def _a_indirection(self, node: Node, scope: Scope) -> Expr:
        """Parts of a value: elements and slices of an array, or of a jsonb."""
        expr = self.expr(node.arg, scope)
        for is_subscript, group in groupby(node.indirection, lambda item: item.WhichOneof("node") == "a_indices"):
            if is_subscript:
                expr = self._subscripted(expr, [item.a_indices for item in group], scope)
                continue
            raise unsupported("a field of a value", expr.offset)
        return expr

    def _subscripted(self, expr: Expr, subscripts: Sequence[Node], scope: Scope) -> Expr:
        if expr.type is JSONB:
            for one in subscripts:
                if one.is_slice:
                    bound = one.uidx if one.HasField("uidx") else one.lidx
                    place = location_of(bound, bound.WhichOneof("node"))
                    raise SqlError(DATATYPE_MISMATCH, "jsonb subscript does not support slices", place)
                expr = self.operator("->", (expr, self.expr(one.uidx, scope)), expr.offset)
            return expr
        if expr.type.element is None:
            message = f"cannot subscript type {expr.type} because it does not support subscripting"
            raise SqlError(DATATYPE_MISMATCH, message, expr.offset)
        if any(one.is_slice for one in subscripts):
            return array_elements.slice_of(expr, [self.bounds(one, scope) for one in subscripts])
        numbers = [self._number(one.uidx, scope) for one in subscripts]
        if len(numbers) > 1:
            return array_elements.deeper_element_of(expr, numbers)
        return array_elements.element_of(expr, numbers[0])

    def bounds(self, node: Node, scope: Scope) -> array_elements.Bounds:
        """Both ends of a slice; a number beside slices is the end of one that begins with 1."""
        last = self._number(node.uidx, scope) if node.HasField("uidx") else None
        if not node.is_slice:
            return Literal(1, INT4), last
        return (self._number(node.lidx, scope) if node.HasField("lidx") else None), last

    def _number(self, node: Node, scope: Scope) -> Expr:
        """The number of an element."""
        return self.coerce(self.expr(node, scope), INT4, assignment=True)

    def _collate_clause(self, node: Node, scope: Scope) -> Expr:
        name = node.collname[-1].string.sval
        if name not in ("C", "POSIX", "default", "ucs_basic"):
            raise unsupported(f'collation "{name}"', node.location, hint="text is ordered by code point (C)")
        arg = self.expr(node.arg, scope)
        if arg.type not in (*TEXTUAL, NAME, UNKNOWN) and arg.type.element not in TEXTUAL:
            message = f"collations are not supported by type {arg.type}"
            raise SqlError(DATATYPE_MISMATCH, message, node.location)
        return arg
