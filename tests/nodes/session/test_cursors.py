"""Cursors of SQL as drivers use them, the versions that they hold, and what they may keep. Each form of FETCH is held
against PostgreSQL in `tests/nodes/statements/cursors.sql`."""

import contextlib
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId
from changes.driver import publish as publishing
from nodes.store.pipeline import POOL_MAX
from tests.nodes.conftest import STORAGES, Cluster
from tests.nodes.raw_client import SYNC, Raw, ask, bind, describe, execute, fields, kinds, message, parse, query, rows

ROWS = 5000
"""More than are gathered before the first is sent."""


@pytest.fixture(scope="module")
def table(cluster: Cluster) -> str:
    name = cluster.table("id int PRIMARY KEY, word text")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {name} SELECT g, 'w' || g FROM generate_series(1, {ROWS}) g")
    return name


def test_a_named_cursor_of_psycopg_reads_in_parts(n1: "psycopg.Connection[Any]", table: str, cluster: Cluster) -> None:
    with n1.transaction(), n1.cursor(name="some") as cursor:
        cursor.itersize = 700
        cursor.execute(f"SELECT id, word FROM {table} WHERE id > %s ORDER BY id", [10])
        assert [column.name for column in cursor.description or ()] == ["id", "word"]
        assert [row[0] for row in cursor] == list(range(11, ROWS + 1))
    with n1.transaction(), n1.cursor(name="some", scrollable=True) as cursor:
        cursor.execute(f"SELECT id FROM {table} ORDER BY id", binary=True)
        assert cursor.fetchmany(3) == [(1,), (2,), (3,)]
        cursor.scroll(-2)
        assert cursor.fetchone() == (2,)
        cursor.scroll(ROWS - 1, mode="absolute")
        assert cursor.fetchall() == [(ROWS,)]
    with n1.cursor(name="some", withhold=True) as cursor:
        cursor.execute(f"SELECT id FROM {table} ORDER BY id")
        assert len(cursor.fetchall()) == ROWS
    assert open_transactions(cluster) == 0


def test_values_are_the_same_in_both_formats_whatever_was_fetched_first(n1: "psycopg.Connection[Any]") -> None:
    """Also columns in one format beside others in the other."""
    sql = (
        "SELECT g, g::bigint AS big, g / 3.0, (g / 3.0)::float8, g % 2 = 0, 'text ' || g, '2024-01-31'::date + g,"
        " '2024-01-31 01:02:03.5'::timestamp, '2024-01-31 01:02:03+01'::timestamptz, NULL::int, ARRAY[g, 2],"
        " '00000000-0000-0000-0000-000000000007'::uuid FROM generate_series(1, 4) g ORDER BY 1"
    )
    for first in (False, True):
        with n1.transaction():
            n1.execute(f"DECLARE mixed CURSOR FOR {sql}")
            found = []
            for is_binary in (first, not first, first, not first):
                found += n1.execute("FETCH 1 FROM mixed", binary=is_binary).fetchall()
            assert found == n1.execute(sql).fetchall()


def test_a_binary_cursor_answers_a_simple_query_in_binary(raw: Raw) -> None:
    ask(raw, query("BEGIN; DECLARE b BINARY CURSOR FOR SELECT 7; DECLARE t CURSOR FOR SELECT 7"))
    answers = ask(raw, query("FETCH b"))
    assert rows(answers) == [(b"\0\0\0\7",)]
    assert answers[0][1].endswith(b"\0\1")
    assert rows(ask(raw, query("FETCH t"))) == [(b"7",)]
    answers = ask(raw, describe(b"P", "b"), SYNC)
    assert kinds(answers) == "TZ"
    assert answers[0][1].endswith(b"\0\1")
    ask(raw, query("ROLLBACK"))


def test_a_prepared_fetch_follows_its_cursor(raw: Raw) -> None:
    """A driver prepares FETCH once, and declares another cursor by the same name."""
    ask(raw, query("BEGIN; DECLARE c CURSOR FOR SELECT 1"))
    answers = ask(raw, parse("FETCH 1 FROM c", "f"), bind(name="f"), describe(), execute(), SYNC)
    assert rows(answers) == [(b"1",)]
    ask(raw, query("CLOSE c; DECLARE c CURSOR FOR SELECT 'a', 'b'"))
    answers = ask(raw, bind(name="f"), describe(), execute(), SYNC)
    assert kinds(answers) == "2TDCZ"
    assert rows(answers) == [(b"a", b"b")]
    ask(raw, query("CLOSE c"))
    answers = ask(raw, bind(name="f"), describe(), execute(), SYNC)
    assert [fields(body)["C"] for kind, body in answers if kind == b"E"] == ["34000"]
    ask(raw, query("ROLLBACK"))


