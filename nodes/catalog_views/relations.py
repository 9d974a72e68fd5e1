"""The relations of pg_catalog that a node has, with the columns that PostgreSQL 18 gives them, in its order.

A kind that a node has not stands as the nearest it has: oid and xid as bigint, name, "char" and regproc as text,
smallint as integer. What is a list or a tree there is text, and NULL here.
"""

from expressions.sqltypes import BOOL, FLOAT8, INT4, INT8, TEXT, Type
from nodes.sql.query import Output

SCHEMA = "pg_catalog"
_KINDS = {
    "oid": INT8, "xid": INT8, "int2": INT4, "int4": INT4, "bool": BOOL, "float4": FLOAT8, "name": TEXT, "char": TEXT,
    "regproc": TEXT, "text": TEXT, "list": TEXT,
}  # fmt: skip
_COLUMNS = {
    "pg_namespace": "oid:oid nspname:name nspowner:oid nspacl:list",
    "pg_am": "oid:oid amname:name amhandler:regproc amtype:char",
    "pg_class": (
        "oid:oid relname:name relnamespace:oid reltype:oid reloftype:oid relowner:oid relam:oid relfilenode:oid "
        "reltablespace:oid relpages:int4 reltuples:float4 relallvisible:int4 relallfrozen:int4 reltoastrelid:oid "
        "relhasindex:bool relisshared:bool relpersistence:char relkind:char relnatts:int2 relchecks:int2 "
        "relhasrules:bool relhastriggers:bool relhassubclass:bool relrowsecurity:bool relforcerowsecurity:bool "
        "relispopulated:bool relreplident:char relispartition:bool relrewrite:oid relfrozenxid:xid relminmxid:xid "
        "relacl:list reloptions:list relpartbound:list"
    ),
    "pg_attribute": (
        "attrelid:oid attname:name atttypid:oid attlen:int2 attnum:int2 atttypmod:int4 attndims:int2 attbyval:bool "
        "attalign:char attstorage:char attcompression:char attnotnull:bool atthasdef:bool atthasmissing:bool "
        "attidentity:char attgenerated:char attisdropped:bool attislocal:bool attinhcount:int2 attcollation:oid "
        "attstattarget:int2 attacl:list attoptions:list attfdwoptions:list attmissingval:list"
    ),
    "pg_type": (
        "oid:oid typname:name typnamespace:oid typowner:oid typlen:int2 typbyval:bool typtype:char typcategory:char "
        "typispreferred:bool typisdefined:bool typdelim:char typrelid:oid typsubscript:regproc typelem:oid "
        "typarray:oid typinput:regproc typoutput:regproc typreceive:regproc typsend:regproc typmodin:regproc "
        "typmodout:regproc typanalyze:regproc typalign:char typstorage:char typnotnull:bool typbasetype:oid "
        "typtypmod:int4 typndims:int4 typcollation:oid typdefaultbin:list typdefault:text typacl:list"
    ),
}

RELATIONS: dict[str, tuple[Output, ...]] = {
    name: tuple(Output(column, _KINDS[kind]) for column, kind in (word.split(":") for word in words.split()))
    for name, words in _COLUMNS.items()
}


def named(schema: str, name: str) -> tuple[Output, ...] | None:
    """The columns of the relation that a query names; pg_catalog is searched first, as in PostgreSQL."""
    return RELATIONS.get(name) if schema in ("", SCHEMA) else None


def feed_name(name: str) -> str:
    """The relation's name in the query engine."""
    return f"k_{name}"


def empty_of(of: Type) -> int | float | str | bool | None:
    """The value of a column of which a node has nothing to tell."""
    return {BOOL: False, INT4: 0, INT8: 0, FLOAT8: -1.0}.get(of)
