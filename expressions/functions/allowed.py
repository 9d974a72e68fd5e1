"""The operators, functions and casts a statement may use: an allow-list.

Nothing that is not listed here reaches the query engine, so no engine function can read files or
settings. A line gives the types, DuckDB's text for it and, where one row's value can be computed
without the engine, the Python twin. How an overload is chosen is PostgreSQL's rule, shortened:
exact types first, then implicit casts, then what an unknown literal is likely to be.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from expressions.documents import functions as documents
from expressions.functions import plain
from expressions.limits import grown, guarded
from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    BPCHAR,
    BYTEA,
    CHAR,
    DATE,
    DOCUMENTS,
    FLOAT4,
    FLOAT8,
    FLOATS,
    INT2,
    INT2VECTOR,
    INT4,
    INT8,
    INTEGERS,
    INTERVAL,
    JSON,
    JSONB,
    NAME,
    NAMED,
    NUMERIC,
    OID,
    STORED,
    SYSTEM,
    TEXT,
    TEXTUAL,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TYPE_WORDS,
    UNKNOWN,
    UUID,
    VARCHAR,
    VECTORS,
    Type,
    key_text,
)
from expressions.values import (
    arithmetic,
    arrays,
    bytestrings,
    clock_times,
    intervals,
    numerics,
    object_names,
    powers,
    texts,
)
from expressions.values.arithmetic import Compute
from expressions.values.deviations import DEVIATIONS
from expressions.values.own import DOUBLE_TEXT, TEXTS, Own
from expressions.values.system_values import OID_COUNT


@dataclass(frozen=True, slots=True)
class Overload:
    """One way to call a function or operator. `variadic`: the last type may be repeated.

    `relations`: those of the catalog that the template reads.
    """

    args: tuple[Type, ...]
    result: Type
    template: str
    compute: Compute | None = None
    strict: bool = True
    variadic: bool = False
    aggregate: bool = False
    relations: frozenset[str] = frozenset()

    def types_for(self, count: int) -> tuple[Type, ...] | None:
        """The argument types of a call with `count` arguments; None when it takes another number."""
        if not self.variadic:
            return self.args if len(self.args) == count else None
        if count < len(self.args):
            return None
        return self.args + (self.args[-1],) * (count - len(self.args))


IMPLICIT = frozenset(
    {(INT2, INT4), (INT2, INT8), (INT4, INT8), (FLOAT4, FLOAT8)}
    | {(whole, of) for whole in INTEGERS for of in (NUMERIC, *FLOATS)}
    | {(NUMERIC, of) for of in FLOATS}
    | {(DATE, TIMESTAMP), (DATE, TIMESTAMPTZ), (TIMESTAMP, TIMESTAMPTZ), (TIME, INTERVAL)}
    | {(of, INT8) for of in NAMED}
    | {(INT8, of) for of in NAMED}
    | {(whole, of) for whole in (INT2, INT4) for of in NAMED}
    | set(VECTORS.items())
    | set(SYSTEM.items())
    | {(of, OID) for of in (*INTEGERS, *NAMED)}
    | {(OID, of) for of in NAMED}
    | {(VARCHAR, TEXT), (BPCHAR, TEXT), (BPCHAR, VARCHAR)}
    | {(TEXT, NAME), (VARCHAR, NAME), (BPCHAR, NAME), (ARRAY_OF[NAME], ARRAY_OF[TEXT])}
)
ASSIGNMENT = IMPLICIT | {
    (TEXT, VARCHAR), (TEXT, BPCHAR), (VARCHAR, BPCHAR),
    (INT4, INT2), (INT8, INT2), (INT8, INT4), (FLOAT8, FLOAT4), (TIMESTAMP, DATE), (TIMESTAMPTZ, DATE),
    (TIMESTAMPTZ, TIMESTAMP), (TIMESTAMP, TIME), (TIMESTAMPTZ, TIME), (INTERVAL, TIME), (JSON, JSONB), (JSONB, JSON),
} | {(of, whole) for of in (NUMERIC, *FLOATS) for whole in INTEGERS} | {(of, NUMERIC) for of in FLOATS}  # fmt: skip

_DOUBLE_TEXT = (
    "CASE WHEN isnan({0}) THEN 'NaN' WHEN isinf({0}) THEN CASE WHEN {0} > 0 THEN 'Infinity' ELSE '-Infinity' END"
    " WHEN abs({0}) >= 1e15::DOUBLE AND abs({0}) < 1e16::DOUBLE THEN"
    " regexp_replace(regexp_replace(CAST({0} AS VARCHAR), '^(-?\\d)(\\d*)\\.?(\\d*)$', '\\1.\\2\\3'), '\\.?0*$', '')"
    " || 'e+15'"
    f" WHEN abs({{0}}) >= {2**54}::DOUBLE THEN {DOUBLE_TEXT.template}"
    " ELSE regexp_replace(CAST({0} AS VARCHAR), '\\.0$', '') END"
)
_REAL_TEXT = (
    "list_transform([{0}], lambda x: CASE WHEN isnan(x) THEN 'NaN' WHEN isinf(x) THEN"
    " CASE WHEN x > 0 THEN 'Infinity' ELSE '-Infinity' END"
    " WHEN abs(x) >= 1e6::FLOAT AND abs(x) < 1e16::FLOAT THEN list_transform([regexp_replace(CAST(abs(x) AS VARCHAR),"
    " '\\.0$', '')], lambda t: CASE WHEN x < 0 THEN '-' ELSE '' END || t[1] || regexp_replace('.' || replace(t[2:],"
    " '.', ''), '\\.?0*$', '') || 'e+' || lpad(CAST(strpos(t || '.', '.') - 2 AS VARCHAR), 2, '0'))[1]"
    " ELSE regexp_replace(CAST(x AS VARCHAR), '\\.0$', '') END)[1]"
)
_TO_REAL = (
    "list_transform([{0}], lambda x: CASE WHEN isinf(x) OR isnan(x) THEN CAST(x AS FLOAT)"
    " WHEN abs(x) >= 3.4028235677973366e38::DOUBLE THEN"
    " CAST(error('SQLSTATE 22003 value out of range: overflow') AS FLOAT)"
    " WHEN x <> 0 AND CAST(x AS FLOAT) = 0 THEN CAST(error('SQLSTATE 22003 value out of range: underflow') AS FLOAT)"
    " ELSE CAST(x AS FLOAT) END)[1]"
)
_NUMERIC_TEXT = "numeric_text({0})"
_TO_FLOAT = (
    "CASE WHEN ({{0}})[3:] = unhex('60') THEN CAST('NaN' AS {of}) ELSE CAST(numeric_to_{name}({{0}}) AS {of}) END"
)
"""The engine takes a NaN that a function gives it for NULL."""
_ELEMENT_TO_DOUBLE = _TO_FLOAT.format(of="DOUBLE", name="double").format("e")
_NOT_TEXT_OF = "error('SQLSTATE {code} invalid input syntax for type {name}: \"' || {{0}} || '\"')"


def _from_text(of: Type, pattern: str, code: str = "22P02") -> str:
    refusal = _NOT_TEXT_OF.format(code=code, name=of.name)
    return (
        f"CASE WHEN {{0}} IS NULL THEN NULL WHEN regexp_full_match({{0}}, '{pattern}')"
        f" THEN CAST(trim({{0}}) AS {of.duck}) ELSE CAST({refusal} AS {of.duck}) END"
    )


_NUMBER = (
    "\\s*[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?\\s*|"
    "\\s*[+-]?([iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])\\s*"
)
_DAY = "\\s*\\d{{4}}-\\d\\d?-\\d\\d?"
_CLOCK = "([ T]\\d\\d?:\\d\\d(:\\d\\d(\\.\\d{{1,6}})?)?"
_UUID = "\\s*[0-9a-fA-F]{{8}}-?[0-9a-fA-F]{{4}}-?[0-9a-fA-F]{{4}}-?[0-9a-fA-F]{{4}}-?[0-9a-fA-F]{{12}}\\s*"

_WHOLE = "\\s*[+-]?\\d+\\s*"
_TEXTS_OF = {
    INT2: (_WHOLE, "22P02"),
    INT4: (_WHOLE, "22P02"),
    INT8: (_WHOLE, "22P02"),
    FLOAT4: (_NUMBER, "22P02"),
    FLOAT8: (_NUMBER, "22P02"),
    DATE: (_DAY + f"{_CLOCK}.*)?\\s*", "22007"),
    TIMESTAMP: (_DAY + f"{_CLOCK})?\\s*", "22007"),
    TIMESTAMPTZ: (_DAY + f"{_CLOCK}\\s*(Z|UTC|[+-]\\d\\d?(:?\\d\\d)?)?)?\\s*", "22007"),
    UUID: (_UUID, "22P02"),
}
"""Texts that may be a value of a type, and the code of one that is none."""
_IS_TRUE = "regexp_full_match(lower(trim({0})), 't(r(ue?)?)?|y(es?)?|on|1')"
_IS_FALSE = "regexp_full_match(lower(trim({0})), 'f(a(l(se?)?)?)?|no?|off?|0')"

CAST_TEMPLATES: dict[tuple[Type, Type], str] = {
    **{(a, b): "rtrim({0}, ' ')" if b is BPCHAR else "{0}" for a in TEXTUAL for b in TEXTUAL if a is not b},
    (FLOAT8, TEXT): _DOUBLE_TEXT,
    (FLOAT4, TEXT): _REAL_TEXT,
    (FLOAT8, FLOAT4): _TO_REAL,
    **{(TEXT, of): _from_text(of, *texts_of) for of, texts_of in _TEXTS_OF.items()},
    (TEXT, BOOL): (
        f"CASE WHEN {{0}} IS NULL THEN NULL WHEN {_IS_TRUE} THEN true WHEN {_IS_FALSE} THEN false"
        f" ELSE CAST({_NOT_TEXT_OF.format(code='22P02', name='boolean')} AS BOOLEAN) END"
    ),
    **{(of, NUMERIC): "numeric_of_whole(CAST({0} AS BIGINT))" for of in INTEGERS},
    **{(NUMERIC, of): f"CAST(numeric_to_{of.name}({{0}}) AS {of.duck})" for of in INTEGERS},
    (NUMERIC, FLOAT8): _TO_FLOAT.format(of="DOUBLE", name="double"),
    (NUMERIC, FLOAT4): _TO_FLOAT.format(of="FLOAT", name="real"),
    (FLOAT8, NUMERIC): "numeric_of_double({0})",
    (FLOAT4, NUMERIC): "numeric_of_real(CAST({0} AS DOUBLE))",
    (NUMERIC, TEXT): _NUMERIC_TEXT,
    (TEXT, NUMERIC): "numeric_of_text({0})",
    **{(of, to): template for of, to, template, _ in documents.casts()},
    **{(TEXT, of): own.template for of, (own, _, _) in TEXTS.items()},
    **{(of, TEXT): own.template for of, (_, own, _) in TEXTS.items()},
    (BYTEA, TEXT): "('\\x' || lower(hex({0})))",
    (TIMESTAMP, TIME): "(epoch_us({0}) - epoch_us(date_trunc('day', {0})))",
    (TIMESTAMPTZ, TIME): (
        "(epoch_us(CAST({0} AS TIMESTAMP)) - epoch_us(CAST(date_trunc('day', CAST({0} AS TIMESTAMP)) AS TIMESTAMP)))"
    ),
    **{(own.args[0], own.result): own.template for own in (*clock_times.CASTS, *bytestrings.CASTS)},
}

_PLAIN = {(a, b) for a, b in ASSIGNMENT} | {(INT4, BOOL), (BOOL, INT4)} | {(t, TEXT) for t in STORED if t not in FLOATS}
CAST_TEMPLATES |= {pair: "CAST({0} AS " + pair[1].duck + ")" for pair in _PLAIN if pair not in CAST_TEMPLATES}


CAST_TEMPLATES |= {
    (JSONB, of): CAST_TEMPLATES[NUMERIC, of].replace("{0}", CAST_TEMPLATES[JSONB, NUMERIC].replace("numeric", of.name))
    for of in documents.NUMBERS
    if of is not NUMERIC
}
WIDENED = (*INTEGERS, *FLOATS)
SIGN = OID_COUNT // 2
_WRONG_OID = "CAST(error('SQLSTATE 22003 OID out of range') AS BIGINT)"
_OID_OF_TEXT = (
    f"list_transform([{_from_text(OID, _WHOLE)}], lambda o: CASE WHEN o BETWEEN -{SIGN} AND {OID_COUNT - 1}"
    f" THEN o & {OID_COUNT - 1} WHEN o IS NOT NULL THEN {_WRONG_OID} END)[1]"
)
_OID_OF_BIGINT = f"CASE WHEN {{0}} IS NULL OR {{0}} BETWEEN 0 AND {OID_COUNT - 1} THEN {{0}} ELSE {_WRONG_OID} END"
CAST_TEMPLATES |= {pair: "{0}" for of, used in SYSTEM.items() for pair in ((of, used), (used, of))}
CAST_TEMPLATES |= {pair: "{0}" for of in NAMED for pair in ((of, OID), (OID, of))}
CAST_TEMPLATES |= {
    (OID, TEXT): "CAST({0} AS VARCHAR)", (TEXT, OID): _OID_OF_TEXT, (NAME, CHAR): "{0}[1:1]",
    **{(of, OID): f"(CAST({{0}} AS BIGINT) & {OID_COUNT - 1})" for of in (INT2, INT4)}, (TEXT, CHAR): "{0}[1:1]",
    (OID, INT4): f"CAST(CAST(({{0}} + {SIGN}) & {OID_COUNT - 1} AS BIGINT) - {SIGN} AS INTEGER)",
    (INT8, OID): _OID_OF_BIGINT,
    (CHAR, NAME): "{0}", (ARRAY_OF[NAME], ARRAY_OF[TEXT]): "{0}", (ARRAY_OF[TEXT], ARRAY_OF[NAME]): "{0}",
    (ARRAY_OF[OID], ARRAY_OF[INT8]): "{0}", (ARRAY_OF[INT8], ARRAY_OF[OID]): "{0}",
    (ARRAY_OF[INT4], ARRAY_OF[OID]): f"list_transform({{0}}, lambda e: CAST(e AS BIGINT) & {OID_COUNT - 1})",
    (INT2VECTOR, ARRAY_OF[INT2]): "CAST({0} AS SMALLINT[])",
}  # fmt: skip
CAST_TEMPLATES |= dict.fromkeys((*VECTORS.items(), (VARCHAR, NAME), (BPCHAR, NAME)), "{0}")
CAST_TEMPLATES |= {(a, b): template for a, b, template in object_names.casts()}
CAST_TEMPLATES |= {
    (a, b): f"CAST({{0}} AS {b.duck})"
    for a in ARRAY_OF.values()
    for b in ARRAY_OF.values()
    if a is not b and a.element in WIDENED and b.element in WIDENED
}


CAST_TEMPLATES |= {
    (ARRAY_OF[of], ARRAY_OF[NUMERIC]): "list_transform({0}, lambda e: numeric_of_whole(CAST(e AS BIGINT)))"
    for of in INTEGERS
}
CAST_TEMPLATES |= {
    (ARRAY_OF[NUMERIC], ARRAY_OF[FLOAT8]): f"list_transform({{0}}, lambda e: {_ELEMENT_TO_DOUBLE})",
    (ARRAY_OF[FLOAT8], ARRAY_OF[NUMERIC]): "list_transform({0}, lambda e: numeric_of_double(e))",
}
EXACT = frozenset((a, b) for a in WIDENED for b in WIDENED if (a, b) in IMPLICIT) | {
    *((of, NUMERIC) for of in INTEGERS), (NUMERIC, FLOAT8), (FLOAT8, NUMERIC),
}  # fmt: skip
"""Casts of numbers that arrays of them have in Python, too."""


_DOCUMENT_CASTS = {(of, to): compute for of, to, _, compute in documents.casts()}
_DOCUMENT_CASTS |= documents.number_casts()
OWN_CASTS = {(own.args[0], own.result): own.compute for own in (*clock_times.CASTS, *bytestrings.CASTS)}


@cache
def cast_compute(source: Type, target: Type) -> Compute | None:
    """The Python twin of a cast."""
    if (source, target) in _DOCUMENT_CASTS:
        return _DOCUMENT_CASTS[source, target]
    if source is TEXT and target.sql_type is not None:
        return arithmetic.text_to(target.sql_type)
    if target is TEXT and source.sql_type is not None:
        return arithmetic.text_of(source.sql_type)
    if source.element is not None and target.element is not None and (source.element, target.element) in EXACT:
        cast = arithmetic.CASTS[source.element, target.element]
        return lambda items: tuple(None if item is None else cast(item) for item in items)
    return arithmetic.CASTS.get((source, target)) or OWN_CASTS.get((source, target))


_MODULO = "({0} % CASE WHEN {1} = -1 THEN 1 ELSE {1} END)"
"""The smallest integer by -1 leaves 0; the engine would find the quotient too large."""


def _arithmetic() -> Iterator[tuple[str, Overload]]:
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
        yield "-", Overload((of,), of, f"(CAST(0 AS {of.duck}) - {{0}})", arithmetic.whole(of, lambda a: -a))
        yield "+", Overload((of,), of, "{0}", lambda a: a)
        yield "@", Overload((of,), of, "abs({0})", arithmetic.whole(of, abs))
    for name, compute in (
        ("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b), ("/", arithmetic.divide_real)
    ):  # fmt: skip
        for pair in ((FLOAT8, FLOAT8), (FLOAT4, FLOAT8), (FLOAT8, FLOAT4)):
            yield name, Overload(pair, FLOAT8, _finite(f"{{0}} {name} {{1}}"), arithmetic.real(compute))
        checked = _TO_REAL.format(_finite(f"CAST({{0}} AS DOUBLE) {name} CAST({{1}} AS DOUBLE)"))
        yield name, Overload((FLOAT4, FLOAT4), FLOAT4, checked, arithmetic.single(compute))
    yield "^", Overload((FLOAT8, FLOAT8), FLOAT8, _finite("pow({0}, {1})"))
    yield from _numerics()
    for of in FLOATS:
        yield "-", Overload((of,), of, "(- {0})", lambda a: -a)
        yield "+", Overload((of,), of, "{0}", lambda a: a)
        yield "@", Overload((of,), of, "abs({0})", abs)
    yield "|/", Overload((FLOAT8,), FLOAT8, _defined("sqrt", "sqrt"))
    yield "||/", Overload((FLOAT8,), FLOAT8, "cbrt({0})")


def _numerics() -> Iterator[tuple[str, Overload]]:
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


def _finite(operation: str) -> str:
    """Doubles overflow with an error, not into infinity. (The lambda names each operand once.)"""
    inner = operation.replace("{0}", "s.a").replace("{1}", "s.b")
    overflow = "CAST(error('SQLSTATE 22003 value out of range: overflow') AS DOUBLE)"
    by_zero = "WHEN s.b = 0 AND NOT isnan(s.a) THEN CAST(error('SQLSTATE 22012 division by zero') AS DOUBLE) "
    zero = by_zero if "/" in operation else _POWERLESS if operation.startswith("pow(") else ""
    check = f"CASE {zero}WHEN isinf({inner}) AND NOT (isinf(s.a) OR isinf(s.b)) THEN {overflow} ELSE {inner} END"
    return f"list_transform([{{{{'a': {{0}}, 'b': {{1}}}}}}], lambda s: {check})[1]"


def _defined(name: str, engine: str) -> str:
    """A root or logarithm, refused where it has no value."""
    root = name == "sqrt"
    code = "2201F" if root else "2201E"
    negative = "cannot take square root of a negative number" if root else "cannot take logarithm of a negative number"
    zero = "" if root else f" WHEN x = 0 THEN CAST(error('SQLSTATE {code} cannot take logarithm of zero') AS DOUBLE)"
    refusal = f"CAST(error('SQLSTATE {code} {negative}') AS DOUBLE)"
    return f"list_transform([{{0}}], lambda x: CASE WHEN x < 0 THEN {refusal}{zero} ELSE {engine}(x) END)[1]"


_CHARACTER = (
    "list_transform([{0}], lambda x: CASE WHEN x = 0 THEN error('SQLSTATE 54000 null character not permitted') "
    "WHEN x < 0 THEN error('SQLSTATE 22023 character number must be positive') "
    "WHEN x > 1114111 OR x BETWEEN 55296 AND 57343 "
    "THEN error('SQLSTATE 54000 requested character not valid for encoding') "
    "ELSE chr(x) END)[1]"
)
"""chr(n): no text holds a NUL, wherever it comes from. (The lambda names the operand once.)"""


def _comparisons() -> Iterator[tuple[str, Overload]]:
    for mixed in ((FLOAT4, FLOAT8), (FLOAT8, FLOAT4)):
        for name, compute in arithmetic.COMPARISONS.items():
            yield name, Overload(mixed, BOOL, f"({{0}} {name} {{1}})", compute)
    for of in (one for one in STORED if one not in (VARCHAR, JSON)):
        for name, compute in arithmetic.COMPARISONS.items():
            yield name, Overload((of, of), BOOL, f"({key_text(of, '{0}')} {name} {key_text(of, '{1}')})", compute)


def _dates() -> Iterator[tuple[str, Overload]]:
    yield "+", Overload((DATE, INT4), DATE, "({0} + {1})")
    yield "+", Overload((INT4, DATE), DATE, "({1} + {0})")
    yield "-", Overload((DATE, INT4), DATE, "({0} - {1})")
    yield "-", Overload((DATE, DATE), INT4, "CAST({0} - {1} AS INTEGER)", lambda a, b: (a - b).days)
    day = "CAST({{{}}} AS TIMESTAMP)"
    of_day, of_day_back = (_of_day(compute) for compute in (intervals.moved, intervals.moved_back))
    forth, other, back = (
        intervals.engine_moved(*operands) for operands in (("{0}", "{1}"), ("{1}", "{0}"), ("{0}", "{1}", "-"))
    )
    day_forth, day_other, day_back = (
        intervals.engine_moved(*operands)
        for operands in ((day.format(0), "{1}"), (day.format(1), "{0}"), (day.format(0), "{1}", "-"))
    )
    yield "+", Overload((DATE, INTERVAL), TIMESTAMP, day_forth, of_day)
    yield "+", Overload((INTERVAL, DATE), TIMESTAMP, day_other, _swapped(of_day))
    yield "-", Overload((DATE, INTERVAL), TIMESTAMP, day_back, of_day_back)
    for of in (TIMESTAMP, TIMESTAMPTZ):  # of which one is moved in the session's zone, by the engine alone
        moved = intervals.moved if of is TIMESTAMP else None
        yield "+", Overload((of, INTERVAL), of, forth, moved)
        yield "+", Overload((INTERVAL, of), of, other, moved and _swapped(moved))
        yield "-", Overload((of, INTERVAL), of, back, moved and intervals.moved_back)
        micros = "epoch_us({0}) - epoch_us({1})"
        yield "-", Overload((of, of), INTERVAL, intervals.of_engine_micros(micros), intervals.between)
    yield "+", Overload((DATE, TIME), TIMESTAMP, "(CAST({0} AS TIMESTAMP) + to_microseconds({1}))", clock_times.at)
    yield "+", Overload((TIME, DATE), TIMESTAMP, "(CAST({1} AS TIMESTAMP) + to_microseconds({0}))", clock_times.at_day)


def _of_day(compute: Compute) -> Compute:
    return lambda day, by: compute(arithmetic.midnight(day), by)


def _swapped(compute: Compute) -> Compute:
    return lambda a, b: compute(b, a)


def _texts() -> Iterator[tuple[str, Overload]]:
    two = (TEXT, TEXT)
    joined = guarded("strlen({0}) + strlen({1})", "{1}")
    yield "||", Overload(two, TEXT, f"({{0}} || {joined})", texts.concatenated)
    yield "~~", Overload(two, BOOL, "({0} LIKE {1} ESCAPE '\\')", texts.like)
    yield "!~~", Overload(two, BOOL, "({0} NOT LIKE {1} ESCAPE '\\')", texts.not_like)
    yield "~~*", Overload(two, BOOL, "({0} ILIKE {1} ESCAPE '\\')")
    yield "!~~*", Overload(two, BOOL, "({0} NOT ILIKE {1} ESCAPE '\\')")
    yield "~", Overload(two, BOOL, "regexp_matches({0}, {1})")
    yield "!~", Overload(two, BOOL, "(NOT regexp_matches({0}, {1}))")
    yield "~*", Overload(two, BOOL, "regexp_matches({0}, {1}, 'i')")
    yield "!~*", Overload(two, BOOL, "(NOT regexp_matches({0}, {1}, 'i'))")


def _table(*groups: Iterator[tuple[str, Overload]]) -> dict[str, tuple[Overload, ...]]:
    table: dict[str, tuple[Overload, ...]] = {}
    for group in groups:
        for name, overload in group:
            table[name] = (*table.get(name, ()), overload)
    return table


def _documents(lines: Iterator[documents.Line], *, of_rows: bool = False) -> Iterator[tuple[str, Overload]]:
    for line in lines:
        yield line.name, Overload(line.args, line.result, line.template, None if of_rows else line.computed)


def _arrays(lines: Iterator[arrays.Line]) -> Iterator[tuple[str, Overload]]:
    for name, args, result, template in lines:
        yield name, Overload(args, result, template)


def _own(table: Iterable[Own]) -> Iterator[tuple[str, Overload]]:
    for own in table:
        for name in own.called:
            yield name, Overload(own.args, own.result, own.template, own.compute)


OPERATORS = _table(
    _arithmetic(), _comparisons(), _dates(), _texts(), _arrays(arrays.operators()), _own(bytestrings.OPERATORS),
    _own(intervals.OPERATORS), _own(clock_times.OPERATORS), _documents(documents.operators()),
)  # fmt: skip


def _scalar() -> Iterator[tuple[str, Overload]]:
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
        yield name, Overload((FLOAT8,), FLOAT8, f"{name}({{0}})")
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
    yield "gen_random_uuid", Overload((), UUID, "gen_random_uuid()")
    yield "uuidv4", Overload((), UUID, "gen_random_uuid()")


def _of_numerics() -> Iterator[tuple[str, Overload]]:
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


def _strings() -> Iterator[tuple[str, Overload]]:
    yield "upper", Overload((TEXT,), TEXT, "upper({0})", texts.upper)
    yield "lower", Overload((TEXT,), TEXT, "lower({0})", texts.lower)
    for name in ("length", "char_length", "character_length"):
        yield name, Overload((TEXT,), INT4, "CAST(length({0}) AS INTEGER)", len)
    yield "octet_length", Overload((TEXT,), INT4, "CAST(octet_length(encode({0})) AS INTEGER)", texts.octet_length)
    for name in ("substr", "substring"):
        rest = "CASE WHEN {1} IS NULL THEN NULL ELSE substr({0}, greatest({1}, 1)) END"
        yield name, Overload((TEXT, INT4), TEXT, rest, texts.substring)
        part = (
            "CASE WHEN {1} IS NULL OR {2} IS NULL THEN NULL ELSE substr({0}, greatest({1}, 1),"
            " greatest(least({1}::BIGINT + {2}, 2147483647) - greatest({1}, 1), 0)) END"
        )
        yield name, Overload((TEXT, INT4, INT4), TEXT, part, texts.substring)
    yield "left", Overload((TEXT, INT4), TEXT, "left({0}, {1})", texts.left)
    yield "right", Overload((TEXT, INT4), TEXT, "right({0}, {1})", texts.right)
    yield "position", Overload((TEXT, TEXT), INT4, "CAST(strpos({0}, {1}) AS INTEGER)")
    yield "strpos", Overload((TEXT, TEXT), INT4, "CAST(strpos({0}, {1}) AS INTEGER)")
    count = "(strlen({0}) - strlen(replace({0}, {1}, ''))) // greatest(strlen({1}), 1)"
    other = grown(f"strlen({{0}}) + {count} * greatest(strlen({{2}}) - strlen({{1}}), 0)", "{2}")
    replaced = f"CASE WHEN {{1}} = '' AND {{2}} IS NOT NULL THEN {{0}} ELSE replace({{0}}, {{1}}, {other}) END"
    yield "replace", Overload((TEXT, TEXT, TEXT), TEXT, replaced, texts.replaced)
    yield "translate", Overload((TEXT, TEXT, TEXT), TEXT, "translate({0}, {1}, {2})")
    times = grown("strlen({0}) * CAST({1} AS BIGINT)", "greatest({1}, {1} - {1})", "BIGINT")  # NULL stays NULL
    yield "repeat", Overload((TEXT, INT4), TEXT, f"repeat({{0}}, {times})")
    yield "reverse", Overload((TEXT,), TEXT, "reverse({0})")
    yield "lpad", Overload((TEXT, INT4), TEXT, _padded("lpad", "' '"))
    yield "lpad", Overload((TEXT, INT4, TEXT), TEXT, _padded("lpad", "{2}"))
    yield "rpad", Overload((TEXT, INT4), TEXT, _padded("rpad", "' '"))
    yield "rpad", Overload((TEXT, INT4, TEXT), TEXT, _padded("rpad", "{2}"))
    trims = (
        ("btrim", "trim", texts.trimmed),
        ("ltrim", "ltrim", texts.trimmed_left),
        ("rtrim", "rtrim", texts.trimmed_right),
    )
    for name, engine, strip in trims:
        yield name, Overload((TEXT,), TEXT, f"{engine}({{0}}, ' ')", strip)
        yield name, Overload((TEXT, TEXT), TEXT, f"{engine}({{0}}, {{1}})", strip)
    yield "like_escape", Overload((TEXT, TEXT), TEXT, "", texts.escaped_by)
    yield "split_part", Overload((TEXT, TEXT, INT4), TEXT, "split_part({0}, {1}, {2})")
    yield "starts_with", Overload((TEXT, TEXT), BOOL, "starts_with({0}, {1})", str.startswith)
    yield "ascii", Overload((TEXT,), INT4, "CAST(ascii({0}) AS INTEGER)")
    yield "chr", Overload((INT4,), TEXT, _CHARACTER)
    yield "md5", Overload((TEXT,), TEXT, "md5({0})")
    length = "strlen({0}) * (1 + strlen({2}) - strlen(replace({2}, '\\', ''))) + strlen({2})"
    once = f"regexp_replace({{0}}, {{1}}, {grown(length, '{2}')})"
    often = grown(f"{length} * len(regexp_extract_all({{0}}, {{1}}))", "{2}")
    yield "regexp_replace", Overload((TEXT, TEXT, TEXT), TEXT, once)
    yield "regexp_replace", Overload((TEXT, TEXT, TEXT, TEXT), TEXT, f"regexp_replace({{0}}, {{1}}, {often}, {{3}})")
    yield "concat", Overload((TEXT,), TEXT, _checked("concat({all})"), strict=False, variadic=True)
    yield "concat_ws", Overload((TEXT, TEXT), TEXT, _checked("concat_ws({all})"), strict=False, variadic=True)
    doubled = "replace(replace({0}, '\\', '\\\\'), '''', '''''')"
    quoted = f"(CASE WHEN contains({{0}}, '\\') THEN 'E''' ELSE '''' END || {doubled} || '''')"
    yield "pg_input_is_valid", Overload((TEXT, TEXT), BOOL, _is_valid(), arithmetic.is_valid)
    yield "quote_literal", Overload((TEXT,), TEXT, _checked(quoted))
    yield "quote_nullable", Overload((TEXT,), TEXT, _checked(f"coalesce({quoted}, 'NULL')"), strict=False)


def _is_valid() -> str:
    """True when a text is a value of the type that another text names, for the engine."""
    cases = {of: f"regexp_full_match({{0}}, '{pattern}') AND TRY_CAST(trim({{0}}) AS {of.duck}) IS NOT NULL"
             for of, (pattern, _) in _TEXTS_OF.items()}  # fmt: skip
    cases |= {of: f"{documents.WORD}is_{of}({{0}})" for of in DOCUMENTS}
    cases |= {NUMERIC: "numeric_is_valid({0})", BOOL: f"{_IS_TRUE} OR {_IS_FALSE}", **dict.fromkeys(TEXTUAL, "true")}
    cases |= {of: own.template for of, (_, _, own) in TEXTS.items()}
    words = {of: ", ".join(f"'{word}'" for word, named in sorted(TYPE_WORDS.items()) if named is of) for of in cases}
    whens = " ".join(f"WHEN lower({{1}}) IN ({words[of]}) THEN {case}" for of, case in cases.items())
    unknown = "CAST(error('SQLSTATE 42704 type \"' || {1} || '\" does not exist') AS BOOLEAN)"
    return f"CASE WHEN {{0}} IS NULL OR {{1}} IS NULL THEN NULL {whens} ELSE {unknown} END"


def _padded(name: str, fill: str) -> str:
    """lpad or rpad; nothing to fill with leaves the text, cut if it is too long."""
    count = grown("{1}", "greatest({1}, {1} - {1})", "INTEGER")  # NULL stays NULL
    return f"CASE WHEN {fill} = '' THEN left({{0}}, {count}) ELSE {name}({{0}}, {count}, {fill}) END"


def _checked(computed: str) -> str:
    """For calls that cannot say beforehand how long their result is, and are not much longer than their operands."""
    return f"list_transform([{computed}], lambda x: {guarded('strlen(x)', 'x')})[1]"


_EXTRACTED_DAY = "numeric_of_whole(CAST(date_part({0}, {1}) AS BIGINT))"
_EXTRACTED = (
    "CASE WHEN lower({0}) = 'epoch' THEN numeric_of_units(epoch_us({1}), 6)"
    " WHEN lower({0}) IN ('second', 'seconds', 'sec', 'secs', 's') THEN"
    " numeric_of_units(CAST(date_part('microseconds', {1}) AS BIGINT), 6)"
    " WHEN lower({0}) IN ('millisecond', 'milliseconds', 'msec', 'msecs', 'ms') THEN"
    " numeric_of_units(CAST(date_part('microseconds', {1}) AS BIGINT), 3)"
    f" ELSE {_EXTRACTED_DAY} END"
)


def _times() -> Iterator[tuple[str, Overload]]:
    yield "now", Overload((), TIMESTAMPTZ, "", arithmetic.now, strict=False)
    for name in ("transaction_timestamp", "statement_timestamp"):
        yield name, Overload((), TIMESTAMPTZ, "", arithmetic.now, strict=False)
    yield "clock_timestamp", Overload((), TIMESTAMPTZ, "now()")
    for of in (DATE, TIMESTAMP, TIMESTAMPTZ):
        yield "date_part", Overload((TEXT, of), FLOAT8, "CAST(date_part({0}, {1}) AS DOUBLE)")
        yield "extract", Overload((TEXT, of), NUMERIC, _EXTRACTED_DAY if of is DATE else _EXTRACTED)
    for of in (TIMESTAMP, TIMESTAMPTZ):
        yield "date_trunc", Overload((TEXT, of), of, f"CAST(date_trunc({{0}}, {{1}}) AS {of.duck})")
    of_day = "CAST(date_trunc({0}, CAST({1} AS TIMESTAMPTZ)) AS TIMESTAMPTZ)"
    yield "date_trunc", Overload((TEXT, DATE), TIMESTAMPTZ, of_day)
    yield "timezone", Overload((TEXT, TIMESTAMPTZ), TIMESTAMP, "({1} AT TIME ZONE {0})")
    yield "timezone", Overload((TEXT, TIMESTAMP), TIMESTAMPTZ, "({1} AT TIME ZONE {0})")
    yield "make_date", Overload((INT4, INT4, INT4), DATE, "make_date({0}, {1}, {2})")
    yield "to_timestamp", Overload((FLOAT8,), TIMESTAMPTZ, "to_timestamp({0})")


def _aggregates() -> Iterator[tuple[str, Overload]]:
    def agg(name: str, args: tuple[Type, ...], result: Type, template: str) -> tuple[str, Overload]:
        return name, Overload(args, result, template, aggregate=True)

    for of in STORED:
        yield agg("count", (of,), INT8, "count")
        if of not in (BOOL, UUID, VARCHAR, *DOCUMENTS):
            yield agg("min", (of,), of, "min")
            yield agg("max", (of,), of, "max")
    for of in (*INTEGERS, NUMERIC):
        yield agg("sum", (of,), INT8 if of in (INT2, INT4) else NUMERIC, "sum")
        yield agg("avg", (of,), NUMERIC, "avg")
    for name in ("sum", "avg"):
        yield agg(name, (INTERVAL,), INTERVAL, name)
    for of in FLOATS:
        yield agg("sum", (of,), of, "sum")
        yield agg("avg", (of,), FLOAT8, "avg")
    for name in DEVIATIONS:
        yield agg(name, (FLOAT8,), FLOAT8, name)
        for of in (*INTEGERS, NUMERIC):
            yield agg(name, (of,), NUMERIC, name)
    for name in ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept", "regr_r2"):
        yield agg(name, (FLOAT8, FLOAT8), FLOAT8, name)
    for name in ("regr_avgx", "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy"):
        yield agg(name, (FLOAT8, FLOAT8), FLOAT8, name)
    for of in STORED:
        yield agg("any_value", (of,), of, "any_value")
    yield agg("bool_and", (BOOL,), BOOL, "bool_and")
    yield agg("every", (BOOL,), BOOL, "bool_and")
    yield agg("bool_or", (BOOL,), BOOL, "bool_or")
    yield agg("string_agg", (TEXT, TEXT), TEXT, "string_agg")
    for of in INTEGERS:
        yield agg("bit_and", (of,), of, "bit_and")
        yield agg("bit_or", (of,), of, "bit_or")
        yield agg("bit_xor", (of,), of, "bit_xor")


def _windows() -> Iterator[tuple[str, Overload]]:
    for name in ("row_number", "rank", "dense_rank"):
        yield name, Overload((), INT8, name, aggregate=True)
    for name in ("percent_rank", "cume_dist"):
        yield name, Overload((), FLOAT8, name, aggregate=True)
    yield "ntile", Overload((INT4,), INT4, "ntile", aggregate=True)
    for of in STORED:
        for name in ("first_value", "last_value"):
            yield name, Overload((of,), of, name, aggregate=True)
        yield "nth_value", Overload((of, INT4), of, "nth_value", aggregate=True)
        for name in ("lag", "lead"):
            yield name, Overload((of,), of, name, aggregate=True)
            yield name, Overload((of, INT4), of, name, aggregate=True)
            yield name, Overload((of, INT4, of), of, name, aggregate=True)


def _settings() -> Iterator[tuple[str, Overload]]:
    yield "current_setting", Overload((TEXT,), TEXT, "", arithmetic.current_setting, strict=False)
    yield "current_setting", Overload((TEXT, BOOL), TEXT, "", arithmetic.current_setting, strict=False)
    yield "set_config", Overload((TEXT, TEXT, BOOL), TEXT, "", arithmetic.set_config, strict=False)


def _array_aggregates() -> Iterator[tuple[str, Overload]]:
    for of, array in ARRAY_OF.items():
        yield "array_agg", Overload((of,), array, "array_agg", aggregate=True)


def _catalog() -> Iterator[tuple[str, Overload]]:
    """Functions that clients use when they read pg_catalog."""
    for name, args, result, template, reads in object_names.functions():
        yield name, Overload(args, result, template, relations=reads)


FORMATTED_NAME = (Overload((TEXT,), TEXT, object_names.FORMATTED_NAME, strict=False),)
"""%I of format(..)."""
FUNCTIONS = _table(
    _scalar(),
    _strings(),
    _times(),
    _settings(),
    _catalog(),
    _documents(documents.functions()),
    _arrays(plain.functions()),
    _arrays(arrays.functions({of: CAST_TEMPLATES[of, TEXT] for of in (*FLOATS, NUMERIC, *TEXTS)})),
    _own(bytestrings.FUNCTIONS),
    _own(intervals.FUNCTIONS),
    _own(clock_times.FUNCTIONS),
)
SETS = _table(_arrays(arrays.sets()), _arrays(plain.sets()), _documents(documents.sets(), of_rows=True))
"""Functions that give rows, each as a list of them."""
AGGREGATES = _table(_aggregates(), _array_aggregates())
WINDOW_ONLY = _table(_windows())


def choose(overloads: Sequence[Overload], given: Sequence[Type]) -> list[tuple[Overload, tuple[Type, ...]]]:
    """The best overloads for arguments of these types: one, or none, or several that are equally good."""
    fitting = [(o, types) for o in overloads if (types := o.types_for(len(given))) is not None and _fits(given, types)]
    if len(fitting) < 2:
        return fitting
    fitting = _best(fitting, given, lambda g, t: g is t)
    known = {g for g in given if g is not UNKNOWN}
    if len(known) == 1:
        fitting = [(o, types) for o, types in fitting if set(types) == known] or fitting
    fitting = _best(fitting, given, lambda g, t: t.is_preferred and g is not t and g is not UNKNOWN)
    fitting = _best(fitting, given, lambda g, t: t is TEXT and g is UNKNOWN)
    return _best(fitting, given, lambda g, t: t.is_preferred and g is UNKNOWN)


Fitting = list[tuple[Overload, tuple[Type, ...]]]


def _best(fitting: Fitting, given: Sequence[Type], counts: Callable[[Type, Type], bool]) -> Fitting:
    """Those with the most arguments that count, by the type that is given and the one that is taken."""
    scores = [sum(counts(g, t) for g, t in zip(given, types, strict=True)) for _, types in fitting]
    best = max(scores)
    return [one for one, score in zip(fitting, scores, strict=True) if score == best]


def _fits(given: Sequence[Type], wanted: Sequence[Type]) -> bool:
    return all(g is w or g is UNKNOWN or (g, w) in IMPLICIT for g, w in zip(given, wanted, strict=True))
