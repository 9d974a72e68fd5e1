"""The names that types are found by, for casts to regtype beside rows."""

from collections.abc import Iterator

from expressions.sqltypes import ARRAY_OF, REGTYPE, REGTYPES, STORED, SYSTEM, TYPE_WORDS, VECTORS
from expressions.values.object_names import PSEUDO_TYPES
from nodes.catalog_views.values import Row

TYPE_NAMES = {16: "bool", 20: "int8", 21: "int2", 23: "int4", 25: "text", 1042: "bpchar", 1043: "varchar",
    700: "float4", 701: "float8", 1700: "numeric", 1082: "date", 1114: "timestamp",
    1184: "timestamptz", 1083: "time", 1186: "interval", 2950: "uuid", 17: "bytea", 114: "json", 3802: "jsonb",
    26: "oid", 19: "name", 18: "char"}  # fmt: skip
"""As pg_type has them; `format_type` gives the names of SQL."""


def rows() -> Iterator[Row]:
    """Oid, the name that is shown, and one that it is found by: each way to spell it is a row."""
    for oid, shown, found_by in _names():
        yield {"kind": "t", "oid": oid, "shown": shown, "spelled": found_by}


def _names() -> Iterator[tuple[int, str, str]]:
    for word, of in TYPE_WORDS.items():
        yield of.oid, of.name, word
        if (array := ARRAY_OF.get(of)) is not None:
            yield array.oid, array.name, f"{word}[]"
    for of in SYSTEM:
        yield of.oid, of.name, TYPE_NAMES[of.oid]
    for of in VECTORS:
        for found_by in (of.name, f"pg_catalog.{of.name}"):
            yield of.oid, of.name, found_by
    for of in (*STORED, *SYSTEM):
        yield of.oid, of.name, f"pg_catalog.{TYPE_NAMES[of.oid]}"
    for of, array in ARRAY_OF.items():
        for found_by in (array.name, f"_{TYPE_NAMES[of.oid]}", f"{TYPE_NAMES[of.oid]}[]"):
            yield array.oid, array.name, found_by
    for name, oid in PSEUDO_TYPES.items():
        for found_by in (name, f"pg_catalog.{name}"):
            yield oid, name, found_by
    for found_by in (REGTYPES.name, f"_{REGTYPE.name}"):
        yield REGTYPES.oid, REGTYPES.name, found_by
