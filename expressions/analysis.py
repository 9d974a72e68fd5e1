"""From PostgreSQL's parse tree to typed expressions.

Types are found as PostgreSQL finds them, from the leaves up (`expressions.building`). What a node cannot do ends here,
by name and with its place in the statement, and so does every mistake of the user's that can be seen without data.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from catalog.types import LENGTH_MAX
from expressions import arithmetic, functions
from expressions.aggregates import Aggregates, refuse_aggregates
from expressions.array_literals import words_of
from expressions.arrays import OfChar, tested, verdict_of
from expressions.building import Builder, Parameters, by_the_equals_of_each, common_type
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import (
    PROGRAM_LIMIT,
    STATEMENT_TOO_COMPLEX,
    TOO_MANY_ARGUMENTS,
    UNDEFINED_PARAMETER,
    SqlError,
    unsupported,
)
from expressions.scopes import Scan, Scope
from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    BPCHAR,
    CHAR,
    DATE,
    FLOAT8,
    FLOATS,
    INT4,
    INT8,
    INTEGERS,
    JSON,
    NAME,
    OID,
    TEXT,
    TEXTUAL,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    Type,
    array_type_named,
    type_named,
)
from expressions.typed import (
    Call,
    ColumnRef,
    Context,
    Expr,
    Fragment,
    Literal,
    Parameter,
    is_constant,
    lazy_call,
    parse_value,
    render,
    size_of,
)

Node = Any
DEPTH_MAX = 200
PARTS_MAX = 100_000
LIST_MAX = 20_000
ARGUMENTS_MAX = 100
DIGITS_MAX = 300
DOUBLE_BITS_MAX = 1023

SESSION_VALUES = {
    "version": "version", "current_database": "database", "current_catalog": "database", "current_schema": "schema",
    "current_user": "user", "session_user": "user", "current_role": "user", "user": "user",
}  # fmt: skip
OF_CONSTANTS = ("current_setting", "set_config", "like_escape")


@dataclass(eq=False)
class Analyzer(Builder):
    """The analysis of one statement. `subquery` analyses a SELECT inside it (`nodes.sql.selects`)."""

    catalog: Mapping[str, Descriptor]
    parameters: Parameters = field(default_factory=Parameters)
    scans: list[Scan] = field(default_factory=list)
    subquery: Callable[[Node, Scope], "tuple[tuple[str | Expr, ...], list[Type]]"] | None = None
    windows: dict[str, Node] = field(default_factory=dict)
    style: TimeStyle = PLAIN
    relations: set[str] = field(default_factory=set)
    """Those of pg_catalog that the statement reads."""
    _depth: int = 0

    def note_relations(self, names: frozenset[str]) -> None:
        self.relations |= names

    # -- expressions --------------------------------------------------------------------------------------------

    def expr(self, node: Node, scope: Scope) -> Expr:
        """The typed expression of a parse node; its type may still be unknown."""
        kind = node.WhichOneof("node")
        method = getattr(self, f"_{kind}", None) if kind else None
        if method is None:
            raise unsupported(f"{(kind or 'this').replace('_', ' ')} in an expression", _location(node, kind))
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise SqlError(STATEMENT_TOO_COMPLEX, f"the expression is nested deeper than {DEPTH_MAX} levels")
        try:
            result: Expr = method(getattr(node, kind), scope)
        finally:
            self._depth -= 1
        if size_of(result) > PARTS_MAX:
            message = f"the expression has more than {PARTS_MAX} parts when each is written out"
            raise SqlError(STATEMENT_TOO_COMPLEX, message, _location(node, kind))
        return result

    def condition(self, node: Node, scope: Scope, clause: str) -> Expr:
        """A boolean expression that contains no aggregate."""
        expr = self.boolean(self.expr(node, scope), clause)
        refuse_aggregates(expr, clause)
        return expr

    # -- leaves -------------------------------------------------------------------------------------------------

    def _a_const(self, node: Node, scope: Scope) -> Expr:
        kind = node.WhichOneof("val")
        if node.isnull:
            return Literal(None, UNKNOWN, node.location)
        if kind == "ival":
            return Literal(node.ival.ival, INT4, node.location)
        if kind == "fval":
            return number_literal(node.fval.fval, node.location)
        if kind == "boolval":
            return Literal(node.boolval.boolval, BOOL, node.location)
        if kind == "sval":
            return Literal(node.sval.sval, UNKNOWN, node.location)
        raise unsupported("a bit string", node.location)

    def _param_ref(self, node: Node, scope: Scope) -> Expr:
        if not 1 <= node.number <= self.parameters.count_max:
            raise SqlError(UNDEFINED_PARAMETER, f"there is no parameter ${node.number}", node.location)
        return Parameter(node.number, self.parameters.type_of(node.number), node.location)

    def _column_ref(self, node: Node, scope: Scope) -> Expr:
        parts = []
        for part in node.fields:
            if part.WhichOneof("node") == "a_star":
                raise SqlError("42601", "* stands for columns only in the list of a SELECT or RETURNING", node.location)
            parts.append(part.string.sval)
        return scope.resolve(parts, node.location)

    def _sqlvalue_function(self, node: Node, scope: Scope) -> Expr:
        name = pb.SQLValueFunctionOp.Name(node.op).removeprefix("SVFOP_").lower()
        now = lazy_call("now", "", (), TIMESTAMPTZ, arithmetic.now, node.location)
        if name == "current_date":
            return self.cast(now, DATE, node.location)
        if name == "localtimestamp":
            return self.cast(now, TIMESTAMP, node.location)
        if name == "current_timestamp":
            return now
        if name in SESSION_VALUES:
            return session_value(SESSION_VALUES[name], node.location)
        raise unsupported(name, node.location)

    # -- operators ----------------------------------------------------------------------------------------------

    def _a_expr(self, node: Node, scope: Scope) -> Expr:
        kind = pb.A_Expr_Kind.Name(node.kind)
        method = getattr(self, "_x_" + kind.removeprefix("AEXPR_").lower(), None)
        if method is None:
            raise unsupported(kind.removeprefix("AEXPR_").replace("_", " "), node.location)
        result: Expr = method(node, scope)
        return result

    def _x_op(self, node: Node, scope: Scope) -> Expr:
        name = operator_name(node.name)
        if _is_row(node.lexpr) or _is_row(node.rexpr):
            return self._row_comparison(node, name, scope)
        args = [self.expr(node.rexpr, scope)]
        if node.HasField("lexpr"):
            args.insert(0, self.expr(node.lexpr, scope))
        return self.operator(name, args, node.location)

    _x_like = _x_ilike = _x_op

    def _row_comparison(self, node: Node, name: str, scope: Scope) -> Expr:
        left, right = (self._row(side, scope) for side in (node.lexpr, node.rexpr))
        if len(left) != len(right):
            raise SqlError("42601", "unequal number of entries in row expressions", node.location)
        if name not in arithmetic.COMPARISONS:
            raise unsupported(f"operator {name} of rows", node.location)
        pairs = list(zip(left, right, strict=True))
        equal = [self.operator("=", pair, node.location) for pair in pairs]
        if name == "=":
            return self.all_of(equal, node.location)
        if name == "<>":
            return self.negated(self.all_of(equal, node.location), node.location)
        # The first pair that is not equal decides, also when that is not known: flat, however many there are.
        decided = [
            (self.not_true(same, node.location), self.operator(name[0], pair, node.location))
            for pair, same in zip(pairs[:-1], equal[:-1], strict=True)
        ]
        return self.case(decided, self.operator(name, pairs[-1], node.location), BOOL, node.location)

    def _row(self, node: Node, scope: Scope) -> list[Expr]:
        if not _is_row(node):
            raise unsupported("a comparison of a row with something else", _location(node, node.WhichOneof("node")))
        return [self.expr(arg, scope) for arg in node.row_expr.args]

    def _bool_expr(self, node: Node, scope: Scope) -> Expr:
        word = pb.BoolExprType.Name(node.boolop).removesuffix("_EXPR")
        args = [self.boolean(self.expr(arg, scope), word) for arg in node.args]
        if word == "NOT":
            return self.negated(args[0], node.location)
        return self.all_of(args, node.location) if word == "AND" else self.any_of(args, node.location)

    def _null_test(self, node: Node, scope: Scope) -> Expr:
        word, compute = ("NULL", arithmetic.is_null) if node.nulltesttype == 1 else ("NOT NULL", arithmetic.is_not_null)
        args = (self.known(self.expr(node.arg, scope)),)
        return lazy_call(f"IS {word}", f"({{0}} IS {word})", args, BOOL, compute, node.location)

    def _boolean_test(self, node: Node, scope: Scope) -> Expr:
        name = pb.BoolTestType.Name(node.booltesttype)
        arg = self.boolean(self.expr(node.arg, scope), name.replace("_", " "))
        wanted = {"TRUE": True, "FALSE": False, "UNKNOWN": None}[name.rsplit("_", 1)[1]]
        word = "NULL" if wanted is None else str(wanted).upper()
        negated = "NOT" in name
        compute = arithmetic.is_not_value(wanted) if negated else arithmetic.is_value(wanted)  # type: ignore[arg-type]
        template = f"({{0}} IS {'NOT ' if negated else ''}{word})"
        return lazy_call("IS", template, (arg,), BOOL, compute, node.location)

    def _x_distinct(self, node: Node, scope: Scope) -> Expr:
        args = [self.expr(node.lexpr, scope), self.expr(node.rexpr, scope)]
        of = common_type([(arg.type, arg.offset) for arg in args], "IS DISTINCT FROM")
        args = [self.coerce(arg, of) for arg in args]
        template = "({0} IS DISTINCT FROM {1})"
        return lazy_call("DISTINCT", template, args, BOOL, arithmetic.distinct, node.location)

    def _x_not_distinct(self, node: Node, scope: Scope) -> Expr:
        return self.negated(self._x_distinct(node, scope), node.location)

    def _x_nullif(self, node: Node, scope: Scope) -> Expr:
        left, right = self.expr(node.lexpr, scope), self.expr(node.rexpr, scope)
        test = self.operator("=", (left, right), node.location)
        assert isinstance(test, Call)
        of = self.known(left).type
        first = self.coerce(left, of) if left.type is UNKNOWN else left
        return lazy_call("nullif", "nullif({0}, {1})", (first, test.args[1]), of, arithmetic.nullif, node.location)

    def _x_in(self, node: Node, scope: Scope) -> Expr:
        negated = operator_name(node.name) == "<>"
        refuse_long_list(len(node.rexpr.list.items), node.location)
        if _is_row(node.lexpr):
            tests = [self._row_equality(node.lexpr, item, scope, node.location) for item in node.rexpr.list.items]
            found: Expr = self.any_of(tests, node.location) if len(tests) > 1 else tests[0]
        else:
            args = [self.expr(node.lexpr, scope), *(self.expr(item, scope) for item in node.rexpr.list.items)]
            if by_the_equals_of_each(args):
                each = [self.operator("=", (args[0], item), node.location) for item in args[1:]]
                either = self.any_of(each, node.location) if len(each) > 1 else each[0]
                return self.negated(either, node.location) if negated else either
            args, _ = self.common(args, "IN")
            template = "({0} IN (" + ", ".join(f"{{{i}}}" for i in range(1, len(args))) + "))"
            compute: arithmetic.Compute
            reads: int | None
            if all(isinstance(arg, Literal) for arg in args[1:]):
                compute, reads = arithmetic.OneOfValues.of([a.value for a in args[1:] if isinstance(a, Literal)]), 1
            else:
                compute, reads = arithmetic.one_of, None
            found = lazy_call("IN", template, args, BOOL, compute, node.location, reads=reads)
        return self.negated(found, node.location) if negated else found

    def _row_equality(self, left: Node, right: Node, scope: Scope, offset: int) -> Expr:
        pairs = list(zip(self._row(left, scope), self._row(right, scope), strict=True))
        return self.all_of([self.operator("=", pair, offset) for pair in pairs], offset)

    def _x_op_any(self, node: Node, scope: Scope) -> Expr:
        return self._array_test(node, scope, "ANY")

    def _x_op_all(self, node: Node, scope: Scope) -> Expr:
        return self._array_test(node, scope, "ALL")

    def _array_test(self, node: Node, scope: Scope, word: str) -> Expr:
        name = operator_name(node.name)
        left = self.expr(node.lexpr, scope)
        items = self._array_items(node.rexpr, scope)
        refuse_long_list(len(items or ()), node.location)
        if items and left.type is BPCHAR and node.rexpr.HasField("a_array_expr"):
            items, _ = self.common(items, "ARRAY")  # ARRAY['a ', 'b'] is one of texts
        if items is None:
            array = self.expr(node.rexpr, scope)
            if left.type is BPCHAR and node.rexpr.HasField("param_ref") and array.type in (UNKNOWN, ARRAY_OF[TEXT]):
                array = self._chars(array, node.location)
            return self._array_verdict(name, left, array, word, node.location)
        tests = [self.operator(name, (left, item), node.location) for item in items]
        if not tests:
            return Literal(word == "ALL", BOOL, node.location)
        return self.any_of(tests, node.location) if word == "ANY" else self.all_of(tests, node.location)

    def _chars(self, array: Expr, offset: int) -> Expr:
        """A parameter's texts as values of char, shown as texts: blanks at their ends do not count."""
        of = ARRAY_OF[TEXT]
        template = "list_transform({0}, lambda e: rtrim(e, ' '))"
        return Call("of char", template, (self.coerce(array, of),), of, OfChar(), offset=offset)

    def _array_verdict(self, name: str, left: Expr, array: Expr, word: str, offset: int) -> Expr:
        """`left operator ANY (array)`, whatever the array is: a parameter, a column of pg_catalog, a subquery's."""
        if array.type is UNKNOWN:
            of = TEXT if left.type in TEXTUAL else self.known(left).type
            if of not in ARRAY_OF:
                raise unsupported(f"{word} over an array of {of}", offset)
            array = self.coerce(array, ARRAY_OF[of])
        if array.type.element is None:
            raise SqlError("42809", f"op {word}/ALL (array) requires array on right side", offset)
        element = ColumnRef("{1}", array.type.element, "element")
        test = self.operator(name, (left, element), offset)
        assert isinstance(test, Call)
        left, other = test.args
        wider = ARRAY_OF.get(other.type)
        if wider is not None and other != element and (array.type, wider) in functions.CAST_TEMPLATES:
            array, other = self.cast(array, wider, offset), element  # the array as a whole: that may be a constant
        comparison = test.template.replace("{1}", render(other, Context()))
        compute = None
        name = test.name
        if test.compute is not None and other == element:
            compute = verdict_of(name, test.compute, word)
        shown = f"{name} {word}" if other == element else f"{name} {word} cast"
        return Call(shown, tested(comparison, word), (left, array), BOOL, compute, strict=False, offset=offset)

    def _array_items(self, node: Node, scope: Scope) -> list[Expr] | None:
        kind = node.WhichOneof("node")
        if kind == "a_array_expr":
            return [self.expr(item, scope) for item in node.a_array_expr.elements]
        if kind == "type_cast" and len(node.type_cast.type_name.array_bounds):
            items = self._array_items(node.type_cast.arg, scope)
            if items is None:
                return None
            of = type_of_name(node.type_cast.type_name).element
            assert of is not None
            return [self.cast(item, of, node.type_cast.location) for item in items]
        if kind == "a_const" and node.a_const.WhichOneof("val") == "sval":
            return [Literal(item, UNKNOWN, node.a_const.location) for item in words_of(node.a_const.sval.sval)]
        return None

    def _x_between(self, node: Node, scope: Scope) -> Expr:
        value = self.expr(node.lexpr, scope)
        low, high = (self.expr(item, scope) for item in node.rexpr.list.items)
        above = self.operator(">=", (value, low), node.location)
        return self.all_of([above, self.operator("<=", (value, high), node.location)], node.location)

    def _x_not_between(self, node: Node, scope: Scope) -> Expr:
        return self.negated(self._x_between(node, scope), node.location)

    # -- functions and casts ------------------------------------------------------------------------------------

    def _type_cast(self, node: Node, scope: Scope) -> Expr:
        if node.arg.WhichOneof("node") == "a_array_expr" and not len(node.arg.a_array_expr.elements):
            nothing: Any = ()
            return Literal(nothing, type_of_name(node.type_name), node.location)
        if node.arg.WhichOneof("node") == "a_array_expr" and len(node.type_name.array_bounds):
            return self._array(node.arg.a_array_expr, scope, type_of_name(node.type_name))
        arg = self.expr(node.arg, scope)
        place = node.location if node.location >= 0 else arg.offset
        cast = self.cast(arg, type_of_name(node.type_name), place)
        return self.of_length(cast, length_of_name(node.type_name), is_explicit=True, offset=place)

    def _a_array_expr(self, node: Node, scope: Scope) -> Expr:
        refuse_long_list(len(node.elements), node.location)
        if not len(node.elements):
            raise SqlError(
                "42P18", "cannot determine type of empty array", node.location, hint="cast it, as in ARRAY[]::integer[]"
            )
        args, of = self.common([self.expr(item, scope) for item in node.elements], "ARRAY")
        if of in TEXTUAL:
            args, of = [self.coerce(arg, TEXT) for arg in args], TEXT
        if of not in ARRAY_OF:
            raise unsupported(f"an array of {of}", node.location)
        return Call("array", "[{all}]", tuple(args), ARRAY_OF[of], offset=node.location)

    def _array(self, node: Node, scope: Scope, of: Type) -> Expr:
        """ARRAY[..] under a cast: it is its elements that are cast."""
        refuse_long_list(len(node.elements), node.location)
        element = of.element
        assert element is not None
        args = tuple(self.cast(self.expr(item, scope), element, node.location) for item in node.elements)
        return Call("array", "[{all}]", args, of, offset=node.location)

    def _a_indirection(self, node: Node, scope: Scope) -> Expr:
        """An element of an array, by its number."""
        expr = self.expr(node.arg, scope)
        for item in node.indirection:
            if item.WhichOneof("node") != "a_indices" or item.a_indices.is_slice or expr.type.element is None:
                raise unsupported("a slice of an array, or a field of a value", expr.offset)
            number = self.coerce(self.expr(item.a_indices.uidx, scope), INT4)
            first = expr.type.first
            place = "{1}" if first == 1 else f"{{1}} + {1 - first}"
            template = f"CASE WHEN {{1}} >= {first} THEN {{0}}[{place}] END"
            expr = Call("element", template, (expr, number), expr.type.element, offset=expr.offset)
        return expr

    def _collate_clause(self, node: Node, scope: Scope) -> Expr:
        name = node.collname[-1].string.sval
        if name not in ("C", "POSIX", "default", "ucs_basic"):
            raise unsupported(f'collation "{name}"', node.location, hint="text is ordered by code point (C)")
        return self.expr(node.arg, scope)

    def _coalesce_expr(self, node: Node, scope: Scope) -> Expr:
        args, of = self.common([self.expr(arg, scope) for arg in node.args], "COALESCE")
        return lazy_call("coalesce", "coalesce({all})", args, of, arithmetic.coalesce, node.location)

    def _min_max_expr(self, node: Node, scope: Scope) -> Expr:
        word, pick = ("greatest", max) if node.op == 1 else ("least", min)
        args, of = self.common([self.expr(arg, scope) for arg in node.args], word.upper())
        return lazy_call(word, f"{word}({{all}})", args, of, arithmetic.extreme(pick), node.location)

    def _case_expr(self, node: Node, scope: Scope) -> Expr:
        subject = self.expr(node.arg, scope) if node.HasField("arg") else None
        conditions, values = [], []
        for when in node.args:
            test = self.expr(when.case_when.expr, scope)
            if subject is not None:
                test = self.operator("=", (subject, test), when.case_when.location)
            conditions.append(self.boolean(test, "CASE/WHEN"))
            values.append(self.expr(when.case_when.result, scope))
        default = (
            self.expr(node.defresult, scope) if node.HasField("defresult") else Literal(None, UNKNOWN, node.location)
        )
        typed, of = self.common([*values, default], "CASE")
        return self.case(list(zip(conditions, typed[:-1], strict=True)), typed[-1], of, node.location)

    def _func_call(self, node: Node, scope: Scope) -> Expr:
        name = function_name(node)
        if node.func_variadic:
            raise unsupported("VARIADIC", node.location)
        if (
            name in functions.AGGREGATES
            or name in functions.WINDOW_ONLY
            or name in ("percentile_cont", "percentile_disc", "mode")
        ):
            return Aggregates(self).call(name, node, scope)
        if node.agg_star or node.agg_distinct or node.HasField("over") or len(node.agg_order):
            raise SqlError("42809", f"{name} is not an aggregate function", node.location)
        if len(node.args) > ARGUMENTS_MAX:
            message = f"cannot pass more than {ARGUMENTS_MAX} arguments to a function"
            raise SqlError(TOO_MANY_ARGUMENTS, message, node.location)
        args = [self.expr(arg, scope) for arg in node.args]
        if name in SESSION_VALUES and not args:
            return session_value(SESSION_VALUES[name], node.location)
        if name == "pg_backend_pid" and not args:
            return self.cast(session_value("pid", node.location), INT4, node.location)
        if name == "pg_is_in_recovery" and not args:
            return Literal(False, BOOL, node.location)
        if name in ("concat", "concat_ws", "quote_literal"):
            args = [self.output_text(a) for a in args]
        if name == "format" and args:
            return self._format(args, node.location)
        if name == "json_build_object":
            return self._json_object(args, node.location)
        if name in functions.SETS:
            rows = self.set_of(name, args, node.location)
            return Call("unnest", "unnest({0})", (rows,), rows.type, offset=node.location)
        call = self.function(name, functions.FUNCTIONS.get(name, ()), args, node.location)
        if name in OF_CONSTANTS and not is_constant(call):
            raise unsupported(f"{name} of a column", node.location, hint="use a constant or a parameter")
        return call

    def set_of(self, name: str, args: Sequence[Expr], offset: int) -> Call:
        """A function that gives rows, as the engine's list of them. Its type is that of a row."""
        return self.function(name, functions.SETS[name], args, offset)

    def _format(self, args: Sequence[Expr], offset: int) -> Expr:
        """format(..) with a constant first argument that asks for texts (%s) and names (%I) only."""
        form = args[0]
        if not isinstance(form, Literal) or not isinstance(form.value, str):
            raise unsupported("format with a form that is not a constant", offset, hint="use || or concat")
        (first, *words), rest = re.split("%([sI])", form.value.replace("%%", "\0")), list(args[1:])
        if "%" in first or any("%" in word for word in words[1::2]) or len(words) // 2 > len(rest):
            raise unsupported(
                "format with anything but as many %s or %I as there are values", offset, hint="use concat"
            )
        parts: list[Expr] = [Literal(first.replace("\0", "%"), TEXT, offset)]
        for kind, word, value in zip(words[::2], words[1::2], rest, strict=False):
            text: Expr = self.output_text(self.known(value))
            if kind == "I":
                text = self.function("format %I", functions.FORMATTED_NAME, [text], offset)
            parts += [text, Literal(word.replace("\0", "%"), TEXT, offset)]
        return self.function("concat", functions.FUNCTIONS["concat"], parts, offset)

    def _json_object(self, args: Sequence[Expr], offset: int) -> Expr:
        if len(args) % 2:
            message = "argument list must have even number of elements"
            raise SqlError("22023", message, offset, hint="json_build_object takes keys and values in turn")
        parts: list[str | Expr] = ["concat('{', "]
        for place, arg in enumerate(self.known(arg) for arg in args):
            before = "', '" if place and not place % 2 else "' : '" if place else "''"
            if arg.type not in (BOOL, *INTEGERS, *FLOATS, *TEXTUAL, OID, NAME, CHAR):
                raise unsupported(f"json_build_object of {arg.type}", arg.offset)
            if arg.type in FLOATS and place % 2:  # as its text; JSON has no number for three of them
                quoted = "CASE WHEN t LIKE '%N%' OR t LIKE '%I%' THEN '\"' || t || '\"' ELSE t END"
                parts += [before, ", coalesce(list_transform([", self.output_text(arg), "], lambda t: "]
                parts += [quoted, ")[1], 'null'), "]
            else:
                parts += [before, ", coalesce(CAST(to_json(", arg, ") AS VARCHAR), 'null'), "]
        return Fragment((*parts, "'}')"), JSON, offset=offset)

    # -- subqueries ---------------------------------------------------------------------------------------------

    def _sub_link(self, node: Node, scope: Scope) -> Expr:
        kind = pb.SubLinkType.Name(node.sub_link_type).removesuffix("_SUBLINK")
        assert self.subquery is not None
        parts, types = self.subquery(node.subselect.select_stmt, scope)
        if kind == "EXISTS":
            return Fragment(("EXISTS (", *parts, ")"), BOOL, is_query=True, offset=node.location)
        if kind not in ("EXPR", "ANY", "ALL", "ARRAY"):
            raise unsupported(f"{kind} of a subquery", node.location)
        if len(types) != 1:
            raise SqlError("42601", "subquery must return only one column", node.location)
        if kind == "ARRAY":
            element = TEXT if types[0] in TEXTUAL else types[0]
            if element not in ARRAY_OF:
                raise unsupported(f"an array of {types[0]}", node.location)
            return Fragment(("ARRAY(", *parts, ")"), ARRAY_OF[element], is_query=True, offset=node.location)
        value = Fragment(("(", *parts, ")"), types[0], is_query=True, offset=node.location)
        if kind == "EXPR":
            return value
        name = operator_name(node.oper_name) if len(node.oper_name) else "="
        test = self.operator(name, (self.expr(node.testexpr, scope), value), node.location)
        assert isinstance(test, Call)
        of = test.args[1].type
        if (of.duck != types[0].duck or test.args[1] != replace(value, type=of)) or name not in arithmetic.COMPARISONS:
            raise unsupported(f"{kind} of a subquery with another type", node.location, hint="cast inside the subquery")
        return Fragment(("(", test.args[0], f" {name} {kind} ", value, ")"), BOOL, offset=node.location)


