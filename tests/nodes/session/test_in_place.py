"""SELECTs that PostgreSQL answers at the store: what their clients see, and what the store's sessions keep of them."""

import itertools
import struct
import threading
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from nodes.store.pipeline import POOL_MAX
from tests.nodes.conftest import Cluster
from tests.nodes.raw_client import SYNC, Raw, ask, bind, describe, execute, kinds, message, parse, query, rows

SETTINGS = {
    "DateStyle": ("ISO, MDY", "ISO, DMY"),
    "TimeZone": ("UTC", "Asia/Tokyo"),
    "IntervalStyle": ("postgres", "sql_standard", "iso_8601"),
    "bytea_output": ("hex", "escape"),
    "extra_float_digits": ("1", "3"),
}
TYPES = (
    "b boolean, i2 smallint, i4 integer, i8 bigint, f4 real, f8 double precision, n numeric, n2 numeric(8,2), t text,"
    " v varchar(5), c char(4), d date, ts timestamp, tz timestamptz, u uuid, j json, jb jsonb, y bytea, tm time,"
    " iv interval, a integer[], ta timestamptz[]"
)
NAMES = [column.split()[0] for column in TYPES.split(", ")]
VALUES = (
    "true, 1, -2, 3, 0.1, 0.30000000000000004,"
    " 1.500, 2.25, 'é''\\', 'ab', 'ab', '2020-02-01',"
    " '2020-02-01 03:04:05.678', '2020-02-01 03:04:05+00',"
    " 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"a\": 1}', '{\"a\": 1}', '\\x00ff5c',"
    " '24:00', '-1 days +02:03:04', '{1,NULL,3}', '{\"2020-02-01 00:00:00+00\"}'"
)


@pytest.fixture(scope="module")
def people(cluster: Cluster) -> str:
    """Only read by tests."""
    return thousand_people(cluster)


@pytest.fixture
def own_people(cluster: Cluster) -> str:
    return thousand_people(cluster)


def thousand_people(cluster: Cluster) -> str:
    table = cluster.table("id bigint PRIMARY KEY, name text, age integer", indexes=["(name)"])
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} SELECT n, 'p' || n % 10, n % 7 FROM generate_series(1, 1000) AS n")
    return table


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*), sum(age) FROM {}", [(1000, 3003)]),
        ("SELECT name, count(*) FROM {} WHERE id <= 20 GROUP BY name ORDER BY 1 LIMIT 2", [("p0", 2), ("p1", 2)]),
        ("SELECT id FROM {} WHERE name = 'p3' AND age = 2 ORDER BY id LIMIT 2", [(23, ), (93, )]),
        ("SELECT id FROM {} WHERE id IN (5, 3, 2000) ORDER BY 1", [(3,), (5,)]),
        ("SELECT max(a.id) FROM {0} a JOIN {0} b ON b.id = a.id + 1 WHERE b.age IS NOT NULL", [(999,)]),
        ("SELECT regexp_replace(name, '(.)', '\\1\\1') || '%s' FROM {} WHERE id = 1 OR id = 0", [("pp1%s",)]),
        ("SELECT id FROM {} WHERE id BETWEEN 5 AND 6 OR id BETWEEN 900 AND 901 ORDER BY id DESC LIMIT 1", [(901,)]),
        ("SELECT id FROM {} WHERE age = NULL", []),
        ("SELECT id FROM {} WHERE age = 3000000000 AND id = 3000000000 + 7", []),
        ("SELECT count(id) FROM {} WHERE id = 9e30", [(0,)]),
    ],
)  # fmt: skip
def test_answers(cluster: Cluster, people: str, sql: str, rows: list[Any]) -> None:
    with cluster.connect() as connection:
        assert connection.execute(sql.format(people)).fetchall() == rows


def test_parameters_have_the_types_of_the_text(cluster: Cluster, people: str) -> None:
    """W11: beyond integer there is no row, and no error."""
    with cluster.connect() as connection:
        sql = f"SELECT count(*) FROM {people} WHERE id = %s::bigint OR name = %s"
        assert connection.execute(sql, [3_000_000_000, "p1"]).fetchone() == (100,)
        for binary in (False, True):
            with connection.cursor(binary=binary) as cursor:
                for number in (1, 2, 3):  # prepared in the end
                    cursor.execute(f"SELECT sum(id), max(name) FROM {people} WHERE age = %s", [number], prepare=True)
                    [(total, name)] = cursor.fetchall()
                    assert total == sum(n for n in range(1, 1001) if n % 7 == number)
                    assert name == "p9"


