"""A PostgreSQL that crashes under writers, and the ledger of what it acknowledged: T7 against the real thing. A crash
is a SIGKILL of the WAL writer: the postmaster ends all sessions, recovers, and goes on as the same process. The server
has the settings we ship (fsync on), in a home of its own."""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import psycopg
from django.conf import settings

from expressions.errors import SqlError
from nodes.store.pipeline import Command, StorePool, int4
from nodes.store.refusals import CommitUnknown
from nodes.store.transaction import Transaction
from schemalab.embedded import postgres
from schemalab.embedded.locations import locations_of, prepare_folders
from schemalab.supervisor.children import start, stop
from storage.postgres import session_options
from tests.harness.services import private_home

SLOW_FLUSH = {"commit_delay": "100000", "commit_siblings": "0"}
"""A commit waits 100 ms before it is flushed: a crash finds many that are not."""
LIFE_MADE = (settings.BASE_DIR / "storage/migrations/life.sql").read_text()
INSERT = "INSERT INTO numbers VALUES ($1)"
ANSWER_S_MAX = 30.0
IDS_LOST_MAX = 100
RECOVERY_S_MAX = 60.0


@contextlib.contextmanager
def own_server(options: Mapping[str, str]) -> Iterator[str]:
    """The address of a PostgreSQL of its own, with the table that writers fill and the sign of its life."""
    home = private_home("crashes")
    locations = locations_of(home)
    try:
        prepare_folders(locations)
        postgres.prepare(locations)
        launch = replace(postgres.launch(locations, options), stop_signal="SIGQUIT")
        server = start(launch, output=locations.logs / "postgres.log")
        try:
            postgres.wait_until_ready(locations, still_running=server)
            with psycopg.connect(locations.database_url, autocommit=True) as connection:
                connection.execute(LIFE_MADE)
                connection.execute("CREATE TABLE numbers (number int PRIMARY KEY)")
            yield locations.database_url
        finally:
            stop(server, launch)
    finally:
        for folder in (locations.sockets, locations.base, home):
            shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Ledger:
    """What the clients were told, by number."""

    committed: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)
    silent: set[int] = field(default_factory=set)

    def lost(self, there: set[int]) -> set[int]:
        """Acknowledged and not there."""
        return self.committed - there

    def told_wrongly_that_it_is_not(self, there: set[int]) -> set[int]:
        """Told not to have been committed, and there."""
        return self.refused & there


@dataclass
class Writers:
    """So many clients of one node, until `is_over`."""

    pool: StorePool
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    ledger: Ledger = field(default_factory=Ledger)
    is_over: bool = False

    async def write(self) -> None:
        while not self.is_over:
            number = next(self.numbers)
            told = self.ledger.silent
            try:
                async with asyncio.timeout(ANSWER_S_MAX):
                    await self._insert(number)
                told = self.ledger.committed
            except CommitUnknown:
                told = self.ledger.unknown
            except SqlError:
                told = self.ledger.refused
                await asyncio.sleep(0.02)
            except TimeoutError:
                pass
            told.add(number)

    async def _insert(self, number: int) -> None:
        transaction = Transaction(self.pool, 2, lambda _: None)
        insert = Command(INSERT, (int4(number),))
        if number % 2:
            await transaction.run([insert], commit=True)
            return
        await transaction.run([insert])
        transaction.note_written()
        await transaction.commit()


def write_through_crashes(
    dsn: str, *, crashes: int, writers: int = 12, apart_s: float = 0.4
) -> tuple[Ledger, set[int]]:
    """Let writers write while the server crashes so often; the ledger, and the numbers that are there at the end."""
    ledger = asyncio.run(_write(dsn, crashes, writers, apart_s))
    with psycopg.connect(dsn) as connection:
        return ledger, {number for (number,) in connection.execute("SELECT number FROM numbers")}


async def _write(dsn: str, crashes: int, writers: int, apart_s: float) -> Ledger:
    pool = StorePool(dsn, "writers", session_options("writers")["options"], size_max=writers + 4)
    work = Writers(pool)
    tasks = [asyncio.create_task(work.write()) for _ in range(writers)]
    for _ in range(crashes):
        await asyncio.sleep(apart_s)
        await asyncio.to_thread(crash, dsn)
    await asyncio.sleep(apart_s)
    work.is_over = True
    await asyncio.gather(*tasks)
    await pool.close()
    return work.ledger


def crash(dsn: str) -> None:
    """Kill the WAL writer, wait until the server has recovered, and use up all ids that were lost."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        sql = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
        row = connection.execute(sql).fetchone()
        assert row is not None
        os.kill(row[0], signal.SIGKILL)
        with contextlib.suppress(psycopg.OperationalError):
            connection.execute("SELECT pg_sleep(60)")
    deadline = time.monotonic() + RECOVERY_S_MAX
    while True:
        try:
            use_up_ids(dsn)
            return
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, f"PostgreSQL did not recover in {RECOVERY_S_MAX:g} s"
            time.sleep(0.05)


def use_up_ids(dsn: str) -> None:
    """Transactions that commit, one after another: the lost ids are among theirs."""
    with psycopg.connect(dsn, connect_timeout=5, autocommit=True, options="-c synchronous_commit=off") as connection:
        for _ in range(IDS_LOST_MAX):
            connection.execute("SELECT pg_current_xact_id()")