# -- small calculations -----------------------------------------------------------------------------------------


def number_literal(text: str, offset: int) -> Literal:
    """A number too long for an integer, or with a point or an exponent."""
    plain = text.replace("_", "")
    digits = plain.removeprefix("-")
    has_base = digits[:2].lower() in ("0x", "0o", "0b")
    if has_base or (digits.isdigit() and len(digits) <= DIGITS_MAX):
        value = int(plain, 0 if has_base else 10)
        for of in (INT4, INT8):
            if -arithmetic.LIMITS[of] <= value < arithmetic.LIMITS[of]:
                return Literal(value, of, offset)
        plain = str(float(value)) if value.bit_length() <= DOUBLE_BITS_MAX else "1e999"
    return Literal(parse_value(FLOAT8, plain, offset), FLOAT8, offset, is_exact=True)


def refuse_long_list(length: int, offset: int) -> None:
    if length > LIST_MAX:
        message = f"a list of {length} values is longer than {LIST_MAX}"
        raise SqlError(
            PROGRAM_LIMIT, message, offset, hint="ask in parts, or insert the values into a table and join it"
        )


def session_value(name: str, offset: int) -> Call:
    def compute(context: Context) -> str | None:
        return context.session[name]

    return lazy_call("session", "", (), TEXT, compute, offset)


