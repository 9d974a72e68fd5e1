"""One traffic client: a thread that keeps a connection to some node and does what its book chooses.

It behaves as a correct client of a serializable database does: a serialization failure or deadlock
is tried again, a lost connection is replaced (by another node's when this one is down), an unknown
outcome is read before anything else is written.
"""

import itertools
import threading
import time
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import errors, sql

from catalog.text.mistakes import in_words
from nodes.traffic.book import Action, Book, Delete, Insert, Look, Read, Row, Shape, Update, Write
from nodes.traffic.meter import Meter

RETRIES_MAX = 50
CONNECT_S_MAX = 3
RECONNECTS_IN_A_ROW_MAX = 120
AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)


class Client(threading.Thread):
    """Runs until `stop`; `meter` is read by others while it runs."""

    def __init__(
        self,
        shape: Shape,
        book: Book,
        addresses: Sequence[str],
        *,
        pause_s: float,
        stop: threading.Event,
        keep_rows: bool = False,
    ) -> None:
        super().__init__(daemon=True)
        self.meter = Meter()
        self._keep_rows = keep_rows
        self._shape, self._book, self._pause_s, self._stop_event = shape, book, pause_s, stop
        self._addresses = itertools.cycle(addresses)
        self._connection: psycopg.Connection[Any] | None = None

    def run(self) -> None:
        try:
            while not self._stop_event.is_set():
                self._act(self._book.choose())
                self._stop_event.wait(self._pause_s)
            if not self._keep_rows:
                self._delete_own_rows()
        except Exception as error:  # a client that ends early must not look like one with nothing to do
            self.meter.fail(f"client ended: {in_words(error)}")
            raise
        finally:
            if self._connection is not None:
                self._connection.close()

    def _delete_own_rows(self) -> None:
        """Leave the table as it was found."""
        query = sql.SQL("DELETE FROM {} WHERE {} >= {} AND {} < {}").format(
            sql.Identifier(self._shape.table),
            sql.Identifier(self._shape.key), sql.Placeholder(),
            sql.Identifier(self._shape.key), sql.Placeholder(),
        )  # fmt: skip
        self._rows(query, (self._book.first, self._book.limit))

    def _act(self, action: Action) -> None:
        began = time.monotonic()
        try:
            self._perform(action)
        except psycopg.Error as error:
            if self._is_lost(error):
                self._lost(action)
                return
            self.meter.fail(f"{error.sqlstate} {str(error).splitlines()[0]} ({action})")
            self._doubt(action)
        else:
            self.meter.took(1000 * (time.monotonic() - began))

    def _perform(self, action: Action) -> None:
        if isinstance(action, Read):
            self._check_read(action, self._rows(self._query_of(action), (action.key,)))
        elif isinstance(action, Look):
            params = (action.value, self._book.first, self._book.limit)
            self._check_look(action, self._rows(self._query_of(action), params))
        else:
            self._rows(self._query_of(action), self._write_params(action))
            self._book.done(action)

    def _is_lost(self, error: psycopg.Error) -> bool:
        """True if the node or its way to the store was lost, which a client answers by connecting anew."""
        gone = self._connection is None or self._connection.closed
        return gone or (error.sqlstate or "").startswith(("08", "57P0"))

    def _lost(self, action: Action) -> None:
        """The connection is gone: what was written last is uncertain until it is read."""
        self.meter.reconnects += 1
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._doubt(action)

    def _doubt(self, action: Action) -> None:
        if isinstance(action, (Insert, Update, Delete)):
            self.meter.uncertain += 1
            self._book.uncertain.add(action.key)

    def _rows(self, query: sql.Composed, params: Sequence[Any]) -> list[Row]:
        for _ in range(RETRIES_MAX):
            try:
                cursor = self._connected().execute(query, params)
                return cursor.fetchall() if cursor.description else []
            except AGAIN:
                self.meter.retries += 1
        raise errors.SerializationFailure(f"not serialized in {RETRIES_MAX} attempts")

    def _connected(self) -> psycopg.Connection[Any]:
        for _ in range(RECONNECTS_IN_A_ROW_MAX):
            if self._connection is not None:
                return self._connection
            try:
                self._connection = psycopg.connect(
                    next(self._addresses), autocommit=True, connect_timeout=CONNECT_S_MAX
                )
            except psycopg.OperationalError:
                time.sleep(0.25)
        raise psycopg.OperationalError(f"no node could be reached in {RECONNECTS_IN_A_ROW_MAX} attempts")

    def _check_read(self, action: Read, found: list[Row]) -> None:
        row = found[0] if found else None
        if action.key in self._book.uncertain:
            self._book.settle(action.key, row)
        elif row != self._book.rows.get(action.key):
            self.meter.fail(f"row {action.key} is {row}, was written as {self._book.rows.get(action.key)}")

    def _check_look(self, action: Look, found: list[Row]) -> None:
        keys, expected = sorted(row[0] for row in found), self._book.having(action.column, action.value)
        if keys != expected:
            column = self._shape.columns[action.column]
            self.meter.fail(f"rows with {column} = {action.value!r} are {keys}, were written as {expected}")

    # the statements

    def _query_of(self, action: Action) -> sql.Composed:
        table, key = sql.Identifier(self._shape.table), sql.Identifier(self._shape.key)
        columns = sql.SQL(", ").join(map(sql.Identifier, self._shape.columns))
        if isinstance(action, Insert):
            places = sql.SQL(", ").join([sql.Placeholder()] * (len(self._shape.columns) + 1))
            return sql.SQL("INSERT INTO {} ({}, {}) VALUES ({})").format(table, key, columns, places)
        if isinstance(action, Update):
            column = sql.Identifier(self._shape.columns[action.column])
            return sql.SQL("UPDATE {} SET {} = {} WHERE {} = {}").format(
                table, column, sql.Placeholder(), key, sql.Placeholder()
            )
        if isinstance(action, Delete):
            return sql.SQL("DELETE FROM {} WHERE {} = {}").format(table, key, sql.Placeholder())
        if isinstance(action, Read):
            return sql.SQL("SELECT {} FROM {} WHERE {} = {}").format(columns, table, key, sql.Placeholder())
        column = sql.Identifier(self._shape.columns[action.column])
        return sql.SQL("SELECT {} FROM {} WHERE {} = {} AND {} >= {} AND {} < {}").format(
            key, table, column, sql.Placeholder(), key, sql.Placeholder(), key, sql.Placeholder()
        )

    @staticmethod
    def _write_params(action: Write) -> tuple[Any, ...]:
        if isinstance(action, Insert):
            return (action.key, *action.row)
        return (action.value, action.key) if isinstance(action, Update) else (action.key,)
