r"""The shell of the executor's machine: it does what the machine asks, and tells it what came of it.

    take the table (X2) -> the machine's state from its row -> effect -> event -> state, story and step row
                                                                 \__________ one transaction ___________/

Each transition is one control transaction that locks the change's row, then the schema-change leases of its tables
(L14), and writes what happened together with where the machine stands then. So a driver may die between any two
statements, and the next one goes on from the row; and a cancel and a publish, which lock the same row, cannot both win
(X6).

Waiting is listening: releases, runs and people's wishes are notified. Only a transaction that outlives its lease is
looked at again and again, since the end of a lock is told to nobody; after a grace its session is ended (L8).
"""

from __future__ import annotations

import logging
import random
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection as django_connection
from django.db.utils import DatabaseError, InterfaceError, OperationalError
from psycopg import errors

from catalog.services import control_transaction as django_transaction
from catalog.text.mistakes import in_words
from changes.ddl.errors import DdlError, unforeseen
from changes.ddl.resolve import NothingToDo
from changes.driver import publish
from changes.driver.publish import NO_HINDRANCE, Blocked, UnexpectedVersion
from changes.driver.schema_change_lease import (
    Ear,
    LostTheTable,
    Renewer,
    TableIsTaken,
    control_transaction,
    let_go,
    open_connection,
    take_tables,
)
from changes.driver.transitions import HasEnded, Transition, load, lock_change, lock_driven, newest_version
from changes.executor import events as moves
from changes.executor.grace import Grace
from changes.executor.machine import IllegalTransition, step
from changes.executor.state import Execution, Mode, name_of
from changes.models import ENDED, Change, Status
from changes.plan.model import RUNS, Plan, StepKind, element_json
from changes.selectors import following, is_its_turn
from changes.services import end_unstarted, plan_again, send_driver, settle_tables
from leases.redis.gossip import publish_news
from leases.rules import Hindrance
from spark_tasks import services as runs
from spark_tasks.models import ReorgPulse, ReorgRun, RunState, Wanted

log = logging.getLogger(__name__)

LOOK_AGAIN_S = 5.0
"""A wait that should be ended by a notification looks again after this long, should one ever be lost."""
ROW_PAUSE_S = (0.002, 0.010)
"""When only a row was locked for a moment (L7)."""
LOCK_PAUSE_S = (0.005, 0.100)
"""Between two looks at a lock that outlives its lease; each pause twice the last."""
RECONNECTS_MAX = 30
RECONNECT_S = (0.1, 2.0)
HELD_WELL_S = 10.0
"""A connection that lasted so long was a good one: the next failure is the first again."""


LOST = (
    psycopg.OperationalError, psycopg.InterfaceError, errors.TransactionTimeout, OperationalError, InterfaceError,
)  # fmt: skip
Hook = Callable[[str], None]


class NotItsTurn(Exception):
    """The change has ended, or another one of its tables moves first (X1)."""


class OtherTables(Exception):
    """Planned on the tables as they are now, the change spans others than it was submitted with: take hold of these."""


def drive(change_id: int, *, holder: str, hook: Hook = lambda _: None) -> Status | None:
    """Walk the change until it ends or rests. None: it is not this worker's to walk.

    Lost connections are made anew, at most `RECONNECTS_MAX` times in a row; the change itself loses nothing.
    `hook` is called before and after each effect with its name: for tests that let the worker die there.
    """
    failures = 0
    while failures < RECONNECTS_MAX:
        began = time.monotonic()
        try:
            with Driver(change_id, holder, hook) as driver:
                return driver.run()
        except (TableIsTaken, NotItsTurn, HasEnded, LostTheTable) as why:
            log.info("change %s is not driven by %s: %s", change_id, holder, why)
            return None
        except OtherTables as why:
            log.info("change %s begins anew: %s", change_id, why)
            failures += 1
        except LOST as error:
            log.warning("change %s: database lost (%s), again", change_id, error)
            django_connection.close()
            failures = 1 if time.monotonic() - began > HELD_WELL_S else failures + 1
            time.sleep(min(RECONNECT_S[0] * 2**failures, RECONNECT_S[1]))
    raise ConnectionError(f"change {change_id} stands still: no database after {RECONNECTS_MAX} attempts")


