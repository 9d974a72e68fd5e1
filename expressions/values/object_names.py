"""Names of catalog objects and their oids: regclass, regtype and the like, and functions that describe an object.

What an object is called and how it is written out stands in relations that are made with the query engine's other
rows of the catalog (`nodes.catalog_views`), so the functions are look-ups in them:

    objects      kind, oid, the name that is shown, a name it is found by
    types        the same of types
    functions    the same of functions
    definitions  kind, oid, part (0: the whole), whether for people, the text
    signatures   oid of a function, its arguments, its result

What a session has set is looked up in the same way where a query names a setting by a column:

    shown_settings   name in small letters, what SHOW answers
"""

import re
from collections.abc import Iterator

from postgast import pg_query_pb2 as pb

from expressions.grammar import is_reserved
from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    BPCHAR,
    HEAD,
    INT4,
    INT8,
    MOMENTS,
    NAME,
    NAMED,
    NUMERIC,
    OF_A_LENGTH,
    OID,
    OIDVECTOR,
    REGCLASS,
    REGNAMESPACE,
    REGPROC,
    REGPROCEDURE,
    REGROLE,
    REGTYPE,
    REGTYPES,
    STORED,
    SYSTEM,
    TEXT,
    VARCHAR,
    VECTORS,
    Type,
)

OBJECTS, TYPES, DEFINITIONS, SIGNATURES = "objects", "types", "definitions", "signatures"
FUNCTIONS, SOURCES = "functions", "sources"
SHOWN_SETTINGS = "shown_settings"
KINDS = {REGCLASS: "c", REGTYPE: "t", REGNAMESPACE: "n", REGROLE: "r", REGPROC: "p", REGPROCEDURE: "d"}
PSEUDO_TYPES = {
    "record": 2249, "trigger": 2279, "event_trigger": 3838, "void": 2278, "anyarray": 2277, "anyelement": 2283,
    "anycompatible": 5077, "anycompatiblearray": 5078, "anynonarray": 2776,
}  # fmt: skip
"""What functions take and give that is no type of a value: their names lead to oids, pg_type has no rows of them."""
SEQUENCE = "s"
"""Of a column: the sequence behind it."""
INDEX, CONSTRAINT = "i", "k"
COMMENT, COMMENT_ON_CONSTRAINT = "r", "c"
VIEW = "v"
"""Kinds of definitions."""
PG_CLASS_KIND, FIRST_OID = 17, 16384
"""The place of relkind in pg_class, and the first oid that an object of users has."""
UNSEARCHED = 12400, 16383
"""Oids of relations that are named with their schema: those of information_schema, and views of our own."""
_WHAT = {
    REGCLASS: ("42P01", "relation"), REGTYPE: ("42704", "type"), REGNAMESPACE: ("3F000", "schema"),
    REGROLE: ("42704", "role"), REGPROC: ("42883", "function"), REGPROCEDURE: ("42883", "function"),
}  # fmt: skip


def _bare(pattern: str) -> str:
    """A pattern within a template, whose brackets mean places."""
    return pattern.replace("{", "{{").replace("}", "}}")


