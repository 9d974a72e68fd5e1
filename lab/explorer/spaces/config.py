"""One state of a model's world. An event is a tuple of words and numbers, `step_id` its name in links and files. A
transaction holds what changed since its snapshot: `dirty`, slots that other transactions wrote (touching one at commit
is 40001), and `unseen`, slots that a reorganisation wrote, which it neither reads nor removes."""

from typing import NamedTuple

from lab.explorer.contents.statements import Row, Statement
from lab.explorer.plans.program import Use
from lab.explorer.plans.small_tables import NAMES
from lab.explorer.spaces.fill import Ranges, Step

BEGUN, HAS_READ, HAS_WRITTEN = 0, 1, 2
HAS_SNAPSHOT, HAS_PINNED = 11, 12
"""Before it has entered, where the snapshot is older than that: such a transaction has no lock yet."""


class NodeLease(NamedTuple):
    """A version of a table (0: none), and whether the lease on it is live."""

    version: int
    live: bool


NOTHING_HELD = NodeLease(0, live=False)


class Transaction(NamedTuple):
    """An open transaction. `held` are its versions; `live` is kept there if the node has a newer one. `snapshot`: the
    contents it reads, set only if they may change before it commits."""

    held: tuple[NodeLease, ...]
    phase: int = BEGUN
    row: Row = ()
    statement: Statement | None = None
    dirty: int = 0
    unseen: int = 0
    snapshot: int | None = None
    newest: int = 0
    """The newest version in its snapshot, and the fence there, where those are older than its enter."""
    fence: int = 0

    @property
    def has_entered(self) -> bool:
        return self.phase not in (HAS_SNAPSHOT, HAS_PINNED)

    @property
    def use(self) -> Use:
        return tuple(held.version for held in self.held)


class Node(NamedTuple):
    held: tuple[NodeLease, ...]
    transaction: Transaction | None = None

    @property
    def use(self) -> Use:
        return tuple(held.version for held in self.held)


class Config(NamedTuple):
    """One state of the world. `given`: the first rows may still be chosen."""

    stop: int
    contents: int
    nodes: tuple[Node, ...]
    ranges: Ranges
    crashes: int
    operations: int
    given: bool = False


class Impossible(ValueError):
    """A step that cannot be taken in this state. Says which, and why not."""


def step_id(step: Step) -> str:
    words = (word for part in step for word in (part if isinstance(part, tuple) else (part,)))
    return ".".join(str(word) for word in words)


def sorted_nodes(config: Config) -> Config:
    """Nodes are alike, so one order stands for all."""
    return config._replace(nodes=tuple(sorted(config.nodes, key=_node_order)))


def _node_order(node: Node) -> tuple[object, ...]:
    t = node.transaction
    statement = () if t is None else t.statement or ()
    snapshot = -1 if t is None or t.snapshot is None else t.snapshot
    held = () if t is None else (t.held, t.phase, tuple(map(str, t.row)), statement, t.dirty, t.unseen, snapshot)
    late = () if t is None else (t.newest, t.fence)
    return node.held, held, late


def version_words(use: Use) -> str:
    """ "v2", or the version of each table: "child@2, parent@1"."""
    if len(use) == 1:
        return f"v{use[0]}"
    return ", ".join(f"{name}@{version}" for name, version in zip(NAMES, use, strict=True))
