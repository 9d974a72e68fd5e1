"""The rows of pg_catalog for some versions of tables. What is not public is not there."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, PRIMARY, State
from expressions.sqltypes import INTERVAL, NINE, OF_SQL_TYPE, TEXT
from nodes.catalog_views.relations import RELATIONS, empty_of
from nodes.wire.oids import index_oid, table_oid

Value = int | float | str | bool | None
Row = Mapping[str, Value]

PG_CATALOG, PUBLIC, OWNER, HEAP, BTREE, DEFAULT_COLLATION = 11, 2200, 10, 2, 403, 100
BY_VALUE = frozenset({1, 4, 8})
"""Lengths of types that PostgreSQL passes by value."""
ALIGNMENTS = {1: "c", 2: "s", 4: "i", 8: "d", -1: "i"}
TYPE_NAMES = {16: "bool", 20: "int8", 23: "int4", 25: "text", 701: "float8", 1082: "date", 1114: "timestamp",
    1184: "timestamptz", 1186: "interval", 2950: "uuid"}  # fmt: skip
"""As pg_type has them; `format_type` gives the names of SQL."""


def rows_of(name: str, tables: Sequence[Descriptor]) -> list[dict[str, Value]]:
    """All rows of one relation, with every column."""
    empty = {column.name: empty_of(column.type) for column in RELATIONS[name]}
    shown = [table for table in tables if table.state is State.PUBLIC]
    return [{**empty, **row} for row in _MADE[name](shown)]


def _namespaces(_: Sequence[Descriptor]) -> Iterator[Row]:
    yield {"oid": PG_CATALOG, "nspname": "pg_catalog", "nspowner": OWNER}
    yield {"oid": PUBLIC, "nspname": "public", "nspowner": OWNER}


def _access_methods(_: Sequence[Descriptor]) -> Iterator[Row]:
    yield {"oid": HEAP, "amname": "heap", "amhandler": "heap_tableam_handler", "amtype": "t"}
    yield {"oid": BTREE, "amname": "btree", "amhandler": "bthandler", "amtype": "i"}


def _classes(tables: Sequence[Descriptor]) -> Iterator[Row]:
    """Tables and their indexes, the primary key's first."""
    for table in tables:
        usual: Row = {"relnamespace": PUBLIC, "relowner": OWNER, "relpersistence": "p", "relispopulated": True}
        yield {
            **usual, "oid": table_oid(table.table_id), "relname": table.name, "relkind": "r", "relam": HEAP,
            "relhasindex": True, "relreplident": "d", "relnatts": max(c.id for c in table.public_columns),
            "relchecks": sum(1 for c in table.constraints if c.rule == CHECK and c.state is State.PUBLIC),
        }  # fmt: skip
        indexes = [(PRIMARY, f"{table.name}_pkey", len(table.primary_key))]
        indexes += [(index.id, index.name, len(index.columns)) for index in table.public_indexes]
        for index_id, name, count in indexes:
            oid = index_oid(table.table_id, index_id)
            yield {
                **usual, "oid": oid, "relname": name, "relkind": "i", "relam": BTREE, "relreplident": "n",
                "relnatts": count,
            }  # fmt: skip


def _attributes(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for column in table.public_columns:
            of = OF_SQL_TYPE[column.type]
            yield {
                "attrelid": table_oid(table.table_id), "attname": column.name, "attnum": column.id, "atttypid": of.oid,
                "attlen": of.typlen, "atttypmod": -1, "attbyval": of.typlen in BY_VALUE,
                "attalign": ALIGNMENTS.get(of.typlen, "c"), "attstorage": "x" if of is TEXT else "p",
                "attcompression": "", "attnotnull": column.not_null or column.id in table.primary_key,
                "atthasdef": column.default is not None, "attidentity": "d" if column.identity else "",
                "attgenerated": "", "attislocal": True, "attcollation": DEFAULT_COLLATION if of is TEXT else 0,
            }  # fmt: skip


def _types(_: Sequence[Descriptor]) -> Iterator[Row]:
    for of in (*NINE, INTERVAL):
        yield {
            "oid": of.oid, "typname": TYPE_NAMES[of.oid], "typnamespace": PG_CATALOG, "typowner": OWNER,
            "typlen": of.typlen, "typbyval": of.typlen in BY_VALUE, "typtype": "b", "typcategory": of.category,
            "typispreferred": of.is_preferred, "typisdefined": True, "typdelim": ",", "typtypmod": -1,
            "typalign": "d" if of is INTERVAL else ALIGNMENTS.get(of.typlen, "c"),
            "typstorage": "x" if of is TEXT else "p", "typcollation": DEFAULT_COLLATION if of is TEXT else 0,
        }  # fmt: skip


_MADE: dict[str, Callable[[Sequence[Descriptor]], Iterator[Row]]] = {
    "pg_namespace": _namespaces,
    "pg_am": _access_methods,
    "pg_class": _classes,
    "pg_attribute": _attributes,
    "pg_type": _types,
}
