"""Names of catalog objects and their oids: regclass, regtype and the like, and functions that describe an object.

What an object is called and how it is written out stands in two relations that are made with the query engine's other
rows of the catalog (`nodes.catalog_views`), so the functions are look-ups in them:

    objects      kind, oid, the name that is shown, a name it is found by
    definitions  kind, oid, part (0: the whole), whether for people, the text
"""

from collections.abc import Iterator

from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    BPCHAR,
    HEAD,
    INT4,
    INT8,
    INTERVAL,
    NAMED,
    OF_A_LENGTH,
    REGCLASS,
    REGNAMESPACE,
    REGPROC,
    REGROLE,
    REGTYPE,
    STORED,
    SYSTEM,
    TEXT,
    VARCHAR,
    Type,
)

OBJECTS, DEFINITIONS = "objects", "definitions"
KINDS = {REGCLASS: "c", REGTYPE: "t", REGNAMESPACE: "n", REGROLE: "r", REGPROC: "p"}
SEQUENCE = "s"
"""Of a column: the sequence behind it."""
INDEX, CONSTRAINT = "i", "k"
"""Kinds of definitions."""
_WHAT = {
    REGCLASS: ("42P01", "relation"), REGTYPE: ("42704", "type"), REGNAMESPACE: ("3F000", "schema"),
    REGROLE: ("42704", "role"), REGPROC: ("42883", "function"),
}  # fmt: skip
_SPELLED = "CASE WHEN contains(v.x, '\"') THEN replace(v.x, '\"', '') ELSE lower(v.x) END"
"""A name as it is looked up: a name in quotes keeps its capitals."""

Line = tuple[str, tuple[Type, ...], Type, str, frozenset[str]]
"""One way to call a function: its name, the types it takes, the one it gives, the engine's text, what that reads."""
NOTHING: frozenset[str] = frozenset()


def oid_of(name: str, of: Type, *, missing_ok: bool = False) -> str:
    """The engine's text for the oid of what an SQL text names; NULL or an error when there is no such thing."""
    code, what = _WHAT[of]
    refusal = f"concat('SQLSTATE {code} {what} \"', max(v.x), '\" does not exist')"
    missing = "" if missing_ok else f", CAST(error({refusal}) AS BIGINT)"
    return (
        f"(SELECT CASE WHEN max(v.x) IS NOT NULL THEN coalesce(max(n.o1), TRY_CAST(max(v.x) AS BIGINT){missing}) END"
        f" FROM (SELECT {name} AS x) AS v LEFT JOIN k_{OBJECTS} AS n ON n.o0 = '{KINDS[of]}' AND n.o3 = {_SPELLED})"
    )


def name_of(oid: str, of: Type) -> str:
    """The engine's text for the name of what an oid stands for; the number itself when nothing has it."""
    return (
        f"(SELECT coalesce(max(n.o2), CASE max(v.x) WHEN 0 THEN '-' ELSE max(CAST(v.x AS VARCHAR)) END)"
        f" FROM (SELECT {oid} AS x) AS v LEFT JOIN k_{OBJECTS} AS n ON n.o0 = '{KINDS[of]}' AND n.o1 = v.x)"
    )


def casts() -> Iterator[tuple[Type, Type, str]]:
    """Casts from and to oids with names."""
    for of in NAMED:
        yield of, INT8, "{0}"
        yield INT8, of, "{0}"
        yield INT4, of, "CAST({0} AS BIGINT)"
        yield TEXT, of, oid_of("{0}", of)
        yield of, TEXT, name_of("{0}", of)


def _definition(kind: str, oid: str, part: str, pretty: str) -> str:
    return (
        f"(SELECT max(d.o4) FROM (SELECT {oid} AS x, {part} AS y, {pretty} AS z) AS v, k_{DEFINITIONS} AS d"
        f" WHERE d.o0 = '{kind}' AND d.o1 = v.x AND d.o2 = v.y AND d.o3 = v.z)"
    )


