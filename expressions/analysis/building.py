"""Typed expressions from typed parts: the casts, operators and functions that PostgreSQL means. A quoted literal or an
undeclared parameter takes the type of its neighbour. A call without an entry in `expressions.functions` raises
42883."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.values.interval_styles import POSTGRES
from expressions import sqltypes as pg
from expressions.dates.reading import NeedsNow
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import AMBIGUOUS_FUNCTION, CANNOT_COERCE, DATATYPE_MISMATCH, UNDEFINED_FUNCTION, SqlError
from expressions.functions import casts, local
from expressions.functions.overloads import Overload, choose
from expressions.literals import in_utc
from expressions.typed import (
    Call,
    Context,
    Expr,
    Literal,
    Parameter,
    PyValue,
    evaluate,
    is_constant,
    lazy_call,
    modifier_of,
    parse_value,
)
from expressions.values import arithmetic

PARAMETERS_MAX = 65535
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_PATTERNS = frozenset({"~~", "!~~", "~~*", "!~~*", "~", "!~", "~*", "!~*"})


@dataclass(eq=False)
class Parameters:
    """The types of $1, $2, ..: declared by the client or found from their surroundings."""

    types: list[pg.Type] = field(default_factory=list)
    count_max: int = PARAMETERS_MAX

    def type_of(self, number: int) -> pg.Type:
        while len(self.types) < number:
            self.types.append(pg.UNKNOWN)
        return self.types[number - 1]

    def settle(self, number: int, of: pg.Type) -> None:
        self.type_of(number)
        self.types[number - 1] = of


class Builder:
    """Makes expressions of others, and notes in `parameters` the types that it finds. `style` says how a text of a date
    and a time without a zone are read."""

    parameters: Parameters
    style: TimeStyle = PLAIN
    constants: TimeStyle | None = None
    """How quoted constants are read where not by `style`: those of a view, as when it was made."""

    # -- types ---------------------------------------------------------------------------------------------------

    def boolean(self, expr: Expr, clause: str) -> Expr:
        if expr.type not in (pg.BOOL, pg.UNKNOWN):
            raise SqlError(
                DATATYPE_MISMATCH, f"argument of {clause} must be type boolean, not type {expr.type}", expr.offset
            )
        return self.coerce(expr, pg.BOOL)

    def known(self, expr: Expr) -> Expr:
        """The expression with a type: what is still unknown becomes text."""
        return self.coerce(expr, pg.TEXT) if expr.type is pg.UNKNOWN else expr

    def coerce(self, expr: Expr, target: pg.Type, *, assignment: bool = False) -> Expr:
        """The expression as `target`, by implicit casts only or by those of an assignment. Raises 42804."""
        if expr.type is target:
            return expr
        if expr.type is pg.UNKNOWN:
            return self._settle(expr, target)
        if not (casts.is_assigned(expr.type, target) if assignment else (expr.type, target) in casts.COMMON):
            raise SqlError(DATATYPE_MISMATCH, f"cannot use {expr.type} where {target} is needed", expr.offset)
        return self.cast(expr, target, expr.offset)

    def cast(self, expr: Expr, target: pg.Type, offset: int) -> Expr:
        """An explicit cast. Raises 42846."""
        if expr.type is target:
            return Literal(expr.value, target, expr.offset) if isinstance(expr, Literal) else expr
        if expr.type is pg.UNKNOWN:
            return self._settle(expr, target)
        is_known = (expr.type, target) in casts.CASTS
        if not is_known and (expr.type in (pg.VARCHAR, pg.BPCHAR) or target in (pg.VARCHAR, pg.BPCHAR)):
            return self.cast(self.cast(expr, pg.TEXT, offset), target, offset)
        if not is_known:
            raise SqlError(CANNOT_COERCE, f"cannot cast type {expr.type} to {target}", offset)
        compute = None if self._is_styled(expr.type, target) else casts.compute_of(expr.type, target)
        call = Call("cast", (expr,), target, compute, offset=offset)
        if isinstance(expr, Literal) and compute is not None:
            return Literal(placed(lambda: evaluate(call, {}, Context()), offset), target, expr.offset)
        return call

    def _is_styled(self, given: pg.Type, wanted: pg.Type) -> bool:
        """True for a cast that depends on settings of the session, where they are not the usual ones."""
        both = given.element or given, wanted.element or wanted
        if not self.style.is_utc and both in arithmetic.ZONED:
            return True
        if self.style.shows_escapes and both == (pg.BYTEA, pg.TEXT):
            return True
        return self.style.intervals != POSTGRES and {*both} == {pg.INTERVAL, pg.TEXT}

    def _settle(self, expr: Expr, target: pg.Type) -> Expr:
        if isinstance(expr, Parameter):
            self.parameters.settle(expr.number, target)
            return Parameter(expr.number, target, expr.offset)
        if isinstance(expr, Literal):
            if expr.value is None:
                return Literal(None, target, expr.offset)
            text, style = str(expr.value), self.constants or self.style
            try:
                text = placed(lambda: in_utc(target, str(expr.value), expr.offset), expr.offset)
                value = placed(lambda: parse_value(target, text, expr.offset, style), expr.offset)
                return Literal(value, target, expr.offset)
            except NeedsNow:
                return self._relative_to_now(text, target, expr.offset)
        raise AssertionError(f"only a constant or a parameter has no type: {expr}")

    def _relative_to_now(self, text: str, target: pg.Type, offset: int) -> Expr:
        """'now', 'today' and the like: another value in each transaction."""

        def compute(context: Context) -> PyValue:
            return parse_value(target, text, offset, self.style, context.now)

        return lazy_call("now", (), target, compute, offset)

    def common(self, exprs: Sequence[Expr], what: str) -> tuple[list[Expr], pg.Type]:
        """The expressions as the one type that all of them can be (CASE, COALESCE, IN, UNION). Raises 42804."""
        of = common_type([(e.type, e.offset) for e in exprs], what)
        return [self.coerce(e, of) for e in exprs], of

    def of_length(self, expr: Expr, length: int | None, *, is_explicit: bool, offset: int = -1) -> Expr:
        """A value of a type of this length, or precision: see `arithmetic.fit_of`."""
        of = expr.type
        if length is None or (of not in pg.INTEGERS and (of.element or of) not in pg.OF_A_LENGTH):
            return expr
        assert of.sql_type is not None
        fit = arithmetic.fit_of(of.sql_type, length, is_explicit=is_explicit)
        name = f"{'cut' if is_explicit and (of.element or of) in pg.TEXTUAL else 'fit'} to {length}"
        call = Call(name, (expr,), of, fit, offset=offset, modifier=pg.modifier_of_length(of, length))
        if isinstance(expr, Literal) and not is_explicit:
            return Literal(placed(lambda: evaluate(call, {}, Context()), expr.offset), of, expr.offset)
        return call

    # -- operators and functions ---------------------------------------------------------------------------------

    def operator(self, name: str, args: Sequence[Expr], offset: int) -> Expr:
        name = "<>" if name == "!=" else name
        if name in _PATTERNS:
            args = [self.padded(args[0]), *args[1:]]
        if name == "||":
            args = self._concatenated(args)
        if name in _COMPARISONS and {arg.type for arg in args} == {pg.BPCHAR, pg.VARCHAR}:
            args = [self.cast(arg, pg.BPCHAR, arg.offset) for arg in args]  # PostgreSQL's choice: blanks do not count
        fitting = choose(local.OPERATORS.get(name, ()), self._beside(args))
        if len(fitting) != 1:
            shown = " ".join([*(str(a.type) for a in args[:-1]), name, str(args[-1].type)])
            if fitting:
                raise SqlError(AMBIGUOUS_FUNCTION, f"operator is not unique: {shown}", offset, hint="add a cast")
            raise SqlError(
                UNDEFINED_FUNCTION,
                f"operator does not exist: {shown}",
                offset,
                hint="no operator of that name takes these types: a cast may help",
            )
        overload, types = fitting[0]
        return self._call(name, overload, types, args, offset)

    def padded(self, expr: Expr) -> Expr:
        """A char(n) with its blanks, as patterns and octet_length see it; one of no known length as it is kept."""
        length = modifier_of(expr) - pg.HEAD
        if expr.type is not pg.BPCHAR or length <= 0:
            return expr
        return Call(f"char({length})", (expr,), pg.TEXT, lambda text: text.ljust(length), offset=expr.offset)

    def _concatenated(self, args: Sequence[Expr]) -> list[Expr]:
        """text || anything is text; not so a quoted literal beside bytes or a jsonb."""
        types = {a.type for a in args}
        if pg.BYTEA in types <= {pg.BYTEA, pg.UNKNOWN} or (pg.JSONB in types and types.isdisjoint(pg.TEXTUAL)):
            return list(args)
        if any(a.type in (*pg.TEXTUAL, pg.UNKNOWN, pg.NAME) for a in args) and not any(a.type.element for a in args):
            return [self.cast(a, pg.TEXT, a.offset) for a in args]
        return list(args)

    def _beside(self, args: Sequence[Expr]) -> list[pg.Type]:
        """Argument types, an unknown one taken to be of the other's type, as for PostgreSQL's operators."""
        types = [a.type for a in args]
        if len(types) == 2 and pg.UNKNOWN in types:
            other = types[0] if types[1] is pg.UNKNOWN else types[1]
            other = pg.TEXT if other is pg.VARCHAR else other
            if other is pg.UNKNOWN:
                return [pg.TEXT, pg.TEXT]
            is_taken = other in (pg.BOOL, pg.TEXT, pg.BPCHAR, *pg.INTEGERS, *pg.FLOATS, pg.NUMERIC)
            return [other if t is pg.UNKNOWN and is_taken else t for t in types]
        return types

    def function(self, name: str, overloads: Sequence[Overload], args: Sequence[Expr], offset: int) -> Call:
        fitting = choose(overloads, [a.type for a in args])
        shown = f"{name}({', '.join(str(a.type) for a in args)})"
        if not fitting:
            raise SqlError(UNDEFINED_FUNCTION, f"function {shown} does not exist", offset)
        if len(fitting) > 1:
            raise SqlError(AMBIGUOUS_FUNCTION, f"function {shown} is not unique", offset, hint="add casts")
        return self._call(name, *fitting[0], args, offset)

    def _call(
        self, name: str, overload: Overload, types: tuple[pg.Type, ...], args: Sequence[Expr], offset: int
    ) -> Call:
        coerced = tuple(self.coerce(a, t) for a, t in zip(args, types, strict=True))
        return Call(name, coerced, overload.result, overload.compute, overload.strict, offset)

    # -- connectives ---------------------------------------------------------------------------------------------

    def all_of(self, args: Sequence[Expr], offset: int) -> Expr:
        return lazy_call("AND", args, pg.BOOL, arithmetic.conjunction, offset)

    def any_of(self, args: Sequence[Expr], offset: int) -> Expr:
        return lazy_call("OR", args, pg.BOOL, arithmetic.disjunction, offset)

    def negated(self, arg: Expr, offset: int) -> Expr:
        return Call("NOT", (arg,), pg.BOOL, lambda a: not a, offset=offset)

    def case(self, whens: Sequence[tuple[Expr, Expr]], default: Expr, of: pg.Type, offset: int) -> Expr:
        if not whens:
            return default
        args = [*(expr for when in whens for expr in when), default]
        return lazy_call("case", args, of, arithmetic.case, offset)


def common_type(found: Sequence[tuple[pg.Type, int]], what: str) -> pg.Type:
    """PostgreSQL's choice for CASE, UNION and the like."""
    of = pg.UNKNOWN
    for candidate, offset in found:
        if candidate is pg.UNKNOWN or candidate is of:
            continue
        if of is pg.UNKNOWN or (of, candidate) in casts.COMMON:
            of = candidate
        elif (candidate, of) not in casts.COMMON:
            raise SqlError(DATATYPE_MISMATCH, f"{what} types {of} and {candidate} cannot be matched", offset)
    return pg.TEXT if of is pg.UNKNOWN else of


def by_the_equals_of_each(args: Sequence[Expr]) -> bool:
    """True if IN compares each item by its own =, as PostgreSQL does with a single item and with columns, and not all
    as one type. It matters beside types whose = depends on the other's type."""
    left, items = args[0].type, args[1:]
    if left is pg.FLOAT4 and len(items) == 1:
        return True
    if left is pg.BPCHAR and any(
        item.type is pg.VARCHAR or (item.type is pg.TEXT and not is_constant(item)) for item in items
    ):
        return True
    try:
        common_type([(e.type, e.offset) for e in args], "IN")
    except SqlError:
        return True
    return False


def placed(compute: Callable[[], Any], offset: int) -> Any:
    """The computed value; an error gets the place it is about."""
    try:
        return compute()
    except SqlError as error:
        error.offset = error.offset if error.offset >= 0 else offset
        raise
