"""Rows that functions of the catalog read: the names of objects, and how objects are written out."""

from collections.abc import Callable, Iterator, Sequence

from catalog.descriptor import Descriptor
from expressions.sqltypes import ARRAY_OF, REGTYPE, REGTYPES, STORED, SYSTEM, TYPE_WORDS, VECTORS
from expressions.values.object_names import DEFINITIONS, OBJECTS, PSEUDO_TYPES, SEQUENCE, TYPES, spelled
from nodes.catalog_views import described
from nodes.catalog_views.fixed import SCHEMAS, TYPE_NAMES
from nodes.catalog_views.relations import OIDS
from nodes.catalog_views.tables import definitions
from nodes.catalog_views.values import OWNER, OWNER_NAME, Row
from nodes.wire.oids import column_oid, index_oid, table_oid
from storage.shadow.keys import keys_of
from storage.shadow.names import quoted


def _objects(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for kind, oid, shown, found_by in _names(tables):
        yield {"kind": kind, "oid": oid, "shown": shown, "spelled": found_by}


def _names(tables: Sequence[Descriptor]) -> Iterator[tuple[str, int, str, str | None]]:
    """Kind, oid, the name that is shown, and one that it is found by, if any: each way to spell it is a row."""
    for table in tables:
        relations = [(table_oid(table.table_id), table.name)]
        relations += [(index_oid(table.table_id, key.id), key.name) for key in keys_of(table)]
        for column in table.public_columns:
            if column.identity:
                name = table.sequence_name(column)
                relations.append((column_oid(table.table_id, column.id), name))
                yield SEQUENCE, table_oid(table.table_id), f"public.{quoted(name)}", column.name
        for oid, name in relations:
            for found_by in (spelled(name), f"public.{spelled(name)}"):
                yield "c", oid, quoted(name), found_by
    for key, oid in OIDS.items():
        yield "c", oid, key, key
        if "." not in key:
            yield "c", oid, key, f"pg_catalog.{key}"
    for oid, name in SCHEMAS.items():
        yield "n", oid, name, name
    yield "r", OWNER, OWNER_NAME, OWNER_NAME


def _types(_: Sequence[Descriptor]) -> Iterator[Row]:
    for kind, oid, shown, found_by in _names_of_types():
        yield {"kind": kind, "oid": oid, "shown": shown, "spelled": found_by}


def _names_of_types() -> Iterator[tuple[str, int, str, str | None]]:
    for word, of in TYPE_WORDS.items():
        yield "t", of.oid, of.name, word
        if (array := ARRAY_OF.get(of)) is not None:
            yield "t", array.oid, array.name, f"{word}[]"
    for of in SYSTEM:
        yield "t", of.oid, of.name, TYPE_NAMES[of.oid]
    for of in VECTORS:
        for found_by in (of.name, f"pg_catalog.{of.name}"):
            yield "t", of.oid, of.name, found_by
    for of in (*STORED, *SYSTEM):
        yield "t", of.oid, of.name, f"pg_catalog.{TYPE_NAMES[of.oid]}"
    for of, array in ARRAY_OF.items():
        for found_by in (array.name, f"_{TYPE_NAMES[of.oid]}", f"{TYPE_NAMES[of.oid]}[]"):
            yield "t", array.oid, array.name, found_by
    for name, oid in PSEUDO_TYPES.items():
        for found_by in (name, f"pg_catalog.{name}"):
            yield "t", oid, name, found_by
    for found_by in (REGTYPES.name, f"_{REGTYPE.name}"):
        yield "t", REGTYPES.oid, REGTYPES.name, found_by


def _definitions(tables: Sequence[Descriptor]) -> Iterator[Row]:
    of_its_own = ((relation, oid, 0, False, text) for relation, oid, text in described.known())
    for kind, oid, part, is_pretty, text in (*definitions(tables), *of_its_own):
        yield {"kind": kind, "oid": oid, "part": part, "is_pretty": is_pretty, "definition": text}


MADE: dict[str, Callable[[Sequence[Descriptor]], Iterator[Row]]] = {
    OBJECTS: _objects, TYPES: _types, DEFINITIONS: _definitions,
}  # fmt: skip
