"""Relations that functions of a query look values up in: names of types, and the session's settings."""

import asyncio
import functools
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from expressions.typed import Context
from expressions.values.object_names import TYPES
from nodes.catalog_views import type_names
from nodes.catalog_views.relations import columns_of, feed_name


def catalog_feeds(names: Iterable[str], context: Context) -> dict[str, Any]:
    """The relations of these names."""
    from nodes.execution.engine.duckdb_engine import Feed

    loop = asyncio.get_running_loop()
    batches = {name: _types() if name == TYPES else batch_of(name, _of_session(name, context)) for name in names}
    return {feed_name(n): Feed(batch.schema, functools.partial(_once, batch), loop) for n, batch in batches.items()}


@functools.cache
def _types() -> Any:
    return batch_of(TYPES, type_names.rows())


def _of_session(name: str, context: Context) -> Iterable[Mapping[str, Any]]:
    rows = context.session.rows_of(name)
    assert rows is not None, f"no query reads {name} here"
    return rows


def batch_of(key: str, rows: Iterable[Mapping[str, Any]]) -> Any:
    """These rows of a relation, with columns o0, o1, .."""
    import pyarrow as pa

    from nodes.execution.engine.duckdb_engine import SHORT

    kinds, listed = {"BIGINT": pa.int64(), "VARCHAR": pa.string()}, list(rows)
    fields, arrays = [], []
    for place, column in enumerate(columns_of(key)):
        field = pa.field(f"o{place}", kinds[column.type.duck], metadata=SHORT)
        fields.append(field)
        arrays.append(pa.array([row[column.name] for row in listed], field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


async def _once(batch: Any) -> AsyncIterator[Any]:
    yield batch
