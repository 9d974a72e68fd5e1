"""The wire protocol byte by byte: what each message is answered with, and what garbage is told."""

import struct
import time
from pathlib import Path

import pytest

from tests.nodes.conftest import Cluster
from tests.nodes.raw_client import (
    SYNC,
    Raw,
    ask,
    bind,
    describe,
    execute,
    fields,
    kinds,
    message,
    parse,
    query,
    rows,
)  # fmt: skip

# -- startup


def test_a_client_is_greeted_with_what_libpq_wants_to_know(cluster: Cluster) -> None:
    with Raw(cluster.ports["n1"]) as raw:
        answers = raw.startup(application_name="probe")
    told = dict(body.split(b"\0")[:2] for kind, body in answers if kind == b"S")
    assert answers[0] == (b"R", struct.pack("!i", 0))
    assert told[b"server_version"] == b"18.0 (Schema Lab)"
    assert told[b"client_encoding"] == b"UTF8"
    assert told[b"DateStyle"] == b"ISO, MDY"
    assert told[b"TimeZone"] == b"UTC"
    assert told[b"integer_datetimes"] == b"on"
    assert told[b"standard_conforming_strings"] == b"on"
    assert told[b"application_name"] == b"probe"
    assert [kind for kind, _ in answers[-2:]] == [b"K", b"Z"]
    assert answers[-1][1] == b"I"


def test_encryption_is_declined_and_the_client_may_go_on(cluster: Cluster) -> None:
    with Raw(cluster.ports["n1"]) as raw:
        raw.send(struct.pack("!ii", 8, 80877104))
        assert raw.exactly(1) == b"N"
        raw.send(struct.pack("!ii", 8, 80877103))
        assert raw.exactly(1) == b"N"
        assert raw.startup()[-1] == (b"Z", b"I")


@pytest.mark.parametrize(("data", "sqlstate", "words"), [
    pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "08P01", "invalid length of startup packet",
        id="a browser is told what port this is"),
    pytest.param(struct.pack("!ii", 8, 2 << 16), "0A000", "unsupported frontend protocol 2.0",
        id="an old protocol is refused by its number"),
    pytest.param(struct.pack("!ii", 9, 196608) + b"x", "08P01", "invalid string in message",
        id="a packet without end is refused"),
    pytest.param(struct.pack("!ii", 9, 196608) + b"\0", "28000", "no PostgreSQL user name", id="a user name is needed"),
    pytest.param(struct.pack("!i", 2**30), "08P01", "invalid length of startup packet",
        id="a huge packet is not waited for"),
])  # fmt: skip
def test_a_bad_start_gets_one_clear_error(cluster: Cluster, data: bytes, sqlstate: str, words: str) -> None:
    with Raw(cluster.ports["n1"]) as raw:
        raw.send(data)
        answers = raw.until_ready()
    ((kind, body),) = answers
    told = fields(body)
    assert kind == b"E"
    assert told["S"] == told["V"] == "FATAL"
    assert told["C"] == sqlstate
    assert words in told["M"]
    with cluster.connect() as healthy:
        assert healthy.execute("SELECT 1").fetchone() == (1,)


def test_a_newer_minor_protocol_is_negotiated_down(cluster: Cluster) -> None:
    with Raw(cluster.ports["n1"]) as raw:
        answers = raw.startup(version=(3 << 16) | 2, **{"_pq_.future": "1"})
    negotiated = [body for kind, body in answers if kind == b"v"]
    assert negotiated == [struct.pack("!ii", 3 << 16, 1) + b"_pq_.future\0"]
    assert answers[-1] == (b"Z", b"I")


def test_an_unknown_database_is_refused(cluster: Cluster) -> None:
    with Raw(cluster.ports["n1"]) as raw:
        (kind, body) = raw.startup(database="postgres")[-1]
    assert (kind, fields(body)["C"]) == (b"E", "3D000")


# -- garbage later on


@pytest.mark.parametrize(("data", "words"), [
    pytest.param(b"\x01\x00\x00\x00\x04", "invalid frontend message type 1", id="an unknown message"),
    pytest.param(b"Q" + struct.pack("!i", 2), "invalid message length", id="a length that cannot be"),
    pytest.param(b"Q" + struct.pack("!i", 2**30), "invalid message length", id="a message larger than the limit"),
    pytest.param(message(b"B", b"\0"), "invalid string in message", id="a message that is cut"),
    pytest.param(message(b"p", b"x\0"), "unexpected password", id="a password nobody asked for"),
])  # fmt: skip
def test_a_violation_ends_the_connection_with_its_reason(raw: Raw, data: bytes, words: str) -> None:
    raw.send(data)
    answers = raw.until_ready()
    assert kinds(answers) == "E"
    told = fields(answers[0][1])
    assert (told["S"], told["C"]) == ("FATAL", "08P01")
    assert words in told["M"]


