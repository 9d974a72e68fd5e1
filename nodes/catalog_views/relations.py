"""The relations of the catalog, with the columns that PostgreSQL 18 gives them, in its order.

`relations.tsv` has a line for each: name, and columns with their types. A view over the catalog needs them, and a
relation whose rows a node brings. A kind that a node has not stands as the nearest it has: xid as bigint, inet as text.
"""

from pathlib import Path

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
from nodes.wire.columns import Output
from storage.shadow import own_views

SCHEMA, INFORMATION, OWN = "pg_catalog", "information_schema", "schemalab"
_KINDS = {
    "oid": OID, "name": NAME, "char": CHAR, "xid": INT8, "int2": INT2, "int4": INT4, "int8": INT8, "bool": BOOL,
    "float4": FLOAT4, "varchar": VARCHAR,
    "timestamptz": TIMESTAMPTZ, "int2vector": INT2VECTOR, "oidvector": OIDVECTOR, "int2[]": ARRAY_OF[INT2],
    "oid[]": ARRAY_OF[OID], "text[]": ARRAY_OF[TEXT], "name[]": ARRAY_OF[NAME], "char[]": ARRAY_OF[TEXT],
    "aclitem[]": ARRAY_OF[TEXT], "regproc": REGPROC, "regtype": REGTYPE,
}  # fmt: skip
"""All others are text."""


def _outputs(words: str) -> tuple[Output, ...]:
    named = (word.split(":") for word in words.split())
    return tuple(Output(name, _KINDS.get(kind, TEXT)) for name, kind in named)


def _read() -> dict[str, tuple[Output, ...]]:
    """Columns by key: the name, with its schema unless that is pg_catalog."""
    columns = {f"{OWN}.{name}": _outputs(words) for name, words in own_views.COLUMNS.items()}
    for line in Path(__file__).with_name("relations.tsv").read_text().splitlines():
        name, words = line.split("\t")
        columns[name.removeprefix(f"{SCHEMA}.")] = _outputs(words)
    return columns


RELATIONS = _read()


def key_of(schema: str, name: str) -> str | None:
    """The key of the relation that a query names; pg_catalog is searched first, as in PostgreSQL."""
    key = name if schema in ("", SCHEMA) else f"{schema}.{name}"
    return key if key in RELATIONS else None


def empty_of(of: Type) -> int | float | bool | None:
    """The value of a column of pg_catalog of which a node has nothing to tell."""
    return {BOOL: False, INT2: 0, INT4: 0, INT8: 0, OID: 0, REGPROC: 0, REGTYPE: 0, FLOAT4: -1.0}.get(of)