def operator_name(parts: Sequence[Node]) -> str:
    return str(parts[-1].string.sval)


def function_name(node: Node) -> str:
    parts = [part.string.sval for part in node.funcname]
    if len(parts) > 1 and parts[0] not in ("pg_catalog", "public"):
        raise SqlError("3F000", f'schema "{parts[0]}" does not exist', node.location)
    return str(parts[-1])


def type_of_name(node: Node) -> Type:
    name = node.names[-1].string.sval
    if len(node.array_bounds):
        return array_type_named(name, node.location)
    length = None
    if len(node.typmods) and name != "interval":
        length = node.typmods[0].a_const.ival.ival
    return type_named(name, node.location, length=length)


def length_of_name(node: Node) -> int | None:
    """The length of a varchar or char that a cast names. Raises 22023 for one that there cannot be."""
    name = node.names[-1].string.sval
    if name not in ("varchar", "bpchar") or not len(node.typmods) or len(node.array_bounds):
        return None
    length = int(node.typmods[0].a_const.ival.ival)
    shown = "varchar" if name == "varchar" else "char"
    if length < 1:
        raise SqlError("22023", f"length for type {shown} must be at least 1", node.location)
    if length > LENGTH_MAX:
        raise SqlError("22023", f"length for type {shown} cannot exceed {LENGTH_MAX}", node.location)
    return length


def _location(node: Node, kind: str | None) -> int:
    return int(getattr(getattr(node, kind), "location", -1)) if kind else -1


def _is_row(node: Node) -> bool:
    return bool(node.WhichOneof("node") == "row_expr")
