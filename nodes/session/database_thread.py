"""Work that uses Django's connection, done beside the event loop; a store that does not answer is named so."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from expressions.errors import CONNECTION_FAILURE, SERIALIZATION_FAILURE, SqlError
from nodes.sql.statements import Statement, ddl_error
from nodes.store.pipeline import first_line

T = TypeVar("T")


class StoreDown(SqlError):
    """The store does not answer now."""


class StoreBusy(StoreDown):
    """The store answers, but not in time: nothing was kept."""

    def __init__(self) -> None:
        message = "the schema change could not be taken in time: others are being taken, or the store is slow"
        super().__init__(SERIALIZATION_FAILURE, message, hint="nothing was stored: try again")


async def of_catalog(statement: Statement, work: Callable[[], T]) -> T:
    """Does work on the catalog for a statement of DDL. Its refusals have their places in that statement."""
    from changes.ddl.errors import DdlError

    try:
        return await in_database_thread(work)
    except DdlError as error:
        raise ddl_error(error, statement) from None


async def in_database_thread(work: Callable[[], T]) -> T:
    """Run something that uses Django's connection; the thread's connection is closed with it."""

    def run() -> T:
        from django.db import InterfaceError, OperationalError, connection

        from catalog.services import OutOfTime

        try:
            return work()
        except OutOfTime as error:
            raise StoreBusy from error
        except (OperationalError, InterfaceError) as error:
            raise StoreDown(CONNECTION_FAILURE, f"the store does not answer: {first_line(error)}") from error
        finally:
            connection.close()

    return await asyncio.to_thread(run)
