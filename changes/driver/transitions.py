"""Writes one transition of a change: the machine's state, step rows and story, in one transaction (X7). Locks, by L14:
the change's row, schema-change leases, the caller's table rows and locks, story counters."""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from catalog.database import database_clock_s
from catalog.descriptor import from_json
from catalog.elements import State
from catalog.services import append_event, control_transaction
from catalog.story import CLUSTER, change_stream, table_stream
from catalog.text.sentence import Sentence, to_json
from changes.driver import schema_change_lease
from changes.driver.schema_change_lease import SchemaChangeLease
from changes.executor import events
from changes.executor.machine import step
from changes.executor.state import Direction, Execution, Mode, execution_from_json
from changes.models import ENDED, Change, Status
from changes.pages.failure_codes import sqlstate_of
from changes.pages.timeline import REST_SHOWN_S
from changes.plan.model import StepKind
from leases.recorder.reading import nodes_left_at
from spark_tasks.models import ReorgRun, RunState
from storage.postgres import drop_sequences
from storage.sequences import sequences_of

log = logging.getLogger(__name__)


class HasEnded(Exception):
    """The change ended before this transition: it was cancelled in the queue."""


REQUESTS = {"cancel": events.CancelRequested, "pause": events.PauseRequested, "resume": events.ResumeRequested}


@dataclass(frozen=True, slots=True)
class ChangeRow:
    id: int
    table_id: int
    table_ids: list[int]
    table_name: str
    status: Status
    plan: dict[str, Any]
    executor_state: dict[str, Any] | None
    requests: list[dict[str, str]]

    @property
    def execution(self) -> Execution | None:
        """The machine's state; None before it has begun."""
        return None if self.executor_state is None else execution_from_json(self.executor_state | {"plan": self.plan})


def lock_change(cur: Any, change_id: int) -> ChangeRow:
    """Locks the change's row against cancels and other drivers."""
    row = cur.execute(
        "SELECT id, table_id, table_ids, table_name, status, plan::text, executor_state::text, wishes::text"
        " FROM changes_change WHERE id = %s FOR UPDATE",
        (change_id,),
    ).fetchone()
    assert row is not None, f"change {change_id} has a row"
    return ChangeRow(*row[:4], Status(row[4]), *(None if body is None else json.loads(body) for body in row[5:]))


def lock_driven(cur: Any, change_id: int, lease: SchemaChangeLease) -> ChangeRow:
    """Locks the change and its tables for their driver (X2, L14); raises `HasEnded`, `LeaseLost`."""
    row = lock_change(cur, change_id)
    if row.status in ENDED:
        raise HasEnded(Sentence("change {n} has ended: {status}", n=change_id, status=row.status))
    schema_change_lease.check(cur, lease)
    return row


def newest_version(cur: Any, table_id: int) -> int:
    row = cur.execute("SELECT version FROM catalog_table WHERE id = %s", (table_id,)).fetchone()
    assert row is not None, f"table {table_id} has a row"
    return int(row[0])


