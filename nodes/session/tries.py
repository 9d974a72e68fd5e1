"""The transactions of a statement that is its own: one after the other, until one keeps what it did (T7).

After 40001 or a stale version nothing was kept: again, after a pause, with the freshest versions. A read whose session
a change has ended is tried once more (L8). An unknown name may be an old schema's: once more, with the freshest
versions. COPY whose data is not kept any more must begin again at the client.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from expressions.errors import UNDEFINED_COLUMN, UNDEFINED_TABLE, SqlError
from nodes.clients.portals import CopyData
from nodes.context import Environment
from nodes.router.attempts import CONFLICTS_MAX, pause_s
from nodes.session.block import Block, for_client
from nodes.store.pipeline import Command
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from nodes.trace.record import Trace

T = TypeVar("T")
IN_BLOCK_MAX = 5
"""Each may take the number of a table, and its name."""
RELOADABLE = frozenset({UNDEFINED_TABLE, UNDEFINED_COLUMN})


class OnceMore(Exception):
    """Nothing of the statement was kept; another try goes about it in another way."""


async def tried(
    env: Environment,
    block: Block,
    work: Callable[[Transaction, bool], Awaitable[T]],
    *,
    is_read_only: bool = False,
    trace: Trace | None = None,
    data: CopyData | None = None,
) -> T:
    """Tries `work`, which is given its transaction and whether versions are to be fresh; returns what it does. A
    transaction that it leaves open is rolled back, unless the block streams its rows."""
    fresh, is_reloaded, was_ended = False, False, False
    last: SqlError | None = None
    for attempt in range(CONFLICTS_MAX):
        transaction = block.new_tables.begun(env.begin(is_read_only=is_read_only, by=block.owner))
        try:
            return await work(transaction, fresh)
        except OnceMore:
            if trace is not None:
                trace.forget()
        except Retry as retry:
            env.meter.retried()
            last, fresh = for_client(retry), retry.stale
            if (data is not None and not data.can_begin_again) or (
                is_read_only and retry.has_lost_session and was_ended
            ):
                raise await block.refused(retry) from retry
            was_ended = was_ended or retry.has_lost_session
            if trace is not None:
                trace.again("retry", sqlstate=retry.sqlstate, message=retry.message, fresh=fresh)
            await transaction.rollback()
            await pause(attempt)
        except SqlError as error:
            if error.sqlstate not in RELOADABLE or is_reloaded:
                raise
            last, fresh, is_reloaded = error, True, True
            if trace is not None:
                trace.again("reload", sqlstate=error.sqlstate, message=error.message)
        finally:
            if not transaction.is_over and not block.is_streaming(transaction):
                await transaction.rollback()
    assert last is not None
    raise last


async def tried_in_block(block: Block, work: Callable[[], Awaitable[T]]) -> T:
    """Try `work`, which uses the block's own transaction, until that commits; returns what it does."""
    for attempt in itertools.count(1):
        try:
            result = await work()
            await block.end_implicit()
            return result
        except SqlError as error:
            is_conflict = isinstance(error, Retry) or isinstance(error.__cause__, Retry)
            if not is_conflict or attempt == IN_BLOCK_MAX:
                raise
            block.env.meter.retried()
            await block.end()
            await pause(attempt)
    raise AssertionError


async def sent(block: Block, commands: Sequence[Command], *, alone: bool) -> list[Any]:
    """The results of commands that write: in a transaction of their own, or in the block's."""
    if alone and not block.is_open:
        return await tried(block.env, block, lambda transaction, _: transaction.run(commands, commit=True))
    transaction = block.current()
    transaction.note_written()
    async with block.refusing():
        return await transaction.run(commands)


async def pause(attempt: int) -> None:
    """Wait before another try: those that met go on at different times."""
    await asyncio.sleep(pause_s(attempt))
