"""Errors under a version that no lease vouches for: they count once the storages accept that version.

    no column "note" in v4    leased: an answer, v4 may be used until the lease ends
                              without leases: v4 is checked first; refused, the statement is planned anew (`Retry`)

A node that hears nothing would otherwise repeat an old schema's errors for ever: what is never sent is never refused.
Answers that need no storage are checked when their transaction commits (`nodes.store.transaction`).
"""

from expressions.errors import SqlError
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction

OF_A_SCHEMA = ("0A", "21", "22", "23", "42")
"""Classes of errors that another version of a table might not have led to."""


class checked:  # noqa: N801 - reads as the function that `contextlib` would make of it, at a fifth of the cost
    """Raises `Retry` instead of an error that follows from a version which is not accepted any more."""

    __slots__ = ("transaction",)

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        is_error = isinstance(error, SqlError) and not isinstance(error, Retry)
        if is_error and error.sqlstate.startswith(OF_A_SCHEMA):
            await self.transaction.check()