_WORD = r'"(?:[^"]|"")+"|[^".\s][^.\s]*'
_NAMES = rf"\s*(?:{_WORD})\s*(?:\.\s*(?:{_WORD})\s*)*"
"""Names with points between: one in quotes may hold anything, another ends at a point or a space."""
PLAIN = "[a-z_][a-z0-9_$]*"
_INNER = "replace(w[2:-2], '\"\"', '\"')"
_SPELLED_WORD = (
    f"CASE WHEN NOT starts_with(w, '\"') THEN lower(w) WHEN regexp_full_match({_INNER}, '{PLAIN}') THEN {_INNER}"
    " ELSE w END"
)
_WORDS = f"list_transform(regexp_extract_all(u.x, '{_WORD}'), lambda w: {_SPELLED_WORD})"
_SPELLED_NAMES = (
    f"CASE WHEN regexp_full_match(u.x, '{_NAMES}') THEN array_to_string(CASE WHEN len({_WORDS}) = 3"
    f" AND {_WORDS}[1] = 'schemalab' THEN {_WORDS}[2:] ELSE {_WORDS} END, '.') END"
)
_SCALE = r"(?:[1-9]\d?\d?|1000)(?:,-?(?:\d\d?\d?|1000))?"
_FIELDS = "year to month|day to hour|day to minute|hour to minute|year|month|day|hour|minute"
_TO_TYPE = (
    (r"\s+", " "), (r" ?([(),\[\]]) ?", r"\1"), (r"\)([a-z])", r") \1"), (r"^ | $", ""),
    (r"^((?:pg_catalog\.)?(?:numeric|decimal|dec))\(" + _SCALE + r"\)", r"\1"),
    (r"^((?:pg_catalog\.)?(?:varchar|bpchar|(?:char|character)(?: varying)?))\([1-9]\d?\d?\d?\d?\d?\d?\)", r"\1"),
    (r"^((?:pg_catalog\.)?(?:timestamp|timestamptz|time|timetz))\(\d+\)", r"\1"),
    (r"^float\((?:[1-9]|1\d|2[0-4])\)", "real"), (r"^float\((?:2[5-9]|[34]\d|5[0-3])\)", "double precision"),
    (rf"^interval(?: (?:{_FIELDS})|(?: (?:day|hour|minute) to)? second(?:\(\d+\))?|\(\d+\))(\[|$)", r"interval\1"),
    (r" array(?:\[\d+\])?$", "[]"), (r"(?:\[\d*\])+$", "[]"),
    (r"^float(\[|$)", r"double precision\1"), (r"^(?:decimal|dec)(\[|$)", r"numeric\1"),
    (r"^char(\[|$)", r"character\1"), (r"^char(?:acter)? varying", "character varying"),
)  # fmt: skip
"""Ways to write the name of a type, without its modifier (which no oid has), and what each is looked up as."""


def _spelled_type() -> str:
    text = "lower(u.x)"
    for pattern, shorter in _TO_TYPE:
        text = f"regexp_replace({text}, '{pattern}', '{shorter}', 'g')"
    return f"CASE WHEN contains(u.x, '\"') THEN trim(replace(u.x, '\"', '')) ELSE {text} END"


_SPELLED_TYPE = _spelled_type()
"""A name as it is looked up: one in quotes keeps its capitals, and its quotes where it needs them."""


_SHORTER = (
    (r"\s*([(),.])\s*", r"\1"), (r"^\s+|\s+$", ""), (r"\s+", " "), (r"\bpg_catalog\.", ""),
    (" without time zone", ""), (" with time zone", "tz"), (r"\b(int|integer)\b", "int4"), (r"\bsmallint\b", "int2"),
    (r"\bbigint\b", "int8"), (r"\bboolean\b", "bool"), (r"\breal\b", "float4"),
    (r"\b(double precision|float)\b", "float8"),    (r"\bcharacter varying\b", "varchar"), (r"\bdecimal\b", "numeric"),
)  # fmt: skip
"""Ways to write the name of a function and its arguments, and what each is looked up as."""


def _spelled_function() -> str:
    """A function with the types of its arguments, as it is looked up."""
    text = "lower(u.x)"
    for pattern, shorter in _SHORTER:
        text = f"regexp_replace({text}, '{pattern}', '{shorter}', 'g')"
    return text


_IDENTIFIER = r'"(?:[^"]|"")+"|[A-Za-z_\x{80}-\x{10ffff}][A-Za-z0-9_$\x{80}-\x{10ffff}]*'
_IDENTIFIERS = rf"\s*(?:{_IDENTIFIER})\s*(?:\.\s*(?:{_IDENTIFIER})\s*)*"
_NO_IDENTIFIER = "concat('SQLSTATE 22023 string is not a valid identifier: \"', {0}, '\"')"
_PARSED = (
    f"CASE WHEN {{0}} IS NULL THEN NULL WHEN NOT regexp_full_match({{0}}, '{_bare(_IDENTIFIERS)}')"
    f" THEN CAST(error({_NO_IDENTIFIER}) AS VARCHAR[]) ELSE list_transform(regexp_extract_all({{0}},"
    f" '{_bare(_IDENTIFIER)}'), lambda w: CASE WHEN starts_with(w, '\"') THEN {_INNER} ELSE lower(w) END) END"
)
"""parse_ident: the names between points, as they are kept."""


