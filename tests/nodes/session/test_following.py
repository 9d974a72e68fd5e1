"""DDL through a node: followed to its end, over a restart of the store, and left alone by one who gives up."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import psycopg
import pytest

from expressions.errors import SqlError
from nodes.session.schema import ddl
from nodes.session.schema.new_tables import NewTables
from nodes.settings.variables import Variables
from nodes.sql.statements import parse
from tests.nodes.conftest import Cluster

FOLLOWERS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'schemalab follower'"
STATUS = "SELECT id, status FROM changes_change WHERE table_name = %s"


@contextmanager
def held(cluster: Cluster, table: str) -> Iterator[None]:
    """A transaction on another node that keeps the table's version, and so any change of it, waiting."""
    with cluster.connect("n2") as holder, holder.transaction():
        holder.execute(f"SELECT count(*) FROM {table}")
        yield


def until(store: "psycopg.Connection[Any]", question: str, wanted: Any, params: Any = ()) -> None:
    deadline = time.monotonic() + 20
    while (found := store.execute(question, params).fetchone()) != wanted:
        assert time.monotonic() < deadline, f"{found} instead of {wanted}"
        time.sleep(0.02)


def cancel_what_is_followed(cluster: Cluster, client: Any) -> None:
    with cluster.store() as store:
        until(store, FOLLOWERS, (1,))
    client.cancel_safe()


def test_ctrl_c_leaves_the_change_running_and_says_so(cluster: Cluster, worker: None, n1: Any) -> None:
    notices: list[str] = []
    n1.add_notice_handler(lambda told: notices.append(f"{told.severity} {told.message_primary}"))
    table = cluster.table("id int primary key, v text")
    with cluster.store() as store:
        with held(cluster, table):
            giving_up = threading.Thread(target=cancel_what_is_followed, args=(cluster, n1))
            giving_up.start()
            with pytest.raises(psycopg.errors.QueryCanceled) as given_up:
                n1.execute(f"CREATE INDEX {table}_v ON {table} (v)")
            giving_up.join()
            number, status = store.execute(STATUS, [table]).fetchone()
            detail = given_up.value.diag.message_detail
            assert detail == f"Change {number} of {table} goes on. `manage.py change cancel {number}` cancels it."
            assert status not in ("done", "failed", "cancelled")
            assert f"WARNING change {number} of {table} goes on without you" in notices
            until(store, FOLLOWERS, (0,))
        assert n1.execute("SELECT 1").fetchone() == (1,)
        until(store, STATUS, (number, "done"), [table])


def test_a_statement_timeout_of_ddl_says_that_the_change_goes_on(cluster: Cluster, worker: None, n1: Any) -> None:
    table = cluster.table("id int primary key, v text")
    with cluster.store() as store:
        with held(cluster, table):
            n1.execute("SET statement_timeout = '2s'")
            with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout") as late:
                n1.execute(f"CREATE INDEX {table}_v ON {table} (v)")
            number, _ = store.execute(STATUS, [table]).fetchone()
            assert (late.value.diag.message_detail or "").startswith(f"Change {number} of {table} goes on.")
        until(store, STATUS, (number, "done"), [table])
    n1.execute("SET statement_timeout = '100ms'")
    with pytest.raises(psycopg.errors.QueryCanceled) as other:
        n1.execute("SELECT pg_sleep(3)")
    assert other.value.diag.message_detail is None


def test_ctrl_c_during_submission_still_prints_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being stored will be stored: nobody shall believe that it was not."""
    notices: list[str] = []

    def submit(_text: str, *, who: str) -> Any:
        time.sleep(0.2)
        return SimpleNamespace(pk=7, table_name="t")

    monkeypatch.setattr("changes.services.submit", submit)
    client = SimpleNamespace(notice=lambda text, *_: notices.append(text))
    new_tables = NewTables(SimpleNamespace(), "me")  # type: ignore[arg-type]
    block = SimpleNamespace(is_explicit=False, new_tables=new_tables, variables=Variables(), end_before=AsyncMock())

    async def given_up() -> None:
        (statement,) = parse("CREATE INDEX i ON t (v)")
        submitting = asyncio.create_task(ddl.SchemaStatements(client, "me", block, None).change(statement))  # type: ignore
        await asyncio.sleep(0.05)
        submitting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await submitting

    asyncio.run(given_up())
    assert notices == ["change 7 of t goes on without you"]


def test_a_client_that_goes_takes_its_follower_along(cluster: Cluster, worker: None) -> None:
    table = cluster.table("id int primary key, v text")
    with cluster.store() as store, held(cluster, table):
        gone = cluster.connect("n1")
        gone.pgconn.send_query(f"CREATE INDEX {table}_v ON {table} (v)".encode())
        until(store, FOLLOWERS, (1,))
        gone.close()
        until(store, FOLLOWERS, (0,))


def test_a_follower_that_loses_the_store_goes_on_where_it_was(cluster: Cluster, worker: None, n1: Any) -> None:
    notices: list[str] = []
    n1.add_notice_handler(lambda told: notices.append(told.message_primary or ""))
    table = cluster.table("id int primary key, v text")
    statement = threading.Thread(target=n1.execute, args=(f"CREATE INDEX {table}_v ON {table} (v)",))
    with cluster.store() as store:
        with held(cluster, table):
            statement.start()
            until(store, FOLLOWERS, (1,))
            time.sleep(0.5)
            store.execute(FOLLOWERS.replace("count(*)", "pg_terminate_backend(pid)"))
            until(store, FOLLOWERS, (0,))
            until(store, FOLLOWERS, (1,))
        statement.join(20)
        assert not statement.is_alive()
        assert store.execute(STATUS, [table]).fetchone()[1] == "done"
    assert any("write-only -> public" in text for text in notices), notices
    assert len(notices) == len(set(notices)), "each step is reported once"


def test_a_store_that_stays_away_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ddl, "STORE_TRIES", 3)
    monkeypatch.setattr(ddl, "STORE_PAUSE_S", 0.01)
    with pytest.raises(SqlError, match="change 7 goes on, but the store does not answer") as caught:
        asyncio.run(ddl.follow(7, "host=127.0.0.1 port=1 dbname=none", lambda _: None))
    assert (caught.value.sqlstate, caught.value.hint) == ("08006", "see `manage.py change show 7`")


def test_a_node_follows_only_so_many_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ddl, "PLACES", threading.BoundedSemaphore(1))
    with ddl.place_to_follow():
        refusal = pytest.raises(SqlError, match="schema changes are followed on this node already")
        with refusal as caught, ddl.place_to_follow():
            pass
    assert caught.value.sqlstate == "53300"
    with ddl.place_to_follow():
        pass
