"""The events that the executor of a change is fed, and the effects that it asks of its shell.

Every question has an answer, and a question may be asked again: after a crash the shell
answers it as if for the first time, without doing anything twice (X2).

    effect         answered by                  done already when
    TryPublish     Published | Blocked          the catalog has that version
    TryDrain       Drained | Blocked            the fence stands at that version
    StartRun       RunDone | RunFailed          the run is finished; one under way goes on
    PauseRun       RunPaused                    the token has moved on since the last start
    CloseRun       RunClosed                    the token has moved on (no run: closed, too)

A request to cancel that comes while a publish is asked for waits for its answer. A shell that
sees the request first, under the change's row, publishes nothing and answers `Blocked` with an
empty hindrance: then the cancel wins (X6).

`StepFailed` answers any of them when it cannot be done at all. `Blocked` makes the machine
say `Wait`; the shell answers that with `Woken`, when a blocker goes or at `until`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from catalog.descriptor import Descriptor
from changes.plan.model import Element, StepKind
from leases.rules import Hindrance


@dataclass(frozen=True, slots=True)
class Story:
    """An event for the story, to be appended in the transaction that makes it true (X7). See `catalog.story`."""

    kind: str
    payload: Mapping[str, Any] = field(default_factory=dict, hash=False)


# Events


@dataclass(frozen=True, slots=True)
class Started:
    """A worker has the schema-change lease; `newest` is the table's newest version in the catalog (0: none)."""

    newest: int


@dataclass(frozen=True, slots=True)
class Published:
    version: int


@dataclass(frozen=True, slots=True)
class Drained:
    """Nobody uses an older version any more."""

    version: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """Not now. Without leases and locks: only a row was locked, or the way is being cleared; try again soon."""

    hindrance: Hindrance


@dataclass(frozen=True, slots=True)
class Woken:
    """The reason to wait may be over."""


@dataclass(frozen=True, slots=True)
class RunDone:
    """The reorganisation is finished: so many rows, in so many seconds."""

    kind: StepKind
    rows: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The reorganisation cannot be finished; its own retries are used up."""

    kind: StepKind
    error: str


@dataclass(frozen=True, slots=True)
class RunClosed:
    """No chunk of any run of this change can be written any more."""


@dataclass(frozen=True, slots=True)
class RunPaused:
    """No chunk of the run can be written before it is started again."""

    kind: StepKind


@dataclass(frozen=True, slots=True)
class StepFailed:
    """The step that was asked for cannot be done."""

    error: str


@dataclass(frozen=True, slots=True)
class CancelRequested:
    who: str


@dataclass(frozen=True, slots=True)
class PauseRequested:
    who: str


@dataclass(frozen=True, slots=True)
class ResumeRequested:
    who: str


@dataclass(frozen=True, slots=True)
class LeaseLost:
    """This worker is not the executor any more; whoever is next begins with `Started`."""


Event = (
    Started
    | Published
    | Drained
    | Blocked
    | Woken
    | RunDone
    | RunFailed
    | RunClosed
    | RunPaused
    | StepFailed
    | CancelRequested
    | PauseRequested
    | ResumeRequested
    | LeaseLost
)


# Effects


@dataclass(frozen=True, slots=True)
class TryPublish:
    """Publish `descriptor` as `version`, and `partners` with it, if L7 allows for all (L11); tell `story` with it.

    `partner_stories` tell the same of each partner, for those who follow that table.
    """

    version: int
    descriptor: Descriptor
    story: Story
    partners: tuple[Descriptor, ...] = ()
    partner_stories: tuple[Story, ...] = ()


@dataclass(frozen=True, slots=True)
class TryDrain:
    """Prove that nobody uses a version older than `version`, nor one older than its `partners`' (L9, L11)."""

    version: int
    story: Story
    partners: tuple[Descriptor, ...] = ()
    partner_stories: tuple[Story, ...] = ()


@dataclass(frozen=True, slots=True)
class StartRun:
    """Start the reorganisation of `elements`, in this order, or let it go on, under `version`."""

    kind: StepKind
    elements: tuple[Element, ...]
    version: int


@dataclass(frozen=True, slots=True)
class PauseRun:
    """Let it rest between two chunks."""

    kind: StepKind


@dataclass(frozen=True, slots=True)
class CloseRun:
    """End every run of the change for good (R7)."""

    version: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Say `Woken` when one of the hindrances may be gone, or at `until` at the latest (None: after a moment)."""

    hindrance: Hindrance | None
    until: float | None


@dataclass(frozen=True, slots=True)
class AppendEvent:
    story: Story


@dataclass(frozen=True, slots=True)
class RefuseCancel:
    """The change cannot be cancelled, or needs not be."""

    reason: str


class Outcome(Enum):
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finish:
    """The change has ended: give back the schema-change lease, free the names it gave up (L12), tell `story`."""

    outcome: Outcome
    error: str | None
    story: Story


Effect = TryPublish | TryDrain | StartRun | PauseRun | CloseRun | Wait | AppendEvent | RefuseCancel | Finish