_KEYWORDS = sorted({name.lower().removesuffix("_p") for name in pb.Token.keys()})  # noqa: SIM118 - no mapping
_RESERVED = ", ".join(f"'{word}'" for word in _KEYWORDS if word.isidentifier() and is_reserved(word))
_QUOTED = (
    f"CASE WHEN regexp_full_match({{0}}, '{PLAIN}') AND {{0}} NOT IN ({_RESERVED}) THEN {{0}}"
    " ELSE '\"' || replace({0}, '\"', '\"\"') || '\"' END"
)
"""A name as it has to be written."""
_NO_NAME = "CAST(error('SQLSTATE 22004 null values cannot be formatted as an SQL identifier') AS VARCHAR)"
FORMATTED_NAME = f"CASE WHEN {{0}} IS NULL THEN {_NO_NAME} ELSE {_QUOTED} END"


def spelled(name: str) -> str:
    """A name as it is looked up, in quotes unless it is plain."""
    return name if re.fullmatch(PLAIN, name) else '"' + name.replace('"', '""') + '"'


Line = tuple[str, tuple[Type, ...], Type, str, frozenset[str]]
"""One way to call a function: its name, the types it takes, the one it gives, the engine's text, what that reads."""
NOTHING: frozenset[str] = frozenset()


def listed_in(of: Type) -> str:
    """The relation that has the names of such objects."""
    if of in (REGTYPE, REGTYPES):
        return TYPES
    return FUNCTIONS if of in (REGPROC, REGPROCEDURE) else OBJECTS


def oid_of(name: str, of: Type, *, missing_ok: bool = False) -> str:
    """The engine's text for the oid of what an SQL text names; NULL or an error when there is no such thing."""
    code, what = _WHAT[of]
    words = _SPELLED_TYPE if of is REGTYPE else _spelled_function() if of is REGPROCEDURE else _SPELLED_NAMES
    is_number = "regexp_full_match(max(v.x), '[0-9]+')"
    number = "TRY_CAST(max(v.x) AS UINTEGER)::BIGINT"
    if not missing_ok:
        number = f"coalesce({number}, {_error('22003', _OUT_OF_RANGE)})"
    unknown = "NULL" if missing_ok else _error(code, f"concat('{what} \"', max(v.x), '\" does not exist')")
    invalid = "NULL" if missing_ok else _error("42602", _INVALID)
    points = f"len(regexp_extract_all(max(v.x), '{_WORD}'))"
    missing = unknown
    if of is REGCLASS:
        missing = (
            f"CASE WHEN max(v.s) IS NULL THEN {invalid} WHEN {points} = 3 THEN {_error('0A000', _OTHER_DATABASE)}"
            f" WHEN {points} > 3 THEN {_error('42601', _TOO_MANY)} ELSE {unknown} END"
        )
    if of is REGPROCEDURE and not missing_ok:
        without = _error("22P02", "'expected a left parenthesis'")
        missing = f"CASE WHEN contains(max(v.x), '(') THEN {unknown} ELSE {without} END"
    if of is REGPROC:
        several = "NULL" if missing_ok else _error("42725", "concat('more than one function named \"', max(v.x), '\"')")
        missing = f"CASE WHEN min(n.o1) <> max(n.o1) THEN {several} ELSE {unknown} END"
    found = "min(n.o1) = max(n.o1)" if of is REGPROC else "min(n.o1) IS NOT NULL"
    verdict = (
        f"CASE WHEN max(v.x) IS NULL THEN NULL WHEN max(v.x) = '-' THEN 0 WHEN {is_number} THEN {number}"
        f" WHEN {found} THEN min(n.o1) ELSE {missing} END"
    )
    return (
        f"(SELECT {verdict} FROM (SELECT u.x AS x, {words} AS s FROM (SELECT {name} AS x) AS u) AS v"
        f" LEFT JOIN k_{listed_in(of)} AS n ON n.o0 = '{KINDS[of]}' AND n.o3 = v.s)"
    )


