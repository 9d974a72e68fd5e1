"""Rows of pg_class and pg_attribute about the catalog itself: `\\d pg_class`, `\\dtS`, lists of what tools may ask."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from catalog.descriptor import Descriptor
from expressions.sqltypes import NAME, NO_MODIFIER, TEXTUAL, Type
from nodes.catalog_views.fixed import BY_VALUE, STORAGES, alignment_of
from nodes.catalog_views.relations import INFORMATION, OIDS, OWN, RELATIONS, REQUIRED
from nodes.catalog_views.values import C_COLLATION, DEFAULT_COLLATION, HEAP, OWNER, PG_CATALOG, Row
from nodes.catalog_views.values import INFORMATION as INFORMATION_OID
from nodes.catalog_views.values import OWN as OWN_OID

VIEWS_FROM = 12000
"""PostgreSQL gives its tables fixed oids, its views the next free ones above."""
SCHEMAS = {INFORMATION: INFORMATION_OID, OWN: OWN_OID}


def _schema_and_name(key: str) -> tuple[int, str]:
    schema, _, name = key.rpartition(".")
    return SCHEMAS.get(schema, PG_CATALOG), name


@cache
def _relations() -> tuple[Row, ...]:
    rows: list[Row] = []
    for key, oid in OIDS.items():
        schema, name = _schema_and_name(key)
        is_view = oid >= VIEWS_FROM
        rows.append({
            "oid": oid, "relname": name, "relnamespace": schema, "relowner": OWNER, "relpersistence": "p",
            "relispopulated": True, "relkind": "v" if is_view else "r", "relam": 0 if is_view else HEAP,
            "relhasrules": is_view, "relreplident": "n", "relnatts": len(RELATIONS[key]),
        })  # fmt: skip
    return tuple(rows)


@cache
def _columns() -> tuple[Row, ...]:
    rows: list[Row] = []
    for key, oid in OIDS.items():
        required = REQUIRED.get(key, ())
        for number, column in enumerate(RELATIONS[key], start=1):
            of = column.type
            rows.append({
                "attrelid": oid, "attname": column.name, "attnum": number, "attnotnull": column.name in required,
                "attidentity": "", "attgenerated": "", "attcompression": "", "atttypid": of.oid, "attlen": of.typlen,
                "atttypmod": NO_MODIFIER, "attbyval": of.typlen in BY_VALUE, "attalign": alignment_of(of),
                "attndims": 0 if of.element is None else 1, "attstorage": STORAGES.get(of, "p"),
                "attislocal": True, "attcollation": _collation(of), "attstattarget": None,
            })  # fmt: skip
    return tuple(rows)


def _collation(of: Type) -> int:
    if of is NAME:
        return C_COLLATION
    return DEFAULT_COLLATION if of in TEXTUAL or of.element in TEXTUAL else 0


def _classes(_: Sequence[Descriptor]) -> Iterator[Row]:
    yield from _relations()


def _attributes(_: Sequence[Descriptor]) -> Iterator[Row]:
    yield from _columns()


MADE: dict[str, Callable[[Sequence[Descriptor]], Iterator[Row]]] = {"pg_class": _classes, "pg_attribute": _attributes}