@pytest.mark.parametrize("prepare", [True, False])
def test_types_and_lengths_are_those_that_postgresql_says(cluster: Cluster, prepare: bool) -> None:
    """Also of a query with a function that no node knows."""
    table = cluster.table("id bigint PRIMARY KEY, v varchar(5), n numeric(8,2)")
    sql = f"SELECT id, v, n, unistr('\\0041') || v AS more, num_nulls(v, n) FROM {table} WHERE id = %s AND id + 0 = 7"
    with cluster.connect() as node, cluster.store() as store:
        node.execute(f"INSERT INTO {table} VALUES (7, 'b', 2.5)")
        store.execute(f"CREATE TEMPORARY TABLE {table} (id bigint PRIMARY KEY, v varchar(5), n numeric(8,2))")
        found = []
        for connection in (node, store):
            cursor = connection.execute(sql, [7], prepare=prepare)
            assert cursor.pgresult is not None
            described = cursor.pgresult
            found.append(
                [(described.fname(n), described.ftype(n), described.fsize(n), described.fmod(n)) for n in range(5)]
            )
            if connection is node:
                assert cursor.fetchall() == [(7, "b", Decimal("2.50"), "Ab", 0)]
        assert found[0] == found[1]


def test_parameters_are_described_as_postgresql_does(cluster: Cluster, raw: Raw) -> None:
    """W11: the words of the text give the types, and no key range of the node's."""
    table = cluster.table("id bigint PRIMARY KEY, v varchar(5), at timestamptz")
    sql = f"SELECT unistr($4) FROM {table} WHERE id = $1 AND at > $2 AND v = $3 AND id < $5 + 1 AND v = ANY ($6)"
    answers = dict(ask(raw, parse(sql, "described"), describe(b"S", "described"), SYNC))
    assert struct.unpack("!6i", answers[b"t"][2:]) == (20, 1184, 25, 25, 23, 1009)
    ask(raw, message(b"C", b"Sdescribed\0"), SYNC)


def test_settings_of_a_client_shape_its_answers_and_no_stored_value(cluster: Cluster) -> None:
    """W1: written under any settings and read under any others, a value is the same."""
    table = cluster.table(f"id integer PRIMARY KEY, {TYPES}")
    choices = [dict(zip(SETTINGS, values, strict=True)) for values in itertools.product(*SETTINGS.values())]
    with cluster.connect() as node, cluster.store() as store:
        for number, chosen in enumerate(choices):
            set_all(node, chosen)
            node.execute(f"INSERT INTO {table} VALUES ({number}, {VALUES})")
        for connection in (node, store):
            set_all(connection, {name: values[0] for name, values in SETTINGS.items()})
        texts = ", ".join(f"{column.split()[0]}::text" for column in TYPES.split(", "))
        [(different,)] = node.execute(f"SELECT count(*) FROM (SELECT DISTINCT {texts} FROM {table}) AS x").fetchall()
        assert different == 1
        store.execute(f"CREATE TEMPORARY TABLE plain ({TYPES})")
        store.execute(f"INSERT INTO plain VALUES ({VALUES})")
        for chosen in choices:
            for connection in (node, store):
                set_all(connection, chosen)
            expected = as_sent(store, f"SELECT *, {texts} FROM plain")
            assert as_sent(node, f"SELECT {columns()}, {texts} FROM {table} WHERE id + 0 = 7") == expected, chosen


def columns() -> str:
    return ", ".join(NAMES)


def set_all(connection: "psycopg.Connection[Any]", chosen: dict[str, str]) -> None:
    calls = (f"set_config('{name}', '{value}', false)" for name, value in chosen.items())
    connection.execute(f"SELECT {', '.join(calls)}")


def as_sent(connection: "psycopg.Connection[Any]", sql: str) -> list[bytes | None]:
    """The only row, as it was sent."""
    result = connection.pgconn.exec_(sql.encode())
    assert result.ntuples == 1, result.error_message
    return [result.get_value(0, place) for place in range(result.nfields)]


