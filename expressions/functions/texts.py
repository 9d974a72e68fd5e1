"""Operators and functions of text: their types, and what computes each of one row here."""

from expressions.documents import functions as documents
from expressions.functions import casts
from expressions.functions.overloads import Named, Overload
from expressions.limits import grown, guarded
from expressions.regexes import functions as regexes
from expressions.sqltypes import BOOL, DOCUMENTS, INT4, INT8, NUMERIC, TEXT, TEXTUAL, TYPE_WORDS
from expressions.values import arithmetic, texts
from expressions.values.own import TEXTS

_STARTS_WITH = Overload((TEXT, TEXT), BOOL, "starts_with({0}, {1})", str.startswith)


def operators() -> Named:
    two = (TEXT, TEXT)
    yield "^@", _STARTS_WITH
    joined = guarded("strlen({0}) + strlen({1})", "{1}")
    yield "||", Overload(two, TEXT, f"({{0}} || {joined})", texts.concatenated)
    yield "~~", Overload(two, BOOL, "({0} LIKE {1} ESCAPE '\\')", texts.like)
    yield "!~~", Overload(two, BOOL, "({0} NOT LIKE {1} ESCAPE '\\')", texts.not_like)
    yield "~~*", Overload(two, BOOL, "({0} ILIKE {1} ESCAPE '\\')")
    yield "!~~*", Overload(two, BOOL, "({0} NOT ILIKE {1} ESCAPE '\\')")
    for name, test in regexes.TESTS.items():  # of an expression that is translated (`expressions.analysis.building`)
        yield name, Overload(two, BOOL, test.template, test.compute)


ANY_PATTERN = (
    r"CASE WHEN ends_with({1}, '\') AND regexp_matches({1}, '(^|[^\\])(\\\\)*\\$')"
    r" THEN left({1}, length({1}) - 1) || '_\' ELSE {1} END"
)
"""A pattern of LIKE that may end with its escape character: a mistake where text is left, which `_` takes. The engine
alone would refuse it where the text has ended, too."""

_CHARACTER = (
    "list_transform([{0}], lambda x: CASE WHEN x = 0 THEN error('SQLSTATE 54000 null character not permitted') "
    "WHEN x < 0 THEN error('SQLSTATE 22023 character number must be positive') "
    "WHEN x > 1114111 OR x BETWEEN 55296 AND 57343 "
    "THEN error('SQLSTATE 54000 requested character not valid for encoding') "
    "ELSE chr(x) END)[1]"
)
"""chr(n): no text holds a NUL, wherever it comes from. (The lambda names the operand once.)"""

_WORD = "[\\p{{L}}\\p{{N}}]"
_INITCAP = (
    "list_transform([string_split({0}, '')], lambda c: array_to_string(list_transform(c, lambda x, i:"
    f" CASE WHEN i = 1 OR NOT regexp_full_match(c[i - 1], '{_WORD}') THEN upper(x) ELSE lower(x) END), ''))[1]"
)


_SPLIT_PART = (
    "CASE WHEN {2} = 0 AND {0} IS NOT NULL AND {1} IS NOT NULL"
    " THEN error('SQLSTATE 22023 field position must not be zero')"
    " WHEN {1} = '' THEN CASE WHEN {2} IN (1, -1) THEN {0} ELSE left({0}, {2} - {2}) END"
    " ELSE split_part({0}, {1}, {2}) END"
)


