"""Errors under a version that no lease vouches for: they count once the storages accept that version.

    no column "note" in v4    leased: an answer, v4 may be used until the lease ends
                              without leases: v4 is checked first; refused, the statement is planned anew (`Retry`)

A node that hears nothing would otherwise repeat an old schema's errors for ever: what is never sent is never refused.
Answers that need no storage are checked when their transaction commits (`nodes.store.transaction`).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from expressions.errors import SqlError
from nodes.store.transaction import Retry, Transaction

OF_A_SCHEMA = ("0A", "21", "22", "23", "42")
"""Classes of errors that another version of a table might not have led to."""


@asynccontextmanager
async def checked(transaction: Transaction) -> AsyncIterator[None]:
    """Raise `Retry` instead of an error that follows from a version which is not accepted any more."""
    try:
        yield
    except Retry:
        raise
    except SqlError as error:
        if error.sqlstate.startswith(OF_A_SCHEMA):
            await transaction.check()
        raise
