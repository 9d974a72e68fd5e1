"""Events that the executor receives, and effects that it asks of its shell. After a crash an effect may be asked for
again; the shell answers as if for the first time, and does nothing twice (X2):

    effect         answered by                  done already when
    TryPublish     Published | Blocked          the catalog has that version
    TryDrain       Drained | Blocked            the fence stands at that version
    StartRun       RunDone | RunFailed          the run is finished; one under way continues
    PauseRun       RunPaused                    the token has moved on since the last start
    CloseRun       RunClosed                    the token has moved on (no run: closed, too)

A cancel during a publish waits for its answer. A shell that sees the request first publishes nothing and answers
`Blocked` with an empty hindrance: then the cancel wins (X6). `StepFailed` answers any of them when it is impossible.
`Blocked` makes the machine ask `Wait`, which `Woken` answers.
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
    """An event for the story, appended in the transaction that makes it true (X7)."""

    kind: str
    payload: Mapping[str, Any] = field(default_factory=dict, hash=False)


# Events


@dataclass(frozen=True, slots=True)
class Started:
    """A worker has the schema-change lease; `newest` is the table's newest version (0: none)."""

    newest: int


@dataclass(frozen=True, slots=True)
class Published:
    version: int


@dataclass(frozen=True, slots=True)
class Drained:
    """No transaction uses an older version any more."""

    version: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """Not now. Empty hindrance: only a row was locked; try again soon."""

    hindrance: Hindrance


@dataclass(frozen=True, slots=True)
class Woken:
    """The reason to wait may be over."""


@dataclass(frozen=True, slots=True)
class RunDone:
    """The reorganisation is finished."""

    kind: StepKind
    rows: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The reorganisation failed and its own retries are used up."""

    kind: StepKind
    error: str


@dataclass(frozen=True, slots=True)
class RunClosed:
    """No run of this change can write any more."""


@dataclass(frozen=True, slots=True)
class RunPaused:
    """The run writes nothing before it is started again."""

    kind: StepKind


@dataclass(frozen=True, slots=True)
class StepFailed:
    """The step is impossible."""

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
    """This worker is no longer the executor; the next one begins with `Started`."""


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
    """Publish `descriptor` and `partners`, if L7 allows all of them (L11), with `story` and `partner_stories`."""

    version: int
    descriptor: Descriptor
    story: Story
    partners: tuple[Descriptor, ...] = ()
    partner_stories: tuple[Story, ...] = ()


@dataclass(frozen=True, slots=True)
class TryDrain:
    """Prove that no transaction uses a version older than `version` or those of `partners` (L9, L11)."""

    version: int
    story: Story
    partners: tuple[Descriptor, ...] = ()
    partner_stories: tuple[Story, ...] = ()


@dataclass(frozen=True, slots=True)
class StartRun:
    """Start or continue the reorganisation of `elements`, in this order, under `version`."""

    kind: StepKind
    elements: tuple[Element, ...]
    version: int


@dataclass(frozen=True, slots=True)
class PauseRun:
    """Pause between two chunks."""

    kind: StepKind


@dataclass(frozen=True, slots=True)
class CloseRun:
    """End all runs of the change for good (R7)."""

    version: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Answer `Woken` when a hindrance may have ended, or at `until` (None: soon)."""

    hindrance: Hindrance | None
    until: float | None


@dataclass(frozen=True, slots=True)
class AppendEvent:
    story: Story


@dataclass(frozen=True, slots=True)
class RefuseCancel:
    """The change cannot be cancelled, or need not be."""

    reason: str


class Outcome(Enum):
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Finish:
    """The change has ended: release the schema-change lease, free its names (L12), append `story`."""

    outcome: Outcome
    error: str | None
    story: Story


Effect = TryPublish | TryDrain | StartRun | PauseRun | CloseRun | Wait | AppendEvent | RefuseCancel | Finish
