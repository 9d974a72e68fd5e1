"""One traffic client: a thread that keeps a connection to some node and does what its book chooses.

It is a correct client of a serializable database: it tries 40001 and deadlocks again, replaces a lost connection, and
reads an unknown outcome before it writes. It leaves a node that does not answer for long, and returns to its own, the
first of its addresses. At the end it deletes the rows that it wrote, and no others.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import errors, sql

from catalog.text.mistakes import in_words
from leases.asyncio.session import shut_down
from nodes.traffic.book import Action, Book, Delete, Insert, Look, Read, Row, Shape, Update
from nodes.traffic.meter import Meter

RETRIES_MAX = 50
CONNECT_S_MAX = 3
RECONNECTS_IN_A_ROW_MAX = 120
STALLED_S = 10.0
STALLED_AT_THE_END_S = 1.0
DELETED_AT_ONCE = 500
DELETING_S_MAX = 5.0
"""For each list of rows at each node."""
HOME_S_MIN, HOME_S_MAX = 2.0, 16.0
"""How often a client that is elsewhere tries its own node: each time twice as long after the last."""
CONNECTION_LOST = "08006"
Answered = Callable[[float, bool], None]
"""Takes the seconds that a statement took, and whether it was refused."""
UNIQUE = "23505"
NO_TABLE = "42P01"
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
        answered: Answered = lambda _seconds, _is_error: None,
    ) -> None:
        super().__init__(daemon=True)
        self.meter = Meter()
        self._keep_rows, self._answered = keep_rows, answered
        self._shape, self._book, self._pause_s, self._stop_event = shape, book, pause_s, stop
        self._addresses = tuple(addresses)
        self._at = 0
        self._home_pause_s, self._home_next = HOME_S_MIN, 0.0
        self._guard = threading.Lock()
        """Over the connection and when its statement began: another thread may end one that stalls."""
        self._connection: psycopg.Connection[Any] | None = None
        self._began: float | None = None
        self._has_stalled = False
        self._is_deleting = False
        self._rows_deleted = keep_rows

    @property
    def is_away(self) -> bool:
        return self._at != 0

    @property
    def rows_remain(self) -> bool:
        return not self._rows_deleted and self._book.has_written

    def end_stalled(self, now: float) -> None:
        """Cut the connection when its statement has been under way for too long; called by another thread."""
        with self._guard:
            limit_s = STALLED_AT_THE_END_S if self._stop_event.is_set() else STALLED_S
            limit_s = DELETING_S_MAX if self._is_deleting else limit_s
            if self._connection is None or self._began is None or now - self._began < limit_s:
                return
            self._began, self._has_stalled = None, True
            with suppress(psycopg.Error):  # it was lost meanwhile
                shut_down(self._connection)

    def run(self) -> None:
        try:
            while not self._stop_event.is_set():
                self._go_home()
                self._act(self._book.choose())
                self._stop_event.wait(self._pause_s)
            if not self._keep_rows:
                self._delete_own_rows()
        except Exception as error:  # a client that ends early must not look like one with nothing to do
            self.meter.fail(f"client ended: {in_words(error)}")
            raise
        finally:
            self._change_connection(None)

    def _delete_own_rows(self) -> None:
        """Leave the table as it was found, and the rows of others as they are."""
        self._is_deleting = True
        keys = self._book.written()
        try:
            for key, row in self._book.inserting.items():
                if self._at_any_node(self._query_of(Read(key)), (key,)) == [row]:
                    keys.append(key)
            for start in range(0, len(keys), DELETED_AT_ONCE):
                listed = sql.SQL(", ").join(map(sql.Literal, keys[start : start + DELETED_AT_ONCE]))
                table, key_name = sql.Identifier(self._shape.table), sql.Identifier(self._shape.key)
                query = sql.SQL("DELETE FROM {} WHERE {} IN ({})").format(table, key_name, listed)
                self._at_any_node(query, ())
        except psycopg.Error as error:
            if error.sqlstate != NO_TABLE:
                self.meter.fail(f"its rows are left: {in_words(error)}")
                return
        self._rows_deleted = True

    def _at_any_node(self, query: sql.Composed, params: Sequence[Any]) -> list[Row]:
        """Its rows from the first node that answers; the next is asked when one is lost. Raises `psycopg.Error`."""
        for _ in self._addresses[1:]:
            try:
                return self._rows(query, params)
            except psycopg.Error as error:
                if self._connection is None or not self._is_lost(error):  # None: all have been tried
                    raise
                self._change_connection(None)
                self._leave_node()
        return self._rows(query, params)

    def _act(self, action: Action) -> None:
        began = time.monotonic()
        try:
            self._perform(action)
        except psycopg.Error as error:
            self._answered(time.monotonic() - began, True)
            self.meter.refuse(error.sqlstate or CONNECTION_LOST)
            if self._is_lost(error):
                self._lost(action)
                return
            self.meter.fail(f"{error.sqlstate} {str(error).splitlines()[0]} ({action})")
            if isinstance(action, Insert) and error.sqlstate == UNIQUE:
                self._book.leave(action.key)
            else:
                self._doubt(action)
        else:
            seconds = time.monotonic() - began
            self._answered(seconds, False)
            self.meter.took(1000 * seconds)
            if not self.is_away:
                self._home_pause_s = HOME_S_MIN

    def _perform(self, action: Action) -> None:
        if isinstance(action, Read):
            found = self._rows(self._query_of(action), (action.key,))
            row = found[0] if found else None
            if action.key in self._book.uncertain:
                self._book.settle(action.key, row)
            elif row != self._book.rows.get(action.key):
                written = self._book.rows.get(action.key)
                self.meter.fail(f"row {action.key} is {row}, was written as {written}", is_wrong=True)
        elif isinstance(action, Look):
            found = self._rows(self._query_of(action), (action.value, self._book.first, self._book.limit))
            keys = sorted(row[0] for row in found if self._book.expects(row[0]))
            expected = self._book.having(action.column, action.value)
            if keys != expected:
                column = self._shape.columns[action.column]
                message = f"rows with {column} = {action.value!r} are {keys}, were written as {expected}"
                self.meter.fail(message, is_wrong=True)
        else:
            params: tuple[Any, ...] = (action.key,)
            if isinstance(action, Insert):
                params = (action.key, *action.row)
            elif isinstance(action, Update):
                params = (action.value, action.key)
            self._rows(self._query_of(action), params)
            self._book.done(action)

    def _is_lost(self, error: psycopg.Error) -> bool:
        """True if the node or its way to the store was lost, which a client answers by connecting anew."""
        gone = self._connection is None or self._connection.closed
        return gone or (error.sqlstate or "").startswith(("08", "57P0"))

    def _lost(self, action: Action) -> None:
        self.meter.reconnects += 1
        self._change_connection(None)
        self._leave_node()
        with self._guard:
            has_stalled, self._has_stalled = self._has_stalled, False
        if has_stalled and isinstance(action, (Insert, Update, Delete)):
            self.meter.uncertain += 1
            self._book.abandon(action)
        else:
            self._doubt(action)

    def _leave_node(self) -> None:
        if not self.is_away:
            self._home_next = time.monotonic() + self._home_pause_s
            self._home_pause_s = min(2 * self._home_pause_s, HOME_S_MAX)
        self._at = (self._at + 1) % len(self._addresses)

    def _go_home(self) -> None:
        if not self.is_away or time.monotonic() < self._home_next:
            return
        try:
            self._change_connection(self._connect(self._addresses[0]))
            self._at = 0
        except psycopg.OperationalError:
            self._home_next = time.monotonic() + self._home_pause_s
            self._home_pause_s = min(2 * self._home_pause_s, HOME_S_MAX)

    def _change_connection(self, new: psycopg.Connection[Any] | None) -> None:
        with self._guard:
            old, self._connection, self._began = self._connection, new, None
        if old is not None:
            old.close()

    def _doubt(self, action: Action) -> None:
        if isinstance(action, (Insert, Update, Delete)):
            self.meter.uncertain += 1
            self._book.doubt(action)

    def _rows(self, query: sql.Composed, params: Sequence[Any]) -> list[Row]:
        for _ in range(RETRIES_MAX):
            connection = self._connected()
            try:
                with self._guard:
                    self._began = time.monotonic()
                cursor = connection.execute(query, params)
                return cursor.fetchall() if cursor.description else []
            except AGAIN as error:
                self.meter.retries += 1
                self.meter.refuse(str(error.sqlstate))
            finally:
                with self._guard:
                    self._began = None
        raise errors.SerializationFailure(f"not serialized in {RETRIES_MAX} attempts")

    def _connected(self) -> psycopg.Connection[Any]:
        for attempt in range(RECONNECTS_IN_A_ROW_MAX):
            if self._connection is not None:
                return self._connection
            try:
                self._change_connection(self._connect(self._addresses[self._at]))
            except psycopg.OperationalError:
                self._leave_node()
                if self._stop_event.wait(0.25) and attempt >= len(self._addresses):
                    break
        raise psycopg.OperationalError(f"no node could be reached in {RECONNECTS_IN_A_ROW_MAX} attempts")

    @staticmethod
    def _connect(address: str) -> psycopg.Connection[Any]:
        return psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_S_MAX)

    def _query_of(self, action: Action) -> sql.Composed:
        table, key = sql.Identifier(self._shape.table), sql.Identifier(self._shape.key)
        columns = sql.SQL(", ").join(map(sql.Identifier, self._shape.columns))
        if isinstance(action, Insert):
            places = sql.SQL(", ").join([sql.Placeholder()] * (len(self._shape.columns) + 1))
            return sql.SQL("INSERT INTO {} ({}, {}) VALUES ({})").format(table, key, columns, places)
        if isinstance(action, Delete):
            return sql.SQL("DELETE FROM {} WHERE {} = %s").format(table, key)
        if isinstance(action, Read):
            return sql.SQL("SELECT {} FROM {} WHERE {} = %s").format(columns, table, key)
        column = sql.Identifier(self._shape.columns[action.column])
        if isinstance(action, Update):
            return sql.SQL("UPDATE {} SET {} = %s WHERE {} = %s").format(table, column, key)
        look = sql.SQL("SELECT {} FROM {} WHERE {} = %s AND {} >= %s AND {} < %s")
        return look.format(key, table, column, key, key)
