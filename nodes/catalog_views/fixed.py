"""Rows of the catalog that are the same whatever tables there are: schemas, types, the one role and database."""

from collections.abc import Callable, Iterator, Sequence

from catalog.descriptor import Descriptor
from expressions.grammar import keywords
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
    INT2,
    INT2VECTOR,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NAME,
    NUMERIC,
    OID,
    OIDVECTOR,
    STORED,
    SYSTEM,
    TEXT,
    TEXTUAL,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    VARCHAR,
    Type,
)
from nodes.catalog_views.relations import KEYWORDS
from nodes.catalog_views.values import (
    BTREE,
    C_COLLATION,
    DATABASE,
    DATABASE_NAME,
    DEFAULT_COLLATION,
    HEAP,
    INFORMATION,
    OWN,
    OWNER,
    OWNER_NAME,
    PG_CATALOG,
    PUBLIC,
    TABLESPACE,
    USER,
    UTF8,
    Row,
)

BY_VALUE = frozenset({1, 2, 4, 8})
"""Lengths of types that PostgreSQL passes by value."""
STORAGES = {**dict.fromkeys((*TEXTUAL, BYTEA, *DOCUMENTS, *ARRAY_OF.values()), "x"), NUMERIC: "m"}
"""How PostgreSQL keeps long values; p: as they are."""
ALIGNMENTS = {1: "c", 2: "s", 4: "i", 8: "d", -1: "i"}
TYPE_NAMES = {16: "bool", 20: "int8", 21: "int2", 23: "int4", 25: "text", 1042: "bpchar", 1043: "varchar",
    700: "float4", 701: "float8", 1700: "numeric", 1082: "date", 1114: "timestamp",
    1184: "timestamptz", 1083: "time", 1186: "interval", 2950: "uuid", 17: "bytea", 114: "json", 3802: "jsonb",
    26: "oid", 19: "name", 18: "char"}  # fmt: skip
"""As pg_type has them; `format_type` gives the names of SQL."""
TYPE_NAMES |= {array.oid: f"_{TYPE_NAMES[of.oid]}" for of, array in ARRAY_OF.items()}


def alignment_of(of: Type) -> str:
    if of.element is not None:
        return array_alignment(of.element)
    return "d" if of is INTERVAL else ALIGNMENTS.get(of.typlen, "c")