@pytest.mark.parametrize("limit", [0, 1])
@pytest.mark.parametrize("text_at", [0, 1])
def test_a_result_in_both_formats_has_each_value_as_in_its_own(
    cluster: Cluster, raw: Raw, limit: int, text_at: int
) -> None:
    """Drivers ask for numbers in binary and for other types in text."""
    table = cluster.table(f"id integer PRIMARY KEY, {TYPES}")
    ask(raw, query(f"INSERT INTO {table} VALUES (1, {VALUES}), (2{', NULL' * len(NAMES)})"))
    select = f"SELECT {', '.join(NAMES)} FROM {table} WHERE id + 0 < 3 ORDER BY id -- all"

    def answer(*results: int) -> list[tuple[bytes | None, ...]]:
        found = [parse(select), bind(results=results), *[execute(limit)] * (3 if limit else 1), SYNC]
        return rows(ask(raw, *found))

    mixed = [(text_at + n) % 2 for n in range(len(NAMES))]
    both = [answer(0), answer(1)]
    expected = [tuple(both[form][row][n] for n, form in enumerate(mixed)) for row in range(2)]
    assert answer(*mixed) == expected


def test_a_portal_that_was_rolled_back_is_not_closed_again(raw: Raw, people: str) -> None:
    """The cursor at the store is gone with the savepoint; the next one is declared all the same."""
    ask(raw, query("BEGIN; SAVEPOINT a"))
    for before in (message(b"C", b"Pp\0") + SYNC, query("ROLLBACK TO a"), query("ROLLBACK TO a; SAVEPOINT b")):
        begun = [parse(f"SELECT id FROM {people} WHERE id > 0 ORDER BY id"), bind(portal="p"), execute(3, "p"), SYNC]
        assert rows(ask(raw, *begun))
        assert rows(ask(raw, query(f"SELECT count(*) FROM {people}"))) == [(b"1000",)]
        assert len(rows(ask(raw, execute(40, "p"), SYNC))) == 40
        assert "E" not in kinds(ask(raw, before))
    ask(raw, query("ROLLBACK"))


def test_a_mistake_is_shown_where_the_client_wrote_it(cluster: Cluster, people: str) -> None:
    with cluster.connect() as connection:
        sql = f"SELECT p.id FROM {people} AS p WHERE p.id > 3 AND p.name ~ '('"
        with pytest.raises(psycopg.errors.InvalidRegularExpression):
            connection.execute(sql)
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute(f"SELECT sum(1 / (age - age)) FROM {people}")
        with pytest.raises(psycopg.errors.UndefinedColumn) as error:
            connection.execute(f"SELECT count(nmae) FROM {people}")
        assert error.value.diag.statement_position == "14"


def test_a_block_reads_what_it_has_written_and_goes_on_writing(cluster: Cluster, own_people: str) -> None:
    with cluster.connect() as connection:
        with connection.transaction():
            connection.execute("SET LOCAL DateStyle = 'ISO, DMY'")
            connection.execute(f"UPDATE {own_people} SET age = 100 WHERE id = 5")
            assert connection.execute(f"SELECT max(age), count(*) FROM {own_people}").fetchone() == (100, 1000)
            connection.execute(f"DELETE FROM {own_people} WHERE id > 990")
            with pytest.raises(psycopg.errors.DivisionByZero), connection.transaction():
                connection.execute(f"SELECT sum(1 / (age - 100)) FROM {own_people}")
            assert connection.execute(f"SELECT count(*) FROM {own_people} WHERE name >= 'p'").fetchone() == (990,)
            connection.execute(f"INSERT INTO {own_people} VALUES (2000, 'new', 1)")
        assert connection.execute(f"SELECT count(*) FROM {own_people}").fetchone() == (991,)