class Driver:
    """One worker's walk: two connections, a grip on the tables, and the machine's state as last committed."""

    def __init__(self, change_id: int, holder: str, hook: Hook) -> None:
        self.change_id, self.holder, self.hook = change_id, holder, hook
        self.state: Execution
        self.todo: deque[moves.Effect] = deque()
        self.run_id: int | None = None
        self.grace = Grace()
        self.lock_pause_s = LOCK_PAUSE_S[0]

    def __enter__(self) -> Driver:
        change = Change.objects.get(pk=self.change_id)
        if change.status in ENDED:
            raise NotItsTurn(f"it has ended: {change.status}")
        self.table_id, self.table_ids, self.status = change.table_id, change.table_ids, Status(change.status)
        with ExitStack() as so_far:
            self.conn = open_connection(f"driver of change {self.change_id}")
            so_far.callback(self.conn.close)
            self.pid = self.conn.info.backend_pid
            self.clock_ahead_s = self._database_time() - time.monotonic()
            self.grip = take_tables(self.conn, self.table_ids, self.holder)
            listening = open_connection(f"ear of change {self.change_id}")
            so_far.callback(listening.close)
            self.ear = Ear(listening)
            self.renewer = Renewer(self.grip)
            self.renewer.start()
            so_far.callback(self.renewer.stop)
            so_far.pop_all()  # from here on by `__exit__`
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """A driver that fails keeps its lease until it expires: that is the pause before the next one tries."""
        self.renewer.stop()
        if kind in (None, NotItsTurn, OtherTables, HasEnded):
            with suppress(psycopg.Error):
                let_go(self.conn, self.grip)
        self.conn.close()
        self.ear.close()
        if self.status in ENDED and kind is None:
            for change_id in following(self.table_ids):
                send_driver(change_id)

    def run(self) -> Status:
        """Until the change ends or rests. A mistake of ours stops it and asks for a person."""
        try:
            self._begin()
            while self.status not in ENDED and (self.todo or self.state.mode is not Mode.PAUSED):
                if self.renewer.lost:
                    raise LostTheTable(f"a table of {self.grip.table_ids} was taken over from {self.holder}")
                if self.todo:
                    self._perform(self.todo.popleft())
                else:
                    self._await_run()
        except (IllegalTransition, UnexpectedVersion) as mistake:
            log.exception("change %s cannot go on by itself", self.change_id)
            self.status = self._rest_with(str(mistake))
        return self.status

    def now(self) -> float:
        """The database's clock, in seconds."""
        return time.monotonic() + self.clock_ahead_s

    def _database_time(self) -> float:
        row = self.conn.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
        assert row is not None
        return float(row[0])

    # --- the beginning

    def _begin(self) -> None:
        """Take the machine up where its row says it stands."""
        plan = self._plan_if_new()
        if plan is None:
            return
        with control_transaction(self.conn) as cur:
            row = lock_change(cur, self.change_id)
            self.state = load(row) if row.executor_state else Execution(self.change_id, plan)
        try:
            self._take_up()
        except errors.UniqueViolation as claimed:
            raise NotItsTurn(f"another change moves a table of change {self.change_id}: {claimed}") from claimed

    def _take_up(self) -> None:
        """The first transition: a change that was queued moves from here on, and has its tables to itself (X1).

        One that was paused while it was queued rests before its first step.
        """
        is_new = self.state.mode is Mode.QUEUED
        with self._transition() as found:
            if not self.grip.is_takeover:
                found.quiet = frozenset({"executor replaced"})
            if is_new:
                found.hear_wishes()
            if self.state.mode is not Mode.PAUSED:
                found.feed(moves.Started(newest_version(found.cur, self.table_id)))
            if not is_new:
                found.hear_wishes()

    def _plan_if_new(self) -> Plan | None:
        """The plan, made again if this is the start; None when the change has ended without a step."""
        change = Change.objects.get(pk=self.change_id)
        if change.status in ENDED or not is_its_turn(change):
            raise NotItsTurn(f"change {self.change_id} is {change.status}; others of its tables come first")
        try:
            plan = plan_again(change)
        except LOST:
            raise
        except Exception as why:
            if change.status != Status.QUEUED:
                raise
            self._end_unstarted(why)
            return None
        if list(plan.table_ids) != self.table_ids:
            settle_tables(self.change_id, plan)
            raise OtherTables(f"tables {list(plan.table_ids)} instead of {self.table_ids}")
        return plan

    def _end_unstarted(self, why: Exception) -> None:
        """What cannot be planned ends, whatever the reason: queued for ever it would hold up all others of its tables.

        Meanwhile somebody may have cancelled it, or another driver begun it: then nothing comes of this.
        """
        if not isinstance(why, DdlError | NothingToDo):
            log.exception("change %s cannot be planned", self.change_id, exc_info=why)
            why = unforeseen(why)
        self.status = end_unstarted(self.change_id, why)
        if self.status not in ENDED:
            raise NotItsTurn(f"change {self.change_id} is {self.status}: somebody else moves it")

    @contextmanager
    def _transition(self) -> Iterator[Transition]:
        """A transaction around one transition. What came of it counts once it has committed."""
        before = self.state
        with control_transaction(self.conn) as cur:
            happening = Transition.begin(cur, self.change_id, self.grip, before, self.now())
            yield happening
            happening.save(before)
            happening.seal()
        self.state = happening.state
        self.status = happening.status
        if happening.todo or happening.finish:
            self.run_id = None
        self.todo.extend(happening.todo)

    def _rest_with(self, message: str) -> Status:
        """Something happened that must not: nothing more is done before a person has looked."""
        with control_transaction(self.conn) as cur:
            lock_driven(cur, self.change_id, self.grip)
            cur.execute(
                "UPDATE changes_change SET status = 'paused', wishes = '[]',"
                " error = jsonb_build_object('message', %s::text) WHERE id = %s",
                (message, self.change_id),
            )
            cur.execute("SELECT pg_notify('schemalab_change', %s)", (str(self.change_id),))
        return Status.PAUSED

    # --- effects

    def _perform(self, effect: moves.Effect) -> None:
        name = type(effect).__name__
        self.hook(f"before {name}")
        if isinstance(effect, moves.Wait):
            self._wait(effect)
        else:
            self._do(effect)
        self.hook(f"after {name}")

    def _do(self, effect: moves.Effect) -> None:
        """What can be done at all is done; what the database refuses for good is the machine's to judge (X4)."""
        doings: dict[type[moves.Effect], Callable[[Any], None]] = {
            moves.TryPublish: self._try_publish,
            moves.TryDrain: self._try_drain,
            moves.StartRun: self._start_run,
            moves.PauseRun: self._pause_runs,
            moves.CloseRun: self._close_runs,
        }
        try:
            doings[type(effect)](effect)
        except LOST:
            raise
        except (psycopg.Error, DatabaseError, runs.CannotClose) as error:
            log.exception("change %s: %s failed", self.change_id, type(effect).__name__)
            with self._transition() as now:
                now.feed(moves.StepFailed(in_words(error)))

    def _try_publish(self, effect: moves.TryPublish) -> None:
        """L7, in all tables at once (L11). The fences are the last thing, still under the locks."""
        is_out, versions = False, (effect.descriptor, *effect.partners)
        with self._transition() as now:
            if now.hear_wishes():
                return
            if now.state.cancel_wanted:
                now.feed(moves.Blocked(NO_HINDRANCE))  # the cancel came first, and nothing is published (X6)
                return
            blocked = publish.publish(now.cur, versions, storages=settings.STORAGE_COUNT)
            if blocked is None:
                self.grace = Grace()
                now.tell_versions(effect)
                now.feed(moves.Published(effect.version))
                now.last = lambda: publish.close_last_but_one(now.cur, versions, storages=settings.STORAGE_COUNT)
                is_out = True
            else:
                self._report(now, blocked)
        if is_out:
            for version in versions:
                publish_news(version.table_id, version.version)
            self.hook("committed TryPublish")

    def _try_drain(self, effect: moves.TryDrain) -> None:
        """L9, of all tables at once (L11). The fences are set under the locks, which are kept to the end."""
        versions = {self.table_id: effect.version} | {one.table_id: one.version for one in effect.partners}
        with self._transition() as now:
            if now.hear_wishes():
                return
            blocked = publish.drain(now.cur, versions, storages=settings.STORAGE_COUNT)
            if blocked is None:
                self.grace = Grace()
                now.tell_versions(effect)
                now.feed(moves.Drained(effect.version))
            else:
                self._report(now, blocked)

    def _report(self, now: Transition, blocked: Blocked) -> None:
        """Say who is in the way; a transaction that has outlived every lease for the grace is ended (L8)."""
        if not blocked.is_row_locked:  # else nobody has looked further
            self._count_grace(now, blocked)
        now.feed(moves.Blocked(blocked.hindrance))

    def _count_grace(self, now: Transition, blocked: Blocked) -> None:
        before, at = self.grace, time.monotonic()
        self.grace = before.seen([table_id for table_id in self.table_ids if blocked.outlived(table_id)], at)
        if self.grace.starts(before):
            self.lock_pause_s = LOCK_PAUSE_S[0]
        over = self.grace.over(at)
        for table_id in over:
            self._end_holders(now, table_id, blocked.outlived(table_id))
        self.grace = self.grace.anew(over)

    def _end_holders(self, now: Transition, table_id: int, held: tuple[publish.Held, ...]) -> None:
        ended = publish.end_holders(now.cur, table_id, held)
        if ended:
            whom = ", ".join(sorted({publish.node_of(one.session) for one in ended}))
            table = name_of(self.state.plan, table_id)
            payload = {"whom": whom, "table": table, "version": ended[0].version, "change": self.change_id}
            now.append_event("sessions ended", payload, table_id=table_id)

    def _check_grip(self, cursor: Any) -> None:
        """What follows in this transaction, on Django's connection, is done by the change's driver or not at all (X2).

        A run outlives the transaction that starts it. A driver that was replaced while it slept must not start one
        that nobody closes any more (C3), nor pause or close one of its successor's.
        """
        lock_driven(cursor, self.change_id, self.grip)

    def _start_run(self, effect: moves.StartRun) -> None:
        """Start it, or let it go on: one that failed and is retried begins anew with the ranges that have no mark."""
        with django_transaction() as cursor:
            self._check_grip(cursor)
            self._start_or_go_on(effect)

    def _start_or_go_on(self, effect: moves.StartRun) -> None:
        mine = ReorgRun.objects.filter(change_id=self.change_id, kind=effect.kind.value, version=effect.version)
        if self.state.trouble:
            mine.filter(state=RunState.FAILED, is_closed=False).update(state=RunState.WAITING, failures=0, error="")
        ReorgPulse.objects.filter(run__in=mine, wanted=Wanted.PAUSE).update(wanted=Wanted.RUN)
        elements = [element_json(one) for one in effect.elements]
        self.run_id = runs.start_run(self.change_id, self.table_id, effect.kind.value, elements, effect.version)

    def _pause_runs(self, _: moves.PauseRun) -> None:
        """R11: after this no chunk of a run commits until it goes on, whatever its worker is about to do."""
        mine = ReorgRun.objects.filter(change_id=self.change_id, state__in=(RunState.WAITING, RunState.RUNNING))
        for run in mine.filter(is_closed=False).order_by("id"):
            runs.pause_run(run.pk, check=self._check_grip)

    def _close_runs(self, _: moves.CloseRun) -> None:
        """R7: after this nothing of any run of the change is written, whoever still believes to work on it."""
        for run in ReorgRun.objects.filter(change_id=self.change_id, is_closed=False).order_by("id"):
            runs.close_run(run.pk, check=self._check_grip)
        with self._transition() as now:
            now.feed(moves.RunClosed())
            now.hear_wishes()

    def _await_run(self) -> None:
        """Until the run that was started is over, or somebody wishes something."""
        assert self.run_id is not None, f"change {self.change_id} waits for nothing: {self.state.mode}"
        event = self._run_event(self.run_id)
        if event is None:
            self.ear.wait({("schemalab_reorg", str(self.run_id)), self._wish}, LOOK_AGAIN_S, not_from=self.pid)
            event = self._run_event(self.run_id)
        if event is None and not self._is_wished():
            return
        with self._transition() as now:
            if not now.hear_wishes() and event is not None:
                now.feed(event)

    def _run_event(self, run_id: int) -> moves.Event | None:
        status = runs.run_status(run_id)
        if not status.has_ended:
            return None
        kind = StepKind(status.kind)
        if status.state != RunState.DONE:
            return moves.RunFailed(kind, status.error)
        return moves.RunDone(kind, status.rows_done, status.seconds)

    # --- waiting

    @property
    def _wish(self) -> tuple[str, str]:
        return "schemalab_change", str(self.change_id)

    def _is_wished(self) -> bool:
        row = self.conn.execute("SELECT wishes <> '[]' FROM changes_change WHERE id = %s", (self.change_id,)).fetchone()
        return row is not None and bool(row[0])

    def _wait(self, effect: moves.Wait) -> None:
        """Until woken. A publish or drain is attempted anew, and writes what it finds; a run that goes on is told."""
        self._sleep(effect.hindrance, self._pause_s(effect))
        if self._is_wished():
            with self._transition() as now:
                if now.hear_wishes():
                    return
        if effect.hindrance is None and effect.until is not None and self.now() < effect.until:
            self.todo.append(effect)  # the pause before a retry is not over
            return
        if self.state.step is not None and self.state.step.kind in RUNS:
            with self._transition() as now:
                now.feed(moves.Woken())
            return
        self.state, todo = step(self.state, moves.Woken(), self.now())
        self.todo.extend(todo)

    def _sleep(self, hindrance: Hindrance | None, pause_s: float) -> None:
        """Until somebody wishes something, the last lease in the way has gone, or the pause is over."""
        wanted = {self._wish, *(("schemalab_lease", str(table_id)) for table_id in self.table_ids)}
        end = time.monotonic() + pause_s
        while (left_s := end - time.monotonic()) > 0 and self.ear.wait(wanted, left_s, not_from=self.pid):
            if hindrance is None or not self._is_leased(hindrance) or self._is_wished():
                return

    def _is_leased(self, hindrance: Hindrance) -> bool:
        """A glance without locks; the next attempt looks again with them."""
        newest = {lease.table: lease.version for lease in sorted(hindrance.leases, key=lambda lease: lease.version)}
        with self.conn.cursor() as cur:
            return any(publish.is_leased_before(cur, table, version + 1) for table, version in newest.items())

    def _pause_s(self, effect: moves.Wait) -> float:
        if effect.hindrance is not None and not effect.hindrance.leases:
            return self._lock_pause() if effect.hindrance.locked else random.uniform(*ROW_PAUSE_S)
        ends = [LOOK_AGAIN_S, *self.grace.left_s(time.monotonic())]
        if effect.until is not None:
            ends.append(effect.until - self.now())
        return max(min(ends), ROW_PAUSE_S[0])

    def _lock_pause(self) -> float:
        pause_s, self.lock_pause_s = self.lock_pause_s, min(self.lock_pause_s * 2, LOCK_PAUSE_S[1])
        return pause_s
