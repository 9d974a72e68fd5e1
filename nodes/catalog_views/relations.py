"""The relations of the catalog that a node has, with the columns that PostgreSQL 18 gives them, in its order.

`relations.tsv` has a line for each: name, oid, columns with their types, and ! behind those that are never NULL. Those
that are not made from descriptors (`rows`) have no row: a node has no triggers, policies or publications. Schema
schemalab is our own (`own`). A kind that a node has not stands as the nearest it has: xid as bigint, inet as text. A
tree of PostgreSQL's is the text it stands for. Beside them stand what only functions read: the names of objects, and
how objects are written out.
"""

from pathlib import Path
from typing import NamedTuple

from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    CHAR,
    FLOAT4,
    INT2,
    INT2VECTOR,
    INT4,
    INT8,
    NAME,
    OID,
    OIDVECTOR,
    REGPROC,
    REGTYPE,
    TEXT,
    TIMESTAMPTZ,
    VARCHAR,
    Type,
)
from expressions.values.object_names import (
    DEFINITIONS,
    OBJECTS,
    SHOWN_SETTINGS,
    SIGNATURES,
    SOURCES,
    TYPES,
)
from expressions.values.object_names import FUNCTIONS as NAMED_FUNCTIONS
from nodes.catalog_views import own
from nodes.sql.queries.query import Output

SCHEMA, INFORMATION, OWN = "pg_catalog", "information_schema", "schemalab"
_KINDS = {
    "oid": OID, "name": NAME, "char": CHAR, "xid": INT8, "int2": INT2, "int4": INT4, "int8": INT8, "bool": BOOL,
    "float4": FLOAT4, "varchar": VARCHAR,
    "timestamptz": TIMESTAMPTZ, "int2vector": INT2VECTOR, "oidvector": OIDVECTOR, "int2[]": ARRAY_OF[INT2],
    "oid[]": ARRAY_OF[OID], "text[]": ARRAY_OF[TEXT], "name[]": ARRAY_OF[NAME], "char[]": ARRAY_OF[TEXT],
    "aclitem[]": ARRAY_OF[TEXT], "regproc": REGPROC, "regtype": REGTYPE,
}  # fmt: skip
"""All others are text."""


_REQUIRED = "!"
"""Behind the type of a column that is never NULL."""


def _outputs(words: str) -> tuple[Output, ...]:
    named = (word.removesuffix(_REQUIRED).split(":") for word in words.split())
    return tuple(Output(name, _KINDS.get(kind, TEXT)) for name, kind in named)


def _read() -> tuple[dict[str, tuple[Output, ...]], dict[str, int], dict[str, frozenset[str]]]:
    """Columns, oids and the columns that are never NULL by key: the name, with its schema unless that is pg_catalog."""
    columns: dict[str, tuple[Output, ...]] = {}
    oids: dict[str, int] = {}
    required: dict[str, frozenset[str]] = {}
    for number, (key, words) in enumerate(own.COLUMNS.items()):
        columns[key], oids[key] = _outputs(words), own.FIRST_OID + number
    for line in Path(__file__).with_name("relations.tsv").read_text().splitlines():
        name, oid, words = line.split("\t")
        key = name.removeprefix(f"{SCHEMA}.")
        columns[key], oids[key] = _outputs(words), int(oid)
        required[key] = frozenset(word.split(":")[0] for word in words.split() if word.endswith(_REQUIRED))
    return columns, oids, required


RELATIONS, OIDS, REQUIRED = _read()
KEYWORDS = "pg_get_keywords"
UNNAMED = {
    KEYWORDS: _outputs("word:text catcode:char barelabel:bool catdesc:text baredesc:text"),
    OBJECTS: _outputs("kind:text oid:oid shown:text spelled:text"),
    TYPES: _outputs("kind:text oid:oid shown:text spelled:text"),
    NAMED_FUNCTIONS: _outputs("kind:text oid:oid shown:text spelled:text"),
    SOURCES: _outputs("oid:oid definition:text body:text aggregate:text"),
    SIGNATURES: _outputs("oid:oid arguments:text result:text"),
    SHOWN_SETTINGS: _outputs("name:text shown:text"),
    DEFINITIONS: _outputs("kind:text oid:oid part:int4 is_pretty:bool definition:text"),
}
"""What functions read; no query can name it."""


def columns_of(key: str) -> tuple[Output, ...]:
    return RELATIONS.get(key) or UNNAMED[key]


class Function(NamedTuple):
    """A function of the catalog in FROM: the rows of a relation, or none at all."""

    arguments: int
    outputs: tuple[Output, ...]
    relation: str = ""


FUNCTIONS = {
    "pg_available_extensions": Function(0, _outputs("name:name default_version:text comment:text")),
    "pg_options_to_table": Function(1, _outputs("option_name:text option_value:text")),
    "pg_partition_tree": Function(1, _outputs("relid:oid parentrelid:oid isleaf:bool level:int4")),
    **{
        name: Function(0, columns_of(relation), relation)
        for name, relation in (
            ("pg_show_all_settings", "pg_settings"), ("pg_lock_status", "pg_locks"), ("pg_cursor", "pg_cursors"),
            ("pg_prepared_statement", "pg_prepared_statements"), (KEYWORDS, KEYWORDS),
        )
    },
}  # fmt: skip


def key_of(schema: str, name: str) -> str | None:
    """The key of the relation that a query names; pg_catalog is searched first, as in PostgreSQL."""
    key = name if schema in ("", SCHEMA) else f"{schema}.{name}"
    return key if key in RELATIONS else None


def feed_name(key: str) -> str:
    """The relation's name in the query engine."""
    return f"k_{key.replace('.', '__')}"


def empty_of(of: Type) -> int | float | bool | None:
    """The value of a column of pg_catalog of which a node has nothing to tell."""
    return {BOOL: False, INT2: 0, INT4: 0, INT8: 0, OID: 0, REGPROC: 0, REGTYPE: 0, FLOAT4: -1.0}.get(of)
