"""Publishes and drains, and waits for what blocks (L7, L9), in all tables of a change at once (L11). Releases of leases
and requests are notified. A transaction that outlives its lease is polled, since the end of a lock is not notified;
after a grace its session is ended (L8)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence

from django.conf import settings
from django.db import connection

from catalog.descriptor import Descriptor
from catalog.services import control_transaction
from changes.driver import publish
from changes.driver.listener import Listener
from changes.driver.transitions import Progress, Transition, lock_driven
from changes.executor import events
from changes.executor.grace import Grace
from changes.executor.machine import step
from changes.executor.state import name_of
from changes.plan.model import RUNS
from leases.redis.gossip import publish_news
from leases.rules import Hindrance
from leases.withheld import is_withheld
from storage.postgres import storages_kept

STORAGES_CHANGE = publish.Blocked(is_row_locked=True)
"""A storage is being added or removed: no other transaction makes anything on each of them."""
LOOK_AGAIN_S = 5.0
"""A wait that should be ended by a notification looks again after this long, should one ever be lost."""
ROW_PAUSE_S = (0.002, 0.010)
"""When only a row was locked for a moment (L7)."""
LOCK_PAUSE_S = (0.005, 0.100)
"""Between two looks at a lock that outlives its lease; each pause twice the last."""


class Versions:
    def __init__(self, progress: Progress, listener: Listener, hook: Callable[[str], None]) -> None:
        self.progress, self.listener, self.hook = progress, listener, hook
        self.grace = Grace()
        self.lock_pause_s = LOCK_PAUSE_S[0]

    def publish(self, effect: events.TryPublish) -> None:
        """L7. The fences move last, still under the locks."""
        is_out, versions = False, (effect.descriptor, *effect.partners)
        with self.progress.transition() as now:
            if now.feed_requests():
                return
            if now.state.cancel_wanted:
                now.feed(events.Blocked(publish.NO_HINDRANCE))  # the cancel came first, and nothing is published (X6)
                return
            storages = storages_kept(now.cur)
            if storages is None:
                self.report(now, STORAGES_CHANGE)
                return
            blocked = publish.publish(now.cur, versions, storages=storages)
            if blocked is None:
                self.grace = Grace()
                now.append_versions(effect)
                now.feed(events.Published(effect.version))
                now.last = lambda: publish.close_last_but_one(now.cur, versions, storages=storages)
                is_out = True
            else:
                self.report(now, blocked)
        if is_out:
            for version in versions:
                if not is_withheld(version.table_id):
                    publish_news(version.table_id, version.version)
            self.hook("committed TryPublish")
            self._accept_only_newest(versions)

    def _accept_only_newest(self, versions: Sequence[Descriptor]) -> None:
        strict = [one for one in versions if one.coordination.is_strict]
        if strict:
            with control_transaction() as cur:
                lock_driven(cur, self.progress.change_id, self.progress.lease)
                storages = storages_kept(cur)
                if storages is not None:  # else one is being added or removed, and the drain does it
                    publish.accept_only_newest(cur, strict, storages=storages)

    def drain(self, effect: events.TryDrain) -> None:
        """L9. The fences are set under the locks, which are held to the end."""
        versions = {self.progress.table_id: effect.version} | {one.table_id: one.version for one in effect.partners}
        with self.progress.transition() as now:
            if now.feed_requests():
                return
            storages = storages_kept(now.cur)
            if storages is None:
                self.report(now, STORAGES_CHANGE)
                return
            blocked = publish.drain(now.cur, versions, storages=storages)
            if blocked is None:
                self.grace = Grace()
                now.append_versions(effect)
                now.feed(events.Drained(effect.version))
            else:
                self.report(now, blocked)

    def report(self, now: Transition, blocked: publish.Blocked) -> None:
        """Reports what blocks; ends transactions that outlived every lease for the grace (L8)."""
        if not blocked.is_row_locked:  # else nobody has looked further
            before, at = self.grace, time.monotonic()
            outlived = [table for table in self.progress.table_ids if blocked.outlived(table)]
            self.grace = before.seen({table: blocked.grace_s(table, settings.LEASE_S) for table in outlived}, at)
            if self.grace.starts(before):
                self.lock_pause_s = LOCK_PAUSE_S[0]
            over = self.grace.over(at)
            for table_id in over:
                ended = publish.end_holders(now.cur, table_id, blocked.outlived(table_id))
                if ended:
                    whom = ", ".join(sorted({publish.node_of(one.session) for one in ended}))
                    table = name_of(self.progress.state.plan, table_id)
                    about = {"table": table, "table_id": table_id, "version": ended[0].version}
                    payload = {"whom": whom, "change": self.progress.change_id} | about
                    now.append_event("sessions ended", payload, table_id=table_id)
            self.grace = self.grace.anew(over)
        now.feed(events.Blocked(blocked.hindrance))

    # --- waiting

    def wait(self, effect: events.Wait) -> None:
        progress = self.progress
        self._sleep(effect.hindrance, self._pause_s(effect))
        if progress.has_requests():
            with progress.transition() as now:
                if now.feed_requests():
                    return
        if effect.hindrance is None and effect.until is not None and progress.now() < effect.until:
            progress.todo.append(effect)  # the pause before a retry is not over
            return
        if progress.state.step is not None and progress.state.step.kind in RUNS:
            with progress.transition() as now:
                now.feed(events.Woken())
            return
        progress.state, todo = step(progress.state, events.Woken(), progress.now())
        progress.todo.extend(todo)

    def _sleep(self, hindrance: Hindrance | None, pause_s: float) -> None:
        """Ends on a request, on the release of the last lease that blocks, or after `pause_s`."""
        tables = (("schemalab_lease", str(table_id)) for table_id in self.progress.table_ids)
        wanted = {("schemalab_change", str(self.progress.change_id)), *tables}
        end = time.monotonic() + pause_s
        while (left_s := end - time.monotonic()) > 0 and self.listener.wait(wanted, left_s):
            if hindrance is None or not _is_leased(hindrance) or self.progress.has_requests():
                return

    def _pause_s(self, effect: events.Wait) -> float:
        if effect.hindrance is not None and not effect.hindrance.leases:
            return self._lock_pause() if effect.hindrance.locked else random.uniform(*ROW_PAUSE_S)
        ends = [LOOK_AGAIN_S, *self.grace.left_s(time.monotonic())]
        if effect.until is not None:
            ends.append(effect.until - self.progress.now())
        return max(min(ends), ROW_PAUSE_S[0])

    def _lock_pause(self) -> float:
        pause_s, self.lock_pause_s = self.lock_pause_s, min(self.lock_pause_s * 2, LOCK_PAUSE_S[1])
        return pause_s


def _is_leased(hindrance: Hindrance) -> bool:
    """Without locks; the next attempt checks again with them."""
    newest = {lease.table: lease.version for lease in sorted(hindrance.leases, key=lambda lease: lease.version)}
    with connection.cursor() as cur:
        return any(publish.is_leased_before(cur, table, version + 1) for table, version in newest.items())
