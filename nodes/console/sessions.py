"""The SQL console's panes: each holds one session on one node, between requests.

A transaction left open in a pane holds its versions, and with them a change: that is what the console is for. So a pane
keeps its connection until the owner signs out, or has not used it for `IDLE_S`: it is rolled back then. Panes live in
the web process; a restart ends them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import select
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.utils.translation import gettext
from psycopg import generators, pq, waiting

from expressions.errors import SERIALIZATION_FAILURE
from nodes.console.unfinished import Unfinished, follow, may_commit
from nodes.store.refusals import HAD_TO_END
from nodes.trace.record import SQLSTATE as TRACE

IDLE_S = 15 * 60.0
PANES_MAX = 64
PANES_MAX_EACH = 4
ROWS_SHOWN = 200
CELL_CHARS_MAX = 500
ANSWER_CHARS_MAX = 2**20
GRIDS_MAX = 50
NOTICES_MAX = 200
HISTORY_MAX = 50
HISTORY_CHARS_MAX = 40_000
HISTORIES_MAX = 256
HISTORY_S = 8 * 3600.0
"""A history is kept this long after its last statement."""
ROWS_READ_MAX = 100_000
RUN_S_MAX = 60.0
"""What one run may take: then its statement is stopped, as by the button."""
CONNECT_S = 5
STOP_AGAIN_S = 1.0
"""So often a statement whose session is to end is asked to stop."""
CONNECTION_FAILURE = "08006"
NO_DATA = b"a console has no data to send: use psql's \\copy, or `manage.py load`"
HAS_ROWS = (pq.ExecStatus.SINGLE_TUPLE, pq.ExecStatus.TUPLES_OK)


Json = dict[str, Any]


class PaneError(Exception):
    """A pane cannot be opened or used now; the message says why and what would help."""


@dataclass(slots=True)
class Grid:
    """The answer of one statement: a tag, and the first rows where it returned any."""

    tag: str = ""
    columns: list[str] = field(default_factory=list)
    rows: list[list[str | None]] = field(default_factory=list)
    row_count: int = 0

    @property
    def is_cut(self) -> bool:
        return self.row_count > len(self.rows)


@dataclass(frozen=True, slots=True)
class Trouble:
    severity: str
    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None
    position: int | None = None

    @property
    def is_end(self) -> bool:
        """The transaction is over; why is what the node knows of it: of a revocation that may be the lease's end."""
        return self.sqlstate == SERIALIZATION_FAILURE and self.message.startswith(HAD_TO_END)


@dataclass(slots=True)
class Answer:
    node: str
    sql: str
    grids: list[Grid] = field(default_factory=list)
    notices: list[Trouble] = field(default_factory=list)
    traces: dict[int, Json] = field(default_factory=dict)
    """What the node did for a statement (`nodes.trace.record`), by the place of its result, which comes after it."""
    error: Trouble | None = None
    ms: float = 0.0
    transaction: str = "idle"
    stopped_after: str = ""
    """ "rows" or "seconds", when it reached that limit."""
    grids_left_out: int = 0
    chars: int = 0

    @property
    def statements(self) -> list[tuple[Grid | None, Json | None]]:
        """Each statement's result and trace; one that failed has no result, one whose trace was left out no trace."""
        shown = len(self.grids)
        found = [(grid, self.traces.get(place)) for place, grid in enumerate(self.grids)]
        failed = self.traces.get(shown) if not self.grids_left_out else None
        return [*found, (None, failed)] if failed is not None else found

    def trace(self, text: str) -> None:
        """Keeps the trace of the next statement, as long as there is room. libpq hands a notice on as soon as it reads
        it: perhaps before the result that came first."""
        if len(self.traces) <= GRIDS_MAX and self.chars < ANSWER_CHARS_MAX:
            self.chars += len(text)
            place = max(len(self.grids) + self.grids_left_out, max(self.traces, default=-1) + 1)
            self.traces[place] = json.loads(text)

    def add(self, grid: Grid) -> None:
        if len(self.grids) < GRIDS_MAX:
            self.grids.append(grid)
        else:
            self.grids_left_out += 1


