"""Expressions of a statement, compiled once from PostgreSQL's parse tree; what is not modelled is refused by name."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from rollouts.statements.errors import NotModelled, Refused
from rollouts.statements.kinds import Kind, Types, kind_of
from rollouts.statements.values import NAMES, Type, Value, cast, is_known, text_of

Row = Mapping[str, Value]
"""Columns by name; those of another row beside it by `qualifier.name` (old.name, excluded.name)."""

Evaluate = Callable[[Row, Mapping[str, Value]], Value]


@dataclass(frozen=True, slots=True)
class Expression:
    text: str
    evaluate: Evaluate
    columns: frozenset[str]
    parameters: frozenset[str]
    equal: frozenset[tuple[str, str]] = frozenset()
    """Names that it compares with `=`, a parameter as ":name"."""

    exposed: frozenset[str] = frozenset()
    """Names of which it does more than to store or to compare them with `=`."""

    required: frozenset[tuple[str, str]] = frozenset()
    """Of the names in `equal` those that must be equal for it to be true: its own, or parts of its AND."""

    kind: Callable[[Types], Kind] = field(default=lambda types: None, compare=False, repr=False)
    """Its kind beside columns of these types. Raises 42883 or 42804."""

    beside: tuple[tuple[str, Evaluate], ...] = field(default=(), compare=False, repr=False)
    """Columns, each with a literal or parameter that is compared with it, and so is read as of its type."""

    def __call__(self, row: Row, parameters: Mapping[str, Value]) -> Value:
        return self.evaluate(row, parameters)


def _round(number: Any, digits: int = 0) -> Any:
    if isinstance(number, int):
        return number
    if isinstance(number, float):
        return float(round(number))
    return number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _part(text: str, separator: str, place: int) -> str:
    parts = text.split(separator) if separator else [text]
    at = place - 1 if place > 0 else place
    return parts[at] if -len(parts) <= at < len(parts) else ""


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "lower": str.lower,
    "upper": str.upper,
    "length": len,
    "char_length": len,
    "btrim": lambda text, chars=" ": text.strip(chars),
    "ltrim": lambda text, chars=" ": text.lstrip(chars),
    "rtrim": lambda text, chars=" ": text.rstrip(chars),
    "split_part": _part,
    "replace": lambda text, old, new: text.replace(old, new) if old else text,
    "left": lambda text, n: text[:n],
    "right": lambda text, n: text[-n:] if n else "",
    "strpos": lambda text, part: text.find(part) + 1,
    "position": lambda text, part: text.find(part) + 1,
    "abs": abs,
    "round": _round,
    "floor": lambda n: n.to_integral_value(ROUND_FLOOR) if isinstance(n, Decimal) else n // 1,
}
_OF_NULLS: dict[str, Callable[..., Any]] = {
    "concat": lambda *parts: "".join(
        str(p).lower()[:1] if isinstance(p, bool) else text_of(p) for p in parts if p is not None
    )
}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "+": operator.add, "-": operator.sub, "*": operator.mul,
}  # fmt: skip


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        raise Refused("22012", "division by zero")
    if isinstance(a, int) and isinstance(b, int):
        return int(Decimal(a) / Decimal(b)) if abs(a) < 2**53 else a // b
    if isinstance(a, float) or isinstance(b, float):
        return float(a) / float(b)
    return Decimal(a) / Decimal(b)


def _modulo(a: Any, b: Any) -> Any:
    if b == 0:
        raise Refused("22012", "division by zero")
    return a - b * int(a / b)


_DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {"/": _divide, "%": _modulo}


def _binary(sign: str, a: Value, b: Value) -> Value:
    if sign == "||":
        return text_of(a) + text_of(b)
    if sign in _DIVISIONS:
        divided: Value = _DIVISIONS[sign](a, b)
        return divided
    if {type(a), type(b)} == {float, Decimal}:
        a, b = float(a), float(b)  # type: ignore[arg-type]
    if isinstance(a, str) != isinstance(b, str):
        a, b = _alike(a, b)
    try:
        return _OPERATORS[sign](a, b)  # type: ignore[no-any-return]
    except KeyError:
        raise NotModelled(f"operator {sign} is not modelled") from None
    except TypeError:
        raise Refused("42883", f"operator does not exist for {a!r} {sign} {b!r}") from None


def _alike(a: Value, b: Value) -> tuple[Value, Value]:
    """A literal's type follows the other side's, as PostgreSQL reads '5' beside a number."""
    kinds = {bool: "bool", int: "int8", float: "float8", Decimal: "numeric"}

    def follow(text: Value, other: Value) -> Value:
        if isinstance(other, datetime):
            return cast(text, Type("timestamptz" if other.tzinfo else "timestamp"))
        if isinstance(other, date):
            return cast(text, Type("date"))
        return cast(text, Type(kinds[type(other)])) if type(other) in kinds else text

    return (follow(a, b), b) if isinstance(a, str) else (a, follow(b, a))


def type_of(node: Any) -> Type:
    name = node.names[-1].string.sval
    name = NAMES.get(name, name)
    if node.array_bounds or not is_known(name):
        raise NotModelled(f"type {name}{'[]' if node.array_bounds else ''} is not modelled: use text, or leave it out")
    sizes = [part.a_const.ival.ival for part in node.typmods]
    return Type(name, *sizes[:2])


class Compiler:
    """`names` are the parameters in the order of their numbers. `has_excluded`: a column may be the existing row's or
    the new one's, so that it needs a qualifier."""

    def __init__(
        self, names: tuple[str, ...] = (), qualifiers: frozenset[str] = frozenset(), *, has_excluded: bool = False
    ) -> None:
        self._names, self._has_excluded = names, has_excluded
        self._own = qualifiers
        self._columns: set[str] = set()
        self._parameters: set[str] = set()
        self._beside: list[tuple[str, Evaluate]] = []

    def compile(self, node: Any, text: str = "") -> Expression:
        self._columns, self._parameters = set(), set()
        self._beside = []
        evaluate = self._of(node)
        beside = tuple(self._beside)
        equal, exposed = self._uses(node)
        names = frozenset(self._columns), frozenset(self._parameters)
        return Expression(text, evaluate, *names, equal, exposed, self._required(node), partial(kind_of, node), beside)

    def _required(self, node: Any) -> frozenset[tuple[str, str]]:
        kind = node.WhichOneof("node")
        if kind == "bool_expr" and node.bool_expr.boolop == 1:
            return frozenset().union(*map(self._required, node.bool_expr.args))
        is_plain = kind == "a_expr" and _KINDS.get(node.a_expr.kind) == "operator"
        return self._uses(node)[0] if is_plain else frozenset()

    def _uses(self, node: Any) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
        kind = node.WhichOneof("node")
        if kind == "bool_expr":
            parts = [self._uses(one) for one in node.bool_expr.args]
            return frozenset().union(*(one for one, _ in parts)), frozenset().union(*(one for _, one in parts))
        if kind == "null_test":
            return self._uses(node.null_test.arg)
        if kind in _LEAVES:
            return frozenset(), frozenset()
        if kind == "a_expr" and node.a_expr.kind in _EQUALITIES and node.a_expr.name[-1].string.sval == "=":
            sides = (node.a_expr.lexpr, node.a_expr.rexpr)
            if all(side.WhichOneof("node") in _LEAVES for side in sides):
                first, second = (self._name(side) for side in sides)
                return frozenset([(first, second)]), frozenset()
        outer = self._columns, self._parameters
        self._columns, self._parameters = set(), set()
        self._of(node)
        exposed = frozenset(self._columns | {f":{name}" for name in self._parameters})
        self._columns, self._parameters = outer
        return frozenset(), exposed

    def _name(self, leaf: Any) -> str:
        if leaf.WhichOneof("node") == "param_ref":
            return f":{self._names[leaf.param_ref.number - 1]}"
        return leaf.column_ref.fields[-1].string.sval if leaf.WhichOneof("node") == "column_ref" else ""

    def _of(self, node: Any) -> Evaluate:
        kind = node.WhichOneof("node")
        method = getattr(self, f"_{kind}", None)
        if method is None:
            names = {"sub_link": "a subquery: write two statements", "sql_value_function": "a value of the clock"}
            raise NotModelled(f"{names.get(kind, str(kind).replace('_', ' '))} is not modelled")
        return method(getattr(node, kind))  # type: ignore[no-any-return]

    def _all(self, nodes: Any) -> list[Evaluate]:
        return [self._of(node) for node in nodes]

    def _param_ref(self, node: Any) -> Evaluate:
        name = self._names[node.number - 1]
        self._parameters.add(name)
        return lambda row, given: given[name]

    def _column_ref(self, node: Any) -> Evaluate:
        parts = [field.string.sval for field in node.fields if field.HasField("string")]
        if len(parts) != len(node.fields):
            raise NotModelled("* is not an expression")
        name = parts[-1] if len(parts) == 1 or parts[-2] in self._own else ".".join(parts[-2:])
        if self._has_excluded and len(parts) == 1:
            own = min(self._own)
            raise NotModelled(f'column "{name}" is ambiguous (42702): write {own}.{name} or excluded.{name}')
        self._columns.add(name)

        def evaluate(row: Row, given: Mapping[str, Value]) -> Value:
            try:
                return row[name]
            except KeyError:
                raise Refused("42703", f'column "{name}" does not exist') from None

        return evaluate

    def _a_const(self, node: Any) -> Evaluate:
        kind = None if node.isnull else node.WhichOneof("val")
        value: Value = None
        if kind == "ival":
            value = node.ival.ival
        elif kind == "fval":
            value = Decimal(node.fval.fval)
            value = int(value) if value == value.to_integral_value() and "." not in node.fval.fval else value
        elif kind == "sval":
            value = node.sval.sval
        elif kind == "boolval":
            value = node.boolval.boolval
        return lambda row, given: value

    def _coalesce_expr(self, node: Any) -> Evaluate:
        parts = self._all(node.args)
        return lambda row, given: next((v for part in parts if (v := part(row, given)) is not None), None)

    def _min_max_expr(self, node: Any) -> Evaluate:
        parts, best = self._all(node.args), (max if node.op == 1 else min)

        def evaluate(row: Row, given: Mapping[str, Value]) -> Value:
            found: list[Any] = [v for part in parts if (v := part(row, given)) is not None]
            return best(found) if found else None

        return evaluate

    def _null_test(self, node: Any) -> Evaluate:
        part, wanted = self._of(node.arg), node.nulltesttype == 1
        return lambda row, given: (part(row, given) is None) is wanted

    def _boolean_test(self, node: Any) -> Evaluate:
        part, (value, wanted) = self._of(node.arg), _TESTS[node.booltesttype]
        return lambda row, given: (part(row, given) is value) is wanted

    def _bool_expr(self, node: Any) -> Evaluate:
        parts = self._all(node.args)
        if node.boolop == 3:
            return lambda row, given: None if (v := parts[0](row, given)) is None else not v
        decides = node.boolop == 2  # OR is decided by the first true, AND by the first false

        def evaluate(row: Row, given: Mapping[str, Value]) -> Value:
            found = [part(row, given) for part in parts]
            return decides if decides in found else None if None in found else not decides

        return evaluate

    def _type_cast(self, node: Any) -> Evaluate:
        part, kind = self._of(node.arg), type_of(node.type_name)
        return lambda row, given: cast(part(row, given), kind, explicit=True)

    def _case_expr(self, node: Any) -> Evaluate:
        subject = self._of(node.arg) if node.HasField("arg") else None
        branches = [(self._of(one.case_when.expr), self._of(one.case_when.result)) for one in node.args]
        default = self._of(node.defresult) if node.HasField("defresult") else None

        def evaluate(row: Row, given: Mapping[str, Value]) -> Value:
            for condition, result in branches:
                found = condition(row, given)
                if subject is not None:
                    of = subject(row, given)
                    found = None if found is None or of is None else _binary("=", of, found)
                if found:
                    return result(row, given)
            return default(row, given) if default else None

        return evaluate

    def _func_call(self, node: Any) -> Evaluate:
        name = node.funcname[-1].string.sval
        parts = self._all(node.args)
        if name == "timezone":
            zone_of, moment_of = parts
            return lambda row, given: _in_zone(zone_of(row, given), moment_of(row, given))
        if name in _OF_NULLS:
            return lambda row, given: _OF_NULLS[name](*(part(row, given) for part in parts))
        if name not in FUNCTIONS:
            raise NotModelled(f"function {name}() is not modelled; there are: {', '.join(sorted(FUNCTIONS))}")

        def evaluate(row: Row, given: Mapping[str, Value]) -> Value:
            found = [part(row, given) for part in parts]
            return None if None in found else FUNCTIONS[name](*found)

        return evaluate

    def _a_expr(self, node: Any) -> Evaluate:
        sign = node.name[-1].string.sval
        kind = _KINDS.get(node.kind)
        if kind is None:
            raise NotModelled(f"operator {sign} of this form is not modelled")
        if kind != "like" and (kind != "operator" or sign in _COMPARISONS):
            self._compared(node)
        if kind in ("in", "between", "not between"):
            return self._list_of(kind, sign, self._of(node.lexpr), self._all(node.rexpr.list.items))
        if not node.HasField("lexpr"):
            only = self._of(node.rexpr)
            return lambda row, given: None if (v := only(row, given)) is None else _binary(sign, 0, v)
        left, right = self._of(node.lexpr), self._of(node.rexpr)

        def evaluate(row: Row, given: Mapping[str, Value]) -> Value:
            a, b = left(row, given), right(row, given)
            if kind in ("distinct", "not distinct"):
                is_same = a is b if a is None or b is None else bool(_binary("=", a, b))
                return is_same is (kind == "not distinct")
            if kind == "nullif":
                return None if a is not None and b is not None and _binary("=", a, b) else a
            if a is None or b is None:
                return None
            if kind == "like":
                signs = re.findall(r"\\.|.", text_of(b), re.DOTALL)
                parts = (".*" if c == "%" else "." if c == "_" else re.escape(c[-1]) for c in signs)
                return (re.fullmatch("".join(parts), text_of(a), re.DOTALL) is not None) is not sign.startswith("!")
            return _binary(sign, a, b)

        return evaluate

    def _compared(self, node: Any) -> None:
        right = node.rexpr.list.items if node.rexpr.WhichOneof("node") == "list" else [node.rexpr]
        sides = [node.lexpr, *right]
        columns = [one for one in sides if one.WhichOneof("node") == "column_ref"]
        for given in (one for one in sides if one.WhichOneof("node") in ("param_ref", "a_const")):
            self._beside += [(self._name(one), self._of(given)) for one in columns]

    def _list_of(self, kind: str, sign: str, left: Evaluate, items: list[Evaluate]) -> Evaluate:
        def evaluate(row: Row, given: Mapping[str, Value]) -> Value:
            a, found = left(row, given), [item(row, given) for item in items]
            if kind == "in":
                equal = [None if a is None or b is None else _binary("=", a, b) for b in found]
                result: Value = True if True in equal else None if None in equal else False
                return None if result is None else result is (sign == "=")
            if a is None or None in found:
                return None
            return bool(_binary(">=", a, found[0]) and _binary("<=", a, found[1])) is (kind == "between")

        return evaluate


def _in_zone(zone: Value, moment: Value) -> Value:
    if zone is None or moment is None:
        return None
    if not isinstance(moment, datetime):
        raise Refused("42883", "AT TIME ZONE needs a timestamp")
    if moment.tzinfo:
        return moment.astimezone(ZoneInfo(str(zone))).replace(tzinfo=None)
    return moment.replace(tzinfo=ZoneInfo(str(zone))).astimezone(ZoneInfo("UTC"))


_LEAVES = ("column_ref", "param_ref", "a_const")
_COMPARISONS = ("=", "<>", "!=", "<", "<=", ">", ">=")
_EQUALITIES = (1, 4, 5)
_KINDS = {
    1: "operator",
    4: "distinct",
    5: "not distinct",
    6: "nullif",
    7: "in",
    8: "like",
    11: "between",
    12: "not between",
}
_TESTS: dict[int, tuple[Value, bool]] = {
    1: (True, True), 2: (True, False), 3: (False, True), 4: (False, False), 5: (None, True), 6: (None, False),
}  # fmt: skip