def functions() -> Iterator[Line]:
    names, written = frozenset({OBJECTS}), frozenset({DEFINITIONS})
    yield "pg_get_indexdef", (INT8,), TEXT, _definition(INDEX, "{0}", "0", "false"), written
    yield "pg_get_indexdef", (INT8, INT4, BOOL), TEXT, _definition(INDEX, "{0}", "{1}", "{2}"), written
    yield "pg_get_constraintdef", (INT8,), TEXT, _definition(CONSTRAINT, "{0}", "0", "false"), written
    yield "pg_get_constraintdef", (INT8, BOOL), TEXT, _definition(CONSTRAINT, "{0}", "0", "{1}"), written
    # What a relation has here in place of a tree of PostgreSQL's is its text, in brackets if it is an operation.
    yield "pg_get_expr", (TEXT, INT8), TEXT, "CASE WHEN {1} IS NOT NULL THEN {0} END", NOTHING
    bare = "CASE WHEN {2} AND {1} IS NOT NULL AND starts_with({0}, '(') AND ends_with({0}, ')') THEN {0}[2:-2]"
    yield "pg_get_expr", (TEXT, INT8, BOOL), TEXT, f"{bare} WHEN {{1}} IS NOT NULL THEN {{0}} END", NOTHING
    column = "(SELECT {0} AS x, {1} AS y) AS v"
    key = "replace(lower(v.x), '\"', '') || '/' || v.y"
    sequence = f"(SELECT max(n.o2) FROM {column}, k_{OBJECTS} AS n WHERE n.o0 = '{SEQUENCE}' AND n.o3 = {key})"
    yield "pg_get_serial_sequence", (TEXT, TEXT), TEXT, sequence, names
    for of in NAMED:
        yield f"to_{of}", (TEXT,), of, oid_of("{0}", of, missing_ok=True), names
    yield from ((*line, NOTHING) for line in _fixed())


def _fixed() -> Iterator[tuple[str, tuple[Type, ...], Type, str]]:
    """Functions with the same answer for everything: all is in public, nothing has a comment, sizes are not known."""
    for what in (
        "table", "type", "function", "operator", "opclass", "opfamily", "conversion", "collation", "statistics_obj",
        "ts_config", "ts_dict", "ts_parser", "ts_template",
    ):  # fmt: skip
        yield f"pg_{what}_is_visible", (INT8,), BOOL, "({0} IS NOT NULL OR NULL)"
    yield "pg_get_userbyid", (INT8,), TEXT, "CASE WHEN {0} IS NOT NULL THEN 'schemalab' END"
    types = " ".join(
        f"WHEN {of.oid} THEN '{of.name}'"
        for of in (*(one for one in STORED if one not in OF_A_LENGTH), INTERVAL, *SYSTEM, *ARRAY_OF.values())
    )
    types += "".join(
        f" WHEN {of.oid} THEN CASE WHEN {{1}} > {HEAD} THEN '{of.name}(' || ({{1}} - {HEAD}) || ')' ELSE '{other}' END"
        for of, other in ((VARCHAR, VARCHAR.name), (BPCHAR, "bpchar"))
    )
    shown = f"CASE WHEN {{0}} IS NULL THEN NULL ELSE CASE {{0}} {types} WHEN 0 THEN '-' ELSE '???' END END"
    yield "format_type", (INT8, INT4), TEXT, shown
    nothing = "CAST(NULL AS VARCHAR)"
    yield "obj_description", (INT8,), TEXT, nothing
    yield "obj_description", (INT8, TEXT), TEXT, nothing
    yield "shobj_description", (INT8, TEXT), TEXT, nothing
    yield "col_description", (INT8, INT4), TEXT, nothing
    for name in (
        "pg_get_viewdef", "pg_get_ruledef", "pg_get_triggerdef", "pg_get_functiondef", "pg_get_function_result",
        "pg_get_function_arguments", "pg_get_function_identity_arguments", "pg_get_function_sqlbody",
        "pg_get_statisticsobjdef", "pg_get_statisticsobjdef_columns", "pg_get_partkeydef",
        "pg_get_partition_constraintdef",
    ):  # fmt: skip
        yield name, (INT8,), TEXT, nothing
    yield "pg_tablespace_location", (INT8,), TEXT, "''"
    yield "pg_get_viewdef", (INT8, BOOL), TEXT, nothing
    yield "pg_get_triggerdef", (INT8, BOOL), TEXT, nothing
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


def _size_pretty() -> str:
    """Bytes in the largest unit that leaves more than 10 of it, rounded halves up."""
    whens = ["CASE WHEN abs({0}) < 10240 THEN {0} || ' bytes'"]
    for power, unit in enumerate(("kB", "MB", "GB", "TB", "PB"), start=1):
        halves = f"({{0}} // {2 ** (10 * power - 1)})"
        shown = f"(({halves} + sign({halves})) // 2)::BIGINT || ' {unit}'"
        whens.append(f"WHEN abs({halves}) < 20479 THEN {shown}" if unit != "PB" else f"ELSE {shown} END")
    return " ".join(whens)
