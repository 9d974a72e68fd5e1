"""Reads changes: where each one stands, and why it does not move."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Case, Q, QuerySet, When
from django.db.models.functions import Coalesce
from django.utils.timezone import now

from catalog.elements import TableId
from catalog.text.sentence import from_json
from changes.executor.interventions import (
    RETRIED,
    Intervention,
    Standing,
    why_no_retry,
    why_no_throttle,
    why_not,
    why_not_each,
)
from changes.executor.state import Direction, Execution, Mode, execution_from_json, name_of
from changes.models import IN_QUEUE, MOVING, OPEN, Approval, Change, Status, Step
from changes.pages.estimates import ROWS_PER_S, estimate
from changes.pages.failure import failure
from changes.pages.plan_json import plan_json, step_json
from changes.pages.timeline import status_before_rollback
from changes.plan import undo_today
from changes.plan.model import WRITING, MoveKind, Plan, StepKind, plan_from_json
from changes.queue import Place, ahead_of, free_to_move
from changes.records import paces
from changes.running_transactions import running
from changes.submission import tables_ahead
from leases import rules
from leases.models import Node
from leases.selectors import leases_as_of_now, leases_on, sessions_by_use
from spark_tasks.models import ReorgPulse, ReorgRun, RunState
from spark_tasks.services import status_of

RETRIES_SHOWN = 3


def open_changes(table_id: int | None = None) -> list[Change]:
    found = Change.objects.filter(status__in=OPEN).order_by("id")
    return list(found if table_id is None else found.filter(table_ids__contains=[table_id]))


def in_order(table_id: int | None = None) -> QuerySet[Change]:
    """The same: moving ones, then the queue by place, then those that await approval."""
    found = Change.objects.filter(status__in=OPEN)
    found = found if table_id is None else found.filter(table_ids__contains=[table_id])
    group = Case(When(status=Status.AWAITING, then=2), When(status=Status.QUEUED, then=1), default=0)
    return found.order_by(group, Coalesce("place", "id"), "id")


def waits_now(now_s: float) -> list[tuple[Step, float]]:
    """The steps that wait for leases or sessions (not pauses and retries), with their seconds by the database's
    clock."""
    waiting = Step.objects.filter(change__status=Status.WAITING, ended_at=None).select_related("change")
    since = [((step.change.executor_state or {}).get("waited_since"), step) for step in waiting.order_by("change_id")]
    return [(step, max(0.0, now_s - began)) for began, step in since if began is not None]


def open_changes_of(table_ids: Collection[int]) -> list[Change]:
    found = Change.objects.filter(status__in=IN_QUEUE, table_ids__overlap=list(table_ids))
    return list(found.order_by(Coalesce("place", "id")))


def places() -> list[Place]:
    found = Change.objects.filter(status__in=IN_QUEUE).values_list("id", "table_ids", "status", "place")
    return [Place(change, frozenset(tables), status in MOVING, place or 0) for change, tables, status, place in found]


def is_its_turn(change: Change) -> bool:
    """True when a change in the queue waits for no other (X1)."""
    return change.status in IN_QUEUE and not behind(change)


def following(table_ids: Collection[int]) -> list[int]:
    known = places()
    waiting = {one.id for one in known if not one.is_moving and not one.table_ids.isdisjoint(table_ids)}
    return [change_id for change_id in free_to_move(known) if change_id in waiting]


def execution_of(change: Change) -> Execution:
    plan = plan_from_json(change.plan)
    if change.executor_state is None:
        return Execution(change.pk, plan)
    return execution_from_json(change.executor_state | {"plan": change.plan})


def standing_of(change: Change, state: Execution | None = None) -> Standing:
    return Standing(change.status, state or execution_of(change), tuple(change.wishes))


def tried_again(change: Change) -> list[Change]:
    """Later changes with the same table and statement, newest first."""
    if change.status not in RETRIED:
        return []
    same = Change.objects.filter(statement=change.statement, table_name=change.table_name, pk__gt=change.pk)
    return list(same.order_by("-id")[:RETRIES_SHOWN])


def why_not_retried(change: Change) -> str | None:
    same = Change.objects.filter(statement=change.statement, table_name=change.table_name)
    same = same.filter(Q(status__in=OPEN) | Q(status=Status.DONE, pk__gt=change.pk))
    alike = same.exclude(pk=change.pk).order_by("-id").values_list("pk", "status").first()
    return why_no_retry(change.pk, change.status, alike)


def may_steer_all(user: Any) -> bool:
    return settings.SUBMITTERS_STEER == "all" or user.has_perm("changes.steer_any_change")


# --- pages


def change_line(change: Change) -> dict[str, Any]:
    return {
        "id": change.pk,
        "table": change.table_name,
        "table_id": change.table_id,
        "table_ids": change.table_ids,
        "partners": [
            {"table": one["name"], "table_id": one["table_id"], "version": one["version"]}
            for one in change.plan.get("partners", ())
        ],
        "statement": change.statement,
        "status": change.status,
        "direction": change.direction,
        "who": change.who,
        "created_at": iso(change.created_at),
        "started_at": iso(change.started_at),
        "ended_at": iso(change.ended_at),
        "error": error_of(change),
    }


def error_of(change: Change) -> dict[str, Any] | None:
    """The error; its message is a sentence where it was one."""
    if change.error is None or "sentence" not in change.error:
        return change.error
    found = dict(change.error)
    return found | {"message": from_json(found.pop("sentence"))}


def iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def changes_in_flight() -> list[dict[str, Any]]:
    return [
        change_line(change) | {"step": current_step(change, execution_of(change)), "behind": behind(change)}
        for change in open_changes()
    ]


def recent_changes(limit: int = 50) -> list[dict[str, Any]]:
    return [change_line(change) for change in Change.objects.order_by("-id")[:limit]]


def behind(change: Change) -> list[int]:
    if change.status not in IN_QUEUE:
        return []
    own = Place(change.pk, frozenset(change.table_ids), change.status in MOVING, change.place or 0)
    return ahead_of(own, places())


def needless(plan: Plan, first: Collection[int]) -> list[int]:
    """Those among `first` that a DROP TABLE waits for in vain, and that may be cancelled (X6)."""
    if not plan.drops_table or not first:
        return []
    others = Change.objects.filter(pk__in=first).order_by("id")
    return [
        other.pk
        for other in others
        if plan.makes_needless(other.table_ids) and why_not(Intervention.CANCEL, standing_of(other)) is None
    ]


def current_step(change: Change, state: Execution) -> dict[str, Any] | None:
    if state.step is None or not change.is_open:
        return None
    return step_json(state.plan, state.position, state.step) | {"road": state.direction.value}


def change_snapshot(change_id: int) -> dict[str, Any]:
    """All that a page shows of one change. Raises `Change.DoesNotExist`."""
    change = Change.objects.get(pk=change_id)
    state = execution_of(change)
    standing, first, runs = standing_of(change, state), behind(change), runs_of(change_id)
    refused = why_not_each(standing)
    undone = _undo(change, state.plan) if change.status == Status.DONE and not change.was_needless else {}
    return (
        change_line(change)
        | {
            "plan": plan_json(state.plan),
            "road": state.direction.value,
            "position": state.position,
            "roads": timelines(change, state),
            "step": current_step(change, state),
            "blockers": blockers(change, state),
            "runs": [run_json(run) for run in runs],
            "behind": first,
            "needless": needless(state.plan, first),
            "may_cancel": refused["cancel"] is None,
            "may_pause": refused["pause"] is None,
            "may_resume": refused["resume"] is None,
            "may_throttle": why_no_throttle(standing, None, is_writing=writing_run(runs) is not None) is None,
            "why_not": refused,
            "approval": approval_of(change),
            "failure": failure(state.plan, [v for run in runs for v in run.violations], error_of(change)),
            "may_retry": change.status in RETRIED and why_not_retried(change) is None,
            "tried_again": [{"id": one.pk, "status": one.status} for one in tried_again(change)],
            "steered_by": settings.SUBMITTERS_STEER,
            "is_past_return": change.is_open and state.is_past_return,
            "wishes": change.wishes,
            "undo": None,
            "no_undo": "",
        }
        | undone
    )


def approval_of(change: Change) -> dict[str, Any] | None:
    """The decision of a second person, or that it is awaited; None when none is needed."""
    found = Approval.objects.filter(pk=change.pk).first()
    if found is None:
        return None
    return {"is_approved": found.is_approved, "who": found.who, "why": found.why, "at": iso(found.decided_at)}


def _undo(change: Change, plan: Plan) -> dict[str, Any]:
    try:
        found = undo_today.offer(plan, tables_ahead.catalog_view())
    except undo_today.NoUndo as none:
        return {"no_undo": str(none)}
    if found.plan.moving(MoveKind.ADD) and (later := _brought_back(change, found.plan)):
        return {"no_undo": str(undo_today.NoUndo("No undo: change {n} undoes it already.", n=later))}
    return {"undo": {"statement": found.undo.statement, "warning": found.undo.warning}}


def _brought_back(change: Change, undo: Plan) -> int | None:
    """A later change that brought back what this one dropped. New elements have new ids, so names tell it."""
    later = Change.objects.filter(pk__gt=change.pk, status__in=[*IN_QUEUE, Status.DONE]).order_by("id")
    of_table = Q(table_name=change.table_name) if undo.base is None else Q(table_id=change.table_id)
    wanted = undo_today.signature(undo.to_json()["moves"])
    found = later.filter(of_table).values_list("id", "plan__moves")
    return next((number for number, moves in found if undo_today.signature(moves) == wanted), None)


def timelines(change: Change, state: Execution) -> dict[str, list[dict[str, Any]]]:
    """The steps of both directions with times, waits and `when`; none for a change that had nothing to do."""
    if change.was_needless:
        return {Direction.FORWARD.value: []}
    kept = {(Direction(step.road), step.number): step for step in Step.objects.filter(change=change)}
    shown = {Direction.FORWARD: state.plan.forward} | (
        {Direction.BACK: state.steps} if state.direction is Direction.BACK else {}
    )
    begun = {direction: {number for at, number in kept if at is direction} for direction in shown}
    statuses = {direction: step_status(change, state, direction, begun[direction]) for direction in shown}
    return {
        direction.value: [
            step_json(state.plan, number, step)
            | times(kept.get((direction, number)))
            | {"when": statuses[direction][number]}
            for number, step in enumerate(steps)
        ]
        for direction, steps in shown.items()
    }


def step_status(change: Change, state: Execution, direction: Direction, begun: Collection[int]) -> list[str]:
    """The status of each step: done, current, todo; in the end left or never."""
    if direction is not state.direction:
        return status_before_rollback(state.plan.forward, begun, newest=state.plan.base_version + state.published)
    if change.is_open:
        at = -1 if change.status in (Status.AWAITING, Status.QUEUED) else state.position
        return ["done" if number < at else "current" if number == at else "todo" for number in range(len(state.steps))]
    return ["never" if direction is Direction.FORWARD and change.status != Status.DONE else "done"] * len(state.steps)


def times(step: Step | None) -> dict[str, Any]:
    if step is None:
        return {"started_at": None, "ended_at": None, "waited_for": [], "waited_s": 0.0, "tries": 0}
    return {
        "started_at": iso(step.started_at),
        "ended_at": iso(step.ended_at),
        "waited_for": step.waited_for,
        "waited_s": step.waited_s,
        "tries": step.tries,
    }


def blockers(change: Change, state: Execution) -> list[dict[str, Any]]:
    """The leases that block the change, the last to end first; else the transactions, each with its sessions."""
    found, step = leases_in_the_way(change, state), state.step
    if (
        not found
        and step is not None
        and state.mode is Mode.WAITING
        and step.kind in (StepKind.PUBLISH, StepKind.DRAIN)
    ):
        versions = {change.table_id: step.version} | {one.table_id: one.version for one in step.partners}
        with connection.cursor() as cursor:
            found = [
                one | {"table": name_of(state.plan, table)}
                for table, version in versions.items()
                for one in running(cursor, table, version, step.kind)
            ]
    sessions = sessions_by_use({one["node"] for one in found})
    return [one | {"sessions": sessions.get((one["node"], one["table_id"], one["version"]), [])} for one in found]


def leases_in_the_way(change: Change, state: Execution) -> list[dict[str, Any]]:
    step = state.step
    if not change.is_open or step is None or step.kind not in (StepKind.PUBLISH, StepKind.DRAIN):
        return []
    versions = {change.table_id: step.version} | {one.table_id: one.version for one in step.partners}
    with connection.cursor() as cursor:
        found = [lease for table, v in versions.items() for lease in _in_the_way(cursor, TableId(table), v, step.kind)]
    if not found:
        return []
    down = set(Node.objects.filter(state=Node.State.DOWN).values_list("name", flat=True))
    return [
        {"node": lease.node, "table_id": lease.table, "version": lease.version}
        | {"until": datetime.fromtimestamp(lease.expires_at, UTC).isoformat()}
        | {"table": name_of(state.plan, lease.table), "is_down": lease.node in down}
        for lease in sorted(found, key=lambda lease: (-lease.expires_at, lease.table, lease.node))
    ]


def _in_the_way(cursor: Any, table: TableId, version: int, kind: StepKind) -> tuple[rules.Lease, ...]:
    leases, at = leases_as_of_now(cursor, table)
    if kind is StepKind.PUBLISH:
        hindrance = rules.publish_hindrance(leases, table=table, next_version=version, now=at)
    else:
        hindrance = rules.drain_hindrance(leases, table=table, version=version, now=at)
    return () if hindrance is None else hindrance.leases


def leases_now() -> list[dict[str, Any]]:
    return [{"node": l.node, "version": l.version, "table_id": l.table_id} for l in leases_on()]  # noqa: E741


def waits_for_leases(table_ids: Collection[int] | None = None) -> list[dict[str, Any]]:
    """The changes that leases block, each with its step and these leases, the last to end first."""
    moving = Change.objects.filter(status__in=MOVING).order_by("id")
    found = []
    for change in moving if table_ids is None else moving.filter(table_ids__overlap=list(table_ids)):
        state = execution_of(change)
        held = leases_in_the_way(change, state)
        if held:
            shown = {"element": state.plan.headline, "step": current_step(change, state), "blockers": held}
            found.append(change_line(change) | shown)
    return found


SILENT_S = 5.0
BEGUN = (RunState.WAITING, RunState.RUNNING)


def runs_of(change_id: int) -> list[ReorgRun]:
    return list(ReorgRun.objects.filter(change_id=change_id).select_related("pulse").order_by("id"))


def open_run(runs: Iterable[ReorgRun]) -> ReorgRun | None:
    """The reorganisation that works, or will when it continues."""
    return next((run for run in runs if run.state in BEGUN and not run.is_closed), None)


def writing_run(runs: Iterable[ReorgRun]) -> ReorgRun | None:
    """The same, as long as it writes (R11)."""
    return open_run(run for run in runs if StepKind(run.kind) in WRITING)


def run_json(run: ReorgRun) -> dict[str, Any]:
    """A reorganisation: rows done and total, rate, ETA, and why it is no faster."""
    if not hasattr(run, "pulse"):
        run.pulse = ReorgPulse(run=run)
    pulse, status = run.pulse, status_of(run)
    kind, left = StepKind(run.kind), status.rows_total - status.rows_done
    guess = None
    is_unknown = status.eta_s is None and run.state in BEGUN and kind in ROWS_PER_S and left > 0
    silent_s = (now() - pulse.heartbeat_at).total_seconds() if pulse.heartbeat_at else 0.0
    if is_unknown:
        guess = estimate(kind, left, paces.observed(), pulse.rows_per_s_max)
        since_s = (now() - run.started_at).total_seconds() if run.started_at else 0.0
        guess = None if guess.has_run_out(since_s) else guess
    is_silent = run.state == RunState.RUNNING and silent_s > SILENT_S
    return {
        "id": run.pk,
        "kind": run.kind,
        "state": run.state,
        "version": run.version,
        "attempt": run.attempt,
        "rows_done": status.rows_done,
        "rows_total": status.rows_total,
        "is_exact": status.is_exact,
        "share": round(status.share, 4),
        "rows_per_s": round(status.rows_per_s, 1),
        "estimate": None if guess is None else asdict(guess),
        "eta_s": None if status.eta_s is None else round(status.eta_s, 1),
        "is_stalled": status.is_stalled or is_silent,
        "ranges_done": status.ranges_done,
        "ranges_total": status.ranges_total,
        "works": round(1.0 if run.state != RunState.RUNNING or pulse.rows_per_s_max is not None else pulse.works, 2),
        "felt": pulse.felt,
        "target": {"slower_ms": pulse.slower_ms_max, "throughput": pulse.throughput_min},
        "is_heard": run.state == RunState.RUNNING and not is_silent and pulse.heartbeat_at is not None,
        "throttle": pulse.rows_per_s_max,
        "throttle_reason": pulse.throttle_reason,
        "wanted": pulse.wanted,
        "error": run.error,
        "violations": run.violations,
        "started_at": iso(run.started_at),
        "ended_at": iso(run.ended_at),
    }
