"""Casts: which there are, which are made unasked, and what computes each of one row here."""

from functools import cache

from expressions.documents import functions as documents
from expressions.limits import guarded
from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    BPCHAR,
    BYTEA,
    CHAR,
    DATE,
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
    UUID,
    VARCHAR,
    VECTORS,
    Type,
)
from expressions.values import arithmetic, bytestrings, clock_times, object_names
from expressions.values.arithmetic import Compute
from expressions.values.own import ARRAY_TEXTS, DOUBLE_TEXT, TEXTS
from expressions.values.system_values import OID_COUNT

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
    | {(TEXT, NAME), (VARCHAR, NAME), (BPCHAR, NAME)}
    | {(ARRAY_OF[NAME], ARRAY_OF[TEXT]), (ARRAY_OF[VARCHAR], ARRAY_OF[TEXT])}
)
COMMON = IMPLICIT | {(ARRAY_OF[a], ARRAY_OF[b]) for a, b in IMPLICIT if {a, b} <= set(STORED) & set(ARRAY_OF)}
"""Casts to the one type of several values: those of elements make an array one of others, too."""
_ASSIGNMENT = IMPLICIT | {
    (TEXT, VARCHAR), (TEXT, BPCHAR), (VARCHAR, BPCHAR),
    (INT4, INT2), (INT8, INT2), (INT8, INT4), (FLOAT8, FLOAT4), (TIMESTAMP, DATE), (TIMESTAMPTZ, DATE),
    (TIMESTAMPTZ, TIMESTAMP), (TIMESTAMP, TIME), (TIMESTAMPTZ, TIME), (INTERVAL, TIME), (JSON, JSONB), (JSONB, JSON),
} | {(of, whole) for of in (NUMERIC, *FLOATS) for whole in INTEGERS} | {(of, NUMERIC) for of in FLOATS}  # fmt: skip
ASSIGNMENT = _ASSIGNMENT | {
    (ARRAY_OF[a], ARRAY_OF[b]) for a, b in _ASSIGNMENT if a in ARRAY_OF and b in ARRAY_OF and not {a, b} & set(SYSTEM)
}

