"""pg_sleep: a statement that waits, so that others see an open transaction, a timeout or a cancel."""

import threading
import time
from typing import Any

import pytest
from psycopg import errors

from tests.nodes.conftest import Cluster


def test_it_waits_and_answers_nothing(n1: Any) -> None:
    began = time.monotonic()
    shown = n1.execute("SELECT pg_sleep(0.3)")
    assert time.monotonic() - began >= 0.3
    assert ([column.name for column in shown.description], shown.fetchall()) == (["pg_sleep"], [("",)])
    assert n1.execute("SELECT pg_sleep(%s)", (0,)).fetchall() == [("",)]
    for none in ("-1", "'NaN'", "'-Infinity'"):
        assert n1.execute(f"SELECT pg_sleep({none})").fetchall() == [("",)]
    assert n1.execute("SELECT pg_sleep(NULL)").fetchall() == [(None,)]


@pytest.mark.parametrize("times", ["60", "'Infinity'"])
def test_a_timeout_and_a_cancel_end_it(n1: Any, times: str) -> None:
    n1.execute("SET statement_timeout = 200")
    with pytest.raises(errors.QueryCanceled, match="statement timeout"):
        n1.execute(f"SELECT pg_sleep({times})")
    n1.execute("RESET statement_timeout")
    timer = threading.Timer(0.3, n1.cancel_safe)
    timer.start()
    with pytest.raises(errors.QueryCanceled, match="user request"):
        n1.execute(f"SELECT pg_sleep({times})")
    timer.join()


def test_a_transaction_around_it_keeps_what_it_has_seen(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int PRIMARY KEY")
    with n1.transaction():
        n1.execute(f"INSERT INTO {table} VALUES (1)")
        n1.execute("SELECT pg_sleep(0.2)")
        with cluster.connect() as other:
            assert other.execute(f"SELECT * FROM {table}").fetchall() == []
    assert n1.execute(f"SELECT * FROM {table}").fetchall() == [(1,)]
