"""Clients that are greedy, idle, silent or gone cost a node little, and nobody else anything for long."""

import asyncio
import socket
import struct
import time
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from expressions.errors import FatalError
from nodes.clients.channel import Channel
from nodes.clients.connection import Client
from nodes.clients.registry import Clients
from nodes.clients.startup import Greeting
from nodes.execution.held_rows import NodeRows
from nodes.people.rights import Person
from nodes.server import Settings, bind
from nodes.session.open import Limits, open_session
from nodes.sql.statements import parse as parsed
from tests.nodes.conftest import Cluster
from tests.nodes.raw_client import Raw, ask, execute, fields, kinds, message, parse, query  # fmt: skip
from tests.nodes.raw_client import bind as bound

GREETING = Greeting(lambda *_: None, sessions_max_each=2)  # type: ignore[arg-type, return-value]


# -- connections


def test_a_client_that_is_gone_without_a_word_is_noticed() -> None:
    settings = Settings("n", "127.0.0.1", 0, "", "", 30.0, 2, 3000)
    with bind(settings) as listener:
        listener.listen()
        with socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            probes = [accepted.getsockopt(socket.IPPROTO_TCP, option) for option in
                      (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)]  # fmt: skip
            assert probes[0] + probes[1] * probes[2] <= 120


def test_of_those_who_do_not_sign_in_the_longest_silent_one_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.clients.registry.UNKNOWN_MAX", 3)

    async def crowd() -> list[bytes]:
        clients = Clients(GREETING)
        server = await asyncio.get_running_loop().create_server(clients.channel, "127.0.0.1", 0)
        async with server:
            silent = [await asyncio.open_connection(*server.sockets[0].getsockname()) for _ in range(4)]
            first = await asyncio.wait_for(silent[0][0].read(), 10)
            others = [client.task for client in clients.clients.values()]
            assert len(others) == 3
            assert not any(task is None or task.done() for task in others)
            for _, writer in silent:
                writer.close()
        return [first]

    (said,) = asyncio.run(crowd())
    error = fields(said[5:])
    assert (error["S"], error["C"]) == ("FATAL", "53300")
    assert "3 connections to this node have not signed in" in error["M"]


def test_a_user_has_so_many_sessions_and_takes_nobody_elses() -> None:
    clients = Clients(GREETING)
    mine = [Client(clients, None, pid, GREETING) for pid in range(5)]  # type: ignore[arg-type]
    ann, bob = Person("ann"), Person("bob")

    def admit(client: Client, person: Person) -> None:
        clients.clients[client.pid], client.person = client, person
        clients.admit(client, person)

    admit(mine[0], ann)
    admit(mine[1], ann)
    with pytest.raises(FatalError, match='user "ann" has 2 sessions on this node already') as refused:
        admit(mine[2], ann)
    assert refused.value.sqlstate == "53300"
    clients.forget(mine[2])
    admit(mine[3], bob)
    clients.forget(mine[0])
    admit(mine[4], ann)


# -- idle transactions


@pytest.mark.parametrize("held", [
    pytest.param([query("BEGIN")], id="in a block that has done nothing"),
    pytest.param([query("BEGIN"), query("SELECT 1")], id="in a block"),
    pytest.param([parse("SELECT 1"), bound(), execute(), message(b"H")], id="before the end of a pipeline"),
    pytest.param([query("BEGIN"), parse("SELECT 1")], id="within a block and a pipeline"),
])  # fmt: skip
def test_an_idle_transaction_is_ended(raw: Raw, held: list[bytes]) -> None:
    ask(raw, query("SET idle_in_transaction_session_timeout = '300ms'"))
    raw.send(b"".join(held))
    answers = []
    while (answer := raw.message()) is not None:
        answers.append(answer)
    told = fields(answers[-1][1])
    assert (told["S"], told["C"]) == ("FATAL", "25P03")
    assert told["M"] == "terminating connection due to idle-in-transaction timeout"


MANY_ROWS = "SELECT repeat('x', 1000) FROM generate_series(1, 30000)"


