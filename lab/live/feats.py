"""Feats of a person on the real cluster: predicates over replays, changes, audits and the story.

A person's sandboxes, dropped ones included, are those whose mark bears their name; what counts happened there, and was
asked for by them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from catalog.models import StoryEvent, Table
from catalog.story import CLUSTER
from changes.models import Change, Status, Step
from lab.live.replays import session_of
from lab.models import Replay
from lab.replays.feats import Feat
from spark_tasks.models import AuditJob


def has_done(who: str, feat: Feat) -> bool:
    """True once this person has done it."""
    return _has_replayed(who, feat) if feat.replay is not None else LOOKS[feat.name](who)


def _has_replayed(who: str, feat: Feat) -> bool:
    assert feat.replay is not None
    agreed = Replay.objects.filter(owner=who, outcome__result="compared", outcome__agree=True)
    return any(
        feat.clauses <= set(one.outcome["cluster"]) and session_of(one).setup == feat.replay.setup for one in agreed
    )


def _changes(who: str) -> list[Change]:
    """The changes of this person on sandboxes of their own."""
    own = Table.objects.filter(sandbox_of=who).values_list("id", flat=True)
    return list(Change.objects.filter(who=who, table_id__in=list(own)))


def _has_climbed(who: str) -> bool:
    """An index came, and an audit after that found nothing."""
    clean = AuditJob.objects.filter(violations_total=0, error="", ended_at__isnull=False)
    return any(
        clean.filter(table_id=change.table_id, started_at__gt=change.ended_at).exists()
        for change in _changes(who)
        if change.status == Status.DONE and "INDEX" in change.statement.upper()
    )


def _has_held_back(who: str) -> bool:
    return any(step.waited_for for step in Step.objects.filter(change__in=_changes(who)))


def _has_rolled_back(who: str) -> bool:
    return any(change.status == Status.FAILED for change in _changes(who))


def _has_killed(who: str) -> bool:
    """A change waited for somebody after this person had killed a process."""
    killed = StoryEvent.objects.filter(stream=CLUSTER, kind="process killed", payload__who=who).order_by("seq").first()
    if killed is None:
        return False
    return any(step.waited_for for step in Step.objects.filter(change__in=_changes(who), started_at__gt=killed.at))


def _has_thawed(who: str) -> bool:
    frozen = StoryEvent.objects.filter(stream=CLUSTER, kind="process frozen", payload__who=who)
    return any(
        StoryEvent.objects.filter(
            stream=CLUSTER, kind="process thawed", payload__process=event.payload["process"], seq__gt=event.seq
        ).exists()
        for event in frozen
    )


LOOKS: Mapping[str, Callable[[str], bool]] = {
    "full-ladder": _has_climbed,
    "held-back": _has_held_back,
    "rolled-back": _has_rolled_back,
    "killed": _has_killed,
    "thawed": _has_thawed,
}
