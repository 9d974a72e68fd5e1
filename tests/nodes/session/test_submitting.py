"""DDL through a node when it cannot be taken now: the client is told to try again, or waits; nothing is half stored."""

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from changes.services import SUBMISSIONS
from tests.nodes.conftest import Cluster

HASTY = "hasty"
AUTHOR = "hasty (SQL)"
"""The story's name for a user without an account."""


def create_in_a_block(client: "psycopg.Connection[Any]", table: str) -> None:
    with client.transaction():
        client.execute(f"CREATE TABLE {table} (id int primary key)")


def test_ddl_that_is_taken_too_slowly_may_be_tried_again(
    cluster: Cluster, n1: "psycopg.Connection[Any]", n2: "psycopg.Connection[Any]"
) -> None:
    table = cluster.table("id int primary key, v text")
    ddl = f"CREATE INDEX {table}_v ON {table} (v)"
    with cluster.store() as store:
        store.execute("SELECT pg_advisory_lock(%s, %s)", SUBMISSIONS)
        with ThreadPoolExecutor() as threads:
            other = threads.submit(create_in_a_block, n2, f"{table}_b")
            with pytest.raises(psycopg.errors.SerializationFailure) as refused:
                n1.execute(ddl)
            with pytest.raises(psycopg.errors.SerializationFailure):
                other.result(30)
        assert refused.value.diag.message_hint == "nothing was stored: try again"
        stored = store.execute("SELECT count(*) FROM changes_change WHERE statement = %s", [ddl]).fetchone()
        assert stored == (0,)
    assert n1.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def submitted(cluster: Cluster, *, seconds_ago: float) -> None:
    """As many changes as one person may submit within a minute."""
    with cluster.store() as store:
        at = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=seconds_ago)
        store.execute("DELETE FROM changes_change WHERE who = %s AND statement = 'x'", [AUTHOR])
        store.execute(
            "INSERT INTO changes_change (table_id, table_ids, table_name, statement, names, plan, who, status, wishes,"
            " direction, step, created_at)"
            " SELECT 0, '{}', 'x', 'x', '{}', '{}', %s, 'cancelled', '[]', 'forward', 0, %s"
            " FROM generate_series(1, 100)",
            [AUTHOR, at],
        )


def test_a_program_that_submits_fast_waits_and_may_give_up(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, v text")
    submitted(cluster, seconds_ago=20)
    notices: list[str] = []
    with psycopg.connect(cluster.address("n1") + f" user={HASTY}", autocommit=True) as client:
        client.add_notice_handler(lambda told: notices.append(told.message_primary or ""))
        client.execute("DROP TABLE IF EXISTS nowhere")
        assert notices == ['table "nowhere" does not exist, skipping']
        threading.Timer(1.0, client.cancel_safe).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            client.execute(f"CREATE INDEX {table}_v ON {table} (v)")
    assert notices[1].startswith("you have submitted 100 changes within a minute, which is the limit: waiting for ")
    with cluster.store() as store:
        assert store.execute("SELECT count(*) FROM changes_change WHERE who = %s", [AUTHOR]).fetchone() == (100,)


@pytest.mark.soak
def test_a_program_that_submits_fast_goes_on_when_there_is_room(cluster: Cluster, worker: None) -> None:
    table = cluster.table("id int primary key, v text")
    submitted(cluster, seconds_ago=58)
    with psycopg.connect(cluster.address("n1") + f" user={HASTY}", autocommit=True) as client:
        assert client.execute(f"CREATE INDEX {table}_v ON {table} (v)").statusmessage == "CREATE INDEX"
