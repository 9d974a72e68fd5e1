"""The outcome of a transaction whose session was lost at COMMIT: the store is asked until it proves one (T7)."""

import asyncio
import contextlib
import logging

from expressions.errors import SqlError
from nodes.store.pipeline import Command, StoreConnection, StoreError, StorePool
from storage.commit_outcomes import NOT_GIVEN, STATUS, Outcome, commit_outcome

log = logging.getLogger(__name__)

STATUS_PAUSE_S = 0.1
STATUS_S_MAX = 10.0
"""So long the outcome of a COMMIT is asked for: a server that recovers from a crash takes some seconds to answer."""


async def outcome_of(pool: StorePool, xid: bytes, began_in: str | None) -> Outcome:
    """The outcome that the store's answers prove, asked until they do or the time is over."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(STATUS_S_MAX):
            while True:
                outcome = await _outcome_now(pool, xid, began_in)
                if outcome is not Outcome.IN_PROGRESS:
                    return outcome
                await asyncio.sleep(STATUS_PAUSE_S)
    return Outcome.UNKNOWN


async def _outcome_now(pool: StorePool, xid: bytes, began_in: str | None) -> Outcome:
    try:
        async with pool.session() as session:
            status = await _status(session, xid)
            return commit_outcome(status, began_in=began_in, asked_in=session.life)
    except (StoreError, SqlError) as error:
        log.info("asking for the outcome of %s: %s", xid.decode(), error)
        return Outcome.IN_PROGRESS


async def _status(session: StoreConnection, xid: bytes) -> str | None:
    try:
        [result] = await session.run([Command(STATUS, (xid,))])
    except StoreError as error:
        if error.sqlstate != NOT_GIVEN:
            raise
        return NOT_GIVEN
    status = result.get_value(0, 0)
    return None if status is None else status.decode()