class Pane:
    def __init__(self, node: str, connect: Callable[[], psycopg.Connection], user: str = "") -> None:
        self.node, self.user = node, user
        self.in_use = threading.Lock()
        self.is_given_up = False
        self.used_at = time.monotonic()
        self.connection = connect()
        self.answer = Answer(node, "")
        """The one that comes in."""
        self.last: Answer | None = None
        """The newest whole answer: a page that is loaded again shows it."""
        self.reported: Json | None = None
        """The open transaction as the node described it last."""
        self.unfinished: Unfinished | None = None
        """The transaction that was left open, also when a statement of it has failed since."""
        self.heard = 0
        """The number of the cluster's story before the newest text was sent."""
        self.connection.add_notice_handler(self._note)

    @property
    def transaction(self) -> str:
        """ "idle", "open", "failed" or "closed"; while a statement runs, as it was before."""
        if self.connection.closed:
            return "closed"
        status = self.connection.info.transaction_status
        if status == pq.TransactionStatus.ACTIVE:
            return "idle" if self.last is None else self.last.transaction
        return {pq.TransactionStatus.INTRANS: "open", pq.TransactionStatus.INERROR: "failed"}.get(status, "idle")

    @property
    def held(self) -> Json | None:
        """The open transaction as the node described it last: since when, and which versions it uses."""
        return self.reported if self.transaction == "open" else None

    def run(self, sql: str, *, heard: int = 0) -> Answer:
        """Send the statements as one simple query and keep the first rows of each."""
        if not self.in_use.acquire(blocking=False):
            refusal = gettext("the last statement still runs on %(node)s; stop it, or wait") % {"node": self.node}
            raise PaneError(refusal)
        try:
            self.used_at, started, self.heard = time.monotonic(), time.monotonic(), heard
            self.answer = answer = Answer(self.node, sql)
            was_lost = self.had_transaction and self.is_lost()

            def end_late() -> None:
                answer.stopped_after = answer.stopped_after or "seconds"
                with contextlib.suppress(psycopg.Error):
                    self.stop()

            timer = threading.Timer(RUN_S_MAX, end_late)
            timer.daemon = True
            timer.start()
            try:
                _exchange(self.connection, sql, answer)
            except psycopg.OperationalError as error:
                is_unknown = self.had_transaction and not was_lost and may_commit(sql)
                if is_unknown:
                    self.unfinished = None
                words = str(error).strip() if error.sqlstate else self._words_of_loss(is_unknown=is_unknown)
                answer.error = Trouble("FATAL", error.sqlstate or CONNECTION_FAILURE, words)
            finally:
                timer.cancel()
            answer.ms = (time.monotonic() - started) * 1000
            answer.transaction = self.transaction
            self.last = answer
            if answer.transaction != "open":
                self.reported = None
            if answer.transaction == "idle":
                self.unfinished = None
            self.used_at = time.monotonic()
            return answer
        finally:
            self.in_use.release()
            if self.is_given_up:
                self.close()

    @property
    def had_transaction(self) -> bool:
        return self.last is not None and self.last.transaction in ("open", "failed")

    def is_lost(self) -> bool:
        """True when the node has ended the connection: its end has arrived here, though nothing was sent since."""
        pgconn, poll = self.connection.pgconn, select.poll()  # unlike select(), it takes descriptors from 1024 on
        try:
            while not self.connection.closed:
                poll.register(pgconn.socket, select.POLLIN)
                if not poll.poll(0):
                    break
                pgconn.consume_input()
        except psycopg.OperationalError:
            return True
        return self.connection.closed

    def _words_of_loss(self, *, is_unknown: bool) -> str:
        """The end of a connection in words of ours. `is_unknown`: the node may have committed before it ended."""
        if is_unknown:
            words = gettext(
                "%(node)s ended the connection while it ran your text. The outcome of the transaction is unknown."
                " Check whether it took effect before you run it again."
            )
        elif self.had_transaction:
            words = gettext("%(node)s ended the connection. Its open transaction is lost: nothing of it was kept.")
        else:
            words = gettext(
                "%(node)s ended the connection while the statement ran. Check whether it took effect, then run it"
                " again."
            )
        return words % {"node": self.node}

    def _note(self, message: psycopg.errors.Diagnostic) -> None:
        if message.sqlstate == TRACE:
            text = message.message_detail or "{}"
            trace = json.loads(text)
            self.reported = trace["transaction"]
            self.unfinished = follow(self.unfinished, trace, heard=self.heard)
            self.answer.trace(text)
        elif len(self.answer.notices) < NOTICES_MAX:
            self.answer.notices.append(_trouble(message))

    def stop(self) -> None:
        self.connection.cancel_safe(timeout=CONNECT_S)

    def close(self) -> None:
        """End the session; a statement that runs is stopped first, and its own thread ends the session then."""
        self.is_given_up = True

        def stop_until_it_ends() -> None:  # a cancel may overtake its statement, and stops nothing then
            while self.in_use.locked():
                with contextlib.suppress(psycopg.Error):
                    self.stop()
                time.sleep(STOP_AGAIN_S)

        if self.in_use.acquire(blocking=False):
            self.connection.close()
            self.in_use.release()
        else:
            threading.Thread(target=stop_until_it_ends, daemon=True).start()


