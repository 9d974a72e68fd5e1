"""Tables that a transaction makes, and changes: its own until COMMIT, and the catalog's then (T9)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from catalog.descriptor import Descriptor
from catalog.elements import State
from expressions.errors import FEATURE_NOT_SUPPORTED, PROGRAM_LIMIT, SqlError
from nodes.context import Environment, TableOutcome
from nodes.execution.fairness import in_thread_if_large
from nodes.execution.writing.rewrite import rewrite
from nodes.execution.writing.truncate import truncate_within
from nodes.session.database_thread import StoreDown, in_database_thread
from nodes.sql.plans import TruncatePlan
from nodes.sql.statements import Statement, ddl_error
from nodes.store.pipeline import Command, finished
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from storage import pair_views

if TYPE_CHECKING:
    from changes.ddl.resolve import NothingToDo
    from changes.planning.table_in_transaction import Remade

log = logging.getLogger(__name__)

TABLES_MAX = 100
"""Of one session: each takes tables of the store."""
DELETE_ROWS, PRESERVE_ROWS = "delete rows", "preserve rows"

PAUSES_S = (0.05, 0.5, 0.0)
"""Between tries to announce what became of a new table, while its client waits."""
LATER_S = 3.0
"""Between further tries, for as long as the node lives: what a dead one leaves behind, the maintenance frees."""


@dataclass(eq=False)
class TemporaryTables:
    """The temporary tables of one session: as its last transaction left them, and those of the one that runs. They are
    made as any table of a transaction (T9), and never given to the catalog: a spare table at the storages is reserved
    for this node. It needs no lease and no fence, as no other session knows its id. At its end the reservation is given
    up. Version numbers go on as long as the session lives, since plans are kept by them."""

    kept: dict[int, Descriptor] = field(default_factory=dict)
    ends: dict[int, str] = field(default_factory=dict)
    """What COMMIT does with each, those that a running transaction makes among them."""

    def has(self, table: Descriptor) -> bool:
        return table.table_id in self.ends

    def among(self, tables: dict[str, Descriptor]) -> tuple[Descriptor, ...]:
        return tuple(table for table in tables.values() if self.has(table))

    def emptied_at_commit(self, tables: dict[str, Descriptor]) -> tuple[Descriptor, ...]:
        return tuple(table for table in tables.values() if self.ends.get(table.table_id) == DELETE_ROWS)

    def commit(self, tables: dict[str, Descriptor]) -> set[int]:
        """Keep what the transaction has left; the ids of those that are gone with it."""
        before = set(self.kept)
        self.kept = {
            t.table_id: t for t in tables.values() if self.ends.get(t.table_id) in (PRESERVE_ROWS, DELETE_ROWS)
        }
        return (before | {t.table_id for t in tables.values() if self.has(t)}) - self.kept.keys()

    def give_up(self) -> set[int]:
        given, self.kept, self.ends = set(self.kept), {}, {}
        return given

    def forget(self) -> None:
        self.ends = {table_id: how for table_id, how in self.ends.items() if table_id in self.kept}


class NewTables:
    """The tables that a session's transaction has made. Each statement that changes one of them gives it the next
    number of a version, also after a return to a savepoint: what was planned for a version stays what it is."""

    def __init__(self, env: Environment, who: str) -> None:
        self.env, self.who = env, who
        self.tables: dict[str, Descriptor] = {}
        self._dropped: set[int] = set()
        """Those that it has begun to make, or has dropped again: what they were called is free when it ends."""
        self._numbers: dict[int, int] = {}
        self.temporary = TemporaryTables()
        self._marks: list[tuple[int, dict[str, Descriptor], frozenset[int]]] = []
        """The tables, and those dropped, at each savepoint that can be returned to."""

    @property
    def empties_at_commit(self) -> bool:
        """True if a COMMIT has to empty temporary tables: also that of a statement alone."""
        return bool(self.tables) and bool(self.temporary.emptied_at_commit(self.tables))

    @property
    def has_altered_temporary(self) -> bool:
        """True if the transaction has given a temporary table, which the session had before, another version."""
        return any(self.temporary.kept.get(table.table_id, table) != table for table in self.tables.values())

    async def change(self, statement: Statement, transaction: Transaction) -> NothingToDo | None:
        """Makes a table, or changes existing ones; the notice for the client if there is nothing to do. Raises
        `OthersTakePart` when the statement moves tables that the transaction has not made."""
        from changes.ddl.errors import DdlError
        from changes.ddl.resolve import NothingToDo
        from changes.services import ChangeError

        try:
            made = await self._made(statement)
        except NothingToDo as nothing:
            return nothing
        except DdlError as error:
            raise ddl_error(error, statement) from None
        except ChangeError as error:
            raise SqlError(error.sqlstate, str(error)) from None
        before = {table.table_id: table for table in self.tables.values()}
        for table in made.tables:
            self._numbers[table.table_id] = self._numbers.get(table.table_id, 0) + 1
        after = [replace(table, version=self._numbers[table.table_id]) for table in made.tables]
        for table in after:
            if table.table_id in before and table.state is State.PUBLIC:
                old = before[table.table_id]
                await rewrite(self.env, transaction, old, table, made.computed, is_older=self.temporary.has(old))
        public = {table.table_id for table in after if table.state is State.PUBLIC}
        views = [sql for table in after for sql in pair_views.make_sql(table, self.env.storages)]
        if views:
            transaction.note_written()
            await transaction.run([Command(sql) for sql in views])
        self._dropped = (self._dropped | {table.table_id for table in after}) - public
        left = before | {table.table_id: table for table in after}
        self._use({t.name: t for t in left.values() if t.table_id not in self._dropped}, transaction)
        return None

    async def is_private(self, statement: Statement) -> bool:
        """True for a statement that makes a temporary table, or is about one of the session's."""
        from changes.ddl.actions import CreateTable
        from changes.ddl.errors import DdlError
        from changes.ddl.statements import parse
        from changes.submission.new_tables import targets_one_of

        try:
            parsed = await in_thread_if_large(statement.text, lambda: parse(statement.text))
        except DdlError:
            return False  # which is refused by whoever reads it next
        is_made = isinstance(parsed.action, CreateTable) and bool(parsed.action.temporary)
        return is_made or targets_one_of(parsed, self.temporary.among(self.tables))

    async def _made(self, statement: Statement) -> Remade:
        from django.db import Error

        from changes.ddl.actions import CreateTable
        from changes.ddl.statements import parse
        from changes.submission.new_tables import alter_tables, reserve_table, targets_one_of

        env, dropped = self.env, frozenset(self._dropped)
        parsed = await in_thread_if_large(statement.text, lambda: parse(statement.text))
        private = self.temporary.among(self.tables)
        others = tuple(table for table in self.tables.values() if table not in private)
        if not isinstance(parsed.action, CreateTable):
            is_private = targets_one_of(parsed, private)
            own = private if is_private else others
            return await in_database_thread(
                lambda: alter_tables(parsed, own=own, dropped=dropped, temporary=is_private)
            )
        token, at_commit = uuid4(), parsed.action.temporary
        if at_commit and len(private) >= TABLES_MAX:
            raise SqlError(PROGRAM_LIMIT, f"a session has at most {TABLES_MAX} temporary tables")
        own = private if at_commit else others
        if any(table.name == parsed.action.table.text for table in (others if at_commit else private)):
            message = f'"{parsed.action.table}" as a temporary table and as another one in one session is not supported'
            raise SqlError(FEATURE_NOT_SUPPORTED, message, hint="give one of them another name")
        work = in_database_thread(
            lambda: reserve_table(
                parsed,
                node=env.node,
                incarnation=env.incarnation,
                own=own,
                dropped=dropped,
                token=token,
                temporary=bool(at_commit),
            )
        )
        try:
            reserved, cancel = await finished(work)
        except (Error, StoreDown):  # the answer to COMMIT may be what was lost
            env.run_beside("freeing names", free_unanswered(token))
            raise
        if at_commit:
            self.temporary.ends[reserved.table_id] = at_commit
        self._dropped.add(reserved.table_id)  # names that are taken have to be freed, unless the statement succeeds
        if cancel is not None:
            raise cancel
        return reserved.made

    def _use(self, tables: dict[str, Descriptor], transaction: Transaction) -> None:
        self.tables = tables
        transaction.own = {table.table_id: table for table in tables.values()}

    # -- savepoints ---------------------------------------------------------------------------------------------

    def mark(self, number: int) -> None:
        self._marks.append((number, self.tables, frozenset(self._dropped)))

    def release(self, number: int) -> None:
        self._marks = [mark for mark in self._marks if mark[0] < number]

    async def return_to(self, number: int, transaction: Transaction) -> None:
        """The tables are as they were at the savepoint; the names of those made, or begun, since are free."""
        self._marks = [mark for mark in self._marks if mark[0] <= number]
        _, tables, dropped = self._marks[-1]
        kept = {table.table_id for table in tables.values()}
        since = ({table.table_id for table in self.tables.values()} | self._dropped) - kept - dropped
        self._dropped = since | dropped
        self._use(tables, transaction)
        await self._report(dict.fromkeys(since, TableOutcome(self.who, has_committed=False)))
        self._dropped -= since

    # -- the end ------------------------------------------------------------------------------------------------

    async def before_commit(self, transaction: Transaction) -> None:
        """The catalog rows of the tables made here, by the same transaction, after the user's last statement."""
        from changes.planning.table_in_transaction import statements_at_commit

        env = self.env
        emptied = self.temporary.emptied_at_commit(self.tables)
        if emptied and transaction.has_written:  # each commit leaves them empty
            await truncate_within(env, transaction, TruncatePlan(emptied))
        for table in sorted(self.tables.values(), key=lambda table: table.table_id):
            if self.temporary.has(table):
                continue
            commands = [
                Command(sql, tuple(as_text(p) for p in params), is_text=True)
                for sql, params in statements_at_commit(table, storages=env.storages, who=self.who)
            ]
            transaction.note_written()
            results = await transaction.run(commands)
            if results[0].command_tuples != 1:
                raise Retry(f'the name "{table.name}" was given up: this node was taken for dead')

    async def after_transaction(self, *, committed: bool) -> None:
        """Announce new tables, or free their names; what cannot be done now is tried again by the node."""
        tables, dropped = self.tables, self._dropped
        private = {table.table_id for table in self.temporary.among(tables)}
        gone = self.temporary.commit(tables) if committed else private | dropped
        kept = self.temporary.kept
        self.temporary.forget()
        self.tables, self._dropped, self._marks = {t.name: t for t in kept.values()}, set(), []
        self._numbers = {table_id: number for table_id, number in self._numbers.items() if table_id in kept}
        freed = TableOutcome(self.who, has_committed=False)
        outcome = TableOutcome(self.who, has_committed=committed)
        outcomes = {table.table_id: outcome for table in tables.values() if table.table_id not in private}
        outcomes |= dict.fromkeys((dropped | gone) - kept.keys(), freed)
        if not outcomes:
            return
        cancel = await self._report(outcomes)
        if committed:
            self.env.router.table_made()
        if cancel is not None and not committed:  # after a COMMIT it comes too late
            raise cancel

    async def give_up_temporary(self) -> None:
        """The session ends, or forgets its temporary tables: nothing is left of them."""
        given = self.temporary.give_up()
        self.tables = {name: table for name, table in self.tables.items() if table.table_id not in given}
        if given:
            await self._report(dict.fromkeys(given, TableOutcome(self.who, has_committed=False)))

    def begun(self, transaction: Transaction) -> Transaction:
        """A transaction of the session: it uses the session's temporary tables without a lease."""
        if self.tables:
            transaction.own = {table.table_id: table for table in self.tables.values()}
        return transaction

    async def _report(self, outcomes: dict[int, TableOutcome]) -> asyncio.CancelledError | None:
        env = self.env
        env.unannounced |= outcomes
        _, cancel = await finished(announce(env, outcomes))
        if not outcomes.keys().isdisjoint(env.unannounced) and not env.is_announcing_later:
            env.is_announcing_later = True
            env.run_beside("announcing new tables", announce_later(env))
        return cancel


async def free_unanswered(token: UUID) -> None:
    """Free the names that a reservation without an answer may have taken, as soon as the store lets it be done."""
    from django.db import Error

    from changes.submission import new_tables

    while True:
        try:
            await in_database_thread(lambda: new_tables.free_unanswered(token))
        except (Error, StoreDown) as error:
            log.warning("names that may be taken are not free yet: %s", error)
            await asyncio.sleep(LATER_S)
        else:
            return


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

    from changes.submission.new_tables import announce_table, free_table

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
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return ("{" + ",".join(json.dumps(str(v)) for v in value) + "}").encode()
    return str(value).encode()