_OUT_OF_RANGE = "concat('value \"', max(v.x), '\" is out of range for type oid')"
_INVALID = "'invalid name syntax'"
_OTHER_DATABASE = "concat('cross-database references are not implemented: \"', max(v.x), '\"')"
_TOO_MANY = "concat('improper relation name (too many dotted names): ', max(v.x))"


def _error(code: str, words: str) -> str:
    return f"CAST(error(concat('SQLSTATE {code} ', {words})) AS BIGINT)"


def name_of(oid: str, of: Type) -> str:
    """The engine's text for the name of what an oid stands for; the number itself when nothing has it."""
    return (
        f"(SELECT coalesce(max(n.o2), CASE max(v.x) WHEN 0 THEN '-' ELSE max(CAST(v.x AS VARCHAR)) END)"
        f" FROM (SELECT {oid} AS x) AS v LEFT JOIN k_{listed_in(of)} AS n"
        f" ON n.o0 = '{KINDS[of]}' AND n.o1 = v.x)"
    )


def names_of(oids: str, of: Type) -> str:
    """The engine's text for the names of what each of a list of oids stands for."""
    shown = "coalesce(n.o2, CASE v.x WHEN 0 THEN '-' ELSE CAST(v.x AS VARCHAR) END)"
    numbered = "SELECT unnest(l.a) AS x, generate_subscripts(l.a, 1) AS i"
    # Objects are found by several names each: one row of them is meant.
    known = f"(SELECT o1, max(o2) AS o2 FROM k_{listed_in(of)} WHERE o0 = '{KINDS[of]}' GROUP BY o1) AS n"
    listed = f"(SELECT list({shown} ORDER BY v.i) FROM ({numbered}) AS v LEFT JOIN {known} ON n.o1 = v.x)"
    named = f"CASE WHEN l.a IS NOT NULL THEN coalesce({listed}, CAST([] AS VARCHAR[])) END"
    return f"(SELECT {named} FROM (SELECT {oids} AS a) AS l)"


def casts() -> Iterator[tuple[Type, Type, str]]:
    """Casts from and to oids with names."""
    for of in NAMED:
        yield of, INT8, "{0}"
        yield INT8, of, "{0}"
        yield INT4, of, "CAST({0} AS BIGINT)"
        yield TEXT, of, oid_of("{0}", of)
        yield of, TEXT, name_of("{0}", of)
    for oids in (ARRAY_OF[OID], OIDVECTOR):
        yield oids, REGTYPES, "{0}"
    yield REGTYPES, ARRAY_OF[OID], "{0}"
    yield REGTYPES, ARRAY_OF[TEXT], names_of("{0}", REGTYPE)


def _definition(kind: str, oid: str, part: str, pretty: str) -> str:
    return (
        f"(SELECT max(d.o4) FROM (SELECT {oid} AS x, {part} AS y, {pretty} AS z) AS v, k_{DEFINITIONS} AS d"
        f" WHERE d.o0 = '{kind}' AND d.o1 = v.x AND d.o2 = v.y AND d.o3 = v.z)"
    )


def _comment(oid: str, part: str, kind: str, is_meant: str) -> str:
    return (
        f"(SELECT max(d.o4) FROM (SELECT {oid} AS x, {part} AS y, {kind} AS z) AS v, k_{DEFINITIONS} AS d"
        f" WHERE {is_meant} AND d.o1 = v.x AND d.o2 = v.y)"
    )


def setting_of(name: str, missing_ok: str) -> str:
    """The engine's text for the value of the setting that a column names."""
    unknown = "concat('SQLSTATE 42704 unrecognized configuration parameter \"', max(v.x), '\"')"
    return (
        f"(SELECT CASE WHEN max(v.x) IS NULL OR bool_or(v.y) IS NULL THEN NULL WHEN max(s.o0) IS NOT NULL THEN"
        f" max(s.o1) WHEN bool_or(v.y) THEN NULL ELSE CAST(error({unknown}) AS VARCHAR) END"
        f" FROM (SELECT {name} AS x, {missing_ok} AS y) AS v LEFT JOIN k_{SHOWN_SETTINGS} AS s ON s.o0 = lower(v.x))"
    )