def _exchange(connection: psycopg.Connection, sql: str, answer: Answer) -> None:
    """psycopg waits for each result: libpq itself would hold up every other thread of the process."""
    pgconn = connection.pgconn
    pgconn.send_query(sql.encode())
    pgconn.set_single_row_mode()
    connection.wait(generators.send(pgconn))
    grid = Grid()
    while (result := connection.wait(generators.fetch(pgconn))) is not None:
        if result.status == pq.ExecStatus.FATAL_ERROR:
            answer.error = _trouble(psycopg.errors.Diagnostic(result))
            if grid.columns:
                answer.add(grid)
            grid = Grid()
            continue
        if result.status == pq.ExecStatus.COPY_IN:
            pgconn.put_copy_end(NO_DATA)
            connection.wait(generators.send(pgconn))
            continue
        if result.status == pq.ExecStatus.COPY_OUT:
            _copy(connection, grid, answer)
            continue
        if result.status in HAS_ROWS:
            grid.columns = grid.columns or [
                (result.fname(n) or b"?column?").decode(errors="replace") for n in range(result.nfields)
            ]
            for row in range(result.ntuples):
                _keep([result.get_value(row, column) for column in range(result.nfields)], grid, answer)
            _stop_at_most(connection, grid, answer)
        if result.status != pq.ExecStatus.SINGLE_TUPLE:
            grid.tag = (result.command_status or b"").decode()
            answer.add(grid)
            grid = Grid()


def _copy(connection: psycopg.Connection, grid: Grid, answer: Answer) -> None:
    pgconn = connection.pgconn
    grid.columns = ["COPY"]
    while (count := (found := pgconn.get_copy_data(1))[0]) >= 0:
        if not count:
            connection.wait(_arrival(pgconn))
            continue
        _keep([bytes(found[1]).rstrip(b"\n")], grid, answer)
        _stop_at_most(connection, grid, answer)


def _arrival(pgconn: pq.abc.PGconn) -> Iterator[waiting.Wait]:
    yield waiting.Wait.R
    pgconn.consume_input()


def _keep(row: list[bytes | None], grid: Grid, answer: Answer) -> None:
    grid.row_count += 1
    if len(grid.rows) < ROWS_SHOWN and answer.chars < ANSWER_CHARS_MAX:
        texts = [None if data is None else data.decode(errors="replace") for data in row]
        cells = [t if t is None or len(t) <= CELL_CHARS_MAX else f"{t[:CELL_CHARS_MAX]}…" for t in texts]
        answer.chars += sum(len(cell or "") + 1 for cell in cells)
        grid.rows.append(cells)


def _stop_at_most(connection: psycopg.Connection, grid: Grid, answer: Answer) -> None:
    if grid.row_count >= ROWS_READ_MAX and not answer.stopped_after:
        answer.stopped_after = "rows"
        connection.cancel_safe(timeout=CONNECT_S)


def _trouble(message: psycopg.errors.Diagnostic) -> Trouble:
    position = message.statement_position
    return Trouble(
        severity=message.severity or "ERROR",
        sqlstate=message.sqlstate or "XX000",
        message=message.message_primary or "",
        detail=message.message_detail,
        hint=message.message_hint,
        position=int(position) if position and position.isdigit() else None,
    )


