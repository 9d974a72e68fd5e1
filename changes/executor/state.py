"""The state of `changes.executor.machine`: all that a new worker needs (X3)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from catalog.text.sentence import Sentence, from_json, to_json
from changes.executor.events import Outcome
from changes.plan.model import Plan, Step, StepKind, describe, plan_from_json
from changes.plan.rollback import rollback_steps

Json = dict[str, Any]

HISTORY_MAX = 40
"""So many of the last events are kept for the message of a mistake."""


class Mode(Enum):
    """The event that the machine waits for."""

    QUEUED = "queued"
    """the first worker"""
    ASKING = "asking"
    """the answer to the step it asked for"""
    WAITING = "waiting"
    """a blocker to go, or a retry's time"""
    PAUSED = "paused"
    """a person"""
    LEASE_LOST = "adrift"
    """the next worker"""
    ENDED = "ended"
    """nothing"""


class Direction(Enum):
    FORWARD = "forward"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class Execution:
    """The state of a change. `position` is its step in its direction, `asked`: its answer is outstanding. `published`
    counts the versions published forward. `error` is why it rolls back, `trouble` what is being retried."""

    change: int
    plan: Plan
    mode: Mode = Mode.QUEUED
    direction: Direction = Direction.FORWARD
    position: int = 0
    published: int = 0
    error: str | None = None
    cancelled_by: str | None = None
    cancel_wanted: str | None = None
    pause_wanted: str | None = None
    asked: bool = False
    retries: int = 0
    trouble: str | None = None
    waited_since: float | None = None
    waited_for: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    _rollbacks: dict[int, tuple[Plan, tuple[Step, ...]]] = field(default_factory=dict, repr=False, compare=False)
    """The answers of `rollback_steps`, by versions published: handed on from state to state."""

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.plan.forward if self.direction is Direction.FORWARD else self._rollback()

    def _rollback(self) -> tuple[Step, ...]:
        plan, steps = self._rollbacks.get(self.published, (None, ()))
        if plan is not self.plan:
            steps = rollback_steps(self.plan, self.published)
            self._rollbacks[self.published] = self.plan, steps
        return steps

    @property
    def step(self) -> Step | None:
        steps = self.steps
        return steps[self.position] if self.position < len(steps) else None

    @property
    def version(self) -> int:
        """The newest version this change has published, or the one it found."""
        back = self.steps[: self.position] if self.direction is Direction.BACK else ()
        return self.plan.base_version + self.published + sum(step.kind is StepKind.PUBLISH for step in back)

    @property
    def is_past_return(self) -> bool:
        """It can no longer roll back (X6)."""
        if self.direction is Direction.BACK:
            return False
        has_begun = self.asked or self.position > self.plan.point_of_no_return
        return self.position > self.plan.last_reversible and has_begun

    @property
    def is_publishing(self) -> bool:
        """Unknown yet whether the version it asked for is published."""
        return self.asked and self.step is not None and self.step.kind is StepKind.PUBLISH

    @property
    def outcome(self) -> Outcome:
        if self.direction is Direction.FORWARD:
            return Outcome.DONE
        return Outcome.FAILED if self.error else Outcome.CANCELLED

    def to_json(self) -> Json:
        return {
            "change": self.change,
            "plan": self.plan.to_json(),
            "mode": self.mode.value,
            "road": self.direction.value,
            "position": self.position,
            "published": self.published,
            "error": None if self.error is None else to_json(self.error),
            "cancelled_by": self.cancelled_by,
            "cancel_wanted": self.cancel_wanted,
            "pause_wanted": self.pause_wanted,
            "asked": self.asked,
            "retries": self.retries,
            "trouble": None if self.trouble is None else to_json(self.trouble),
            "waited_since": self.waited_since,
            "waited_for": list(self.waited_for),
            "history": list(self.history),
        }


def execution_from_json(body: Mapping[str, Any]) -> Execution:
    fields = dict(body)
    fields |= {
        "plan": plan_from_json(body["plan"]),
        "mode": Mode(body["mode"]),
        "direction": Direction(fields.pop("road")),
        "error": None if body["error"] is None else from_json(body["error"]),
        "trouble": None if body["trouble"] is None else from_json(body["trouble"]),
    }
    fields |= {"waited_for": tuple(body["waited_for"]), "history": tuple(body["history"])}
    return Execution(**fields)


def name_of(plan: Plan, table_id: int) -> str:
    return next((partner.name for partner in plan.partners if partner.table_id == table_id), plan.table)


def uses_waited_for(waited_for: Iterable[str]) -> dict[str, list[str]]:
    """Nodes that were waited for, with the tables each uses where several are involved."""
    uses: dict[str, list[str]] = {}
    for one in waited_for:
        node, _, table = one.partition(" on ")
        uses.setdefault(node, []).extend([table] if table else [])
    return uses


def whom(waited_for: Iterable[str]) -> str:
    """Nodes in one phrase: "n1, n2 on airports and trips; n3 on trips"."""
    by_use: dict[str, list[str]] = {}
    for node, tables in uses_waited_for(waited_for).items():
        by_use.setdefault(" and ".join(tables), []).append(node)
    return "; ".join(f"{', '.join(nodes)} on {use}" if use else ", ".join(nodes) for use, nodes in by_use.items())


def where(state: Execution) -> str:
    return describe(state.plan, state.step) if state.step else Sentence("the end of its steps")
