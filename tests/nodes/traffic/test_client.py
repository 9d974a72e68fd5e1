"""A traffic client among its nodes: it leaves one that is down or stands still, and returns to its own."""

from __future__ import annotations

import random
import socket
import threading
from typing import Any

import psycopg
import pytest

from nodes.traffic import client as module
from nodes.traffic.book import Book, Delete, Insert, Shape
from nodes.traffic.client import STALLED_S, Client


class Connection:
    """A connection to a node, with a real socket."""

    def __init__(self, address: str) -> None:
        self.address, self.closed = address, False
        self.mine, self.far_end = socket.socketpair()

    def fileno(self) -> int:
        return self.mine.fileno()

    def close(self) -> None:
        self.closed = True
        self.mine.close()


@pytest.fixture
def down(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The nodes that take no connections."""
    nodes: set[str] = set()

    def connect(address: str) -> Any:
        if address in nodes:
            raise psycopg.OperationalError(f"{address} is down")
        return Connection(address)

    monkeypatch.setattr(Client, "_connect", staticmethod(connect))
    monkeypatch.setattr(module, "HOME_S_MIN", 0.0)
    return nodes


def client() -> Client:
    book = Book(1000, [("a",)], random.Random(7))
    return Client(Shape("t", "id", ("a",)), book, ("n1", "n2"), pause_s=0.0, stop=threading.Event())


def served_by(one: Client) -> str:
    return str(one._connected().address)  # type: ignore[attr-defined]


def test_it_goes_on_at_another_node_and_returns_to_its_own(down: set[str]) -> None:
    one = client()
    assert served_by(one) == "n1"
    down.add("n1")
    one._lost(Insert(1000, ("a",)))
    assert (served_by(one), one.is_away) == ("n2", True)
    one._go_home()
    assert one.is_away, "its own node is still down"
    down.clear()
    one._home_next = 0.0
    one._go_home()
    assert (served_by(one), one.is_away) == ("n1", False)
    assert one.meter.reconnects == 1


def test_it_tries_its_own_node_less_and_less_often(down: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HOME_S_MIN", 2.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: 100.0)
    one = client()
    down.add("n1")
    served_by(one)
    pauses = []
    for _ in range(4):
        pauses.append(one._home_next - 100.0)
        one._home_next = 0.0
        one._go_home()
    assert pauses == [2.0, 4.0, 8.0, 16.0]


def test_a_statement_that_stalls_is_cut_off_and_its_row_abandoned(down: set[str]) -> None:
    one = client()
    connection: Any = one._connected()
    one._book.done(Insert(1000, ("a",)))
    one._began = 50.0
    one.end_stalled(50.0 + STALLED_S - 1)
    assert one._began == 50.0, "it may take its time"
    one.end_stalled(50.0 + STALLED_S)
    assert connection.far_end.recv(1) == b""
    one._lost(Delete(1000))
    assert one._book.abandoned == {1000}
    assert one._book.uncertain == set()
    assert 1000 not in one._book.rows


def test_an_idle_client_never_stalls(down: set[str]) -> None:
    one = client()
    connection: Any = one._connected()
    one.end_stalled(1e9)
    connection.far_end.setblocking(False)
    with pytest.raises(BlockingIOError):
        connection.far_end.recv(1)


def test_a_lost_connection_leaves_a_row_to_be_read_first(down: set[str]) -> None:
    one = client()
    served_by(one)
    one._lost(Insert(1000, ("a",)))
    assert (one._book.uncertain, one._book.abandoned) == ({1000}, set())
