"""Errors of the store in the terms of a client: what may be tried again (`Retry`: nothing was kept), what is over, and
what is unknown (`CommitUnknown`, T7)."""

import logging
from collections.abc import Collection, Sequence
from typing import Protocol

from expressions.errors import (
    CONNECTION_FAILURE,
    DEADLOCK,
    FENCE_REFUSALS,
    INTERNAL_ERROR,
    NOT_IN_PREREQUISITE_STATE,
    PROGRAM_LIMIT,
    SEQUENCE_LIMIT,
    SERIALIZATION_FAILURE,
    TRANSACTION_TIMEOUT,
    UNDEFINED_TABLE,
    SqlError,
)
from leases.node.uses import Pin
from nodes.settings.known import unrecognized, unrecognized_in
from nodes.store.pipeline import StoreError, UsersCommand
from storage.pair_views import SCHEMA
from storage.postgres import BELOW_FENCE, STORAGE_REMOVED

log = logging.getLogger(__name__)

ADMIN_SHUTDOWN = "57P01"
IDLE_IN_TRANSACTION = "25P03"
HAD_TO_END = "the transaction had to end: "
"""So begin the words of whatever ended a transaction from outside it."""
BESIDE_AN_OLD_ONE = ("old pivot", "old committed transaction")
"""PostgreSQL's reasons when it has forgotten details of ended transactions, beside one that stays open (T6)."""
END_THE_OLD_ONE = "trying again helps once a transaction has ended that has been open for long: schemalab.leases has it"


class Retry(SqlError):
    """Nothing of the statement was kept; it may succeed when tried again. `stale` asks for the freshest versions.
    `refusal` is the code with which `enter` refused `pin`, before anything was written. `has_lost_session`: the store
    ended it, for a change that waited or a lease that was revoked (L8)."""

    def __init__(
        self,
        message: str,
        *,
        sqlstate: str = SERIALIZATION_FAILURE,
        stale: bool = False,
        hint: str | None = None,
        refusal: str | None = None,
        pin: Pin | None = None,
        has_lost_session: bool = False,
    ) -> None:
        super().__init__(sqlstate, message, hint=hint or "try the transaction again")
        self.stale, self.refusal, self.pin, self.has_lost_session = stale, refusal, pin, has_lost_session


class CommitUnknown(SqlError):
    """The session was lost at COMMIT and nobody knows what became of the transaction."""


class Refused(SqlError):
    """A command found what must not be, as an existing pair where a new one goes: number `position` of its batch."""

    def __init__(self, position: int) -> None:
        super().__init__("23505", "duplicate key")
        self.position = position


def why_ended(pins: Collection[Pin], lost: StoreError) -> SqlError:
    tables = ", ".join(sorted(str(pin.descriptor) for pin in pins)) or "no table"
    ended = next((pin.ended_because for pin in pins if pin.ended_because), None)
    if ended is not None:
        return Retry(f"{HAD_TO_END}{ended} (it used {tables})", stale=True, has_lost_session=True)
    if lost.sqlstate == IDLE_IN_TRANSACTION or "idle-in-transaction" in lost.message:
        return Retry(f"{HAD_TO_END}its node stood still while others waited for it (it used {tables})")
    if lost.sqlstate == TRANSACTION_TIMEOUT or "transaction timeout" in lost.message:
        return Retry(f"{HAD_TO_END}the lease on {tables} ended", stale=True)
    if lost.sqlstate == ADMIN_SHUTDOWN or "administrator command" in lost.message:
        return Retry(
            f"{HAD_TO_END}its session at the store was ended from outside (it used {tables})",
            stale=True,
            has_lost_session=True,
            hint="a lease was revoked, or a schema change had waited for it; try again",
        )
    if lost.sqlstate == PROGRAM_LIMIT:  # the node itself has ended it
        return SqlError(PROGRAM_LIMIT, lost.message)
    return SqlError(CONNECTION_FAILURE, f"the session at the store was lost: {lost.message}")


OF_THE_STORE = ("40", "53", "57", "58", "25", "XX", "08")
"""Classes of errors that a user's statement meets, but did not cause."""