def test_text_that_is_not_utf8_is_an_error_of_its_statement(raw: Raw) -> None:
    answers = ask(raw, message(b"Q", b"SELECT '\xff'\0"))
    assert kinds(answers) == "EZ"
    assert fields(answers[0][1])["C"] == "22021"
    assert kinds(ask(raw, query("SELECT 1"))) == "TDCZ"


def test_a_statement_longer_than_the_limit_is_refused(raw: Raw) -> None:
    answers = ask(raw, query("SELECT '" + "x" * (1 << 20) + "'"))
    assert kinds(answers) == "EZ"
    assert fields(answers[0][1])["C"] == "54000"


# -- simple query


@pytest.mark.parametrize(("sql", "expected"), [
    pytest.param("SELECT 1", "TDCZ", id="a query describes, answers, completes"),
    pytest.param("", "IZ", id="an empty query has an answer of its own"),
    pytest.param(" ; -- nothing", "IZ", id="so has a comment"),
    pytest.param("SELECT 1; SELECT 2", "TDCTDCZ", id="statements are answered in turn"),
    pytest.param("SELECT 1; SELECT 1/0; SELECT 2", "TDCEZ", id="an error skips the rest"),
    pytest.param("SELEC", "EZ", id="a syntax error says so"),
    pytest.param("SET application_name = 'x'", "CZ", id="a setting completes"),
])  # fmt: skip
def test_a_simple_query(raw: Raw, sql: str, expected: str) -> None:
    assert kinds(ask(raw, query(sql))) == expected


def test_positions_count_characters(raw: Raw) -> None:
    answers = ask(raw, query("SELECT 'äöü€', nothing"))
    assert fields(answers[0][1])["P"] == "16"


def test_statements_of_one_message_are_one_transaction(cluster: Cluster, raw: Raw) -> None:
    table = cluster.table("id int primary key")
    answers = ask(raw, query(f"INSERT INTO {table} VALUES (1); INSERT INTO {table} VALUES (1)"))
    assert kinds(answers) == "CEZ"
    assert rows(ask(raw, query(f"SELECT count(*) FROM {table}"))) == [(b"0",)]


def test_ready_states_the_truth_about_the_transaction(raw: Raw) -> None:
    states = [
        ask(raw, query(sql))[-1][1] for sql in ("BEGIN", "SELECT 1", "SELECT 1/0", "SELECT 1", "ROLLBACK", "SELECT 1")
    ]
    assert states == [b"T", b"T", b"E", b"E", b"I", b"I"]


# -- extended query


def test_parse_bind_describe_execute(raw: Raw) -> None:
    answers = ask(
        raw,
        parse("SELECT $1::int + 1 AS n", "s"),
        describe(b"S", "s"),
        bind(b"41", name="s"),
        describe(),
        execute(),
        SYNC,
    )
    assert kinds(answers) == "1tT2TDCZ"
    assert answers[1][1] == struct.pack("!hi", 1, 23)
    assert rows(answers) == [(b"42",)]


@pytest.mark.parametrize(("sql", "oids"), [
    pytest.param("SELECT id FROM {t} WHERE id = $1", [20], id="from the column it is compared with"),
    pytest.param("SELECT id FROM {t} WHERE $1 < day", [1082], id="on either side"),
    pytest.param("INSERT INTO {t} VALUES ($1, $2, $3)", [20, 25, 1082], id="from the column it is assigned to"),
    pytest.param("UPDATE {t} SET day = $2 WHERE id = $1", [20, 1082], id="in an update"),
    pytest.param("SELECT $1", [25], id="text when nothing says"),
    pytest.param("SELECT $1 + 1", [23], id="from the other operand"),
    pytest.param("SELECT * FROM {t} WHERE id IN ($1, $2) LIMIT $3", [20, 20, 20], id="in lists and limits"),
    pytest.param("SELECT coalesce($1, name) FROM {t}", [25], id="from its companions"),
])  # fmt: skip
def test_the_type_of_a_parameter_is_found(cluster: Cluster, raw: Raw, sql: str, oids: list[int]) -> None:
    table = cluster.table("id bigint primary key, name text, day date")
    answers = ask(raw, parse(sql.format(t=table), "s"), describe(b"S", "s"), SYNC)
    body = next(body for kind, body in answers if kind == b"t")
    assert list(struct.unpack(f"!h{len(oids)}i", body))[1:] == oids


