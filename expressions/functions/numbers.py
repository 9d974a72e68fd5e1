"""Operators and functions of numbers: their types, and what computes each of one row here."""

from expressions.functions import casts
from expressions.functions.overloads import Named, Overload
from expressions.sqltypes import FLOAT4, FLOAT8, FLOATS, INT4, INT8, INTEGERS, NUMERIC, Type
from expressions.values import arithmetic, numerics, powers, special_functions

_MODULO = "({0} % CASE WHEN {1} = -1 THEN 1 ELSE {1} END)"
"""The smallest integer by -1 leaves 0; the engine would find the quotient too large."""


def _shifted_left(of: Type) -> str:
    """Bits beyond the width of the type are lost; a whole number of 128 bits holds every step to there."""
    half = arithmetic.LIMITS[of]
    power = f"(CAST(1 AS HUGEINT) << ({{1}} & {arithmetic.shift_max(of)}))"
    return f"CAST(((CAST({{0}} AS HUGEINT) * {power} + {half}) & {2 * half - 1}) - {half} AS {of.duck})"


def operators() -> Named:
    for of in INTEGERS:
        pair = (of, of)
        yield "+", Overload(pair, of, "({0} + {1})", arithmetic.whole(of, lambda a, b: a + b))
        yield "-", Overload(pair, of, "({0} - {1})", arithmetic.whole(of, lambda a, b: a - b))
        yield "*", Overload(pair, of, "({0} * {1})", arithmetic.whole(of, lambda a, b: a * b))
        yield "/", Overload(pair, of, "({0} // {1})", arithmetic.whole(of, arithmetic.divide_whole))
        yield "%", Overload(pair, of, _MODULO, arithmetic.whole(of, arithmetic.modulo))
        yield "&", Overload(pair, of, "({0} & {1})", lambda a, b: a & b)
        yield "|", Overload(pair, of, "({0} | {1})", lambda a, b: a | b)
        yield "#", Overload(pair, of, "xor({0}, {1})", lambda a, b: a ^ b)
        yield "~", Overload((of,), of, "(~{0})", lambda a: ~a)
        right = f"({{0}} >> ({{1}} & {arithmetic.shift_max(of)}))"
        yield "<<", Overload((of, INT4), of, _shifted_left(of), arithmetic.shifted_left(of))
        yield ">>", Overload((of, INT4), of, right, arithmetic.shifted_right(of))
        yield "-", Overload((of,), of, f"(CAST(0 AS {of.duck}) - {{0}})", arithmetic.whole(of, lambda a: -a))
        yield "+", Overload((of,), of, "{0}", lambda a: a)
        yield "@", Overload((of,), of, "abs({0})", arithmetic.whole(of, abs))
    for name, compute in (
        ("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", arithmetic.multiply_real),
        ("/", arithmetic.divide_real),
    ):  # fmt: skip
        for pair in ((FLOAT8, FLOAT8), (FLOAT4, FLOAT8), (FLOAT8, FLOAT4)):
            yield name, Overload(pair, FLOAT8, _finite(f"{{0}} {name} {{1}}"), arithmetic.real(compute))
        checked = casts.TO_REAL.format(_finite(f"CAST({{0}} AS DOUBLE) {name} CAST({{1}} AS DOUBLE)"))
        yield name, Overload((FLOAT4, FLOAT4), FLOAT4, checked, arithmetic.single(compute))
    yield "^", Overload((FLOAT8, FLOAT8), FLOAT8, _finite("pow({0}, {1})"))
    yield from _numerics()
    for of in FLOATS:
        yield "-", Overload((of,), of, "(- {0})", lambda a: -a)
        yield "+", Overload((of,), of, "{0}", lambda a: a)
        yield "@", Overload((of,), of, "abs({0})", abs)
    yield "|/", Overload((FLOAT8,), FLOAT8, _defined("sqrt", "sqrt"))
    yield "||/", Overload((FLOAT8,), FLOAT8, "cbrt({0})")


def _numerics() -> Named:
    pair = (NUMERIC, NUMERIC)
    for name, engine, compute in (
        ("+", "add", numerics.add), ("-", "subtract", numerics.subtract), ("*", "multiply", numerics.multiply),
        ("/", "divide", numerics.divide), ("%", "modulo", numerics.modulo), ("^", "power", powers.power),
    ):  # fmt: skip
        yield name, Overload(pair, NUMERIC, f"numeric_{engine}({{0}}, {{1}})", compute)
    yield "-", Overload((NUMERIC,), NUMERIC, "numeric_negative({0})", numerics.negative)
    yield "+", Overload((NUMERIC,), NUMERIC, "{0}", lambda a: a)
    yield "@", Overload((NUMERIC,), NUMERIC, "numeric_absolute({0})", numerics.absolute)


_POWERLESS = (
    "WHEN s.a = 0 AND s.b < 0 THEN CAST(error('SQLSTATE 2201F zero raised to a negative power is undefined')"
    " AS DOUBLE) "
    "WHEN s.a < 0 AND NOT isnan(s.b) AND floor(s.b) <> s.b THEN CAST(error('SQLSTATE 2201F a negative number raised to"
    " a non-integer power yields a complex result') AS DOUBLE) "
)


