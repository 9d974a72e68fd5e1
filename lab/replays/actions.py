"""Actions on live nodes. `t` in a statement is the sandbox; transactions are numbered through the replay."""

from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.text.message import Text


class Action:
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Given(Action):
    """Inserts the first rows with their values; None: NULL."""

    rows: tuple[tuple[int, int | None], ...]


@dataclass(frozen=True, slots=True)
class Warm(Action):
    """The node uses the table, so that it leases the current version."""

    node: str


@dataclass(frozen=True, slots=True)
class Withhold(Action):
    """These nodes get no more news of the sandbox."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spread(Action):
    """These nodes get news of the sandbox again."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Still(Action):
    """The node, without news, still uses this version of the model."""

    node: str
    version: int


@dataclass(frozen=True, slots=True)
class Learn(Action):
    """Waits until the node, without news, learns of this version as it renews its lease."""

    node: str
    version: int


@dataclass(frozen=True, slots=True)
class Begin(Action):
    """A transaction begins on the node, and must use this version of the model."""

    transaction: int
    node: str
    version: int


@dataclass(frozen=True, slots=True)
class Run(Action):
    transaction: int
    sql: str


@dataclass(frozen=True, slots=True)
class End(Action):
    transaction: int
    commits: bool


@dataclass(frozen=True, slots=True)
class Publish(Action):
    """Publishes this version on the sandbox, whatever older versions are in use."""

    version: int
    table: Descriptor


@dataclass(frozen=True, slots=True)
class Use(Action):
    """Sends the node news, and waits until it uses this version of the model."""

    node: str
    version: int


@dataclass(frozen=True, slots=True)
class Submit(Action):
    """Submits the index by_a as an ordinary change."""

    unique: bool


@dataclass(frozen=True, slots=True)
class Await(Action):
    """Waits until the change has published this version of the model."""

    version: int


@dataclass(frozen=True, slots=True)
class Finish(Action):
    """A wait until the change has ended."""


@dataclass(frozen=True, slots=True)
class Blocked(Action):
    """Waits until the change waits for this node; without `waits`: until it has gone on without waiting."""

    node: str
    waits: bool


@dataclass(frozen=True, slots=True)
class Process(Action):
    """`drain`, or a command of the supervisor: `kill`, `start`, `freeze`, `thaw`."""

    command: str
    node: str


@dataclass(frozen=True, slots=True)
class LeaseOver(Action):
    """Waits until no lease of this node is live."""

    node: str


@dataclass(frozen=True, slots=True)
class LateCommit(Action):
    """A transaction tries to commit; by the model it is refused, or it is not."""

    transaction: int
    is_refused: bool


@dataclass(frozen=True, slots=True)
class Narrated:
    action: Action
    text: Text


@dataclass(frozen=True, slots=True)
class Script:
    """`lags`: a node waits for its lease, so it may take several attempts. `ends`: how the change ends, or ""."""

    actions: tuple[Narrated, ...]
    nodes: tuple[str, ...]
    lags: bool = False
    ends: str = ""

    @property
    def harms(self) -> bool:
        return any(isinstance(narrated.action, Process) for narrated in self.actions)

    @property
    def waits_for_leases(self) -> bool:
        """True if it goes on when leases expire, or are renewed."""
        return any(isinstance(narrated.action, Process | Learn) for narrated in self.actions)


PUBLIC, ROLLED_BACK = "public", "rolled back"