@pytest.fixture
def begun_fetch(raw: Raw, table: str) -> Raw:
    """A connection with a portal `long` of the first 4,500 rows of a cursor, of which ten were sent."""
    ask(raw, query(f"BEGIN; DECLARE c CURSOR FOR SELECT id FROM {table} ORDER BY id"))
    answers = ask(raw, parse("FETCH 4500 FROM c"), bind(portal="long"), execute(10, "long"), SYNC)
    assert numbers(answers) == list(range(1, 11))
    return raw


def test_a_suspended_fetch_keeps_its_rows(begun_fetch: Raw) -> None:
    """As in PostgreSQL, where a FETCH has moved its cursor once it was executed; here it reads as it is asked for."""
    answers = ask(begun_fetch, parse("FETCH 3 FROM c"), bind(portal="short"), execute(0, "short"), SYNC)
    assert numbers(answers) == [4501, 4502, 4503]
    assert numbers(ask(begun_fetch, execute(0, "long"), SYNC)) == list(range(11, 4501))
    assert numbers(ask(begun_fetch, query("MOVE 2 IN c; FETCH 1 FROM c; ROLLBACK"))) == [4506]


def test_a_fetch_that_nobody_reads_on_has_moved_its_cursor(begun_fetch: Raw) -> None:
    ask(begun_fetch, message(b"C", b"Plong\0"), SYNC)
    assert numbers(ask(begun_fetch, query("FETCH 1 FROM c; ROLLBACK"))) == [4501]


@pytest.mark.parametrize("close", [query("CLOSE c"), query("CLOSE ALL"), message(b"C", b"Pc\0") + SYNC])
def test_a_suspended_fetch_outlives_its_cursor(begun_fetch: Raw, close: bytes) -> None:
    ask(begun_fetch, close)
    assert numbers(ask(begun_fetch, execute(0, "long"), SYNC)) == list(range(11, 4501))
    ask(begun_fetch, query("ROLLBACK"))


def numbers(answers: list[tuple[bytes, bytes]]) -> list[int]:
    return [int(value or b"") for (value,) in rows(answers)]


def test_an_open_cursor_holds_its_version(cluster: Cluster) -> None:
    """L2, T1: also one that was never fetched from; what it reads is what its version says."""
    name = cluster.table("id int PRIMARY KEY, a int")
    with cluster.connect() as client:
        client.execute(f"INSERT INTO {name} VALUES (1, 10), (2, 20)")
        client.execute("BEGIN")
        client.execute(f"DECLARE c CURSOR FOR SELECT * FROM {name} ORDER BY id")
        first = cluster.descriptor(name)
        renamed = tuple(replace(c, name="z") if c.id == ColumnId(2) else c for c in first.columns)
        second = first.next_version(columns=renamed)
        cluster.publish(second, nodes=("n2",))
        with cluster.connect() as other:
            other.execute(f"INSERT INTO {name} VALUES (3, 30)")
        third = second.next_version()
        assert hindrance(cluster, third), "a third version while the first one is in use"
        cursor = client.execute("FETCH ALL FROM c")
        assert [column.name for column in cursor.description or ()] == ["id", "a"]
        assert cursor.fetchall() == [(1, 10), (2, 20)]
        assert hindrance(cluster, third)
        client.execute("COMMIT")
        cluster.publish(third)


def hindrance(cluster: Cluster, version: Descriptor) -> object:
    """What stands in the way of publishing a version, which is not published."""
    with cluster.store() as store, store.transaction(force_rollback=True):
        return publishing.publish(store.cursor(), [version], storages=STORAGES)


def test_a_held_cursor_holds_rows_and_nothing_else(cluster: Cluster, table: str) -> None:
    with cluster.connect() as client:
        client.execute("BEGIN")
        client.execute(f"DECLARE c CURSOR WITH HOLD FOR SELECT id FROM {table} ORDER BY id")
        client.execute("FETCH 2 FROM c")
        client.execute("COMMIT")
        assert open_transactions(cluster) == 0
        assert client.execute("FETCH 1 FROM c").fetchall() == [(3,)]
        assert client.execute("SELECT name, is_holdable FROM pg_cursors").fetchall() == [("c", True)]
        assert len(client.execute("FETCH ALL FROM c").fetchall()) == ROWS - 3
        client.execute("CLOSE c")