_INPUT_OUTPUT = (("input", "in"), ("output", "out"), ("receive", "recv"), ("send", "send"))
FUNCTIONS = {
    "array_in": 750, "array_out": 751, "array_recv": 2400, "array_send": 2401, "array_subscript_handler": 6179,
    "array_typanalyze": 3816, "boolin": 1242, "boolout": 1243, "boolrecv": 2436, "boolsend": 2437, "bthandler": 330,
    "date_in": 1084, "date_out": 1085, "date_recv": 2468, "date_send": 2469, "float8in": 214, "float8out": 215,
    "float8recv": 2426, "float8send": 2427, "heap_tableam_handler": 3, "int4in": 42, "int4out": 43, "int4recv": 2406,
    "int4send": 2407, "int8in": 460, "int8out": 461, "int8recv": 2408, "int8send": 2409, "interval_in": 1160,
    "interval_out": 1161, "interval_recv": 2478, "interval_send": 2479, "textin": 46, "textout": 47, "textrecv": 2414,
    "textsend": 2415, "timestamp_in": 1312, "timestamp_out": 1313, "timestamp_recv": 2474, "timestamp_send": 2475,
    "timestamptz_in": 1150, "timestamptz_out": 1151, "timestamptz_recv": 2476, "timestamptz_send": 2477,
    "int2in": 38, "int2out": 39, "int2recv": 2404, "int2send": 2405, "float4in": 200, "float4out": 201,
    "varcharin": 1046, "varcharout": 1047, "varcharrecv": 2432, "varcharsend": 2433, "bpcharin": 1044,
    "bpcharout": 1045, "bpcharrecv": 2430, "bpcharsend": 2431, "varchartypmodin": 2915, "varchartypmodout": 2916,
    "bpchartypmodin": 2913, "bpchartypmodout": 2914, "float4recv": 2424, "float4send": 2425,
    "numeric_in": 1701, "numeric_out": 1702, "numeric_recv": 2460, "numeric_send": 2461, "numerictypmodin": 2917,
    "numerictypmodout": 2918, "uuid_in": 2952, "uuid_out": 2953, "uuid_recv": 2961, "uuid_send": 2962,
    "timestamptypmodin": 2905, "timestamptypmodout": 2906, "timestamptztypmodin": 2907, "timestamptztypmodout": 2908,
    "charin": 1245, "charout": 33, "charrecv": 2434, "charsend": 2435, "namein": 34, "nameout": 35, "namerecv": 2422,
    "namesend": 2423, "oidin": 1798, "oidout": 1799, "oidrecv": 2418, "oidsend": 2419,
    "int2vectorin": 40, "int2vectorout": 41, "int2vectorrecv": 2410, "int2vectorsend": 2411,
    "oidvectorin": 54, "oidvectorout": 55, "oidvectorrecv": 2420, "oidvectorsend": 2421,
    "json_in": 321, "json_out": 322, "json_recv": 323, "json_send": 324,
    "jsonb_in": 3806, "jsonb_out": 3804, "jsonb_recv": 3805, "jsonb_send": 3803, "jsonb_subscript_handler": 6098,
    "time_in": 1143, "time_out": 1144, "time_recv": 2470, "time_send": 2471, "timetypmodin": 2909,
    "timetypmodout": 2910, "byteain": 1244, "byteaout": 31, "bytearecv": 2412, "byteasend": 2413,
    "raw_array_subscript_handler": 6180, "intervaltypmodin": 2903, "intervaltypmodout": 2904,
}  # fmt: skip
"""Oids of the functions that types and access methods name."""
_BEGINNINGS = {"timestamp": "timestamp_", "timestamptz": "timestamptz_", "date": "date_", "interval": "interval_",
    "time": "time_", "uuid": "uuid_", "numeric": "numeric_", "json": "json_", "jsonb": "jsonb_"}  # fmt: skip
"""Beginnings of the names of functions that read and write a type, where they are not the type's name."""
OPERATOR_CLASSES = {
    BOOL: ("bool_ops", 10003, 424), DATE: ("date_ops", 3122, 434), FLOAT4: ("float4_ops", 10012, 1970),
    FLOAT8: ("float8_ops", 3123, 1970), INT2: ("int2_ops", 1979, 1976), INT4: ("int4_ops", 1978, 1976),
    INT8: ("int8_ops", 3124, 1976), TEXT: ("text_ops", 3126, 1994), VARCHAR: ("text_ops", 3126, 1994),
    BPCHAR: ("bpchar_ops", 10004, 426),
    TIMESTAMPTZ: ("timestamptz_ops", 3127, 434), TIMESTAMP: ("timestamp_ops", 3128, 434),
    UUID: ("uuid_ops", 10065, 2968), NUMERIC: ("numeric_ops", 3125, 1988),
    BYTEA: ("bytea_ops", 10006, 428), TIME: ("time_ops", 10038, 1996), INTERVAL: ("interval_ops", 10022, 1982),
}  # fmt: skip
"""The name, oid and family of each type's order in an index."""
SCHEMAS = {PG_CATALOG: "pg_catalog", PUBLIC: "public", INFORMATION: "information_schema", OWN: "schemalab"}
COLLATIONS = {DEFAULT_COLLATION: ("default", "d", None), 950: ("C", "c", "C"), 951: ("POSIX", "c", "POSIX")}