def test_many_rows_stream_while_the_client_takes_them(cluster: Cluster) -> None:
    table = cluster.table("id integer PRIMARY KEY, body text")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} SELECT n, repeat('x', 20000) FROM generate_series(1, 500) AS n")
        rows = connection.execute(f"SELECT id, body FROM {table} WHERE id + 0 > 0").fetchall()
        assert sorted(number for number, _ in rows) == list(range(1, 501))
        with connection.transaction():
            rows = connection.execute(f"SELECT id, body FROM {table} WHERE id + 0 > 0").fetchall()
            assert {len(body) for _, body in rows} == {20000}
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (500,)


def test_a_client_that_leaves_in_the_middle_leaves_nothing(cluster: Cluster) -> None:
    table = cluster.table("id integer PRIMARY KEY, body text")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} SELECT n, repeat('x', 50000) FROM generate_series(1, 400) AS n")
    for _ in range(3):
        leaving = cluster.connect()
        with leaving.cursor() as cursor:
            for _ in cursor.stream(f"SELECT id, body FROM {table} WHERE id + 0 > 0"):
                break
        leaving.close()
    with cluster.connect() as connection:
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (400,)
        connection.execute(f"UPDATE {table} SET body = 'y' WHERE id = 1")


def test_a_cancel_is_heard_in_the_middle_of_a_query(cluster: Cluster, people: str) -> None:
    with cluster.connect() as connection:
        sql = f"SELECT count(*) FROM {people} a, {people} b, {people} c WHERE a.age + b.age + c.age = 3"
        timer = threading.Timer(0.5, connection.cancel)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(sql)
        timer.join()
        assert connection.execute(f"SELECT count(*) FROM {people}").fetchone() == (1000,)


def test_a_read_takes_no_more_than_its_keys(cluster: Cluster, own_people: str) -> None:
    """T6: writers of other rows do not meet a reader of a range."""
    with cluster.connect() as first, cluster.connect() as second, first.transaction():
        assert first.execute(f"SELECT count(*) FROM {own_people} WHERE id <= 10 AND age >= 0").fetchone() == (10,)
        with second.transaction():
            second.execute(f"SELECT count(*) FROM {own_people} WHERE id > 900 AND age >= 0")
            second.execute(f"UPDATE {own_people} SET age = 1 WHERE id = 950")
        first.execute(f"UPDATE {own_people} SET age = 2 WHERE id = 5")


def test_two_that_read_all_and_write_meet(cluster: Cluster, own_people: str) -> None:
    with cluster.connect() as first, cluster.connect() as second:
        first.execute("BEGIN")
        first.execute(f"SELECT sum(age) FROM {own_people}")
        with second.transaction():
            second.execute(f"SELECT sum(age) FROM {own_people}")
            second.execute(f"UPDATE {own_people} SET age = 50 WHERE id = 950")
        with pytest.raises(psycopg.errors.SerializationFailure):
            first.execute(f"UPDATE {own_people} SET age = 50 WHERE id = 5")


def test_values_of_the_session_stand_beside_rows(cluster: Cluster, people: str) -> None:
    sql = (
        "SELECT current_user, session_user, current_database(), current_schema, current_setting('application_name'),"
        f" current_setting('no.such', true), pg_backend_pid(), count(*) FROM {people}"
    )
    with cluster.connect() as one, cluster.connect() as other:
        for connection, name in ((one, "one's"), (other, "other"), (one, "third")):
            connection.execute(f"SET application_name = '{name.replace(chr(39), chr(39) * 2)}'")
            [row] = connection.execute(sql).fetchall()
            pid = connection.info.backend_pid
            assert row == ("tester", "tester", "schemalab", "public", name, None, pid, 1000)
        names = (
            f"SELECT current_setting(s) FROM (VALUES ('timezone'), ('application_name')) v (s), {people} WHERE id = 1"
        )
        assert other.execute(names).fetchall() == [("UTC",), ("other",)]
        with pytest.raises(psycopg.errors.UndefinedObject, match="unrecognized configuration parameter"):
            other.execute(names.replace("'timezone'", "'no.such'"))


def test_what_tools_ask_first_is_answered(cluster: Cluster) -> None:
    asked = "pg_is_in_recovery(), pg_client_encoding(), getdatabaseencoding(), pg_stat_get_live_tuples(1)"
    with cluster.connect() as connection:
        assert connection.execute(f"SELECT {asked}").fetchall() == [(False, "UTF8", "UTF8", None)]


