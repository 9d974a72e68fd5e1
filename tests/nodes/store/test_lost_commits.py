"""T7 under real crashes: what a node acknowledges is there afterwards, also when the id of a lost one is used again."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from storage.commit_outcomes import LIFE
from storage.postgres import session_options
from tests.nodes.crashes import LIFE_MADE, SLOW_FLUSH, crash, own_server, write_through_crashes

CRASHES = 2
"""Few, each with a dozen commits on their way: dozens of crashes belong into the soak."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with own_server(SLOW_FLUSH) as dsn:
        yield dsn


def test_no_acknowledged_write_is_lost(server: str) -> None:
    ledger, there = write_through_crashes(server, crashes=CRASHES)
    assert ledger.lost(there) == set()
    assert ledger.told_wrongly_that_it_is_not(there) == set()
    assert ledger.committed
    assert ledger.unknown, "no COMMIT was on its way when the server crashed: this shows nothing"


def test_each_crash_changes_the_sign_of_the_servers_life_for_all_sessions_alike(server: str) -> None:
    """The postmaster survives: its start time is no such sign."""
    before = [signs(server), started(server)]
    crash(server)
    after = [signs(server), started(server)]
    assert len(before[0]) == len(after[0]) == 1
    assert before[0] != after[0]
    assert before[1] == after[1]


def signs(dsn: str) -> set[str]:
    """What many sessions read that ask at once."""
    with ThreadPoolExecutor(12) as pool:
        return set(pool.map(sign, [dsn] * 12))


def sign(dsn: str) -> str:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return one(connection, LIFE)


def started(dsn: str) -> str:
    with psycopg.connect(dsn) as connection:
        return one(connection, "SELECT pg_postmaster_start_time()::text")


def one(connection: "psycopg.Connection[tuple[str]]", sql: str) -> str:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return row[0]


def test_the_sign_needs_no_superuser(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE ROLE plain LOGIN")
        connection.execute("CREATE DATABASE plain OWNER plain")
    with psycopg.connect(make_conninfo(server, user="plain", dbname="plain"), autocommit=True) as connection:
        connection.execute(LIFE_MADE)
        assert one(connection, LIFE) == one(connection, LIFE)


def test_a_server_that_does_not_flush_by_default_does_so_for_nodes(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("ALTER DATABASE schemalab SET synchronous_commit = off")
    try:
        with psycopg.connect(server, **session_options("node")) as connection:
            assert one(connection, "SHOW synchronous_commit") == "on"
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute("ALTER DATABASE schemalab RESET synchronous_commit")