def functions() -> Named:
    yield "upper", Overload((TEXT,), TEXT, "upper({0})", texts.upper)
    yield "lower", Overload((TEXT,), TEXT, "lower({0})", texts.lower)
    for name in ("length", "char_length", "character_length"):
        yield name, Overload((TEXT,), INT4, "CAST(length({0}) AS INTEGER)", len)
    yield "octet_length", Overload((TEXT,), INT4, "CAST(octet_length(encode({0})) AS INTEGER)", texts.octet_length)
    for name in ("substr", "substring"):
        rest = "CASE WHEN {1} IS NULL THEN NULL ELSE substr({0}, greatest({1}, 1)) END"
        yield name, Overload((TEXT, INT4), TEXT, rest, texts.substring)
        part = (
            "CASE WHEN {1} IS NULL OR {2} IS NULL THEN NULL WHEN {2} < 0 AND {0} IS NOT NULL"
            " THEN error('SQLSTATE 22011 negative substring length not allowed') ELSE substr({0}, greatest({1}, 1),"
            " greatest(least({1}::BIGINT + {2}, 2147483647) - greatest({1}, 1), 0)) END"
        )
        yield name, Overload((TEXT, INT4, INT4), TEXT, part, texts.substring)
    yield "left", Overload((TEXT, INT4), TEXT, "left({0}, {1})", texts.left)
    yield "right", Overload((TEXT, INT4), TEXT, "right({0}, {1})", texts.right)
    for name in ("position", "strpos"):
        yield name, Overload((TEXT, TEXT), INT4, "CAST(strpos({0}, {1}) AS INTEGER)", texts.position)
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
    yield "split_part", Overload((TEXT, TEXT, INT4), TEXT, _SPLIT_PART)
    yield "starts_with", _STARTS_WITH
    yield "ascii", Overload((TEXT,), INT4, "CAST(ascii({0}) AS INTEGER)")
    yield "chr", Overload((INT4,), TEXT, _CHARACTER)
    yield "md5", Overload((TEXT,), TEXT, "md5({0})")
    yield "concat", Overload((TEXT,), TEXT, _checked("concat({all})"), strict=False, variadic=True)
    yield "concat_ws", Overload((TEXT, TEXT), TEXT, _checked("concat_ws({all})"), strict=False, variadic=True)
    doubled = "replace(replace({0}, '\\', '\\\\'), '''', '''''')"
    quoted = f"(CASE WHEN contains({{0}}, '\\') THEN 'E''' ELSE '''' END || {doubled} || '''')"
    yield "pg_input_is_valid", Overload((TEXT, TEXT), BOOL, _is_valid(), arithmetic.is_valid)
    yield "quote_literal", Overload((TEXT,), TEXT, _checked(quoted))
    yield "quote_nullable", Overload((TEXT,), TEXT, _checked(f"coalesce({quoted}, 'NULL')"), strict=False)
    for of, mask in ((INT4, 2**32 - 1), (INT8, 2**64 - 1)):
        bits = f"(CAST({{0}} AS HUGEINT) & {mask}::HUGEINT)"
        yield "to_hex", Overload((of,), TEXT, f"lower(hex({bits}))")
        yield "to_bin", Overload((of,), TEXT, f"bin({bits})")
    yield "bit_length", Overload((TEXT,), INT4, "CAST(octet_length(encode({0})) * 8 AS INTEGER)")
    yield "initcap", Overload((TEXT,), TEXT, _INITCAP)
    joined = "left({0}, {2} - 1) || " + guarded("strlen({0}) + strlen({1})", "{1}") + " || substr({0}, {2} + %s)"
    refused = "CASE WHEN {2} <= 0 THEN error('SQLSTATE 22011 negative substring length not allowed') ELSE %s END"
    yield "overlay", Overload((TEXT, TEXT, INT4), TEXT, refused % (joined % "length({1})"))
    yield "overlay", Overload((TEXT, TEXT, INT4, INT4), TEXT, refused % (joined % "{3}"))


def _is_valid() -> str:
    """True when a text is a value of the type that another text names, for the engine."""
    cases = {of: f"regexp_full_match({{0}}, '{pattern}') AND TRY_CAST(trim({{0}}) AS {of.duck}) IS NOT NULL"
             for of, (pattern, _) in casts.TEXTS_OF.items()}  # fmt: skip
    cases |= {of: f"{documents.WORD}is_{of}({{0}})" for of in DOCUMENTS}
    cases |= {
        NUMERIC: "numeric_is_valid({0})",
        BOOL: f"{casts.IS_TRUE} OR {casts.IS_FALSE}",
        **dict.fromkeys(TEXTUAL, "true"),
    }
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
