"""Comparisons of more than two values: rows, lists, ranges, and the elements of an array. Each is made of the operator
between two values, for the same types and places of errors; a list or array of one type is one call."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from expressions.analysis import tree
from expressions.analysis.building import Builder, by_the_equals_of_each
from expressions.analysis.scopes import Scope
from expressions.errors import SqlError, unsupported
from expressions.functions import casts
from expressions.sqltypes import ARRAY_OF, BOOL, BPCHAR, DOCUMENTS, NAME, TEXT, TEXTUAL, UNKNOWN, Type
from expressions.typed import Call, ColumnRef, Expr, Literal, lazy_call, words_of
from expressions.values import arithmetic

Node = Any


class Comparisons(Builder, ABC):
    @abstractmethod
    def expr(self, node: Node, scope: Scope) -> Expr:
        """The typed expression of a parse node."""

    def _row_comparison(self, node: Node, name: str, scope: Scope) -> Expr:
        """(a, b) = (c, d), which a key may be."""
        left, right = (self._row(side, scope) for side in (node.lexpr, node.rexpr))
        if name != "=" or len(left) != len(right):
            raise unsupported(f"operator {name} of rows", node.location)
        pairs = zip(left, right, strict=True)
        return self.all_of([self.operator("=", pair, node.location) for pair in pairs], node.location)

    def _row(self, node: Node, scope: Scope) -> list[Expr]:
        if not tree.is_row(node):
            raise unsupported(
                "a comparison of a row with something else", tree.location_of(node, node.WhichOneof("node"))
            )
        return [self.expr(arg, scope) for arg in node.row_expr.args]

    def _x_distinct(self, node: Node, scope: Scope) -> Expr:
        test = self.operator("=", [self.expr(node.lexpr, scope), self.expr(node.rexpr, scope)], node.location)
        assert isinstance(test, Call)
        return lazy_call("DISTINCT", test.args, BOOL, arithmetic.distinct, node.location)

    def _x_in(self, node: Node, scope: Scope) -> Expr:
        negated = tree.operator_name(node.name) == "<>"
        tree.refuse_long_list(len(node.rexpr.list.items), node.location)
        args = [self.expr(node.lexpr, scope), *(self.expr(item, scope) for item in node.rexpr.list.items)]
        if by_the_equals_of_each(args):
            each = [self.operator("=", (args[0], item), node.location) for item in args[1:]]
            either = self.any_of(each, node.location) if len(each) > 1 else each[0]
            return self.negated(either, node.location) if negated else either
        args, of = self.common(args, "IN")
        refuse_incomparable(of, node.location)
        compute: arithmetic.Compute = arithmetic.one_of
        reads: int | None = None
        if all(isinstance(arg, Literal) for arg in args[1:]):
            compute, reads = arithmetic.OneOfValues.of([a.value for a in args[1:] if isinstance(a, Literal)]), 1
        found = lazy_call("IN", args, BOOL, compute, node.location, reads=reads)
        return self.negated(found, node.location) if negated else found

    def _x_op_any(self, node: Node, scope: Scope) -> Expr:
        return self._array_test(node, scope, "ANY")

    def _x_op_all(self, node: Node, scope: Scope) -> Expr:
        return self._array_test(node, scope, "ALL")

    def _array_test(self, node: Node, scope: Scope, word: str) -> Expr:
        name = tree.operator_name(node.name)
        left = self.expr(node.lexpr, scope)
        items = self._array_items(node.rexpr, scope)
        tree.refuse_long_list(len(items or ()), node.location)
        if items and left.type is BPCHAR and node.rexpr.HasField("a_array_expr"):
            items, _ = self.common(items, "ARRAY")  # ARRAY['a ', 'b'] is one of texts
        if items is None:
            array = self.expr(node.rexpr, scope)
            if left.type is BPCHAR and node.rexpr.HasField("param_ref") and array.type in (UNKNOWN, ARRAY_OF[TEXT]):
                of, shorten = ARRAY_OF[TEXT], _without_blanks  # blanks at the ends of a char do not count
                array = Call("of char", (self.coerce(array, of),), of, shorten, offset=node.location)
            return self._array_verdict(name, left, array, word, node.location)
        tests = [self.operator(name, (left, item), node.location) for item in items]
        for test in tests[:1]:
            self._refuse_no_test(test, node.location)
        if not tests:
            return Literal(word == "ALL", BOOL, node.location)
        return self.any_of(tests, node.location) if word == "ANY" else self.all_of(tests, node.location)

    def _refuse_no_test(self, test: Expr, offset: int) -> None:
        if test.type is not BOOL:
            raise SqlError("42809", "op ANY/ALL (array) requires operator to yield boolean", offset)

    def _array_verdict(self, name: str, left: Expr, array: Expr, word: str, offset: int) -> Expr:
        """`left operator ANY (array)`, whatever the array is: a parameter, a column of pg_catalog, a subquery's."""
        if array.type is UNKNOWN:
            of = TEXT if left.type in (*TEXTUAL, NAME) else self.known(left).type
            if of not in ARRAY_OF:
                raise unsupported(f"{word} over an array of {of}", offset)
            array = self.coerce(array, ARRAY_OF[of])
        if array.type.element is None:
            raise SqlError("42809", f"op {word}/ALL (array) requires array on right side", offset)
        element = ColumnRef("{1}", array.type.element, "element")
        test = self.operator(name, (left, element), offset)
        self._refuse_no_test(test, offset)
        assert isinstance(test, Call)
        left, other = test.args
        wider = ARRAY_OF.get(other.type)
        if wider is not None and other != element and (array.type, wider) in casts.CASTS:
            array, other = self.cast(array, wider, offset), element  # the array as a whole: that may be a constant
        shown = f"{test.name} {word}" if other == element else f"{test.name} {word} cast"
        compute = None
        if test.compute is not None and other == element:
            compute = arithmetic.among(test.compute, decided=word == "ANY")
        return Call(shown, (left, array), BOOL, compute, strict=False, offset=offset)

    def _array_items(self, node: Node, scope: Scope) -> list[Expr] | None:
        kind = node.WhichOneof("node")
        if kind == "a_array_expr":
            return [self.expr(item, scope) for item in node.a_array_expr.elements]
        if kind == "type_cast" and len(node.type_cast.type_name.array_bounds):
            items = self._array_items(node.type_cast.arg, scope)
            if items is None:
                return None
            of = tree.type_of_name(node.type_cast.type_name).element
            assert of is not None
            place, length = node.type_cast.location, tree.length_of_name(node.type_cast.type_name)
            return [self.of_length(self.cast(i, of, place), length, is_explicit=True, offset=place) for i in items]
        if kind == "a_const" and node.a_const.WhichOneof("val") == "sval":
            return [Literal(item, UNKNOWN, node.a_const.location) for item in words_of(node.a_const.sval.sval)]
        return None

    def _x_between(self, node: Node, scope: Scope) -> Expr:
        value = self.expr(node.lexpr, scope)
        low, high = (self.expr(item, scope) for item in node.rexpr.list.items)
        above = self.operator(">=", (value, low), node.location)
        return self.all_of([above, self.operator("<=", (value, high), node.location)], node.location)


def _without_blanks(items: Sequence[str | None]) -> Any:
    return tuple(None if item is None else item.rstrip(" ") for item in items)


def refuse_incomparable(of: Type, offset: int) -> None:
    """Refuses values that are compared by PostgreSQL alone."""
    if of in DOCUMENTS or of.element is not None:
        raise unsupported(f"a comparison of {of}", offset)
