"""The clients of one run: started together, each on a node of its own, counted every second, ended together."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from django.conf import settings
from psycopg import sql
from psycopg.conninfo import make_conninfo

from leases.asyncio.session import shut_down
from leases.samples import Sample
from nodes import metrics
from nodes.people.vouching import vouched_address
from nodes.traffic.book import FIRST_KEY, KEYS_PER_CLIENT, WRITES_PERCENT, Book, Row, Shape, choose_ranges
from nodes.traffic.client import CONNECT_S_MAX, Client
from nodes.traffic.meter import Meter

SAMPLES_MAX = 200
RANGES_APART_MAX = 30
"""Two runs begun in the same moment choose different ranges of keys, most likely."""
LOOK_S = 1.0
END_S_MAX = 30.0
END_AT_ONCE_S_MAX = 5.0
"""When whoever runs them is told to end: the supervisor waits for little longer."""
ANSWER_S_MAX = 10.0
"""For a question before the start: a node that stands still takes connections and says nothing."""


class Second:
    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._meter = metrics.Meter(began=time.monotonic())

    def answered(self, seconds: float, is_error: bool) -> None:
        with self._guard:
            self._meter.finished(seconds, is_error=is_error)

    def take(self) -> Sample:
        with self._guard:
            return self._meter.take(time.monotonic(), at=time.time(), open_transactions=0)


class Running:
    """The clients of one run. Whoever looks calls `look` every second: it also ends what stalls."""

    def __init__(self, clients: Sequence[Client], stop: threading.Event, second: Second) -> None:
        self.clients, self.stop, self._second = clients, stop, second

    def meter(self) -> Meter:
        return sum((client.meter for client in self.clients), Meter())

    def look(self) -> Sample:
        now = time.monotonic()
        for client in self.clients:
            client.end_stalled(now)
        return self._second.take()

    def away(self) -> int:
        return sum(client.is_away for client in self.clients)

    def end(self, *, seconds_max: float = END_S_MAX, looked: Callable[[], object] = lambda: None) -> int:
        """Lets them delete their rows and end, and cuts what stalls; the number of clients whose rows remain. `looked`
        is called every second."""
        self.stop.set()
        until = time.monotonic() + seconds_max
        while any(client.is_alive() for client in self.clients) and time.monotonic() < until:
            look_next = min(time.monotonic() + LOOK_S, until)
            for client in self.clients:
                client.join(max(0.0, look_next - time.monotonic()))
            if any(client.is_alive() for client in self.clients):
                for client in self.clients:
                    client.end_stalled(time.monotonic())
                looked()
        return sum(client.rows_remain for client in self.clients)


def remain(clients: int) -> str:
    return f"rows of {clients} client{'s' if clients > 1 else ''} remain" if clients else ""


def start_clients(
    shape: Shape,
    addresses: list[str],
    *,
    each: int,
    rate: float,
    writes_percent: int = WRITES_PERCENT,
    keep_rows: bool = False,
) -> Running:
    """`each` clients for every node, `rate` statements a second in all (0: as many as they can). Raises
    `psycopg.OperationalError` when no node answers, `NotSuitable` when there is no room for their keys."""
    samples, stop, second = sample_rows(shape, addresses), threading.Event(), Second()
    count = each * len(addresses)
    least, highest = keys_there(shape, addresses)
    free, there = choose_ranges(count, least_key=least, highest_key=highest, last_key=shape.last_key)
    free += random.SystemRandom().randrange(min(RANGES_APART_MAX, there // count)) * count
    clients = []
    for number in range(count):
        first = FIRST_KEY + (free + number) * KEYS_PER_CLIENT
        book = Book(first, samples, random.Random(first), writes_percent)
        own = number % len(addresses)
        order = addresses[own:] + addresses[:own]
        pause_s = count / rate if rate else 0.0
        clients.append(
            Client(shape, book, order, pause_s=pause_s, stop=stop, keep_rows=keep_rows, answered=second.answered)
        )
    for client in clients:
        client.start()
    return Running(clients, stop, second)


def sample_rows(shape: Shape, addresses: list[str]) -> list[Row]:
    """Rows whose values traffic uses, so that it looks like the table's own; NULLs where the table is empty."""
    columns = sql.SQL(", ").join(map(sql.Identifier, shape.columns))
    query = sql.SQL("SELECT {} FROM {} LIMIT {}").format(columns, sql.Identifier(shape.table), SAMPLES_MAX)
    found: list[Row] = _ask_any(addresses, lambda connection: connection.execute(query).fetchall())
    return found or [(None,) * len(shape.columns)]


def keys_there(shape: Shape, addresses: list[str]) -> tuple[int | None, int | None]:
    """The least and the greatest key from `FIRST_KEY` on: left by an earlier run, or inserted by others."""
    key, table = sql.Identifier(shape.key), sql.Identifier(shape.table)
    query = sql.SQL("SELECT min({}), max({}) FROM {} WHERE {} >= {}").format(
        key, key, table, key, sql.Literal(FIRST_KEY)
    )
    least, highest = _ask_any(addresses, lambda connection: connection.execute(query).fetchone())
    return least, highest


def _ask_any(addresses: list[str], question: Callable[[psycopg.Connection[Any]], Any]) -> Any:
    def cut(connection: psycopg.Connection[Any]) -> None:
        with suppress(psycopg.Error):  # it was lost meanwhile
            shut_down(connection)

    for number, address in enumerate(addresses, start=1):
        try:
            with psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_S_MAX) as connection:
                timer = threading.Timer(ANSWER_S_MAX, cut, (connection,))
                timer.start()
                try:
                    return question(connection)
                finally:
                    timer.cancel()
        except psycopg.OperationalError:
            if number == len(addresses):
                raise
    raise AssertionError("no address was given")


def address_of(host: str, port: int) -> str:
    return make_conninfo(**vouched_address(settings.SECRET_KEY, host, port, name="traffic", application_name="traffic"))
