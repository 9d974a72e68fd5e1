"""A traffic client among its nodes: it leaves one that is down or stands still, and returns to its own."""

from __future__ import annotations

import random
import re
import socket
import threading
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql

from nodes.traffic import client as module
from nodes.traffic.book import Book, Delete, Insert, Look, Read, Shape
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


class Table:
    """Rows of `t (id, a)`, and a connection that takes the statements of a client."""

    def __init__(self, address: str) -> None:
        self.address, self.closed = address, False
        self.description: object = None
        self.found: list[tuple[Any, ...]] = []

    rows: dict[int, str]
    lost: set[str]
    deletes: list[list[int]]

    def execute(self, query: sql.Composed, params: Sequence[Any]) -> Table:
        text = query.as_string()
        if self.address in self.lost:
            self.closed = True
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        self.found, self.description = [], None
        if text.startswith("INSERT"):
            if params[0] in self.rows:
                raise errors.UniqueViolation("duplicate key")
            self.rows[params[0]] = params[1]
        elif text.startswith("DELETE"):
            listed = [int(number) for number in re.findall(r"\d+", text.partition(" IN ")[2])]
            self.deletes.append(listed)
            gone = set(listed) if " IN " in text else {key for key in self.rows if params[0] <= key < params[1]}
            for key in gone & self.rows.keys():
                del self.rows[key]
        elif text.startswith('SELECT "id"'):
            self.description = "id"
            self.found = [(key,) for key, a in self.rows.items() if a == params[0] and params[1] <= key < params[2]]
        else:
            self.description = "a"
            self.found = [(self.rows[params[0]],)] if params[0] in self.rows else []
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.found

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> type[Table]:
    monkeypatch.setattr(Table, "rows", {}, raising=False)
    monkeypatch.setattr(Table, "lost", set(), raising=False)
    monkeypatch.setattr(Table, "deletes", [], raising=False)
    monkeypatch.setattr(Client, "_connect", staticmethod(Table))
    return Table


def end(one: Client) -> None:
    """As the thread does once it is to stop."""
    one._stop_event.set()
    one.run()


def test_rows_that_an_application_inserted_in_its_range_are_there_afterwards(table: type[Table]) -> None:
    one = client()
    one._book.next_key = 2
    table.rows |= {1001: "theirs", 5000: "a"}
    for action in (Insert(1000, ("a",)), Insert(1001, ("a",)), Look(0, "a")):
        one._act(action)
    assert one._book.rows == {1000: ("a",)}, "the row that was there is nobody's business"
    assert (one.meter.wrong, one.meter.refused) == (0, {"23505": 1})
    end(one)
    assert table.rows == {1001: "theirs", 5000: "a"}
    assert not one.rows_remain


def test_an_insert_that_was_lost_is_deleted_only_if_the_row_is_its_own(table: type[Table]) -> None:
    one = client()
    one._book.abandon(Insert(1000, ("a",)))
    one._book.doubt(Insert(1001, ("a",)))
    table.rows |= {1000: "theirs", 1001: "a"}
    end(one)
    assert table.rows == {1000: "theirs"}


def test_a_row_found_after_a_lost_insert_that_is_somebody_elses_is_no_wrong_answer(table: type[Table]) -> None:
    one = client()
    one._book.next_key = 1
    one._book.doubt(Insert(1000, ("a",)))
    table.rows[1000] = "theirs"
    for action in (Read(1000), Look(0, "theirs")):
        one._act(action)
    assert (one.meter.wrong, one._book.rows) == (0, {})


def test_its_rows_are_deleted_in_lists_by_whichever_node_answers(table: type[Table]) -> None:
    one = client()
    served_by(one)
    for key in range(1000, 2200):
        one._book.done(Insert(key, ("a",)))
        table.rows[key] = "a"
    table.lost.add("n1")
    end(one)
    assert [len(keys) for keys in table.deletes] == [500, 500, 200]
    assert (table.rows, one.rows_remain, one.meter.errors) == ({}, False, 0)


def test_rows_that_no_node_deletes_are_said_to_remain(table: type[Table]) -> None:
    one = client()
    one._book.done(Insert(1000, ("a",)))
    table.lost |= {"n1", "n2"}
    end(one)
    assert one.rows_remain
    assert "its rows are left" in one.meter.shown[0]


@pytest.mark.parametrize("is_deleting", [False, True])
def test_at_the_end_a_statement_is_cut_sooner(down: set[str], is_deleting: bool) -> None:
    one = client()
    one._connected()
    one._stop_event.set()
    one._is_deleting, one._began = is_deleting, 50.0
    limit = module.DELETING_S_MAX if is_deleting else module.STALLED_AT_THE_END_S
    one.end_stalled(50.0 + limit - 0.1)
    assert one._began == 50.0
    one.end_stalled(50.0 + limit)
    assert one._began is None


def test_a_connection_that_closes_while_it_is_cut_ends_nothing(down: set[str]) -> None:
    one = client()
    connection: Any = one._connected()
    one._began = 50.0
    connection.close()
    one.end_stalled(50.0 + STALLED_S)
    assert one._began is None