@dataclass(slots=True)
class History:
    """The statements run in a pane, oldest first, each once; bounded by their number and their characters."""

    statements: list[str] = field(default_factory=list)
    used_at: float = field(default_factory=time.monotonic)

    def add(self, sql: str) -> None:
        self.used_at = time.monotonic()
        if sql in self.statements:
            self.statements.remove(sql)
        self.statements.append(sql)
        while len(self.statements) > HISTORY_MAX or sum(map(len, self.statements)) > HISTORY_CHARS_MAX:
            del self.statements[0]


def name_of(sql: str) -> str:
    """A short name of a statement, for the address that recalls it: the statement itself belongs into no address."""
    return hashlib.sha256(sql.encode()).hexdigest()[:16]


class Panes:
    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.open: dict[tuple[str, str], Pane] = {}
        self.histories: dict[tuple[str, str], History] = {}
        """Of each pane; they outlive its session, not its owner's."""
        self.reaper: threading.Timer | None = None

    def get(self, owner: str, number: str) -> Pane | None:
        return self.open.get((owner, number))

    def take(self, owner: str, number: str, node: str, connect: Callable[[], psycopg.Connection], user: str) -> Pane:
        """The pane's session on `node`; one on another node, or a dead one, is closed and replaced. Not while a
        transaction is open there: choosing another node loses none. The next answer reports one that was lost with its
        node, so that no statement of it runs alone."""
        self.close_idle()
        pane = self.open.get((owner, number))
        is_there = pane is not None and pane.node == node
        if is_there and (pane.in_use.locked() or pane.had_transaction or not pane.is_lost()):
            return pane
        if pane is not None and pane.transaction == "open":
            raise PaneError(
                gettext(
                    "This pane has an open transaction on %(elsewhere)s. COMMIT or ROLLBACK it, or end the session,"
                    " before the pane goes to %(node)s."
                )
                % {"elsewhere": pane.node, "node": node}
            )
        self.close(owner, number)
        with self.guard:
            mine = sum(1 for other in self.open.values() if other.user == user)
            if len(self.open) >= PANES_MAX or mine >= PANES_MAX_EACH:
                counts = {"n": len(self.open), "mine": mine}
                raise PaneError(
                    gettext("%(n)s console sessions are open, %(mine)s of them yours; end one first") % counts
                )
        try:
            pane = Pane(node, connect, user)
        except psycopg.OperationalError as error:
            why = {"node": node, "error": str(error).strip()}
            raise PaneError(gettext("%(node)s does not answer: %(error)s") % why) from error
        with self.guard:
            self.open[owner, number] = pane
            self._watch()
        return pane

    def remember(self, owner: str, number: str, sql: str) -> None:
        """Keep a text that is run in a pane; the same again moves to the end."""
        with self.guard:
            kept = self.histories.pop((owner, number), None) or History()
            kept.add(sql)
            self.histories[owner, number] = kept
            while len(self.histories) > HISTORIES_MAX:
                del self.histories[next(iter(self.histories))]
            self._watch()

    def history(self, owner: str, number: str) -> dict[str, str]:
        """The statements run in a pane, newest first, by their names (`name_of`)."""
        with self.guard:
            kept = self.histories.get((owner, number))
            return {} if kept is None else {name_of(sql): sql for sql in reversed(kept.statements)}

    def close(self, owner: str, number: str) -> None:
        with self.guard:
            pane = self.open.pop((owner, number), None)
        if pane is not None:
            pane.close()

    def close_all_of(self, owner: str) -> None:
        with self.guard:
            theirs = [key for key in self.open if key[0] == owner]
            for key in [key for key in self.histories if key[0] == owner]:
                del self.histories[key]
        for key in theirs:
            self.close(*key)

    def close_idle(self) -> None:
        with self.guard:
            over = [key for key, pane in self.open.items() if time.monotonic() - pane.used_at > IDLE_S]
            old = [key for key, kept in self.histories.items() if time.monotonic() - kept.used_at > HISTORY_S]
            for key in old:
                del self.histories[key]
        for key in over:
            self.close(*key)

    def _watch(self) -> None:
        """One timer while a pane is open or a history kept: an idle pane ends without a request."""
        if self.reaper is None or not self.reaper.is_alive():
            self.reaper = threading.Timer(IDLE_S / 15, self._reap)
            self.reaper.daemon = True
            self.reaper.start()

    def _reap(self) -> None:
        self.close_idle()
        with self.guard:
            self.reaper = None
            if self.open or self.histories:
                self._watch()


panes = Panes()
