"""Analysis of casts."""

from typing import Any

from expressions.analysis.calls import Calls
from expressions.analysis.scopes import Scope
from expressions.analysis.tree import (
    length_of_name,
    type_of_name,
)
from expressions.errors import (
    DATATYPE_MISMATCH,
    SqlError,
    unsupported,
)
from expressions.sqltypes import (
    MOMENTS,
    NAME,
    NO_MODIFIER,
    NUMERIC,
    TEXTUAL,
    UNKNOWN,
)
from expressions.typed import Call, Expr, Literal, modifier_of

Node = Any


class Casts(Calls):
    def _type_cast(self, node: Node, scope: Scope) -> Expr:
        if node.arg.WhichOneof("node") == "a_array_expr" and not len(node.arg.a_array_expr.elements):
            nothing: Any = ()
            return Literal(nothing, type_of_name(node.type_name), node.location)
        arg = self.expr(node.arg, scope)
        place = node.location if node.location >= 0 else arg.offset
        cast = self.cast(arg, type_of_name(node.type_name), place)
        if cast is arg and cast.type in (NUMERIC, *MOMENTS) and modifier_of(cast) != NO_MODIFIER:
            same = lambda value: value  # noqa: E731 - its scale or precision is its own
            cast = Call("cast", (arg,), cast.type, same, offset=place)
        return self.of_length(cast, length_of_name(node.type_name), is_explicit=True, offset=place)

    def _collate_clause(self, node: Node, scope: Scope) -> Expr:
        name = node.collname[-1].string.sval
        if name not in ("C", "POSIX", "default", "ucs_basic"):
            raise unsupported(f'collation "{name}"', node.location, hint="text is ordered by code point (C)")
        arg = self.expr(node.arg, scope)
        if arg.type not in (*TEXTUAL, NAME, UNKNOWN) and arg.type.element not in TEXTUAL:
            message = f"collations are not supported by type {arg.type}"
            raise SqlError(DATATYPE_MISMATCH, message, node.location)
        return arg
