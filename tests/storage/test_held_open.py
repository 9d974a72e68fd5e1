"""Writers beside a transaction that has written and stays open: PostgreSQL must not run out of records of what ended.

    open    BEGIN, an update of one row, ..
    beside  a read of another row, an update of it, each a transaction, thousands of times

It gives up records of ended transactions, oldest first. Who then updates a row that one of those has updated, and
another one read, is refused, and no retry helps (`schemalab.embedded.postgres.ENDED_BESIDE_ONE`).
"""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from nodes.management.commands.traffic import Command
from nodes.store.held_open import Beside
from nodes.store.name_cache import Directory
from nodes.store.pipeline import StorePool
from schemalab.embedded import postgres
from schemalab.embedded.locations import locations_of
from schemalab.environment import SETTINGS
from schemalab.testing.services import private_home
from storage.postgres import session_options
from tests.embedded_services import running_services

Connection = psycopg.Connection[Any]
BESIDE = """DO $$
DECLARE
    found bytea;
BEGIN
    FOR turn IN 1..{turns} LOOP
        PERFORM value FROM held_open WHERE key = int4send(100 + turn % 10);
        COMMIT;
        SELECT value INTO found FROM held_open WHERE key = int4send(100 + turn % 10);
        UPDATE held_open SET value = found WHERE key = int4send(100 + turn % 10);
        COMMIT;
    END LOOP;
END $$"""
TURNS, MANY_TURNS = 2000, 25_000
FEW = {"max_prepared_transactions": "0", "max_connections": "30"}
"""Some 600 records."""
IDLE_S = 3.1
"""What is idle for so long waits for its client."""


@pytest.fixture
def server_with_few_records() -> Iterator[str]:
    home = private_home("few")
    with running_services(locations_of(home), FEW | {"fsync": "off"}) as services:
        yield services.database_url
    shutil.rmtree(home)


@contextmanager
def held_open(dsn: str, name: str, *, has_written: bool) -> Iterator[tuple[Connection, Connection]]:
    """A session for traffic on other rows, and that of a transaction that stays open."""
    options = session_options(name)
    with psycopg.connect(dsn, autocommit=True, **options) as beside, psycopg.connect(dsn, **options) as held:
        beside.execute("CREATE TABLE held_open (key bytea PRIMARY KEY, value bytea)")
        try:
            beside.execute("INSERT INTO held_open SELECT int4send(n), 'x' FROM generate_series(1, 1000) AS n")
            held.execute("SELECT * FROM held_open WHERE key = int4send(1)")
            if has_written:
                held.execute("UPDATE held_open SET value = 'y' WHERE key = int4send(1)")
            yield beside, held
        finally:
            if not held.broken:
                held.rollback()
            beside.execute("DROP TABLE held_open")


def traffic_beside(dsn: str, *, has_written: bool, turns: int = TURNS) -> None:
    """Two transactions for each of so many turns beside one that stays open. Raises what they meet."""
    with held_open(dsn, "held open", has_written=has_written) as (beside, held):
        beside.execute(BESIDE.format(turns=turns))
        held.commit()


@pytest.mark.parametrize("turns", [TURNS, pytest.param(MANY_TURNS, marks=pytest.mark.soak)])
def test_traffic_goes_on_beside_a_transaction_that_stays_open(dsn: str, turns: int) -> None:
    traffic_beside(dsn, has_written=True, turns=turns)


def test_with_few_records_it_is_refused_beside_one_that_has_written(server_with_few_records: str) -> None:
    traffic_beside(server_with_few_records, has_written=False)
    with pytest.raises(psycopg.errors.SerializationFailure) as refused:
        traffic_beside(server_with_few_records, has_written=True)
    assert refused.value.diag.message_detail == ("Reason code: Canceled on identification as a pivot, during write.")


def test_an_idle_one_that_others_cannot_go_on_beside_is_ended(server_with_few_records: str) -> None:
    asyncio.run(end_what_is_idle(server_with_few_records))


async def end_what_is_idle(dsn: str) -> None:
    directory = Directory(StorePool(dsn, "schemalab node n1 1", "-c default_transaction_isolation=read\\ committed"))
    with held_open(dsn, "schemalab node n2 1", has_written=True) as (beside, held):
        first, later = Beside(directory.ask), Beside(directory.ask)
        assert not await later.may_go_on(), "nothing waits for its client for long"
        await asyncio.sleep(IDLE_S)
        later = Beside(directory.ask)
        assert await later.may_go_on(), "something does"
        assert not await later.may_go_on(), "but no detail was given up"
        with pytest.raises(psycopg.errors.SerializationFailure):
            beside.execute(BESIDE.format(turns=TURNS))
        assert await first.may_go_on()
        with pytest.raises(psycopg.errors.SerializationFailure):
            beside.execute(BESIDE.format(turns=TURNS))
        assert await first.may_go_on(), "it was ended"
        assert not await first.may_go_on(), "tried often enough"
        beside.execute(BESIDE.format(turns=10))
        with pytest.raises(psycopg.OperationalError, match="administrator command"):
            held.execute("SELECT 1")
    await directory.pool.close()


def test_the_records_last_for_traffic_beside_a_transaction_for_as_long_as_it_may_be_idle() -> None:
    """As far as nobody says otherwise."""
    parser = Command().create_parser("manage.py", "traffic")
    idle_s = next(int(one.default) for one in SETTINGS if one.name == "NODE_IDLE_IN_TRANSACTION_S")
    assert parser.get_default("rate") * idle_s <= postgres.ENDED_BESIDE_ONE