@dataclass
class Transition:
    cur: Any
    row: ChangeRow
    state: Execution
    now: float
    quiet: frozenset[str] = frozenset()
    """Kinds of story that would not be true here."""
    todo: list[events.Effect] = field(default_factory=list)
    has_counters: bool = False
    """The counters of the streams are locked: no other lock is taken any more (L14)."""
    tries: int = 0
    """How often the step it was at is begun anew here."""
    finish: events.Finish | None = None
    last: Callable[[], None] | None = None
    """What must come last of all, still under every lock: the fence (L7)."""

    @classmethod
    def begin(cls, cur: Any, change_id: int, lease: SchemaChangeLease, state: Execution, now: float) -> Transition:
        """Locks in the order of L14; raises `LeaseLost`."""
        row = lock_driven(cur, change_id, lease)
        if state.plan.base is None or state.plan.result.state is State.ABSENT:
            # its end writes the tables' rows, after advisory locks and the story; they are locked in the order of L14,
            # and wait for no more than an acquire, which waits for nobody
            cur.execute("SELECT 1 FROM catalog_table WHERE id = ANY(%s) ORDER BY id FOR UPDATE", (row.table_ids,))
        return cls(cur, row, state, now)

    def feed(self, event: events.Event) -> None:
        """Feeds the machine an event; appends its story and keeps its other effects."""
        retries = self.state.retries
        self.state, effects = step(self.state, event, self.now)
        self.tries += isinstance(event, events.Started) or self.state.retries > retries
        for effect in effects:
            if isinstance(effect, events.AppendEvent):
                self.append_event(effect.story.kind, effect.story.payload)
            elif isinstance(effect, events.RefuseCancel):
                log.info("change %s: cancel refused: %s", self.row.id, effect.reason)
            elif isinstance(effect, events.Finish):
                self.finish = effect
            else:
                self.todo.append(effect)

    def feed_requests(self) -> bool:
        """Feeds pending requests. True when the machine has a new plan of action."""
        for request in self.row.requests:
            self.feed(REQUESTS[request["wish"]](request["who"]))
        return bool(self.todo) or self.finish is not None or self.state.mode is Mode.PAUSED

    def append_versions(self, effect: events.TryPublish | events.TryDrain) -> None:
        self.append_event(effect.story.kind, effect.story.payload, table_id=self.row.table_id)
        for partner, story in zip(effect.partners, effect.partner_stories, strict=True):
            self.append_event(story.kind, story.payload, table_id=partner.table_id)

    def append_event(self, kind: str, payload: Mapping[str, Any], *, table_id: int | None = None) -> None:
        """Appends to the streams of the cluster, the change and its tables, or of `table_id` alone."""
        if kind in self.quiet:
            return
        if isinstance(until := payload.get("until"), float):
            payload = dict(payload) | {"until": datetime.fromtimestamp(until, UTC).isoformat(timespec="seconds")}
        streams = [CLUSTER, change_stream(self.row.id), *map(table_stream, self.row.table_ids)]
        if len(self.row.table_ids) > 1 and not self.has_counters:  # all that may get an event here (L14)
            self.has_counters = True
            self.cur.execute("SELECT 1 FROM catalog_stream WHERE name = ANY(%s) ORDER BY name FOR UPDATE", (streams,))
        if table_id is not None:
            streams[2:] = [table_stream(table_id)]
        append_event(kind, payload.get("table", self.row.table_name), payload, streams)

    def save(self, before: Execution) -> None:
        """Writes the row, its steps and its end. Only fences are moved after this."""
        if self.finish is not None:
            self._end(self.finish)
        body = self.state.to_json()
        plan = body.pop("plan")
        self.cur.execute(
            "UPDATE changes_change SET executor_state = %s, plan = %s, direction = %s, status = %s, step = %s,"
            " error = %s, wishes = '[]', started_at = coalesce(started_at, clock_timestamp()),"
            " ended_at = CASE WHEN %s THEN clock_timestamp() END WHERE id = %s",
            (
                json.dumps(body), json.dumps(plan), self.state.direction.value, self.status.value, self.state.position,
                self._error(),
                self.finish is not None, self.row.id,
            ),
        )  # fmt: skip
        self._save_steps(before)
        self.cur.execute("SELECT pg_notify('schemalab_change', %s)", (str(self.row.id),))

    @property
    def status(self) -> Status:
        if self.finish is not None:
            return Status(self.finish.outcome.value)
        if self.state.mode is Mode.PAUSED:
            return Status.PAUSED
        if self.state.direction is Direction.BACK:
            return Status.ROLLING_BACK
        return Status.WAITING if self.state.mode is Mode.WAITING else Status.RUNNING

    @property
    def _trouble(self) -> str | None:
        return self.state.error or (self.state.trouble if self.state.mode is Mode.PAUSED else None)

    def _error(self) -> str | None:
        if not self._trouble:
            return None
        failed = ReorgRun.objects.filter(change_id=self.row.id, state=RunState.FAILED)
        found = failed.values_list("violations", flat=True)
        versions = [step.published for step in self.state.plan.publishes]
        code = sqlstate_of([violation for violations in found for violation in violations], versions)
        kept = {"sentence": to_json(self._trouble)} if isinstance(self._trouble, Sentence) else {}
        return json.dumps({"message": self._trouble} | kept | ({"sqlstate": code} if code else {}))

    def _save_steps(self, before: Execution) -> None:
        after, at = self.state, self.state.step
        has_moved = (before.direction, before.position) != (after.direction, after.position)
        waited = before if has_moved else after
        since = self.now - waited.waited_since if waited.waited_since is not None else 0.0
        waited_s = self._waited_for_nodes_s(before, since) if has_moved and since else since
        self.cur.execute(
            "UPDATE changes_step SET waited_for = CASE WHEN %s THEN %s ELSE waited_for END, waited_s = %s,"
            " tries = tries + %s, ended_at = CASE WHEN %s THEN clock_timestamp() END"
            " WHERE change_id = %s AND ended_at IS NULL",
            (
                bool(waited.waited_for), json.dumps(list(waited.waited_for)), round(waited_s, 3),
                self.tries, has_moved,
                self.row.id,
            ),
        )  # fmt: skip
        if at is not None and self.finish is None:
            self.cur.execute(
                "INSERT INTO changes_step (change_id, road, number, kind, version, started_at, waited_for, waited_s)"
                " VALUES (%s, %s, %s, %s, %s, clock_timestamp(), '[]', 0) ON CONFLICT DO NOTHING",
                (self.row.id, after.direction.value, after.position, at.kind.value, at.version),
            )

    def _waited_for_nodes_s(self, state: Execution, waited_s: float) -> float:
        """Seconds from the start of the step until no node used a version that blocked it; `waited_s` for a step that
        never waited for a node, or ended soon."""
        found = self.cur.execute(
            "SELECT started_at, waited_for <> '[]', extract(epoch FROM clock_timestamp() - started_at)"
            " FROM changes_step WHERE change_id = %s AND ended_at IS NULL",
            (self.row.id,),
        ).fetchone()
        if found is None or state.step is None or not (found[1] or state.waited_for) or found[2] < REST_SHOWN_S:
            return waited_s
        began, back = found[0].timestamp(), state.step.kind is StepKind.PUBLISH
        versions = {self.row.table_id: state.step.version} | {one.table_id: one.version for one in state.step.partners}
        left_at = nodes_left_at({table: version - back for table, version in versions.items()}, since=began)
        return 0.0 if left_at is None else max(left_at - began, 0.0)

    def _end(self, finish: events.Finish) -> None:
        """Ends the change: frees its names (L12) and drops the sequences that no version uses any more."""
        row = self.cur.execute(
            "SELECT body::text FROM catalog_descriptor WHERE table_id = %s ORDER BY version DESC LIMIT 1",
            (self.row.table_id,),
        ).fetchone()
        newest = None if row is None else from_json(json.loads(row[0]))
        is_dropped = newest is None or newest.state is State.ABSENT
        if newest is not None and not is_dropped:
            plan = self.state.plan
            versions = (plan.base, *(step.published for step in plan.publishes))
            made = {sequence for version in versions if version is not None for sequence in sequences_of(version)}
            drop_sequences(self.cur, sorted(made - sequences_of(newest).keys()))
        self.append_event(finish.story.kind, finish.story.payload)
        about = {"table": self.row.table_name, "change": self.row.id}
        if is_dropped:
            self.cur.execute("UPDATE catalog_table SET state = 'dropped' WHERE id = %s", (self.row.table_id,))
            if finish.outcome is events.Outcome.DONE:
                self.append_event("table dropped", about, table_id=self.row.table_id)
        elif self.state.plan.base is None:
            self.append_event("table created", about, table_id=self.row.table_id)


