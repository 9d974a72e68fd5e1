"""LISTEN and NOTIFY between sessions of one node and of two: what is committed is heard, in order, and nothing else."""

import signal
from typing import Any

import psycopg
import pytest

from tests.nodes.conftest import Cluster
from tests.nodes.raw_client import Raw, ask, kinds, query

Connection = psycopg.Connection[Any]
WAIT_S = 10.0


def heard(connection: Connection, count: int) -> list[tuple[str, str]]:
    """The next notifications, and none after them that was there at the same time."""
    found = [(n.channel, n.payload) for n in connection.notifies(timeout=WAIT_S, stop_after=count)]
    return found + [(n.channel, n.payload) for n in connection.notifies(timeout=0)]


def test_all_nodes_hear_what_is_committed_in_order(n1: Connection, n2: Connection, cluster: Cluster) -> None:
    with cluster.connect("n1") as speaker:
        for listener in (n1, n2):
            listener.execute("LISTEN news")
            listener.execute('LISTEN "Other"')
        assert n1.execute("SELECT pg_listening_channels()").fetchall() == [("news",), ("Other",)]
        assert n1.execute("SELECT * FROM pg_listening_channels()").fetchall() == [("news",), ("Other",)]
        speaker.execute("NOTIFY news")
        with speaker.transaction():
            speaker.execute("NOTIFY news, 'one'")
            speaker.execute("SELECT pg_notify(%s, %s)", ["Other", "x" * 7999])
            speaker.execute("NOTIFY news, 'one'")
            with speaker.transaction(force_rollback=True):
                speaker.execute("NOTIFY news, 'undone to a savepoint'")
            speaker.execute("NOTIFY nobody, 'hears this'")
            speaker.execute("SELECT pg_notify('news', 'o' || 'n' || 'e')")
            speaker.execute("NOTIFY news, 'two'")
        with speaker.transaction(force_rollback=True):
            speaker.execute("NOTIFY news, 'rolled back'")
        speaker.execute("SELECT pg_notify('news', NULL)")
        speaker.execute("NOTIFY news, 'end'")
        expected = [
            ("news", ""),
            ("news", "one"),
            ("Other", "x" * 7999),
            ("news", "two"),
            ("news", ""),
            ("news", "end"),
        ]
        for listener in (n1, n2):
            assert heard(listener, len(expected)) == expected


def test_a_client_knows_what_it_has_said_itself(n1: Connection, n2: Connection) -> None:
    for listener in (n1, n2):
        listener.execute("LISTEN own")
    n1.execute("NOTIFY own, 'mine'")
    (mine,) = n1.notifies(timeout=WAIT_S, stop_after=1)
    (others,) = n2.notifies(timeout=WAIT_S, stop_after=1)
    assert mine.pid == n1.info.backend_pid
    assert others.pid != n2.info.backend_pid


def test_what_a_transaction_writes_is_there_when_it_is_heard(n1: Connection, n2: Connection, cluster: Cluster) -> None:
    table = cluster.table("id int PRIMARY KEY")
    n2.execute("LISTEN written")
    with n1.transaction():
        n1.execute(f"INSERT INTO {table} VALUES (1)")
        n1.execute("NOTIFY written, '1'")
        assert not list(n2.notifies(timeout=0.2))
    assert heard(n2, 1) == [("written", "1")]
    assert n2.execute(f"SELECT id FROM {table}").fetchall() == [(1,)]


def test_nothing_is_told_within_a_transaction(n1: Connection, cluster: Cluster) -> None:
    with Raw(cluster.ports["n1"]) as raw:
        raw.startup()
        ask(raw, query("LISTEN later"))
        ask(raw, query("BEGIN"))
        n1.execute("LISTEN later")
        n1.execute("NOTIFY later, 'x'")
        assert heard(n1, 1) == [("later", "x")]
        assert kinds(ask(raw, query("SELECT 1"))) == "TDCZ"
        assert kinds(ask(raw, query("COMMIT"))) == "CAZ"