def functions() -> Iterator[Line]:
    names, written = frozenset({OBJECTS}), frozenset({DEFINITIONS})
    yield "pg_get_indexdef", (INT8,), TEXT, _definition(INDEX, "{0}", "0", "false"), written
    yield "pg_get_indexdef", (INT8, INT4, BOOL), TEXT, _definition(INDEX, "{0}", "{1}", "{2}"), written
    yield "pg_get_constraintdef", (INT8,), TEXT, _definition(CONSTRAINT, "{0}", "0", "false"), written
    yield "pg_get_constraintdef", (INT8, BOOL), TEXT, _definition(CONSTRAINT, "{0}", "0", "{1}"), written
    yield "pg_get_viewdef", (INT8,), TEXT, _definition(VIEW, "{0}", "0", "false"), written
    yield "pg_get_viewdef", (INT8, BOOL), TEXT, _definition(VIEW, "{0}", "0", "{1}"), written
    yield "pg_get_viewdef", (INT8, INT4), TEXT, _definition(VIEW, "{0}", "{1} - {1}", "true"), written
    of_users = f"WHEN 'pg_class' THEN '{COMMENT}' WHEN 'pg_constraint' THEN '{COMMENT_ON_CONSTRAINT}'"
    kind = f"CASE {{1}} {of_users} ELSE {{1}} END"
    yield "obj_description", (INT8, TEXT), TEXT, _comment("{0}", "0", kind, "d.o0 = v.z"), written
    yield "obj_description", (INT8,), TEXT, _comment("{0}", "0", "0", f"d.o0 = '{COMMENT}'"), written
    of_column = _comment("{0}", "{1}", "0", f"d.o0 = '{COMMENT}' AND v.y <> 0")
    yield "col_description", (INT8, INT4), TEXT, of_column, written
    # What a relation has here in place of a tree of PostgreSQL's is its text, in brackets if it is an operation.
    yield "pg_get_expr", (TEXT, INT8), TEXT, "CASE WHEN {1} IS NOT NULL THEN {0} END", NOTHING
    bare = "CASE WHEN {2} AND {1} IS NOT NULL AND starts_with({0}, '(') AND ends_with({0}, ')') THEN {0}[2:-2]"
    yield "pg_get_expr", (TEXT, INT8, BOOL), TEXT, f"{bare} WHEN {{1}} IS NOT NULL THEN {{0}} END", NOTHING
    column = f"(SELECT {oid_of('{0}', REGCLASS)} AS x, {{1}} AS y) AS v"
    is_its = f"n.o0 = '{SEQUENCE}' AND n.o1 = v.x AND n.o3 = v.y"
    sequence = f"(SELECT max(n.o2) FROM {column}, k_{OBJECTS} AS n WHERE {is_its})"
    yield "pg_get_serial_sequence", (TEXT, TEXT), TEXT, sequence, names
    signature = f"(SELECT max(d.o{{}}) FROM (SELECT {{{{0}}}} AS x) AS v, k_{SIGNATURES} AS d WHERE d.o0 = v.x)"
    for name, place in (("arguments", 1), ("identity_arguments", 1), ("result", 2)):
        yield f"pg_get_function_{name}", (INT8,), TEXT, signature.format(place), frozenset({SIGNATURES})
    sources = frozenset({SOURCES})
    text = f"(SELECT max(d.o{{}}) FROM (SELECT {{{{0}}}} AS x) AS v, k_{SOURCES} AS d WHERE d.o0 = v.x)"
    is_aggregate = (
        f"CAST(error(concat('SQLSTATE 42809 \"', {text.format(3)}, '\" is an aggregate function')) AS VARCHAR)"
    )
    refused = f"CASE WHEN {text.format(3)} IS NOT NULL THEN {is_aggregate} END"
    yield "pg_get_functiondef", (INT8,), TEXT, f"coalesce({text.format(1)}, {refused})", sources
    yield "pg_get_function_sqlbody", (INT8,), TEXT, text.format(2), sources
    # INSERT 8, UPDATE 4, DELETE 16: of tables all, of views and of the catalog's relations none.
    is_table = f"c.o0 = v.x AND c.o{PG_CLASS_KIND} = 'r' AND v.x >= {FIRST_OID}"
    found = f"(SELECT count(*) FROM (SELECT {{0}} AS x) AS v, k_pg_class AS c WHERE {is_table})"
    yield "pg_relation_is_updatable", (INT8, BOOL), INT4, f"({found} * 28)::INTEGER", frozenset({"pg_class"})
    for of in NAMED:
        yield f"to_{of}", (TEXT,), of, oid_of("{0}", of, missing_ok=True), frozenset({listed_in(of)})
    yield from ((*line, NOTHING) for line in _fixed())