def test_the_store_keeps_the_rows_of_a_cursor(cluster: Cluster, table: str) -> None:
    """However many: to go back, to read on after a write, and after COMMIT."""
    large = "SELECT g, repeat('x', 1000) FROM generate_series(1, 100000) g"
    with cluster.connect() as client:
        client.execute("BEGIN")
        client.execute(f"DECLARE s SCROLL CURSOR FOR {large}")
        client.execute(f"DECLARE c CURSOR WITH HOLD FOR {large}")
        assert client.execute("MOVE ALL IN s").statusmessage == "MOVE 100000"
        assert client.execute("FETCH ABSOLUTE 5 FROM s").fetchall()[0][0] == 5
        assert client.execute("MOVE 90000 IN c").statusmessage == "MOVE 90000"
        client.execute(f"UPDATE {table} SET word = word WHERE id = 1")
        assert client.execute("FETCH 1 FROM c").fetchall()[0][0] == 90001
        client.execute("COMMIT")
        assert client.execute("MOVE ALL IN c").statusmessage == "MOVE 9999"


def test_a_cursor_over_the_catalog_goes_in_all_directions(n1: "psycopg.Connection[Any]") -> None:
    """Its rows are the node's; PostgreSQL answers the same of a series."""
    oids = "SELECT oid::int8 FROM pg_type WHERE oid IN (16, 17, 18, 19, 20) ORDER BY oid"
    moves = (
        "FETCH 2", "FETCH 0", "FETCH BACKWARD 5", "FETCH NEXT", "FETCH LAST", "FETCH PRIOR", "FETCH ABSOLUTE 2",
        "FETCH RELATIVE -1", "FETCH RELATIVE 0", "FETCH ABSOLUTE -2", "FETCH ALL", "FETCH ALL", "FETCH BACKWARD 2",
        "FETCH ABSOLUTE 9", "FETCH BACKWARD ALL", "FETCH FIRST", "FETCH ABSOLUTE 0", "FETCH FORWARD -1", "FETCH 3",
    )  # fmt: skip
    with n1.transaction():
        n1.execute(f"DECLARE own SCROLL CURSOR WITH HOLD FOR {oids}")
        n1.execute("DECLARE plain SCROLL CURSOR FOR SELECT g::int8 FROM generate_series(16, 20) g")
        n1.execute(f"DECLARE forward CURSOR FOR {oids}")
        for move in moves:
            found = [n1.execute(f"{move} FROM {name}", binary=True).fetchall() for name in ("own", "plain")]
            assert found[0] == found[1], move
        assert n1.execute("MOVE 2 FROM forward").statusmessage == "MOVE 2"
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState), n1.transaction():
            n1.execute("FETCH PRIOR FROM forward")
    assert n1.execute("FETCH 1 FROM own").fetchall() == [(19,)]
    n1.execute("CLOSE own")


def test_what_a_portal_has_to_keep_of_a_fetch_is_bounded(raw: Raw) -> None:
    large = "SELECT repeat('x', 1000) FROM generate_series(1, 100000) g"
    ask(raw, query(f"BEGIN; DECLARE c CURSOR FOR {large}"))
    answers = ask(raw, parse("FETCH ALL FROM c"), bind(portal="p"), execute(10, "p"), SYNC)
    assert [fields(body)["C"] for kind, body in answers if kind == b"E"] == ["54000"]
    ask(raw, query("ROLLBACK"))


def test_commit_computes_the_rest_of_a_held_cursor_as_its_client_would(cluster: Cluster, table: str) -> None:
    with cluster.connect() as client:
        client.execute("SET TimeZone = 'Asia/Tokyo'")
        client.execute("BEGIN")
        moment = f"(timestamptz '2024-01-31 00:00+00' + id * interval '1 hour')::text FROM {table}"
        client.execute(f"DECLARE c CURSOR WITH HOLD FOR SELECT {moment} ORDER BY id")
        client.execute("COMMIT")
        client.execute("SET TimeZone = 'UTC'")
        assert client.execute("FETCH 1 FROM c").fetchall() == [("2024-01-31 10:00:00+09",)]
        client.execute("BEGIN")
        client.execute("DECLARE wrong CURSOR WITH HOLD FOR SELECT 1 / (9 - g) FROM generate_series(1, 20) g")
        client.execute("FETCH 2 FROM wrong")
        client.execute(f"UPDATE {table} SET word = 'lost' WHERE id = 1")
        with pytest.raises(psycopg.errors.DivisionByZero):
            client.execute("COMMIT")
        assert client.execute(f"SELECT count(*) FROM {table} WHERE word = 'lost'").fetchall() == [(0,)]
        assert client.execute("SELECT name FROM pg_cursors").fetchall() == [("c",)]
        assert client.execute("FETCH 1 FROM c").fetchall() == [("2024-01-31 11:00:00+09",)]