MOMENT_CHARS = 36
"""Of a timestamptz in an array, at most."""
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
TO_REAL = (
    "list_transform([{0}], lambda x: CASE WHEN isinf(x) OR isnan(x) THEN CAST(x AS FLOAT)"
    " WHEN abs(x) >= 3.4028235677973366e38::DOUBLE THEN"
    " CAST(error('SQLSTATE 22003 value out of range: overflow') AS FLOAT)"
    " WHEN x <> 0 AND CAST(x AS FLOAT) = 0 THEN CAST(error('SQLSTATE 22003 value out of range: underflow') AS FLOAT)"
    " ELSE CAST(x AS FLOAT) END)[1]"
)
_MOMENT_TEXT = (
    "(CAST({0} AS VARCHAR) || CASE WHEN (epoch_us({0}) - epoch_us(CAST({0} AS TIMESTAMP))) % 60000000 = 0 THEN ''"
    " ELSE ':' || lpad(CAST(abs(epoch_us({0}) - epoch_us(CAST({0} AS TIMESTAMP))) // 1000000 % 60 AS VARCHAR), 2, '0')"
    " END)"
)
"""The engine leaves out the seconds by which a zone of long ago was beside another."""
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
TEXTS_OF = {
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
IS_TRUE = "regexp_full_match(lower(trim({0})), 't(r(ue?)?)?|y(es?)?|on|1')"
IS_FALSE = "regexp_full_match(lower(trim({0})), 'f(a(l(se?)?)?)?|no?|off?|0')"

TEMPLATES: dict[tuple[Type, Type], str] = {
    **{(a, b): "rtrim({0}, ' ')" if b is BPCHAR else "{0}" for a in TEXTUAL for b in TEXTUAL if a is not b},
    (FLOAT8, TEXT): _DOUBLE_TEXT,
    (FLOAT4, TEXT): _REAL_TEXT,
    (FLOAT8, FLOAT4): TO_REAL,
    **{(TEXT, of): _from_text(of, *texts_of) for of, texts_of in TEXTS_OF.items()},
    (TEXT, BOOL): (
        f"CASE WHEN {{0}} IS NULL THEN NULL WHEN {IS_TRUE} THEN true WHEN {IS_FALSE} THEN false"
        f" ELSE CAST({_NOT_TEXT_OF.format(code='22P02', name='boolean')} AS BOOLEAN) END"
    ),
    **{(of, NUMERIC): "numeric_of_whole(CAST({0} AS BIGINT))" for of in INTEGERS},
    **{(NUMERIC, of): f"CAST(numeric_to_{of.name}({{0}}) AS {of.duck})" for of in INTEGERS},
    (NUMERIC, FLOAT8): _TO_FLOAT.format(of="DOUBLE", name="double"),
    (NUMERIC, FLOAT4): _TO_FLOAT.format(of="FLOAT", name="real"),
    (FLOAT8, NUMERIC): "numeric_of_double({0})",
    (FLOAT4, NUMERIC): "numeric_of_real(CAST({0} AS DOUBLE))",
    (NUMERIC, TEXT): _NUMERIC_TEXT,
    (TIMESTAMPTZ, TEXT): _MOMENT_TEXT,
    (TEXT, NUMERIC): "numeric_of_text({0})",
    **{(of, to): template for of, to, template, _ in documents.casts()},
    **{(TEXT, of): own.template for of, (own, _, _) in TEXTS.items()},
    **{(of, TEXT): own.template for of, (_, own, _) in TEXTS.items()},
    **{(own.args[0], own.result): own.template for own in ARRAY_TEXTS},
    (BYTEA, TEXT): "('\\x' || lower(hex({0})))",
    (TIMESTAMP, TIME): "(epoch_us({0}) - epoch_us(date_trunc('day', {0})))",
    (TIMESTAMPTZ, TIME): (
        "(epoch_us(CAST({0} AS TIMESTAMP)) - epoch_us(CAST(date_trunc('day', CAST({0} AS TIMESTAMP)) AS TIMESTAMP)))"
    ),
    **{(own.args[0], own.result): own.template for own in (*clock_times.CASTS, *bytestrings.CASTS)},
}

_PLAIN = _ASSIGNMENT | {(INT4, BOOL), (BOOL, INT4)} | {(t, TEXT) for t in STORED if t not in FLOATS}
TEMPLATES |= {pair: "CAST({0} AS " + pair[1].duck + ")" for pair in _PLAIN if pair not in TEMPLATES}


TEMPLATES |= {
    (JSONB, of): TEMPLATES[NUMERIC, of].replace("{0}", TEMPLATES[JSONB, NUMERIC].replace("numeric", of.name))
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
TEMPLATES |= {pair: "{0}" for of, used in SYSTEM.items() for pair in ((of, used), (used, of))}
TEMPLATES |= {pair: "{0}" for of in NAMED for pair in ((of, OID), (OID, of))}
TEMPLATES |= {
    (OID, TEXT): "CAST({0} AS VARCHAR)", (TEXT, OID): _OID_OF_TEXT, (NAME, CHAR): "{0}[1:1]",
    **{(of, OID): f"(CAST({{0}} AS BIGINT) & {OID_COUNT - 1})" for of in (INT2, INT4)}, (TEXT, CHAR): "{0}[1:1]",
    (OID, INT4): f"CAST(CAST(({{0}} + {SIGN}) & {OID_COUNT - 1} AS BIGINT) - {SIGN} AS INTEGER)",
    (INT8, OID): _OID_OF_BIGINT,
    (CHAR, NAME): "{0}", (ARRAY_OF[NAME], ARRAY_OF[TEXT]): "{0}", (ARRAY_OF[TEXT], ARRAY_OF[NAME]): "{0}",
    (ARRAY_OF[OID], ARRAY_OF[INT8]): "{0}", (ARRAY_OF[INT8], ARRAY_OF[OID]): "{0}",
    (ARRAY_OF[INT4], ARRAY_OF[OID]): f"list_transform({{0}}, lambda e: CAST(e AS BIGINT) & {OID_COUNT - 1})",
    (INT2VECTOR, ARRAY_OF[INT2]): "CAST({0} AS SMALLINT[])",
}  # fmt: skip
TEMPLATES |= dict.fromkeys((*VECTORS.items(), (VARCHAR, NAME), (BPCHAR, NAME)), "{0}")
TEMPLATES |= {(a, b): template for a, b, template in object_names.casts()}
TEMPLATES |= {
    (a, b): f"CAST({{0}} AS {b.duck})"
    for a in ARRAY_OF.values()
    for b in ARRAY_OF.values()
    if a is not b and a.element in WIDENED and b.element in WIDENED
}


TEMPLATES |= {
    (ARRAY_OF[of], ARRAY_OF[NUMERIC]): "list_transform({0}, lambda e: numeric_of_whole(CAST(e AS BIGINT)))"
    for of in INTEGERS
}
TEMPLATES |= {
    (ARRAY_OF[NUMERIC], ARRAY_OF[FLOAT8]): f"list_transform({{0}}, lambda e: {_ELEMENT_TO_DOUBLE})",
    (ARRAY_OF[FLOAT8], ARRAY_OF[NUMERIC]): "list_transform({0}, lambda e: numeric_of_double(e))",
}
TEMPLATES |= {
    (ARRAY_OF[a], ARRAY_OF[b]): f"list_transform({{0}}, lambda e: {template.format('e')})"
    for (a, b), template in tuple(TEMPLATES.items())
    if a in ARRAY_OF and b in ARRAY_OF and (ARRAY_OF[a], ARRAY_OF[b]) not in TEMPLATES
}
TEMPLATES |= {  # the engine takes a NaN that a function gives it for NULL
    (TEXT, ARRAY_OF[of]): TEMPLATES[ARRAY_OF[TEXT], ARRAY_OF[of]].format(TEMPLATES[TEXT, ARRAY_OF[TEXT]])
    for of in FLOATS
}
_QUOTED = f"coalesce('\"' || {_MOMENT_TEXT.format('e')} || '\"', 'NULL')"
_MOMENTS = guarded(f"len(l) * {MOMENT_CHARS}", f"list_transform(l, lambda e: {_QUOTED})", "VARCHAR[]")
TEMPLATES[ARRAY_OF[TIMESTAMPTZ], TEXT] = (
    f"list_transform([{{0}}], lambda l: '{{{{' || array_to_string({_MOMENTS}, ',') || '}}}}')[1]"
)
_DOCUMENT_CASTS = {(of, to): compute for of, to, _, compute in documents.casts()}
_DOCUMENT_CASTS |= documents.number_casts()
OWN_CASTS = {(own.args[0], own.result): own.compute for own in (*clock_times.CASTS, *bytestrings.CASTS)}


def is_assigned(given: Type, wanted: Type) -> bool:
    """True when a column of the second type takes a value of the first without a cast; any may become a text."""
    if wanted.element in TEXTUAL and given.element is not None:
        return (given, wanted) in TEMPLATES
    return (given, wanted) in ASSIGNMENT or wanted in TEXTUAL


@cache
def compute_of(source: Type, target: Type) -> Compute | None:
    """The Python twin of a cast."""
    if (source, target) in _DOCUMENT_CASTS:
        return _DOCUMENT_CASTS[source, target]
    if source is TEXT and target.sql_type is not None:
        return arithmetic.text_to(target.sql_type)
    if target is TEXT and source.sql_type is not None:
        return arithmetic.text_of(source.sql_type)
    if source.element is not None and target.element is not None:
        cast = compute_of(source.element, target.element)
        if cast is None or (source.element, target.element) in arithmetic.ZONED:
            return None
        return lambda items: tuple(None if item is None else cast(item) for item in items)
    return arithmetic.CASTS.get((source, target)) or OWN_CASTS.get((source, target))
