"""Batches of the catalog's relations, made beside the event loop and kept while there is room.

What is made of the same versions of the same tables is made once: whoever asks meanwhile waits for it.
"""

import asyncio
import functools
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.descriptor import Descriptor
from catalog.view_definition import ViewDefinition
from nodes.catalog_views.relations import columns_of
from nodes.catalog_views.rows import rows_of
from nodes.execution.fairness import in_thread

NO_TABLES: Mapping[int, Descriptor] = {}
KEPT_BYTES_MAX = 2**26
KEPT_MAX = 500

Key = tuple[str, str, tuple[Any, ...]]
"""A relation, the user if its rows depend on that, and the tables that it is made of."""


@dataclass(eq=False)
class CatalogBatches:
    """Batches of relations by what they are made of, the least used first."""

    _kept: "OrderedDict[Key, Any]" = field(default_factory=OrderedDict)
    _made: "dict[Key, asyncio.Task[Any]]" = field(default_factory=dict)
    _bytes: int = 0

    async def get(
        self,
        name: str,
        tables: tuple[Descriptor, ...],
        user: str,
        made: Mapping[int, Descriptor] = NO_TABLES,
        views: tuple[ViewDefinition, ...] = (),
    ) -> Any:
        """The rows for these tables and views. One that a transaction has made may change within its version."""
        known = tuple(table if table.table_id in made else (table.table_id, table.version) for table in tables)
        key = (name, user, (*known, *((view.view_id, -view.revision) for view in views)))
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        making = self._made.get(key)
        if making is None:
            making = self._made[key] = asyncio.create_task(self._make(key, tables, views))
            making.add_done_callback(functools.partial(self._ended, key))
        return await asyncio.shield(making)

    async def _make(self, key: Key, tables: tuple[Descriptor, ...], views: tuple[ViewDefinition, ...]) -> Any:
        name, user, _ = key
        batch = await in_thread(lambda: batch_of(name, rows_of(name, tables, user, views)))
        self._kept[key] = batch
        self._bytes += batch.nbytes
        while len(self._kept) > KEPT_MAX or (self._bytes > KEPT_BYTES_MAX and len(self._kept) > 1):
            _, old = self._kept.popitem(last=False)
            self._bytes -= old.nbytes
        return batch

    def _ended(self, key: Key, making: "asyncio.Task[Any]") -> None:
        """Forget the task; whoever waits for it has its error, which may be nobody."""
        self._made.pop(key, None)
        if not making.cancelled():
            making.exception()


def batch_of(key: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """These rows of a relation of the catalog, with columns o0, o1, .."""
    import pyarrow as pa

    from nodes.execution.engine.duckdb_engine import SHORT

    kinds = {
        "BOOLEAN": pa.bool_(), "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64(),
        "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "VARCHAR": pa.string(),
        "TIMESTAMPTZ": pa.timestamp("us", tz="UTC"),
    }  # fmt: skip
    columns, fields = columns_of(key), []
    for place, column in enumerate(columns):
        element = column.type.element
        kind = kinds[column.type.duck] if element is None else pa.list_(kinds[element.duck])
        fields.append(pa.field(f"o{place}", kind, metadata=SHORT))
    arrays = [
        pa.array([row[column.name] for row in rows], field.type) for column, field in zip(columns, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