_OVERFLOW, _UNDERFLOW, _BEYOND = (
    f"CAST(error('SQLSTATE 22003 {words}') AS DOUBLE)"
    for words in ("value out of range: overflow", "value out of range: underflow", "input is out of range")
)
_TINY = {
    "*": "s.a <> 0 AND s.b <> 0",
    "/": "s.a <> 0 AND NOT isinf(s.b)",
    "pow(": "s.a <> 0 AND NOT isinf(s.a) AND NOT isinf(s.b)",
}
"""When a result of zero is none, but too small for a double."""


def _finite(operation: str) -> str:
    """Doubles overflow with an error, not into infinity, and none but zero gives zero. (The lambda names each once.)"""
    inner = operation.replace("{0}", "s.a").replace("{1}", "s.b")
    by_zero = "WHEN s.b = 0 AND NOT isnan(s.a) THEN CAST(error('SQLSTATE 22012 division by zero') AS DOUBLE) "
    zero = by_zero if "/" in operation else _POWERLESS if operation.startswith("pow(") else ""
    tiny = next((test for sign, test in _TINY.items() if sign in operation), None)
    small = f" WHEN {inner} = 0 AND {tiny} THEN {_UNDERFLOW}" if tiny else ""
    large = f"WHEN isinf({inner}) AND NOT (isinf(s.a) OR isinf(s.b)) THEN {_OVERFLOW}"
    check = f"CASE {zero}{large}{small} ELSE {inner} END"
    return f"list_transform([{{{{'a': {{0}}, 'b': {{1}}}}}}], lambda s: {check})[1]"


_DEGREE = "CAST(0.0174532925199432957692 AS DOUBLE)"
_FORMULAS = {"degrees": f"x / {_DEGREE}", "radians": f"x * {_DEGREE}"}
_OVER, _UNDER = f"isinf({{f}}) AND NOT isinf(x) THEN {_OVERFLOW}", f"{{f}} = 0 AND x <> 0 THEN {_UNDERFLOW}"
_INFINITE, _NO_COSINE = f"isinf(x) THEN {_BEYOND}", f"abs(x) > 1 AND NOT isnan(x) THEN {_BEYOND}"
_REFUSED = {
    "exp": (_OVER, f"{{f}} = 0 AND NOT isinf(x) THEN {_UNDERFLOW}"), "degrees": (_OVER,), "radians": (_UNDER,),
    **dict.fromkeys(("sin", "cos", "tan", "cot"), (_INFINITE,)), **dict.fromkeys(("asin", "acos"), (_NO_COSINE,)),
    "acosh": (f"x < 1 THEN {_BEYOND}",),
    "atanh": (_NO_COSINE, "abs(x) = 1 THEN CAST('Infinity' AS DOUBLE) * x"),
}  # fmt: skip
"""Of functions of one double: what they are not asked for, and what they do not answer."""


def _of_double(name: str) -> str:
    if name not in _REFUSED:
        return f"{name}({{0}})"
    formula = _FORMULAS.get(name, f"{name}(x)")
    tests = " ".join(f"WHEN {test.format(f=formula)}" for test in _REFUSED[name])
    return f"list_transform([{{0}}], lambda x: CASE {tests} ELSE {formula} END)[1]"


def _defined(name: str, engine: str) -> str:
    """A root or logarithm, refused where it has no value."""
    root = name == "sqrt"
    code = "2201F" if root else "2201E"
    negative = "cannot take square root of a negative number" if root else "cannot take logarithm of a negative number"
    zero = "" if root else f" WHEN x = 0 THEN CAST(error('SQLSTATE {code} cannot take logarithm of zero') AS DOUBLE)"
    refusal = f"CAST(error('SQLSTATE {code} {negative}') AS DOUBLE)"
    return f"list_transform([{{0}}], lambda x: CASE WHEN x < 0 THEN {refusal}{zero} ELSE {engine}(x) END)[1]"


_BETWEEN = (
    "CASE WHEN {0} > {1} THEN"
    " CAST(error('SQLSTATE 22023 lower bound must be less than or equal to upper bound') AS INTEGER)"
    " ELSE CAST(floor(random() * (CAST({1} AS BIGINT) - {0} + 1)) + {0} AS INTEGER) END"
)
_BUCKET = (
    "CASE WHEN {0} IS NULL OR {1} IS NULL OR {2} IS NULL OR {3} IS NULL THEN NULL"
    " WHEN {3} <= 0 THEN CAST(error('SQLSTATE 2201G count must be greater than zero') AS INTEGER)"
    " WHEN isnan({0}) OR isnan({1}) OR isnan({2}) THEN"
    " CAST(error('SQLSTATE 2201G operand, lower bound, and upper bound cannot be NaN') AS INTEGER)"
    " WHEN isinf({1}) OR isinf({2}) THEN"
    " CAST(error('SQLSTATE 2201G lower and upper bounds must be finite') AS INTEGER)"
    " WHEN {1} = {2} THEN CAST(error('SQLSTATE 2201G lower bound cannot equal upper bound') AS INTEGER)"
    " WHEN {1} < {2} THEN CASE WHEN {0} < {1} THEN 0 WHEN {0} >= {2} THEN {3} + 1"
    " ELSE CAST(floor(({0} - {1}) / ({2} - {1}) * {3}) AS INTEGER) + 1 END"
    " ELSE CASE WHEN {0} > {1} THEN 0 WHEN {0} <= {2} THEN {3} + 1"
    " ELSE CAST(floor(({1} - {0}) / ({1} - {2}) * {3}) AS INTEGER) + 1 END END"
)