def test_what_comes_while_an_answer_is_taken_is_not_forgotten(n1: Connection, cluster: Cluster) -> None:
    """The client takes the end of its answer late, and then says nothing more: it is told all the same."""
    with Raw(cluster.ports["n1"], receives=4096) as raw:
        raw.startup()
        ask(raw, query("LISTEN slowly"))
        n1.execute("LISTEN slowly")
        ask(raw, query(f"SET long.text = '{'x' * 1000000}'"))
        raw.send(query("SHOW long.text"))
        assert kinds([raw.message() or (b"", b"")]) == "T"
        n1.execute("NOTIFY slowly, 'x'")
        assert heard(n1, 1) == [("slowly", "x")], "the node has told all who could take it"
        assert kinds(raw.until_ready()) == "DCZ"
        assert kinds([raw.message() or (b"", b"")]) == "A"


def test_listening_ends_with_unlisten_rollback_and_discard(n1: Connection, n2: Connection) -> None:
    for end in ("UNLISTEN a", "UNLISTEN *", "DISCARD ALL"):
        n1.execute("LISTEN a")
        n1.execute(end)
        assert n1.execute("SELECT pg_listening_channels()").fetchall() == []
    with n1.transaction(force_rollback=True):
        n1.execute("LISTEN a")
    with n1.transaction():
        n1.execute("LISTEN b")
        with n1.transaction(force_rollback=True):
            n1.execute("LISTEN c")
        assert n1.execute("SELECT pg_listening_channels()").fetchall() == []
    assert n1.execute("SELECT pg_listening_channels()").fetchall() == [("b",)]
    for channel in "abc":
        n2.execute(f"NOTIFY {channel}")
    assert heard(n1, 1) == [("b", "")]


@pytest.mark.parametrize(("sql", "state"), [
    ("SELECT pg_notify('', 'x')", "22023"),
    (f"SELECT pg_notify('a', '{'x' * 8000}')", "22023"),
    (f"NOTIFY a, '{'x' * 8000}'", "22023"),
    ("SELECT pg_notify(1, 'x')", "42883"),
    ("SELECT pg_notify('a')", "42883"),
    ("SELECT pg_notify('a', (SELECT 'x'))", "0A000"),
])  # fmt: skip
def test_mistakes_are_refused(n1: Connection, sql: str, state: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        n1.execute(sql)
    assert caught.value.sqlstate == state
    assert n1.execute("SELECT 1").fetchone() == (1,)


def test_a_listener_that_takes_nothing_is_ended_and_holds_nothing(n1: Connection, cluster: Cluster) -> None:
    """It is in a transaction for too long; the others hear everything."""
    with cluster.connect() as slow:
        slow.execute("LISTEN much")
        slow.execute("BEGIN")
        n1.execute("LISTEN much")
        with n1.transaction():
            for number in range(700):
                n1.execute("SELECT pg_notify('much', %s)", [f"{number} {'x' * 7000}"])
        assert len(heard(n1, 700)) == 700
        with pytest.raises(psycopg.OperationalError, match="its notifications were not taken"):
            slow.execute("SELECT 1")


def test_a_killed_node_loses_only_its_listeners(n1: Connection, n2: Connection, cluster: Cluster) -> None:
    cluster.start("doomed")
    with cluster.connect("doomed") as lost:
        for listener in (lost, n2):
            listener.execute("LISTEN alive")
        n1.execute("NOTIFY alive, 'before'")
        assert heard(lost, 1) == heard(n2, 1) == [("alive", "before")]
        cluster.stop("doomed", signal.SIGKILL)
        n1.execute("NOTIFY alive, 'after'")
        assert heard(n2, 1) == [("alive", "after")]
        with pytest.raises(psycopg.OperationalError):
            lost.execute("SELECT 1")


def test_listeners_are_ended_when_the_store_ends_what_hears_for_them(cluster: Cluster) -> None:
    """What was said meanwhile is lost, and they have to know; who comes then hears again."""
    with cluster.connect("n2") as client:
        client.execute("LISTEN lost")
        cluster.read(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name LIKE 'schemalab node n2 %%' AND query = 'LISTEN schemalab_sql'"
        )
        with pytest.raises(psycopg.OperationalError):
            list(client.notifies(timeout=WAIT_S))
    with cluster.connect("n2") as client, cluster.connect("n1") as speaker:
        client.execute("LISTEN lost")
        speaker.execute("NOTIFY lost, 'again'")
        assert heard(client, 1) == [("lost", "again")]
        [(listeners,)] = cluster.read("SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN schemalab_sql'")
        assert listeners >= 1
