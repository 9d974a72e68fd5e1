"""COPY TO: PostgreSQL writes what a client gets, from rows that a node finds by key, as long as it takes them."""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import errors

from tests.nodes.conftest import SHORT_LEASE_S, Cluster
from tests.nodes.raw_client import SYNC, Raw, ask, bind, execute, fields, kinds, message, parse, query

ROWS = 20_000
MISTAKES = (
    "COPY BINARY made (v, id) TO STDOUT WITH BINARY",
    "COPY BINARY made (v, id) TO STDOUT (FORMAT csv)",
    "COPY BINARY made TO STDOUT NULL 'x'",
    "COPY (SELECT nope FROM made) TO STDOUT",
    "COPY (SELECT id FROM made WHERE id = 'x') TO STDOUT",
    "COPY made TO STDOUT (FORMAT csv, QUOTE '\"\"')",
    "COPY made TO STDOUT (HEADER, FORMAT xml)",
    "COPY (SELECT 'é', id FROM made) TO STDOUT (DELIMITER ',', oink)",
    "SELECT 1; COPY made (id) TO STDOUT /* 'é' */ WITH (DELIMITER ',', DELIMITER ',')",
    "COPY (SELECT id FROM made) TO STDOUT WITH CSV FORCE QUOTE nope",
    "COPY made (id) TO STDOUT WITH CSV FORCE QUOTE v",
)
FORMS = (
    "COPY BINARY made TO STDOUT",
    "COPY BINARY made (v, id) TO STDOUT WITH (ENCODING utf8)",
    "COPY made TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE *)",
    "COPY made TO STDOUT WITH CSV HEADER FORCE QUOTE v",
    "COPY (SELECT '2024-01-02 03:04:05Z'::timestamptz, '\\x00'::bytea, '1 day 2 h'::interval, 1.5::float8) TO STDOUT",
    "COPY (SELECT * FROM made WHERE id = 7) TO STDOUT",
    "COPY (SELECT * FROM made WHERE id IN (7, 9, 11) ORDER BY id) TO STDOUT",
    "COPY (SELECT * FROM made WHERE v > 'v1' AND v < 'v12' ORDER BY id) TO STDOUT",
    "COPY (SELECT a.id, b.v FROM made a JOIN made b ON b.id = a.id + 1 WHERE a.id < 3 ORDER BY 1) TO STDOUT",
    "COPY (SELECT now() = transaction_timestamp(), now() > '2020-01-01', current_setting('TimeZone')) TO STDOUT",
)


@pytest.fixture(scope="module")
def sides(cluster: Cluster) -> Iterator[tuple[Any, Any]]:
    with cluster.connect() as ours, cluster.store() as theirs:
        theirs.execute("DROP SCHEMA IF EXISTS outgoing CASCADE")
        theirs.execute("CREATE SCHEMA outgoing")
        theirs.execute("SET search_path = outgoing, pg_catalog")
        with ours.transaction():
            for side in (ours, theirs):
                side.execute("CREATE TABLE made (id int PRIMARY KEY, v text)")
                side.execute("CREATE INDEX made_by_v ON made (v)")
        for side in (ours, theirs):
            for setting in ("IntervalStyle = 'iso_8601'", "TimeZone = 'Asia/Tokyo'", "bytea_output = 'escape'"):
                side.execute(f"SET {setting}")
            side.execute("INSERT INTO made SELECT n, 'v' || n FROM generate_series(1, 20) AS n")
        yield ours, theirs


def sent(side: Any, sql: str) -> tuple[bytes, ...]:
    with side.cursor().copy(sql) as copy:
        return tuple(bytes(part) for part in copy)


@pytest.mark.parametrize("sql", FORMS)
def test_it_is_written_as_by_postgresql(sides: tuple[Any, Any], sql: str) -> None:
    ours, theirs = (sent(side, sql) for side in sides)
    assert sorted(ours) == sorted(theirs)


@pytest.mark.parametrize("sql", MISTAKES)
def test_places_of_mistakes_are_those_of_the_text(sides: tuple[Any, Any], sql: str) -> None:
    found = []
    for side in sides:
        with pytest.raises(psycopg.Error) as refusal:
            side.execute(sql)
        found.append(
            (refusal.value.sqlstate, refusal.value.diag.message_primary, refusal.value.diag.statement_position)
        )
    assert found[0] == found[1]


@pytest.fixture(scope="module")
def many(cluster: Cluster) -> str:
    made = cluster.table("id int primary key, v text")
    with cluster.connect() as client:
        client.execute(f"INSERT INTO {made} SELECT n, repeat('x', 500) FROM generate_series(1, {ROWS}) AS n")
    return made


def test_in_a_block_it_stands_amid_others(n1: Any, many: str) -> None:
    with n1.transaction(force_rollback=True):
        n1.execute(f"INSERT INTO {many} VALUES (0, 'own')")
        assert len(sent(n1, f"COPY {many} TO STDOUT")) == ROWS + 1
        n1.execute(f"DELETE FROM {many} WHERE id = 0")
        assert sent(n1, f"COPY (SELECT count(*) FROM {many}) TO STDOUT") == (b"%d\n" % ROWS,)
        with pytest.raises(errors.DivisionByZero), n1.transaction():
            sent(n1, f"COPY (SELECT 1 / (id - {ROWS}) FROM {many} ORDER BY id) TO STDOUT")
        assert sent(n1, f"COPY (SELECT id FROM {many} WHERE id = 5) TO STDOUT") == (b"5\n",)


def test_a_cancel_ends_it_amid_its_data(n1: Any, many: str) -> None:
    def cancelled() -> None:
        with n1.cursor().copy(f"COPY (SELECT a.v FROM {many} a, {many} b) TO STDOUT") as copy:
            for number, _ in enumerate(copy):
                if number == 1000:
                    n1.cancel_safe()

    with pytest.raises(errors.QueryCanceled, match="canceling statement due to user request"):
        cancelled()
    assert len(sent(n1, f"COPY {many} TO STDOUT")) == ROWS


def test_a_client_that_goes_leaves_nothing(cluster: Cluster, n1: Any, many: str) -> None:
    with Raw(cluster.ports["n1"]) as gone:
        gone.startup()
        gone.send(query(f"COPY (SELECT a.v FROM {many} a, {many} b) TO STDOUT"))
        assert kinds([gone.message(), gone.message()]) == "Hd"
    held = f"SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND query LIKE '%COPY%{many}%'"
    deadline = time.monotonic() + 10
    while n1.execute(held).fetchone() != (0,):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_client_may_take_longer_than_a_lease(cluster: Cluster, short: str, many: str) -> None:
    with cluster.connect(short) as slow, slow.cursor().copy(f"COPY {many} TO STDOUT") as copy:
        first = next(iter(copy))
        time.sleep(1.1 * SHORT_LEASE_S)
        assert len([first, *copy]) == ROWS


def test_by_the_extended_protocol_it_takes_no_parameter(raw: Raw, many: str) -> None:
    steps = (
        parse(f"COPY (SELECT id FROM {many} WHERE id = $1) TO STDOUT"),
        bind(),
        message(b"D", b"P\0"),
        execute(),
        SYNC,
    )
    found = ask(raw, *steps)
    assert kinds(found) == "12nEZ"
    assert fields(found[3][1])["C"] == "42P02"
