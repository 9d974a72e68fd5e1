r"""The shell of the executor's machine: performs its effects and reports the results as events.

Each transition is one control transaction that locks the change's row, then the schema-change leases of its tables
(L14). So a driver may die between any two statements, and the next one continues from the row (X2); a cancel and a
publish lock the same row, so only one of them wins (X6). A driver uses one connection, Django's of its thread; the
renewal of its lease has another.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

import psycopg
from django.db import connection
from django.db.utils import DatabaseError, IntegrityError, InterfaceError, OperationalError

from catalog.services import control_transaction
from catalog.text.mistakes import in_words
from catalog.uninterrupted import uninterrupted
from changes.ddl.errors import DdlError, unforeseen
from changes.ddl.resolve import NothingToDo
from changes.driver import schema_change_lease
from changes.driver.listener import Listener
from changes.driver.publish import UnexpectedVersion
from changes.driver.reorganisations import Reorganisations
from changes.driver.schema_change_lease import LeaseLost, LeaseTaken, Renewal
from changes.driver.start import end_unstarted, plan_again, settle_tables
from changes.driver.transitions import HasEnded, Progress, lock_change, newest_version
from changes.driver.versions import Versions
from changes.executor import events
from changes.executor.machine import IllegalTransition
from changes.executor.state import Execution, Mode
from changes.models import ENDED, Change, Status
from changes.notices import send_driver
from changes.plan.model import Plan
from changes.selectors import following, is_its_turn
from spark_tasks.services import CannotClose

log = logging.getLogger(__name__)

CHANNELS = ("schemalab_lease", "schemalab_reorg", "schemalab_change")
RECONNECTS_MAX = 30
RECONNECT_S = (0.1, 2.0)
HELD_WELL_S = 10.0
"""A connection that lasted so long was a good one: the next failure is the first again."""

LOST = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)
FINISHED = events.TryPublish | events.TryDrain
"""Effects that a worker finishes before it ends: each takes a moment, and a rolling publish several transactions."""
Hook = Callable[[str], None]


class NotItsTurn(Exception):
    """The change has ended, or another change of its tables moves first (X1)."""


class OtherTables(Exception):
    """Planned again, the change spans other tables than it was submitted with: acquire these."""


def drive(change_id: int, *, holder: str, hook: Hook = lambda _: None) -> Status | None:
    """Drives a change until it ends or pauses. None: it is not this worker's to drive. Reconnects at most
    `RECONNECTS_MAX` times in a row. `hook` is called with the name of each effect before and after it, for tests that
    kill the worker there."""
    failures = 0
    while failures < RECONNECTS_MAX:
        began = time.monotonic()
        try:
            with Driver(change_id, holder, hook) as driver:
                return driver.run()
        except (LeaseTaken, NotItsTurn, HasEnded, LeaseLost) as why:
            log.info("change %s is not driven by %s: %s", change_id, holder, why)
            return None
        except OtherTables as why:
            log.info("change %s begins anew: %s", change_id, why)
            failures += 1
        except LOST as error:
            log.warning("change %s: database lost (%s), again", change_id, error)
            connection.close()
            failures = 1 if time.monotonic() - began > HELD_WELL_S else failures + 1
            time.sleep(min(RECONNECT_S[0] * 2**failures, RECONNECT_S[1]))
    raise ConnectionError(f"change {change_id} stands still: no database after {RECONNECTS_MAX} attempts")


class Driver:
    def __init__(self, change_id: int, holder: str, hook: Hook) -> None:
        self.change_id, self.holder, self.hook = change_id, holder, hook

    def __enter__(self) -> Driver:
        change = Change.objects.get(pk=self.change_id)
        if change.status in (*ENDED, Status.AWAITING):
            raise NotItsTurn(f"it has ended, or not been approved: {change.status}")
        with ExitStack() as so_far:
            so_far.enter_context(session_named(f"schemalab driver of change {self.change_id}"))
            self.lease = schema_change_lease.acquire(change.table_ids, self.holder)
            self.progress = Progress(self.change_id, change.table_id, self.lease, Status(change.status))
            self.listener = Listener(*CHANNELS)
            so_far.callback(self.listener.close)
            self.renewal = Renewal(self.lease)
            self.renewal.start()
            so_far.callback(self.renewal.stop)
            self.versions = Versions(self.progress, self.listener, self.hook)
            self.reorganisations = Reorganisations(self.progress, self.listener)
            self._held = so_far.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """A driver that fails keeps its lease until it expires: that is the pause before the next attempt."""
        self._held.close()
        if kind in (None, NotItsTurn, OtherTables, HasEnded):
            with suppress(DatabaseError, InterfaceError):
                schema_change_lease.release(self.lease)
        if self.progress.status in ENDED and kind is None:
            for change_id in following(self.lease.table_ids):
                send_driver(change_id)

    def run(self) -> Status:
        """Runs until the change ends or pauses. An internal error pauses it for a person to look."""
        progress = self.progress
        try:
            self._begin()
            while progress.status not in ENDED and (progress.todo or progress.state.mode is not Mode.PAUSED):
                if self.renewal.lost:
                    raise LeaseLost(f"a table of {self.lease.table_ids} was taken over from {self.holder}")
                if progress.todo:
                    self._perform(progress.todo.popleft())
                else:
                    self.reorganisations.wait()
        except (IllegalTransition, UnexpectedVersion) as mistake:
            log.exception("change %s cannot go on by itself", self.change_id)
            progress.rest_with(str(mistake))
        return progress.status

    # --- the beginning

    def _begin(self) -> None:
        plan = self._plan_if_new()
        if plan is None:
            return
        with control_transaction() as cur:
            row = lock_change(cur, self.change_id)
            self.progress.state = row.execution or Execution(self.change_id, plan)
        try:
            # from this transition on a change that was queued has its tables to itself (X1)
            is_new = self.progress.state.mode is Mode.QUEUED
            with self.progress.transition() as found:
                if not self.lease.is_takeover:
                    found.quiet = frozenset({"executor replaced"})
                if is_new:
                    found.feed_requests()
                if self.progress.state.mode is not Mode.PAUSED:
                    found.feed(events.Started(newest_version(found.cur, self.progress.table_id)))
                if not is_new:
                    found.feed_requests()
        except IntegrityError as claimed:
            raise NotItsTurn(f"another change moves a table of change {self.change_id}: {claimed}") from claimed

    def _plan_if_new(self) -> Plan | None:
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
        if list(plan.table_ids) != self.lease.table_ids:
            settle_tables(self.change_id, plan)
            raise OtherTables(f"tables {list(plan.table_ids)} instead of {self.lease.table_ids}")
        return plan

    def _end_unstarted(self, why: Exception) -> None:
        """Ends a change that cannot be planned, for whatever reason: queued for ever it would block all others."""
        if not isinstance(why, DdlError | NothingToDo):
            log.exception("change %s cannot be planned", self.change_id, exc_info=why)
            why = unforeseen(why)
        self.progress.status = end_unstarted(self.change_id, why)
        if self.progress.status not in ENDED:
            raise NotItsTurn(f"change {self.change_id} is {self.progress.status}: somebody else moves it")

    # --- effects

    def _perform(self, effect: events.Effect) -> None:
        """Performs an effect; the machine judges permanent errors of the database (X4)."""
        handlers: dict[type[events.Effect], Callable[[Any], None]] = {
            events.TryPublish: self.versions.publish,
            events.TryDrain: self.versions.drain,
            events.StartRun: self.reorganisations.start,
            events.PauseRun: self.reorganisations.pause,
            events.CloseRun: self.reorganisations.close,
            events.Wait: self.versions.wait,
        }
        name = type(effect).__name__
        self.hook(f"before {name}")
        try:
            with uninterrupted() if isinstance(effect, FINISHED) else nullcontext():
                handlers[type(effect)](effect)
        except LOST:
            raise
        except (psycopg.Error, DatabaseError, CannotClose) as error:
            if isinstance(effect, events.Wait | events.PauseRun):  # the next driver tries again
                raise
            log.exception("change %s: %s failed", self.change_id, name)
            with self.progress.transition() as now:
                now.feed(events.StepFailed(in_words(error)))
        self.hook(f"after {name}")


@contextmanager
def session_named(name: str) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('application_name', %s, false)", [name])
    try:
        yield
    finally:
        with suppress(*LOST), connection.cursor() as cursor:
            cursor.execute("RESET application_name")