def _fixed() -> Iterator[tuple[str, tuple[Type, ...], Type, str]]:
    """Functions with the same answer for everything: all is in public, sizes are not known."""
    yield "pg_table_is_visible", (INT8,), BOOL, f"({{0}} NOT BETWEEN {UNSEARCHED[0]} AND {UNSEARCHED[1]})"
    for what in (
        "type", "function", "operator", "opclass", "opfamily", "conversion", "collation", "statistics_obj",
        "ts_config", "ts_dict", "ts_parser", "ts_template",
    ):  # fmt: skip
        yield f"pg_{what}_is_visible", (INT8,), BOOL, "({0} IS NOT NULL OR NULL)"
    yield "pg_get_userbyid", (INT8,), NAME, "CASE WHEN {0} IS NOT NULL THEN 'schemalab' END"
    # Who asks is a member of nothing but of what bears their name; the owner's role has the oid 10.
    asked = "{1} IS NULL THEN NULL WHEN upper({1}) NOT IN ('USAGE', 'MEMBER', 'SET') THEN"
    asked += " CAST(error(concat('SQLSTATE 22023 unrecognized privilege type: \"', {1}, '\"')) AS BOOLEAN)"
    yield "pg_has_role", (INT8, TEXT, TEXT), BOOL, f"CASE WHEN {asked} ELSE ({{0}} <> 10 OR {{2}} = 'schemalab') END"
    yield "pg_has_role", (TEXT, TEXT, TEXT), BOOL, f"CASE WHEN {asked} ELSE {{0}} = {{2}} END"
    for name in ("pg_stat_get_numscans", "pg_stat_get_live_tuples", "pg_stat_get_dead_tuples"):
        yield name, (INT8,), INT8, "CAST(NULL AS BIGINT)"
    yield "pg_relation_filenode", (REGCLASS,), OID, "CAST(NULL AS BIGINT)"
    yield "pg_is_wal_replay_paused", (), BOOL, "false"
    types = " ".join(
        f"WHEN {of.oid} THEN '{of.name}'"
        for of in (
            *(one for one in STORED if one not in OF_A_LENGTH),
            *SYSTEM,
            *(array for of, array in ARRAY_OF.items() if of not in OF_A_LENGTH),
            REGTYPES,
            *VECTORS,
        )
    )
    types += "".join(
        f" WHEN {oid} THEN CASE WHEN {{1}} > {HEAD} THEN '{of.name}(' || ({{1}} - {HEAD}) || '){more}'"
        f" WHEN {{1}} < 0 THEN '{other}{more}' ELSE '{of.name}{more}' END"
        for of, oid, more, other in (
            (VARCHAR, VARCHAR.oid, "", VARCHAR.name),
            (VARCHAR, ARRAY_OF[VARCHAR].oid, "[]", VARCHAR.name),
            (BPCHAR, BPCHAR.oid, "", "bpchar"),
        )
    )
    types += "".join(_of_a_precision(of) for of in MOMENTS)
    scale = f"(xor(({{1}} - {HEAD}) & 2047, 1024) - 1024)"
    digits = f"'numeric(' || (({{1}} - {HEAD}) >> 16) || ',' || {scale} || ')'"
    types += f" WHEN {NUMERIC.oid} THEN CASE WHEN {{1}} >= {HEAD} THEN {digits} ELSE 'numeric' END"
    array = ARRAY_OF[NUMERIC].oid
    types += f" WHEN {array} THEN CASE WHEN {{1}} >= {HEAD} THEN {digits} || '[]' ELSE 'numeric[]' END"
    types += "".join(f" WHEN {oid} THEN '{name}'" for name, oid in PSEUDO_TYPES.items())
    shown = f"CASE WHEN {{0}} IS NULL THEN NULL ELSE CASE {{0}} {types} WHEN 0 THEN '-' ELSE '???' END END"
    yield "format_type", (INT8, INT4), TEXT, shown
    nothing = "CAST(NULL AS VARCHAR)"
    yield "shobj_description", (INT8, TEXT), TEXT, nothing
    for name in (
        "pg_get_ruledef", "pg_get_triggerdef",
        "pg_get_statisticsobjdef", "pg_get_statisticsobjdef_columns", "pg_get_partkeydef",
        "pg_get_partition_constraintdef",
    ):  # fmt: skip
        yield name, (INT8,), TEXT, nothing
    yield "parse_ident", (TEXT,), ARRAY_OF[TEXT], _PARSED
    yield "quote_ident", (TEXT,), TEXT, f"CASE WHEN {{0}} IS NOT NULL THEN {_QUOTED} END"
    may_connect = "CASE WHEN {0} IS NOT NULL AND {1} IS NOT NULL THEN upper(trim({1})) = 'CONNECT' END"
    for of in (TEXT, INT8):
        yield "has_database_privilege", (of, TEXT), BOOL, may_connect
    yield "pg_tablespace_location", (INT8,), TEXT, "''"
    yield "pg_tablespace_size", (INT8,), INT8, "CAST(NULL AS BIGINT)"
    yield "pg_get_triggerdef", (INT8, BOOL), TEXT, nothing
    yield "pg_get_ruledef", (INT8, BOOL), TEXT, nothing
    for name in ("pg_table_size", "pg_relation_size", "pg_total_relation_size", "pg_indexes_size"):
        yield name, (REGCLASS,), INT8, "CAST(NULL AS BIGINT)"
    yield "pg_database_size", (TEXT,), INT8, "CAST(NULL AS BIGINT)"
    yield "pg_database_size", (INT8,), INT8, "CAST(NULL AS BIGINT)"
    yield "pg_size_pretty", (INT8,), TEXT, _size_pretty()
    yield "pg_relation_is_publishable", (REGCLASS,), BOOL, "({0} IS NULL AND NULL)"
    yield "pg_is_other_temp_schema", (INT8,), BOOL, "({0} IS NULL AND NULL)"
    yield "pg_my_temp_schema", (), INT8, "0::BIGINT"
    yield "pg_encoding_to_char", (INT4,), TEXT, "CASE WHEN {0} = 6 THEN 'UTF8' WHEN {0} IS NOT NULL THEN '' END"
    of_name = "CASE WHEN upper(replace({0}, '-', '')) IN ('UTF8', 'UNICODE') THEN 6 WHEN {0} IS NOT NULL THEN -1 END"
    yield "pg_char_to_encoding", (TEXT,), INT4, of_name
    yield "getdatabaseencoding", (), TEXT, "'UTF8'"
    yield "pg_client_encoding", (), TEXT, "'UTF8'"


def _of_a_precision(of: Type) -> str:
    """The names of a type of times, with the precision that {1} is or without, and of its array."""
    word, rest = of.name.split(" ", 1)
    digits = f"CASE WHEN {{1}} >= 0 THEN '{word}(' || {{1}} || ') {rest}' ELSE '{of.name}' END"
    return f" WHEN {of.oid} THEN {digits} WHEN {ARRAY_OF[of].oid} THEN {digits} || '[]'"


def _size_pretty() -> str:
    """Bytes in the largest unit that leaves more than 10 of it, rounded halves up."""
    whens = ["CASE WHEN abs({0}) < 10240 THEN {0} || ' bytes'"]
    for power, unit in enumerate(("kB", "MB", "GB", "TB", "PB"), start=1):
        halves = f"({{0}} // {2 ** (10 * power - 1)})"
        shown = f"(({halves} + sign({halves})) // 2)::BIGINT || ' {unit}'"
        whens.append(f"WHEN abs({halves}) < 20479 THEN {shown}" if unit != "PB" else f"ELSE {shown} END")
    return " ".join(whens)