def _namespaces(_: Sequence[Descriptor]) -> Iterator[Row]:
    for oid, name in SCHEMAS.items():
        yield {"oid": oid, "nspname": name, "nspowner": OWNER}


def _access_methods(_: Sequence[Descriptor]) -> Iterator[Row]:
    yield {"oid": HEAP, "amname": "heap", "amhandler": FUNCTIONS["heap_tableam_handler"], "amtype": "t"}
    yield {"oid": BTREE, "amname": "btree", "amhandler": FUNCTIONS["bthandler"], "amtype": "i"}


def _types(_: Sequence[Descriptor]) -> Iterator[Row]:
    yield from _vectors()
    for of in (*STORED, *SYSTEM):
        name, array = TYPE_NAMES[of.oid], ARRAY_OF.get(of)
        begins = _BEGINNINGS.get(name, name)
        modifiers: Row = {
            f"typmod{word}": FUNCTIONS[f"{name}typmod{word}"]
            for word in ("in", "out")
            if f"{name}typmod{word}" in FUNCTIONS
        }
        usual: Row = {
            "typnamespace": PG_CATALOG, "typowner": OWNER, "typtype": "b", "typisdefined": True, "typdelim": ",",
            "typtypmod": -1, "typcollation": DEFAULT_COLLATION if of in TEXTUAL else C_COLLATION if of is NAME else 0,
        }  # fmt: skip
        yield {
            **usual, "oid": of.oid, "typname": name, "typlen": of.typlen, "typbyval": of.typlen in BY_VALUE,
            "typcategory": of.category, "typispreferred": of.is_preferred or of is OID,
            "typarray": array.oid if array else 0,
            **{f"typ{word}": FUNCTIONS[f"{begins}{ends}"] for word, ends in _INPUT_OUTPUT}, **modifiers,
            "typalign": alignment_of(of),
            **({"typelem": CHAR.oid, "typsubscript": FUNCTIONS["raw_array_subscript_handler"]} if of is NAME else {}),
            **({"typsubscript": FUNCTIONS["jsonb_subscript_handler"]} if of is JSONB else {}),
            "typstorage": STORAGES.get(of, "p"),
        }  # fmt: skip
        if array is not None:
            yield {
                **usual, "oid": array.oid, "typname": f"_{name}", "typlen": -1, "typcategory": "A", "typelem": of.oid,
                **{f"typ{word}": FUNCTIONS[f"array_{ends}"] for word, ends in _INPUT_OUTPUT}, **modifiers,
                "typsubscript": FUNCTIONS["array_subscript_handler"], "typanalyze": FUNCTIONS["array_typanalyze"],
                "typalign": array_alignment(of), "typstorage": "x",
            }  # fmt: skip


def array_alignment(of: Type) -> str:
    """Where an array of such elements may begin."""
    return "d" if of.typlen in (8, 16) and of is not UUID else "i"


def _vectors() -> Iterator[Row]:
    for of, element in ((INT2VECTOR, INT2), (OIDVECTOR, OID)):
        yield {
            "oid": of.oid, "typname": of.name, "typnamespace": PG_CATALOG, "typowner": OWNER, "typlen": -1,
            "typtype": "b", "typcategory": "A", "typisdefined": True, "typdelim": ",", "typtypmod": -1,
            "typelem": element.oid, "typsubscript": FUNCTIONS["array_subscript_handler"], "typalign": "i",
            "typstorage": "p", **{f"typ{word}": FUNCTIONS[f"{of.name}{ends}"] for word, ends in _INPUT_OUTPUT},
        }  # fmt: skip


def _operator_classes(_: Sequence[Descriptor]) -> Iterator[Row]:
    for of, (name, oid, family) in OPERATOR_CLASSES.items():
        if of is VARCHAR:  # has the class of text
            continue
        yield {
            "oid": oid, "opcmethod": BTREE, "opcname": name, "opcnamespace": PG_CATALOG, "opcowner": OWNER,
            "opcfamily": family, "opcintype": of.oid, "opcdefault": True,
        }  # fmt: skip