def is_users(error: StoreError) -> bool:
    """True if the words of a user's statement are what is wrong, or what it computed."""
    is_ours = error.sqlstate == UNDEFINED_TABLE and f'"{SCHEMA}.' in error.message
    return not (is_ours or error.sqlstate.startswith(OF_THE_STORE) or error.sqlstate in FENCE_REFUSALS)


class UsersError(SqlError):
    def __init__(self, error: StoreError, command: UsersCommand) -> None:
        offset = command.offset_of(error.at) if error.at and command.offset_of is not None else -1
        super().__init__(
            error.sqlstate,
            error.message,
            offset,
            detail=error.detail or None,
            hint=error.hint or None,
            table=error.table or None,
            column=error.column or None,
            constraint=error.constraint or None,
            where=error.where or None,
        )
        self.command = command


def users_error(error: StoreError, command: UsersCommand) -> SqlError:
    name = unrecognized_in(error.message)
    return UsersError(error, command) if name is None else unrecognized(name)


def translated(
    error: StoreError,
    pins: Collection[Pin],
    *,
    skipped: int = 0,
    entering: Sequence[Pin] = (),
    has_own_tables: bool = False,
) -> SqlError:
    """`entering`: the uses whose `enter` are the last of the `skipped` commands of the batch."""
    place = error.position - skipped + len(entering)
    pin = entering[place] if 0 <= place < len(entering) else None
    if pin is not None and error.sqlstate in STORAGE_REMOVED:
        message = f"the schema moved on: {pin.descriptor} is on a storage that was removed since"
        return Retry(message, stale=True, refusal=BELOW_FENCE, pin=pin)
    if error.sqlstate in FENCE_REFUSALS:
        return Retry(f"the schema moved on: {error.message}", stale=True, refusal=error.sqlstate, pin=pin)
    if error.sqlstate in (SERIALIZATION_FAILURE, DEADLOCK):
        is_beside = any(reason in (error.detail or "") for reason in BESIDE_AN_OLD_ONE)
        return Retry(error.message, sqlstate=error.sqlstate, hint=END_THE_OLD_ONE if is_beside else None)
    if error.sqlstate == TRANSACTION_TIMEOUT:
        return why_ended(pins, error)
    if error.sqlstate.startswith(("53", "54", "57", "55")):
        return SqlError(error.sqlstate, error.message, detail=error.detail or None)
    if error.sqlstate == SEQUENCE_LIMIT:
        return SqlError(error.sqlstate, error.message)
    if error.sqlstate == "22012":
        return Refused(error.position - skipped)
    if error.sqlstate == UNDEFINED_TABLE and has_own_tables:  # no lease keeps them: what a dead node has made is freed
        message = "tables that this session has made are gone: its node was taken for dead"
        return SqlError(NOT_IN_PREREQUISITE_STATE, message, hint="DISCARD TEMP, and make them again")
    log.error("the store refused a statement: %s %s %s", error.sqlstate, error.message, error.detail)
    return SqlError(INTERNAL_ERROR, f"the store refused a statement: {error.message}")


# -- errors under a version that no lease vouches for ------------------------------------------------------------------

OF_A_SCHEMA = ("0A", "21", "22", "23", "42")
"""Classes of errors that another version of a table might not have led to."""


class Checkable(Protocol):
    """A transaction whose versions can be checked. Raises `Retry`."""

    async def check(self) -> None: ...


class checked:  # noqa: N801 - reads as the function that `contextlib` would make of it, at a fifth of the cost
    """Raises `Retry` instead of an error that follows from a version which is not accepted any more. Under a lease such
    an error is an answer. Without leases the version is checked first: a node that hears nothing would repeat an old
    schema's errors for ever, as what is never sent is never refused."""

    __slots__ = ("transaction",)

    def __init__(self, transaction: Checkable) -> None:
        self.transaction = transaction

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        is_error = isinstance(error, SqlError) and not isinstance(error, Retry)
        if is_error and error.sqlstate.startswith(OF_A_SCHEMA):
            await self.transaction.check()
