"""Writers beside a transaction that has written and stays open: PostgreSQL must not run out of records of what ended.
It gives up the oldest first; an update of a row that one of those has updated, and another one read, is then refused,
and no retry helps (`schemalab.embedded.postgres.ENDED_BESIDE_ONE`)."""

import shutil
from collections.abc import Iterator

import psycopg
import pytest

from nodes.management.commands.traffic import Command
from schemalab.embedded import postgres
from schemalab.embedded.locations import locations_of
from schemalab.environment import SETTINGS
from storage.postgres import session_options
from tests.embedded_services import running_services
from tests.harness.services import private_home

BESIDE = """DO $$
DECLARE
    found bytea;
BEGIN
    FOR turn IN 1..{turns} LOOP
        PERFORM value FROM public.held_open WHERE key = int4send(100 + turn % 10);
        COMMIT;
        SELECT value INTO found FROM public.held_open WHERE key = int4send(100 + turn % 10);
        UPDATE public.held_open SET value = found WHERE key = int4send(100 + turn % 10);
        COMMIT;
    END LOOP;
END $$"""
TURNS = 2000
FEW = {"max_prepared_transactions": "0", "max_connections": "30"}
"""Some 600 records."""


@pytest.fixture
def server_with_few_records() -> Iterator[str]:
    home = private_home("few")
    with running_services(locations_of(home), FEW | {"fsync": "off"}) as services:
        yield services.database_url
    shutil.rmtree(home)


def traffic_beside(dsn: str, *, has_written: bool) -> None:
    """A transaction that stays open, and two for each of so many turns on other rows. Raises what they meet."""
    options = session_options("held open")
    with psycopg.connect(dsn, autocommit=True, **options) as beside, psycopg.connect(dsn, **options) as held:
        beside.execute("CREATE TABLE public.held_open (key bytea PRIMARY KEY, value bytea)")
        try:
            beside.execute("INSERT INTO public.held_open SELECT int4send(n), 'x' FROM generate_series(1, 1000) AS n")
            held.execute("SELECT * FROM public.held_open WHERE key = int4send(1)")
            if has_written:
                held.execute("UPDATE public.held_open SET value = 'y' WHERE key = int4send(1)")
            beside.execute(BESIDE.format(turns=TURNS))
            held.commit()
        finally:
            held.rollback()
            beside.execute("DROP TABLE public.held_open")


def test_traffic_goes_on_beside_a_transaction_that_stays_open(dsn: str) -> None:
    traffic_beside(dsn, has_written=True)


def test_with_few_records_it_is_refused_beside_one_that_has_written(server_with_few_records: str) -> None:
    traffic_beside(server_with_few_records, has_written=False)
    with pytest.raises(psycopg.errors.SerializationFailure) as refused:
        traffic_beside(server_with_few_records, has_written=True)
    assert refused.value.diag.message_detail == ("Reason code: Canceled on identification as a pivot, during write.")


def test_the_records_last_for_traffic_beside_a_transaction_for_as_long_as_it_may_be_idle() -> None:
    """As far as nobody says otherwise."""
    parser = Command().create_parser("manage.py", "traffic")
    idle_s = next(int(one.default) for one in SETTINGS if one.name == "NODE_IDLE_IN_TRANSACTION_S")
    assert parser.get_default("rate") * idle_s <= postgres.ENDED_BESIDE_ONE