class Progress:
    """A change as its driver last committed it, and the effects to perform next."""

    def __init__(self, change_id: int, table_id: int, lease: SchemaChangeLease, status: Status) -> None:
        self.change_id, self.table_id, self.lease, self.status = change_id, table_id, lease, status
        self.state: Execution
        self.todo: deque[events.Effect] = deque()
        self.run_id: int | None = None
        self._clock_ahead_s = clock_ahead_s()

    @property
    def table_ids(self) -> list[int]:
        return self.lease.table_ids

    def now(self) -> float:
        return time.monotonic() + self._clock_ahead_s

    @contextmanager
    def transition(self) -> Iterator[Transition]:
        """One transition in one transaction; its effects count once it has committed."""
        before = self.state
        with control_transaction() as cur:
            happening = Transition.begin(cur, self.change_id, self.lease, before, self.now())
            yield happening
            happening.save(before)
            if happening.last is not None:
                happening.last()
        self.state, self.status = happening.state, happening.status
        if happening.todo or happening.finish:
            self.run_id = None
        self.todo.extend(happening.todo)

    def has_requests(self) -> bool:
        return Change.objects.filter(pk=self.change_id).exclude(wishes=[]).exists()

    def rest_with(self, message: str) -> None:
        """Pauses the change for a person to look at an internal error."""
        with control_transaction() as cur:
            lock_driven(cur, self.change_id, self.lease)
            cur.execute(
                "UPDATE changes_change SET status = 'paused', wishes = '[]',"
                " error = jsonb_build_object('message', %s::text) WHERE id = %s",
                (message, self.change_id),
            )
            cur.execute("SELECT pg_notify('schemalab_change', %s)", (str(self.change_id),))
        self.status = Status.PAUSED


def clock_ahead_s() -> float:
    return database_clock_s() - time.monotonic()
