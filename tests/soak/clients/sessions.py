"""A client's way to the cluster, as a correct client takes it: another node when the connection is lost; 40001 and
40P01 are tried again; an answer to COMMIT that never comes leaves the outcome unknown. Errors outside of `outcomes` are
violations."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.soak.chronicle import Chronicle
from tests.soak.clients import outcomes
from tests.soak.clients.outcomes import Outcome
from tests.soak.kinds import is_refused_for_now
from tests.soak.waits import Waits

TRIES_MAX = 12
CONNECT_S_MAX = 5
PAUSE_S = 0.25
STATEMENTS_PER_CONNECTION = 200
"""Then another node's turn comes, so that what one has written is read through the others."""


class Unreachable(Exception):
    """No node took a connection before the storm was over."""


class Undone(Exception):
    """Raised by the body of a transaction that shall be rolled back."""


@dataclass(slots=True)
class Nodes:
    """The nodes' addresses, and who hears that one of them served: `served(node, when the statement began)`."""

    addresses: dict[str, str]
    served: Callable[[str, float], None]


@dataclass(slots=True)
class Counts:
    """Outcomes by kind of operation."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    sqlstates: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    reconnects: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, kind: str, outcome: str) -> None:
        with self.lock:
            self.outcomes[kind, outcome] += 1


class Session:
    """One client's connection, replaced whenever it is lost."""

    def __init__(
        self,
        name: str,
        nodes: Nodes,
        chance: random.Random,
        *,
        chronicle: Chronicle,
        waits: Waits,
        counts: Counts,
        over: threading.Event,
    ) -> None:
        self.name, self.node = name, ""
        self.chronicle, self.counts = chronicle, counts
        self._nodes, self._chance, self._waits = nodes, chance, waits
        self._connection: psycopg.Connection[Any] | None = None
        self._left = 0
        self._over = over

    # --- transactions

    def transact(
        self, kind: str, body: Callable[["Session"], None], *, single: bool = False, also: tuple[str, ...] = ()
    ) -> tuple[Outcome, str | None]:
        """Run `body` in a transaction (or as a statement of its own) until its outcome is final; and its sqlstate."""
        for attempt in range(TRIES_MAX):
            outcome, sqlstate = self._attempt(kind, body, single=single, also=also)
            if outcome is not Outcome.REFUSED or sqlstate not in outcomes.AGAIN:
                break
            self.counts.retries += 1
            time.sleep(self._chance.random() * 0.01 * 2 ** min(attempt, 6))
        self.counts.add(kind, outcome.value)
        if sqlstate is None or sqlstate.startswith(outcomes.LOST):
            self._over.wait(PAUSE_S * (outcome is not Outcome.DONE))
        return outcome, sqlstate

    def _attempt(
        self, kind: str, body: Callable[["Session"], None], *, single: bool, also: tuple[str, ...]
    ) -> tuple[Outcome, str | None]:
        was_commit_sent = False
        try:
            if not single:
                self.ask("BEGIN")
            was_commit_sent = single
            body(self)
            was_commit_sent = True
            if not single:
                self.ask("COMMIT")
        except Undone:
            self._roll_back()
            return Outcome.REFUSED, None
        except psycopg.Error as error:
            sqlstate = error.sqlstate
            self.counts.sqlstates[sqlstate or "connection lost"] += 1
            is_own_mistake = sqlstate is None and isinstance(error, psycopg.ProgrammingError)
            is_expected = (
                outcomes.is_expected(sqlstate, also)
                or is_refused_for_now(sqlstate, str(error))
                or outcomes.is_prepared_anew(sqlstate, str(error))
            )
            if is_own_mistake or not is_expected:
                self.chronicle.violation(self.name, f"{kind} through {self.node} refused: {sqlstate} {error}")
            self._roll_back()
            return outcomes.outcome_of(sqlstate, was_commit_sent=was_commit_sent), sqlstate
        return Outcome.DONE, None

    def _roll_back(self) -> None:
        """Leave the failed transaction, or the connection when that is lost."""
        try:
            if self._connection is not None and not self._connection.closed:
                if self._connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                    self.ask("ROLLBACK")
                return
        except psycopg.Error:
            pass
        self.disconnect()

    # --- statements

    def ask(self, query: str, params: Sequence[Any] = (), *, limit_s: float | None = None) -> list[tuple[Any, ...]]:
        """The rows of one statement's answer; a deadline is kept by `Waits`."""
        return self._execute(query, params, limit_s)[0]

    def write(self, query: str, params: Sequence[Any], *, rows: int) -> None:
        """A statement that must find so many rows."""
        touched = self._execute(query, params, None)[1]
        if touched != rows:
            self.chronicle.violation(
                self.name, f"through {self.node}: {query} {tuple(params)} touched {touched} rows, not {rows}"
            )
            raise Undone

    def copy(self, query: str, send: Callable[["psycopg.Copy[Any]"], None]) -> None:
        """COPY FROM STDIN; `send` writes the rows, or raises in the middle."""
        connection = self.connected()
        began = time.monotonic()
        waiting = self._waits.wait(self.name, f"{query} through {self.node}", connection)
        with waiting, connection.cursor() as cursor, cursor.copy(query) as copy:
            send(copy)
        self._nodes.served(self.node, began)
        self._left -= 1

    def _execute(self, query: str, params: Sequence[Any], limit_s: float | None) -> tuple[list[tuple[Any, ...]], int]:
        connection = self.connected()
        began = time.monotonic()
        limit = {} if limit_s is None else {"limit_s": limit_s}
        with self._waits.wait(self.name, f"{query[:200]} {tuple(params)} through {self.node}", connection, **limit):
            cursor = connection.execute(query, params or None)
            rows = cursor.fetchall() if cursor.description else []
        self._nodes.served(self.node, began)
        self._left -= 1
        return rows, cursor.rowcount

    # --- the connection

    def connected(self) -> "psycopg.Connection[Any]":
        if self._connection is not None and not self._connection.closed:
            is_idle = self._connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            if self._left > 0 or not is_idle:
                return self._connection
        self.disconnect()
        while not self._over.is_set():
            self.node = self._chance.choice(sorted(self._nodes.addresses))
            try:
                with self._waits.wait(self.name, f"connecting to {self.node}"):
                    self._connection = psycopg.connect(
                        self._nodes.addresses[self.node],
                        autocommit=True,
                        connect_timeout=CONNECT_S_MAX,
                        application_name=f"soak {self.name}",
                    )
            except psycopg.OperationalError:
                time.sleep(PAUSE_S)
            else:
                self.counts.reconnects += 1
                self._left = self._chance.randrange(1, STATEMENTS_PER_CONNECTION)
                return self._connection
        raise Unreachable(f"{self.name} reached no node")

    def disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