def test_a_declared_type_counts(raw: Raw) -> None:
    answers = ask(raw, parse("SELECT $1", oids=(23,)), bind(b"x"), execute(), SYNC)
    assert kinds(answers) == "12EZ"
    assert fields(answers[2][1])["C"] == "22P02"


def test_an_error_skips_to_sync(raw: Raw) -> None:
    answers = ask(raw, parse("SELECT 1/0"), bind(), execute(), parse("SELECT 1"), bind(), execute(), SYNC)
    assert kinds(answers) == "12EZ"
    assert kinds(ask(raw, parse("SELECT 1"), bind(), execute(), SYNC)) == "12DCZ"


def test_a_portal_hands_out_rows_in_parts(raw: Raw) -> None:
    sql = "SELECT g FROM generate_series(1, 5) g ORDER BY g"
    answers = ask(raw, parse(sql), bind(portal="p"), execute(2, "p"), execute(2, "p"), execute(2, "p"), SYNC)
    assert kinds(answers) == "12DDsDDsDCZ"
    assert rows(answers) == [(b"1",), (b"2",), (b"3",), (b"4",), (b"5",)]


def test_statements_up_to_sync_are_one_transaction(cluster: Cluster, raw: Raw) -> None:
    table = cluster.table("id int primary key")
    insert = parse(f"INSERT INTO {table} VALUES ($1)", "i")
    answers = ask(raw, insert, bind(b"1", name="i"), execute(), bind(b"1", name="i"), execute(), SYNC)
    assert kinds(answers) == "12C2EZ"
    assert rows(ask(raw, query(f"SELECT count(*) FROM {table}"))) == [(b"0",)]
    answers = ask(raw, bind(b"1", name="i"), execute(), bind(b"2", name="i"), execute(), SYNC)
    assert kinds(answers) == "2C2CZ"
    assert rows(ask(raw, query(f"SELECT count(*) FROM {table}"))) == [(b"2",)]


@pytest.mark.parametrize(("messages", "sqlstate"), [
    pytest.param([bind(name="nope")], "26000", id="a statement that was never made"),
    pytest.param([execute(portal="nope")], "34000", id="a portal that was never made"),
    pytest.param([parse("SELECT 1; SELECT 2")], "42601", id="two statements in one"),
    pytest.param([parse("SELECT $1", "x"), bind(name="x")], "08P01", id="a parameter that is missing"),
    pytest.param([parse("SELECT 1", "y"), parse("SELECT 2", "y")], "42P05", id="a name that is taken"),
    pytest.param([parse("SELECT 1", "z"), bind(name="z", results=(2,))], "22023", id="an unknown result format"),
    pytest.param([parse("SELECT 1", "y"), bind(name="y", results=(1, 1))], "08P01", id="too many result formats"),
    pytest.param([parse("SELECT $1", "w", (999_999,))], "XX000", id="a type that nobody has, in PostgreSQL's own code"),
    pytest.param([message(b"F", b"\0\0\0\1")], "0A000", id="the function call protocol"),
    pytest.param([parse("COPY t_of_nobody FROM STDIN"), bind(), execute()], "42P01", id="copy of no table"),
])  # fmt: skip
def test_what_cannot_be_is_refused_and_the_connection_lives(raw: Raw, messages: list[bytes], sqlstate: str) -> None:
    answers = ask(raw, *messages, SYNC)
    assert fields(next(body for kind, body in answers if kind == b"E"))["C"] == sqlstate
    assert kinds(ask(raw, query("SELECT 1"))) == "TDCZ"


