"""Feats of a person on the real cluster: predicates over replays, changes, audits and the story. Only this person's own
acts count, on sandboxes of their own, dropped ones included. A change must have waited for the very node that they
killed until its lease was over and it was still down; after a thaw the audit must find nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from catalog.elements import Index
from catalog.models import StoryEvent, Table
from catalog.story import CLUSTER, change_stream
from changes.executor.state import uses_waited_for
from changes.models import Change, Status, Step
from changes.plan.model import plan_from_json
from lab.live.carry_out import UNIQUE_VIOLATION
from lab.live.holding import HELD_BACK
from lab.live.replays import session_of
from lab.models import Replay
from lab.replays.feats import Feat
from spark_tasks.models import AuditJob, Kind, ReorgPulse

ENDS_OF = {"process killed": ("process restarted", "process started"), "process frozen": ("process thawed",)}
"""The events after which a killed or frozen node is back."""


def has_done(who: str, feat: Feat) -> bool:
    return _has_replayed(who, feat) if feat.replay is not None else LOOKS[feat.name](who)


def _has_replayed(who: str, feat: Feat) -> bool:
    assert feat.replay is not None
    agreed = Replay.objects.filter(owner=who, outcome__result="compared", outcome__agree=True)
    for one in agreed:
        session = session_of(one)
        if (
            feat.clauses <= set(one.outcome["cluster"])
            and feat.ends in ("", one.outcome.get("ends", {}).get("cluster"))
            and session.setup == feat.replay.setup
            and feat.step in ("", *session.steps)
        ):
            return True
    return False


# Indexes


def _changes(who: str) -> list[Change]:
    own = Table.objects.filter(sandbox_of=who).values_list("id", flat=True)
    return list(Change.objects.filter(who=who, table_id__in=list(own)))


def _new_indexes(change: Change) -> list[Index]:
    plan = plan_from_json(change.plan)
    if plan.base is None or plan.result is None:
        return []
    before = {index.id for index in plan.base.indexes}
    return [index for index in plan.result.indexes if index.id not in before]


def _is_clean(table_id: int, since: datetime | None) -> bool:
    """True if an audit that began after that found nothing, and there were rows to judge."""
    clean = AuditJob.objects.filter(table_id=table_id, violations_total=0, error="", ended_at__isnull=False, rows__gt=0)
    return since is not None and clean.filter(started_at__gt=since).exists()


def _climbed(who: str) -> Iterator[Change]:
    for change in _changes(who):
        if change.status == Status.DONE and _new_indexes(change) and _is_clean(change.table_id, change.ended_at):
            yield change


def _has_climbed(who: str) -> bool:
    return any(_climbed(who))


def _has_filled(who: str) -> bool:
    return any(
        ReorgPulse.objects.filter(run__change_id=change.pk, run__kind=Kind.FILL, rows_done__gt=0).exists()
        for change in _climbed(who)
    )


def _has_rolled_back(who: str) -> bool:
    return any(
        (change.error or {}).get("sqlstate") == UNIQUE_VIOLATION and any(one.unique for one in _new_indexes(change))
        for change in _changes(who)
        if change.status == Status.FAILED
    )


# Waits


def _has_held_back(who: str) -> bool:
    streams = [change_stream(change.pk) for change in _changes(who)]
    return StoryEvent.objects.filter(stream__in=streams, kind=HELD_BACK, payload__who=who).exists()


@dataclass(frozen=True, slots=True)
class _Away:
    """Node `node` was killed, or frozen, by somebody; `back_by` has brought it back at `until` (None: not yet)."""

    node: str
    since: datetime
    until: datetime | None
    back_by: str

    def passed_by(self, step: Step) -> bool:
        if step.ended_at is None or self.node not in uses_waited_for(step.waited_for):
            return False
        return self.since < step.ended_at and (self.until is None or step.ended_at < self.until)


def _away(who: str, kind: str) -> Iterator[_Away]:
    for event in StoryEvent.objects.filter(stream=CLUSTER, kind=kind, payload__who=who):
        node = event.payload["process"]
        later = StoryEvent.objects.filter(stream=CLUSTER, kind__in=ENDS_OF[kind], seq__gt=event.seq)
        back = later.filter(payload__process=node).order_by("seq").first()
        yield _Away(
            node, event.at, None if back is None else back.at, "" if back is None else back.payload.get("who", "")
        )


def _has_killed(who: str) -> bool:
    steps = list(Step.objects.filter(change__in=_changes(who)))
    return any(away.passed_by(step) for away in _away(who, "process killed") for step in steps)


def _has_thawed(who: str) -> bool:
    steps = list(Step.objects.filter(change__in=_changes(who)).select_related("change"))
    return any(
        away.passed_by(step) and _is_clean(step.change.table_id, away.until)
        for away in _away(who, "process frozen")
        if away.back_by == who
        for step in steps
    )


LOOKS: Mapping[str, Callable[[str], bool]] = {
    "full-ladder": _has_climbed,
    "filled": _has_filled,
    "held-back": _has_held_back,
    "rolled-back": _has_rolled_back,
    "killed": _has_killed,
    "thawed": _has_thawed,
}
