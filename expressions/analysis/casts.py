"""Casts, arrays and what is taken out of them."""

from typing import Any

from expressions.analysis.calls import Calls
from expressions.analysis.scopes import Scope
from expressions.analysis.tree import (
    interval_literal,
    interval_unit_of_name,
    length_of_name,
    refuse_long_list,
    type_of_name,
)
from expressions.errors import DATATYPE_MISMATCH, INDETERMINATE_TYPE, SqlError, unsupported
from expressions.functions import allowed
from expressions.sqltypes import (
    ARRAY_OF,
    INT4,
    INTERVAL,
    JSONB,
    NAME,
    NO_MODIFIER,
    NUMBERED,
    NUMERIC,
    TEXT,
    TEXTUAL,
    UNKNOWN,
    Type,
)
from expressions.typed import Call, Expr, Literal, lazy_call, modifier_of
from expressions.values import array_values

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
        if cast is arg and cast.type is NUMERIC and modifier_of(cast) != NO_MODIFIER:
            cast = Call("cast", "{0}", (arg,), NUMERIC, lambda value: value, offset=place)  # its scale is its own
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
        if of not in ARRAY_OF:
            raise unsupported(f"an array of {of}", node.location)
        return lazy_call("array", "[{all}]", args, ARRAY_OF[of], array_values.made, node.location)

    def _array(self, node: Node, scope: Scope, of: Type) -> Expr:
        """ARRAY[..] under a cast: it is its elements that are cast."""
        refuse_long_list(len(node.elements), node.location)
        element = of.element
        assert element is not None
        args = tuple(self.cast(self.expr(item, scope), element, node.location) for item in node.elements)
        return lazy_call("array", "[{all}]", args, of, array_values.made, node.location)

    def _a_indirection(self, node: Node, scope: Scope) -> Expr:
        """An element of an array, by its number, or a field of one that has its number beside it."""
        expr = self.expr(node.arg, scope)
        for item in node.indirection:
            if expr.type is NUMBERED and item.WhichOneof("node") == "string" and item.string.sval in ("x", "n"):
                field_ = item.string.sval
                expr = Call("field", f"struct_extract({{0}}, '{field_}')", (expr,), INT4, offset=expr.offset)
                continue
            if expr.type is JSONB and item.WhichOneof("node") == "a_indices" and not item.a_indices.is_slice:
                expr = self.operator("->", (expr, self.expr(item.a_indices.uidx, scope)), expr.offset)
                continue
            if item.WhichOneof("node") != "a_indices" or item.a_indices.is_slice or expr.type.element is None:
                raise unsupported("a slice of an array, or a field of a value", expr.offset)
            number = self.coerce(self.expr(item.a_indices.uidx, scope), INT4)
            first = expr.type.first
            place = "{1}" if first == 1 else f"{{1}} + {1 - first}"
            template = f"CASE WHEN {{1}} >= {first} THEN {{0}}[{place}] END"
            compute = array_values.element if first == 1 else None
            expr = Call("element", template, (expr, number), expr.type.element, compute, offset=expr.offset)
        return expr

    def _collate_clause(self, node: Node, scope: Scope) -> Expr:
        name = node.collname[-1].string.sval
        if name not in ("C", "POSIX", "default", "ucs_basic"):
            raise unsupported(f'collation "{name}"', node.location, hint="text is ordered by code point (C)")
        arg = self.expr(node.arg, scope)
        if arg.type not in (*TEXTUAL, NAME, UNKNOWN) and arg.type.element not in TEXTUAL:
            message = f"collations are not supported by type {arg.type}"
            raise SqlError(DATATYPE_MISMATCH, message, node.location)
        return arg