def test_a_fetch_shows_values_by_the_settings_of_now(raw: Raw) -> None:
    ask(raw, query("BEGIN; DECLARE c CURSOR FOR SELECT timestamptz '2024-01-31 00:00+00' FROM generate_series(1, 2)"))
    assert rows(ask(raw, query("FETCH 1 FROM c"))) == [(b"2024-01-31 00:00:00+00",)]
    assert rows(ask(raw, query("SET TimeZone = 'Asia/Tokyo'; FETCH 1 FROM c"))) == [(b"2024-01-31 09:00:00+09",)]
    ask(raw, query("ROLLBACK"))


def test_a_held_cursor_of_a_session_at_the_store_that_has_ended_says_so(cluster: Cluster, table: str) -> None:
    with cluster.connect() as client, cluster.store() as store:
        client.execute(f"DECLARE c CURSOR WITH HOLD FOR SELECT id AS kept FROM {table}")
        client.execute("FETCH 1 FROM c")
        store.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'FETCH FORWARD 1 FROM%'")
        with pytest.raises(psycopg.errors.ConnectionFailure, match="session at the store"):
            client.execute("FETCH 1 FROM c")
        client.execute("CLOSE c")
        client.execute(f"DECLARE c CURSOR WITH HOLD FOR SELECT id FROM {table} ORDER BY id")
        assert client.execute("FETCH 1 FROM c").fetchall() == [(1,)]


def test_sessions_at_the_store_that_clients_keep_are_bounded(cluster: Cluster, table: str) -> None:
    """A user may keep a sixth of them, and all users half; the others go on reading and writing."""
    held = f"DECLARE c CURSOR WITH HOLD FOR SELECT id FROM {table} ORDER BY id"
    most = POOL_MAX // 6
    with contextlib.ExitStack() as stack:
        clients = []
        for user, why in (("ann", f'{most} sessions .* of user "ann"'), ("ben", f'{most} sessions .* of user "ben"'),
                          ("cid", f"half of .* {POOL_MAX}")):  # fmt: skip
            for _ in range(most):
                clients.append(stack.enter_context(cluster.connect(user=user)))
                clients[-1].execute(held)
            other = stack.enter_context(cluster.connect(user=user))
            with pytest.raises(psycopg.errors.TooManyConnections, match=why):
                other.execute(held)
            assert other.execute(f"SELECT count(*) FROM {table}").fetchone() == (ROWS,)
        clients[-1].execute("CLOSE c")
        other.execute(held)
        for client in (clients[1], other):
            client.execute("BEGIN")
            client.execute(f"UPDATE {table} SET word = word WHERE id = 7")
            client.execute("COMMIT")
            assert client.execute("FETCH 2 FROM c").fetchall() == [(1,), (2,)]
        other.execute("DISCARD ALL")
        clients[-1].execute(held)
        assert clients[-1].execute("FETCH 2 FROM c").fetchall() == [(1,), (2,)]


def test_what_is_no_query_of_rows_is_refused_by_name(n1: "psycopg.Connection[Any]", table: str) -> None:
    n1.execute("BEGIN")
    n1.execute(f"DECLARE c CURSOR FOR SELECT * FROM {table}")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="WHERE CURRENT OF"):
        n1.execute(f"UPDATE {table} SET word = 'x' WHERE CURRENT OF c")
    n1.execute("ROLLBACK; BEGIN")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="cursor"):
        n1.execute("DECLARE c CURSOR FOR SELECT crud.stats()")
    n1.execute("ROLLBACK")


def open_transactions(cluster: Cluster) -> int:
    found = cluster.read(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'schemalab node n1 %%'"
        " AND datname = current_database() AND state LIKE 'idle in transaction%%'"
    )
    return int(found[0][0])
