"""An action on live nodes. `t` in a statement stands for the sandbox; transactions are numbered through the replay."""

from dataclasses import dataclass

from catalog.descriptor import Descriptor
from lab.texts import Text


@dataclass(frozen=True, slots=True)
class Given:
    """The first rows are inserted, each with its value; None: NULL."""

    rows: tuple[tuple[int, int | None], ...]


@dataclass(frozen=True, slots=True)
class Warm:
    """The node uses the table, so that it leases the version there is."""

    node: str


@dataclass(frozen=True, slots=True)
class Withhold:
    """From now on these nodes are sent no news of the sandbox."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """News of the sandbox is sent to these nodes again."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Still:
    """The node, which has heard nothing, uses this version of the model still."""

    node: str
    version: int


@dataclass(frozen=True, slots=True)
class Learn:
    """A wait until the node, which is sent no news, has learnt of this version as it renewed its lease."""

    node: str
    version: int


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction begins on the node, and must use this version of the model."""

    transaction: int
    node: str
    version: int


@dataclass(frozen=True, slots=True)
class Run:
    """A statement of an open transaction."""

    transaction: int
    sql: str


@dataclass(frozen=True, slots=True)
class End:
    """A transaction commits, or rolls back."""

    transaction: int
    commits: bool


@dataclass(frozen=True, slots=True)
class Publish:
    """This version of the model is published on the sandbox, whoever uses which older one."""

    version: int
    table: Descriptor


@dataclass(frozen=True, slots=True)
class Use:
    """A wait until the node uses this version of the model; it is sent news of it, also where that was withheld."""

    node: str
    version: int


@dataclass(frozen=True, slots=True)
class Submit:
    """The index by_a is asked for as any change is, and goes its way by the rules."""

    unique: bool


@dataclass(frozen=True, slots=True)
class Await:
    """A wait until the change has published this version of the model."""

    version: int


@dataclass(frozen=True, slots=True)
class Finish:
    """A wait until the change has ended."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A wait until the change waits for this node; or, not `waits`, until it has gone on without having waited."""

    node: str
    waits: bool


@dataclass(frozen=True, slots=True)
class Process:
    """An accident of a node's process, or an operator's act after it: `drain`, or a command of the supervisor: `kill`,
    `start`, `freeze`, `thaw`."""

    command: str
    node: str


@dataclass(frozen=True, slots=True)
class LeaseOver:
    """A wait until no lease of this node is live: it is away and extends none."""

    node: str


@dataclass(frozen=True, slots=True)
class LateCommit:
    """A transaction tries to commit; by the model it is refused, or it is not."""

    transaction: int
    is_refused: bool


Action = (
    Given
    | Warm
    | Withhold
    | Spread
    | Still
    | Learn
    | Begin
    | Run
    | End
    | Publish
    | Use
    | Submit
    | Await
    | Finish
    | Blocked
    | Process
    | LeaseOver
    | LateCommit
)


@dataclass(frozen=True, slots=True)
class Narrated:
    """An action, and the sentence for whoever watches."""

    action: Action
    text: Text


@dataclass(frozen=True, slots=True)
class Script:
    """A replay: its actions in order. `lags`: a node must be behind the news, until it renews its lease, so it may take
    several attempts. `ends`: how the change that is submitted ends by the model, "" where none is."""

    actions: tuple[Narrated, ...]
    nodes: tuple[str, ...]
    lags: bool = False
    ends: str = ""

    @property
    def harms(self) -> bool:
        """True if it kills, freezes or drains a node, which others use, too."""
        return any(isinstance(narrated.action, Process) for narrated in self.actions)

    @property
    def waits_for_leases(self) -> bool:
        """True if it goes on when leases run out, or are renewed."""
        return any(isinstance(narrated.action, Process | Learn) for narrated in self.actions)


PUBLIC, ROLLED_BACK = "public", "rolled back"
"""The ends of a change: its index is public, or it has failed and nothing of it is left."""