def functions() -> Named:
    for of in (*INTEGERS, *FLOATS):
        check = abs if of in FLOATS else arithmetic.whole(of, abs)
        yield "abs", Overload((of,), of, "abs({0})", check)
        if of not in FLOATS:
            yield "mod", Overload((of, of), of, _MODULO, arithmetic.whole(of, arithmetic.modulo))
        if of in (INT4, INT8):
            yield "gcd", Overload((of, of), of, f"CAST(gcd({{0}}, {{1}}) AS {of.duck})")
            yield "lcm", Overload((of, of), of, f"CAST(lcm({{0}}, {{1}}) AS {of.duck})")
    yield from _of_numerics()
    for name in ("ceil", "floor", "exp", "sin", "cos", "tan", "asin", "acos", "atan", "cbrt", "degrees", "radians"):
        yield name, Overload((FLOAT8,), FLOAT8, _of_double(name))
    for name, engine in (("sqrt", "sqrt"), ("ln", "ln"), ("log", "log10"), ("log10", "log10")):
        yield name, Overload((FLOAT8,), FLOAT8, _defined(name, engine))
    yield "ceiling", Overload((FLOAT8,), FLOAT8, "ceil({0})")
    yield "round", Overload((FLOAT8,), FLOAT8, "round_even({0}, 0)")
    yield "trunc", Overload((FLOAT8,), FLOAT8, "trunc({0})")
    yield "sign", Overload((FLOAT8,), FLOAT8, "CAST(sign({0}) AS DOUBLE)")
    yield "power", Overload((FLOAT8, FLOAT8), FLOAT8, _finite("pow({0}, {1})"))
    yield "pow", Overload((FLOAT8, FLOAT8), FLOAT8, _finite("pow({0}, {1})"))
    yield "atan2", Overload((FLOAT8, FLOAT8), FLOAT8, "atan2({0}, {1})")
    yield "pi", Overload((), FLOAT8, "pi()")
    yield "random", Overload((), FLOAT8, "random()")
    yield "random", Overload((INT4, INT4), INT4, _BETWEEN)
    for own in special_functions.OF_DOUBLES:
        template = f"CASE WHEN isnan({{0}}) THEN {{0}} ELSE {own.template} END"
        compute = arithmetic.unless_nan(own.compute)
        yield own.called[0], Overload(own.args, own.result, template, compute)
    yield "asinh", Overload((FLOAT8,), FLOAT8, "asinh({0})")
    for name in ("sinh", "cosh", "tanh", "cot", "acosh", "atanh"):
        yield name, Overload((FLOAT8,), FLOAT8, _of_double(name))
    yield "width_bucket", Overload((FLOAT8, FLOAT8, FLOAT8, INT4), INT4, _BUCKET)


def _of_numerics() -> Named:
    one, two = (NUMERIC,), (NUMERIC, NUMERIC)
    for name, engine, compute in (
        ("abs", "absolute", numerics.absolute), ("ceil", "ceiling", numerics.ceiling),
        ("ceiling", "ceiling", numerics.ceiling), ("floor", "floor", numerics.floor), ("sign", "sign", numerics.sign),
        ("round", "round", numerics.rounded), ("trunc", "trunc", numerics.truncated),
        ("sqrt", "sqrt", powers.square_root), ("ln", "ln", powers.natural_logarithm),
        ("log", "log10", powers.decimal_logarithm), ("log10", "log10", powers.decimal_logarithm),
        ("exp", "exp", powers.exponential), ("trim_scale", "trimmed", numerics.trimmed),
    ):  # fmt: skip
        yield name, Overload(one, NUMERIC, f"numeric_{engine}({{0}})", compute)
    for name, engine, compute in (
        ("mod", "modulo", numerics.modulo), ("div", "div", numerics.whole_quotient), ("log", "log", powers.logarithm),
        ("power", "power", powers.power), ("pow", "power", powers.power),
    ):  # fmt: skip
        yield name, Overload(two, NUMERIC, f"numeric_{engine}({{0}}, {{1}})", compute)
    yield "round", Overload((NUMERIC, INT4), NUMERIC, "numeric_round_to({0}, {1})", numerics.rounded)
    yield "trunc", Overload((NUMERIC, INT4), NUMERIC, "numeric_trunc_to({0}, {1})", numerics.truncated)
    yield "scale", Overload(one, INT4, "numeric_scale({0})", numerics.shown_scale)
    yield "min_scale", Overload(one, INT4, "numeric_least_scale({0})", numerics.least_scale)