def test_a_setting_is_set_where_a_row_is_found(cluster: Cluster, people: str) -> None:
    with cluster.connect() as connection:
        sql = f"SELECT set_config('application_name', %s, false), id FROM {people} WHERE id + 0 = %s"
        assert connection.execute(sql, ["found", 1]).fetchall() == [("found", 1)]
        assert connection.execute(sql, ["not found", 0]).fetchall() == []
        assert connection.execute("SHOW application_name").fetchone() == ("found",)


@pytest.mark.parametrize("condition", ["id = 1", "id + 0 = 1"], ids=["by key", "by a scan"])
def test_a_statement_that_writes_sets_nothing(cluster: Cluster, own_people: str, condition: str) -> None:
    with cluster.connect() as connection:
        for call in ("set_config('application_name', 'written', false)", "nextval('numbers')::text"):
            with pytest.raises(psycopg.errors.FeatureNotSupported):
                connection.execute(f"UPDATE {own_people} SET name = {call} WHERE {condition}")
        assert connection.execute("SHOW application_name").fetchone() != ("written",)


def test_a_query_of_no_table_begins_no_snapshot_of_its_block(cluster: Cluster, own_people: str) -> None:
    with cluster.connect() as connection, cluster.connect() as other, connection.transaction():
        [(began, _)] = connection.execute("SELECT now(), upper('x')").fetchall()
        other.execute(f"INSERT INTO {own_people} VALUES (5000, 'new', 1)")
        assert connection.execute(f"SELECT count(*), now() FROM {own_people}").fetchone() == (1001, began)


def test_a_mistake_in_a_query_of_no_table_fails_its_block(cluster: Cluster, people: str) -> None:
    with cluster.connect() as connection:
        connection.execute("BEGIN")
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("SELECT 1 / (length('a') - 1)")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.execute("ROLLBACK")


def test_what_takes_the_place_of_a_sample_is_said(cluster: Cluster, people: str) -> None:
    with cluster.connect() as connection, pytest.raises(psycopg.errors.FeatureNotSupported) as refused:
        connection.execute(f"SELECT id FROM {people} TABLESAMPLE SYSTEM (10)")
    assert "choose rows by the key" in str(refused.value)


def test_long_reads_of_one_user_leave_sessions_for_its_others(cluster: Cluster, people: str) -> None:
    table = cluster.table("id integer PRIMARY KEY, body text")
    sql, room = f"SELECT id, body FROM {table} WHERE id + 0 > 0", POOL_MAX // 3 - POOL_MAX // 3 // 4
    has_begun, readers = threading.Event(), [cluster.connect() for _ in range(room + 1)]

    def read_last() -> None:
        with readers[-1].cursor() as cursor:
            for _ in cursor.stream(sql):
                has_begun.set()

    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} SELECT n, repeat('x', 50000) FROM generate_series(1, 400) AS n")
        streams = [reader.cursor().stream(sql) for reader in readers[:-1]]
        for stream in streams:
            next(stream)
        last = threading.Thread(target=read_last)
        last.start()
        for number in range(1, 100):
            assert connection.execute(f"SELECT name FROM {people} WHERE id = %s", [number]).fetchone()
        assert not has_begun.is_set()
        readers[0].close()
        assert has_begun.wait(30)
        last.join()
    for reader in readers:
        reader.close()


def test_values_that_stand_alone_are_computed_by_postgresql(cluster: Cluster, people: str) -> None:
    """Of EXECUTE, and of calls that no query makes."""
    with cluster.connect() as connection:
        connection.execute(f"PREPARE named AS SELECT count(*) FROM {people} WHERE name = $1 AND id < $2")
        found = connection.execute(
            "EXECUTE named (convert_from(decode('cDM=', 'base64'), 'UTF8'), 40 + length(md5('a')))"
        )
        assert found.fetchone() == (7,)
        connection.execute("LISTEN sums")
        connection.execute("SELECT pg_notify('sums', encode(sha256(%s), 'hex'))", [b"a"])
        [notified] = connection.notifies(timeout=20, stop_after=1)
        assert notified.payload.startswith("ca978112ca1bbdcafac231b39a23dc4d")
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            connection.execute("EXECUTE named ('p3', convert_from('x', 'UTF8')::integer)")
