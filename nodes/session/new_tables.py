"""Tables that a transaction creates: nobody else's until COMMIT, and the catalog's then (T9)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from catalog.descriptor import Descriptor
from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError
from nodes.context import Environment, TableOutcome
from nodes.execution.fairness import in_thread_if_large
from nodes.session.database_thread import StoreDown, in_database_thread
from nodes.sql.statements import Statement, ddl_error
from nodes.store.pipeline import Command, finished
from nodes.store.transaction import Retry, Transaction

if TYPE_CHECKING:
    from changes.ddl.resolve import NothingToDo

log = logging.getLogger(__name__)

PAUSES_S = (0.05, 0.5, 0.0)
"""Between tries to announce what became of a new table, while its client waits."""
LATER_S = 3.0
"""Between further tries, for as long as the node lives: what a dead one leaves behind, the maintenance frees."""


class NewTables:
    """The tables that a session's transaction has made."""

    def __init__(self, env: Environment, user: str) -> None:
        self.env, self.user = env, user
        self.tables: dict[str, Descriptor] = {}

    async def create(self, statement: Statement, transaction: Transaction | None) -> NothingToDo | None:
        """Make the table; the notice for the client if there is one already."""
        from changes.ddl.errors import DdlError
        from changes.ddl.resolve import NothingToDo
        from changes.ddl.statements import parse
        from changes.new_tables import reserve_table
        from changes.planning.table_in_transaction import new_table

        if transaction is not None and transaction.savepoints:
            raise SqlError(FEATURE_NOT_SUPPORTED, "CREATE TABLE after a SAVEPOINT is not supported: make it before")
        try:
            env = self.env
            parsed = await in_thread_if_large(statement.text, lambda: parse(statement.text))
            name = parsed.action.table.text
            if name in self.tables:
                raise SqlError("42P07", f'relation "{name}" already exists')
            reservation = in_database_thread(lambda: reserve_table(parsed, node=env.node, incarnation=env.incarnation))
            reserved, cancel = await finished(reservation)  # names that are taken have to be freed again
        except NothingToDo as nothing:
            return nothing
        except DdlError as error:
            raise ddl_error(error, statement) from None
        self.tables[name] = new_table(reserved.action, reserved.table_id)
        if cancel is not None:
            raise cancel
        return None

    async def before_commit(self, transaction: Transaction) -> None:
        """The catalog rows of the tables made here, by the same transaction, after the user's last statement."""
        from changes.planning.table_in_transaction import statements_at_commit

        env = self.env
        for table in self.tables.values():
            commands = [
                Command(sql, tuple(as_text(p) for p in params), is_text=True)
                for sql, params in statements_at_commit(table, storages=env.storages, who=self.user)
            ]
            results = await transaction.run(commands)
            if results[0].command_tuples != 1:
                raise Retry(f'the name "{table.name}" was given up: this node was taken for dead')
            transaction.note_written()

    async def after_transaction(self, *, committed: bool) -> None:
        """Announce new tables, or free their names; what cannot be done now is tried again by the node."""
        tables, self.tables = self.tables, {}
        if not tables:
            return
        env, outcome = self.env, TableOutcome(self.user, has_committed=committed)
        outcomes = {table.table_id: outcome for table in tables.values()}
        env.unannounced |= outcomes
        _, cancel = await finished(announce(env, outcomes))
        if not outcomes.keys().isdisjoint(env.unannounced) and not env.is_announcing_later:
            env.is_announcing_later = True
            env.run_beside("announcing new tables", announce_later(env))
        if cancel is not None and not committed:  # after a COMMIT it comes too late
            raise cancel


async def announce(env: Environment, table_ids: Iterable[int]) -> None:
    """Report what became of new tables; those that cannot be reported now stay in `env.unannounced`."""
    for table_id in table_ids:
        if table_id in env.announcing or table_id not in env.unannounced:
            continue
        env.announcing.add(table_id)
        try:
            if await _is_announced(table_id, env.unannounced[table_id]):
                del env.unannounced[table_id]
        finally:
            env.announcing.discard(table_id)


async def _is_announced(table_id: int, outcome: TableOutcome) -> bool:
    from django.db import Error

    from changes.new_tables import announce_table, free_table

    for pause_s in PAUSES_S:
        try:
            if outcome.has_committed:
                await in_database_thread(lambda: announce_table(table_id, who=outcome.user))
            else:
                await in_database_thread(lambda: free_table(table_id))
        except (Error, StoreDown) as error:
            log.warning("table %s: %s", table_id, error)
            await asyncio.sleep(pause_s)
        except Exception:  # the client is told what became of its transaction, whatever becomes of this (T7)
            log.exception("table %s could not be announced", table_id)
            return False
        else:
            return True
    return False


async def announce_later(env: Environment) -> None:
    """Report new tables whose session may be gone by now, until nothing is left."""
    try:
        while env.unannounced:
            await asyncio.sleep(LATER_S)
            await announce(env, list(env.unannounced))
    finally:
        env.is_announcing_later = False


async def announce_last(env: Environment, seconds_max: float) -> None:
    """Report new tables before the node ends, if that does not take long."""
    try:
        async with asyncio.timeout(seconds_max):
            while env.unannounced:
                await announce(env, list(env.unannounced))
                await asyncio.sleep(PAUSES_S[0])
    except TimeoutError:
        log.error("what became of new tables could not be announced: %s", env.unannounced)


def as_text(value: Any) -> bytes | None:
    """A parameter in PostgreSQL's text form."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return ("{" + ",".join(json.dumps(str(v)) for v in value) + "}").encode()
    return str(value).encode()
