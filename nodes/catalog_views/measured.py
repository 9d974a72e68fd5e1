"""Relations in which PostgreSQL counts what happens to tables. A node counts nothing: each table is there, with NULLs.

So tools that join them to find a table's name or an estimate find the table, and no number that nobody has measured.
"""

from collections.abc import Callable, Iterator, Sequence

from catalog.descriptor import Descriptor
from nodes.catalog_views.values import Row
from nodes.wire.oids import index_oid, table_oid
from storage.shadow.keys import keys_of

BEGINNING = "pg_stat"
"""Of their names."""


def _tables(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        yield {"relid": table_oid(table.table_id), "schemaname": "public", "relname": table.name}


def _indexes(tables: Sequence[Descriptor]) -> Iterator[Row]:
    for table in tables:
        for key in keys_of(table):
            yield {
                "relid": table_oid(table.table_id), "indexrelid": index_oid(table.table_id, key.id),
                "schemaname": "public", "relname": table.name, "indexrelname": key.name,
            }  # fmt: skip


MADE: dict[str, Callable[[Sequence[Descriptor]], Iterator[Row]]] = {
    **{f"pg_{kind}_{whose}_tables": _tables for kind in ("stat", "statio") for whose in ("all", "user")},
    **{f"pg_stat_{whose}_indexes": _indexes for whose in ("all", "user")},
}
