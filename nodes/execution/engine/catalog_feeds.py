"""Relations of the catalog for the query engine: those that a query reads, made once for all sessions of the node.

tables in the version that the transaction uses    else in the newest one
tables that the transaction itself has made        beside them
"""

import asyncio
import datetime as dt
import functools
from collections.abc import AsyncIterator, Iterable
from typing import Any

from catalog.descriptor import Descriptor
from expressions.sqltypes import TIMESTAMPTZ
from expressions.typed import Context
from nodes.catalog_views import own
from nodes.catalog_views.fixed import NO_USER, PEOPLE
from nodes.catalog_views.relations import columns_of, feed_name
from nodes.context import Environment
from nodes.execution.engine.catalog_batches import batch_of
from nodes.execution.fairness import in_thread
from nodes.store.transaction import Transaction


async def catalog_feeds(
    env: Environment, transaction: Transaction, names: Iterable[str], context: Context
) -> dict[str, Any]:
    """The relations of these names as the transaction sees them."""
    from nodes.execution.engine.duckdb_engine import Feed

    tables, views = await tables_of(env, transaction), await env.directory.views()
    feeds, loop = {}, asyncio.get_running_loop()
    for name in names:
        asked, of_session = own.ASKED.get(name), context.session.rows_of(name)
        if of_session is not None:
            batch = batch_of(name, of_session)
        elif asked is None:
            user = context.session["user"] if name in PEOPLE else NO_USER
            batch = await env.catalog_batches.get(name, tables, user, transaction.own, views)
        else:
            rows = await _asked_rows(env, name, asked)
            batch = await in_thread(functools.partial(batch_of, name, rows))
        feeds[feed_name(name)] = Feed(batch.schema, functools.partial(_once, batch), loop)
    return feeds


async def tables_of(env: Environment, transaction: Transaction) -> tuple[Descriptor, ...]:
    """All tables as the transaction sees them, by name."""
    seen = {table.table_id: table for table in await env.directory.tables()}
    seen |= {table_id: pin.descriptor for table_id, pin in transaction.pins.items()}
    seen |= transaction.own
    return tuple(sorted(seen.values(), key=lambda table: table.name))


async def _asked_rows(env: Environment, name: str, asked: str) -> list[dict[str, Any]]:
    """Rows of a view of our own that only the store knows."""
    rows = await env.directory.rows(asked)
    for column in columns_of(name):
        if column.type is TIMESTAMPTZ:
            for row in rows:
                row[column.name] = row[column.name] and dt.datetime.fromisoformat(row[column.name])
    return rows


async def _once(batch: Any) -> AsyncIterator[Any]:
    yield batch