ASKED = {
    "by a statement alone": query(MANY_ROWS),
    "in a block": query(f"BEGIN; {MANY_ROWS}"),
    "in a pipeline": parse(MANY_ROWS) + bound() + execute() + message(b"H"),
    "by a portal": parse(MANY_ROWS) + bound() + execute(29_000) + message(b"H"),
}


def test_who_does_not_take_the_rows_of_a_transaction_is_idle(cluster: Cluster) -> None:
    """Whether its statements may take any time is another limit."""
    with ExitStack() as stack:
        sessions = {name: stack.enter_context(Raw(cluster.ports["n1"], receives=2**16)) for name in ASKED}
        for name, raw in sessions.items():
            raw.startup()
            ask(raw, query("SET idle_in_transaction_session_timeout = '300ms'; SET statement_timeout = 0"))
            raw.send(ASKED[name])
        time.sleep(1.5)
        for name, raw in sessions.items():
            answers = []
            while (answer := raw.message()) is not None:
                answers.append(answer)
            assert fields(answers[-1][1])["C"] == "25P03", name
            assert kinds(answers).lstrip("C12T").strip("D") == "E", f"{name}: not all rows have come"


def test_who_never_reads_is_disconnected(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed connection would wait for ever for what it has written to be taken."""
    monkeypatch.setattr("nodes.clients.channel.GOODBYE_S_MAX", 0.2)

    async def serve() -> bool:
        channels: list[Channel] = []
        server = await asyncio.get_running_loop().create_server(
            lambda: Channel(channels.append, lambda _: None), "127.0.0.1", 0
        )
        async with server:
            _, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), limit=1024)
            while not channels:
                await asyncio.sleep(0.01)
            channels[0].send(b"x" * 50_000_000)
            channels[0].close()
            await asyncio.sleep(0.1)
            was_lost = channels[0].is_lost
            await asyncio.sleep(0.4)
            writer.close()
            return not was_lost and channels[0].is_lost

    assert asyncio.run(serve())


def test_who_holds_nothing_may_be_idle(raw: Raw) -> None:
    ask(raw, query("SET idle_in_transaction_session_timeout = '100ms'"))
    for sql in ("SELECT 1", "BEGIN; SELECT 1; COMMIT"):
        assert ask(raw, query(sql))[-1] == (b"Z", b"I")
        time.sleep(0.3)
    assert kinds(ask(raw, query("SELECT 1"))) == "TDCZ"


# -- statements


def test_who_does_not_take_the_rows_runs_against_the_clock(raw: Raw) -> None:
    ask(raw, query("SET statement_timeout = '400ms'"))
    raw.send(query("SELECT repeat('x', 1000) FROM generate_series(1, 100000)"))
    time.sleep(1.5)
    answers = raw.until_ready()
    assert kinds(answers)[-2:] == "EZ"
    assert fields(answers[-2][1])["C"] == "57014"
    answers = ask(raw, query("RESET statement_timeout"))
    assert kinds(answers) == "CZ", answers


LARGE = "SELECT repeat('x', 100000)"
MANY = parse("SELECT 1", "many", oids=(23,) * 32767)


def executed(sql: str) -> bytes:
    return parse(sql) + bound() + execute()


BEFORE_A_WAIT = {
    "simple query": lambda wait: query(f"{LARGE}; {wait}"),
    "pipeline": lambda wait: executed(LARGE) + executed(wait) + message(b"S"),
    "descriptions": lambda wait: MANY + message(b"D", b"Smany\0") + executed(wait) + message(b"S"),
}


@pytest.mark.parametrize("name", BEFORE_A_WAIT)
def test_large_answers_are_not_gathered_until_all_statements_are_done(cluster: Cluster, raw: Raw, name: str) -> None:
    """The last statement waits for a row that somebody else has changed; what came before it arrives meanwhile."""
    table = cluster.table("id int PRIMARY KEY, n int")
    with cluster.connect() as other:
        other.execute(f"INSERT INTO {table} VALUES (1, 0)")
        other.execute("BEGIN")
        other.execute(f"UPDATE {table} SET n = 1 WHERE id = 1")
        raw.send(BEFORE_A_WAIT[name](f"UPDATE {table} SET n = 2 WHERE id = 1"))
        size = 0
        while size < 100_000:
            kind, body = raw.message() or pytest.fail("the connection ended")
            assert kind != b"E", fields(body)
            size += len(body)
        other.execute("ROLLBACK")
    assert kinds(raw.until_ready())[-2:] == "CZ"


def test_an_answer_that_is_cancelled_does_not_deny_what_was_done(cluster: Cluster) -> None:
    """T7: 57014 as an error means that nothing was kept. Where it was, the connection ends."""
    table = cluster.table("id int PRIMARY KEY, v text")
    with Raw(cluster.ports["n1"], receives=2**16) as raw, cluster.connect() as other:
        key = next(body for kind, body in raw.startup() if kind == b"K")
        rows = "SELECT g, repeat('x', 1000) FROM generate_series(1, 12000) g"
        raw.send(query(f"INSERT INTO {table} {rows} RETURNING v"))
        deadline = time.monotonic() + 20
        while other.execute(f"SELECT count(*) FROM {table}").fetchone() != (12_000,):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(0.3)
        with Raw(cluster.ports["n1"]) as killer:
            killer.send(struct.pack("!ii", 16, 80877102) + key)
            assert killer.message() is None
        answers = []
        while (answer := raw.message()) is not None:
            answers.append(answer)
    error = fields(answers[-1][1])
    assert (answers[-1][0], error["S"], error["C"]) == (b"E", "FATAL", "57014")


def test_the_node_has_limits_of_its_own_and_a_session_may_choose_others() -> None:
    env, limits = (
        SimpleNamespace(node="n1", directory=None, rows=NodeRows(), pool=None, lock_pool=None),
        Limits(statement_s=5, idle_in_transaction_s=60),
    )
    parameters = {"user": "ann", "database": "schemalab"}
    session = open_session(env, SimpleNamespace(pid=1), Person("ann"), parameters, limits)  # type: ignore[arg-type]
    select, ddl, truncate = parsed("SELECT 1; DROP TABLE t; TRUNCATE t")
    assert [session.statement_s_max(s) for s in (select, ddl, truncate, None)] == [5, None, None, 5]
    assert session.variables.get("statement_timeout") == "5s"
    assert session.variables.idle_in_transaction_s == 60
    assert session.idle_s_max() is None
    session.variables.set("statement_timeout", "2s")
    assert [session.statement_s_max(s) for s in (select, ddl, truncate)] == [2, 2, 2]
    session.variables.set("statement_timeout", "0")
    assert session.statement_s_max(select) is None
    session.variables.reset_all()
    assert session.statement_s_max(select) == 5


def test_a_client_that_flushes_hears_of_an_error_at_once(raw: Raw) -> None:
    """It waits for the answer and sends Sync only then; up to that nothing more is done."""
    for wrong in (
        parse("SELEC 1", "a"),
        parse("SELECT nothing", "b"),
        bound(name="nobody"),
        message(b"D", b"Snobody\0"),
        parse("SELECT 1/0", "c") + bound(name="c") + execute(),
        message(b"D", b"Pnobody\0"),
        execute(portal="nobody"),
        message(b"F", b"\0\0\0\1"),
        bound(name="nobody"),
    ):
        raw.send(wrong + message(b"H"))
        answers = [raw.message()]
        while answers[-1] is not None and answers[-1][0] in b"12":
            answers.append(raw.message())
        assert (answers[-1] or b"")[:1] == (b"E",)
        raw.send(parse("SELECT 1") + bound() + execute() + message(b"H") + message(b"S"))
        assert raw.until_ready() == [(b"Z", b"I")]


def test_more_parameters_than_a_signed_number_counts(raw: Raw) -> None:
    answers = ask(raw, parse("SELECT 1", "many", oids=(23,) * 32767), message(b"D", b"Smany\0"), message(b"S"))
    assert kinds(answers) == "1tTZ"
    wide = b"w\0SELECT 1\0" + struct.pack("!H", 40_000) + struct.pack("!i", 23) * 40_000
    answers = ask(raw, message(b"P", wide), message(b"D", b"Sw\0"), message(b"S"))
    assert kinds(answers) == "1tTZ"
    assert len(answers[1][1]) == 2 + 4 * 40_000