@pytest.mark.parametrize(("oid", "value", "expected"), [
    pytest.param(21, struct.pack("!h", -5), b"-5", id="smallint"),
    pytest.param(23, struct.pack("!i", 7), b"7", id="integer"),
    pytest.param(20, struct.pack("!q", 1 << 40), b"1099511627776", id="bigint"),
    pytest.param(701, struct.pack("!d", 1.5), b"1.5", id="double"),
    pytest.param(16, b"\1", b"t", id="boolean"),
    pytest.param(25, b"x", b"x", id="text"),
    pytest.param(1082, struct.pack("!i", 1), b"2000-01-02", id="date"),
    pytest.param(1114, struct.pack("!q", 1_500_000), b"2000-01-01 00:00:01.5", id="timestamp"),
])  # fmt: skip
def test_parameters_may_be_binary(raw: Raw, oid: int, value: bytes, expected: bytes) -> None:
    assert rows(ask(raw, parse("SELECT $1", oids=(oid,)), bind(value, formats=(1,)), execute(), SYNC)) == [(expected,)]


def test_close_and_flush(raw: Raw) -> None:
    raw.send(parse("SELECT 1", "c") + message(b"H"))
    assert raw.message() == (b"1", b"")
    assert kinds(ask(raw, message(b"C", b"Sc\0"), message(b"C", b"Pnone\0"), SYNC)) == "33Z"
    assert kinds(ask(raw, bind(name="c"), SYNC)) == "EZ"


# -- cancel


def test_a_cancel_request_stops_the_statement(cluster: Cluster) -> None:
    with Raw(cluster.ports["n1"]) as raw:
        key = next(body for kind, body in raw.startup() if kind == b"K")
        began = time.monotonic()
        raw.send(query("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b"))
        time.sleep(0.3)
        with Raw(cluster.ports["n1"]) as other:
            other.send(struct.pack("!ii", 16, 80877102) + key)
            assert other.message() is None
        answers = raw.until_ready()
        assert kinds(answers) == "EZ"
        assert fields(answers[0][1])["C"] == "57014"
        assert time.monotonic() - began < 5
        assert kinds(ask(raw, query("SELECT 1"))) == "TDCZ"


def test_a_cancel_with_a_wrong_secret_does_nothing(cluster: Cluster) -> None:
    with Raw(cluster.ports["n1"]) as raw:
        key = next(body for kind, body in raw.startup() if kind == b"K")
        with Raw(cluster.ports["n1"]) as other:
            other.send(struct.pack("!ii", 16, 80877102) + key[:4] + b"\0\0\0\0")
        assert kinds(ask(raw, query("SELECT 1"))) == "TDCZ"


def test_a_password_is_asked_for_and_checked(cluster: Cluster) -> None:
    import psycopg

    from nodes.people.vouching import vouched_parameters

    tls = Path(__file__).with_name("tls")
    certificate = str(tls / "cert.pem")
    cluster.start("guarded", NODE_PASSWORD="sésame", NODE_TLS_CERT=certificate, NODE_TLS_KEY=str(tls / "key.pem"))
    try:
        encrypted = {"user": "owner", "password": "sésame", "sslmode": "verify-full", "sslrootcert": certificate}
        with psycopg.connect(cluster.address("guarded", **encrypted), autocommit=True) as connection:
            assert connection.pgconn.ssl_in_use
            assert connection.execute("SELECT sum(g) FROM generate_series(1, 300000) g").fetchone() == (45000150000,)
            with connection.cursor() as cursor:
                assert sum(1 for _ in cursor.stream("SELECT g, 'x' FROM generate_series(1, 100000) g")) == 100_000
        with Raw(cluster.ports["guarded"]) as meddler:
            meddler.send(struct.pack("!ii", 8, 80877103) + b"SELECT 1")
            assert fields((meddler.message() or (b"", b""))[1])["C"] == "08P01"
        with Raw(cluster.ports["guarded"]) as silent:
            silent.send(struct.pack("!ii", 8, 80877103))
            assert silent.exactly(1) == b"S"
            silent.send(b"no handshake at all, but bytes of something else")
        with psycopg.connect(cluster.address("guarded", user="owner", password="sésame")) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        with psycopg.connect(cluster.address("guarded", **vouched_parameters("only for tests", "lea"))) as connection:
            assert connection.execute("SELECT current_user").fetchone() == ("lea",)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed for user"):
            psycopg.connect(cluster.address("guarded", password="sésame"))
    finally:
        assert cluster.stop("guarded") == 0


@pytest.mark.soak
def test_beyond_loopback_a_password_is_a_must(cluster: Cluster) -> None:
    import psycopg

    cluster.start("open", "--host", "0.0.0.0")
    try:
        with pytest.raises(psycopg.OperationalError, match="password authentication failed for user"):
            psycopg.connect(cluster.address("open", user="owner", password="a guess"))
    finally:
        assert cluster.stop("open") == 0