FAMILIES = {
    424: "bool_ops", 434: "datetime_ops", 1970: "float_ops", 1976: "integer_ops", 1994: "text_ops", 426: "bpchar_ops",
    2968: "uuid_ops", 1988: "numeric_ops", 428: "bytea_ops", 1996: "time_ops", 1982: "interval_ops",
}  # fmt: skip


def _operator_families(_: Sequence[Descriptor]) -> Iterator[Row]:
    for oid, name in FAMILIES.items():
        yield {"oid": oid, "opfmethod": BTREE, "opfname": name, "opfnamespace": PG_CATALOG, "opfowner": OWNER}


def _collations(_: Sequence[Descriptor]) -> Iterator[Row]:
    for oid, (name, provider, locale) in COLLATIONS.items():
        yield {
            "oid": oid, "collname": name, "collnamespace": PG_CATALOG, "collowner": OWNER, "collprovider": provider,
            "collisdeterministic": True, "collencoding": -1, "collcollate": locale, "collctype": locale,
        }  # fmt: skip


NO_USER = ""


def _names(user: str) -> Iterator[tuple[int, str]]:
    """The owner of everything, and who asks."""
    yield OWNER, OWNER_NAME
    if user not in (NO_USER, OWNER_NAME):
        yield USER, user


def _roles(user: str) -> Iterator[Row]:
    for oid, name in _names(user):
        yield {
            "oid": oid, "rolname": name, "rolinherit": True, "rolcanlogin": True, "rolconnlimit": -1,
            "rolpassword": "********",
        }  # fmt: skip


def _users(user: str) -> Iterator[Row]:
    for oid, name in _names(user):
        yield {"usename": name, "usesysid": oid, "passwd": "********"}


PEOPLE: dict[str, Callable[[str], Iterator[Row]]] = {"pg_roles": _roles, "pg_user": _users}
"""Relations whose rows depend on who asks."""


def _databases(_: Sequence[Descriptor]) -> Iterator[Row]:
    yield {
        "oid": DATABASE, "datname": DATABASE_NAME, "datdba": OWNER, "encoding": UTF8, "datlocprovider": "c",
        "datallowconn": True, "datconnlimit": -1, "dattablespace": TABLESPACE, "datcollate": "C", "datctype": "C",
    }  # fmt: skip


def _tablespaces(_: Sequence[Descriptor]) -> Iterator[Row]:
    for oid, name in ((TABLESPACE, "pg_default"), (TABLESPACE + 1, "pg_global")):
        yield {"oid": oid, "spcname": name, "spcowner": OWNER}


WORDS = {
    "U": "unreserved", "C": "unreserved (cannot be function or type name)",
    "T": "reserved (can be function or type name)", "R": "reserved",
}  # fmt: skip


def _keywords(_: Sequence[Descriptor]) -> Iterator[Row]:
    for word, letter in keywords():
        yield {"word": word, "catcode": letter, "catdesc": WORDS[letter], "barelabel": None}


def _character_sets(_: Sequence[Descriptor]) -> Iterator[Row]:
    yield {
        "character_set_name": "UTF8", "character_repertoire": "UCS", "form_of_use": "UTF8",
        "default_collate_catalog": DATABASE_NAME, "default_collate_schema": "pg_catalog",
        "default_collate_name": "C",
    }  # fmt: skip


MADE: dict[str, Callable[[Sequence[Descriptor]], Iterator[Row]]] = {
    KEYWORDS: _keywords,
    "information_schema.character_sets": _character_sets,
    "pg_namespace": _namespaces,
    "pg_am": _access_methods,
    "pg_type": _types,
    "pg_opclass": _operator_classes,
    "pg_opfamily": _operator_families,
    "pg_collation": _collations,
    "pg_database": _databases,
    "pg_tablespace": _tablespaces,
}
