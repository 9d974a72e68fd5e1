"""The shape of everything a session shows, on any machine. The trace has all steps, those after `at` included: going
back keeps the future. The browser only draws: no rule of the protocol is in JavaScript."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from catalog.text.message import NOTHING as NOTHING
from catalog.text.message import Text as Text


class Severity(Enum):
    HOLDS = "holds"
    DANGER = "danger"
    """Broken under an older version in force only, which could not tidy up: no query has met it yet."""

    DAMAGE = "damage"
    """Users meet it: C2, C4, C5, C6, a lost write, or a third version."""


class Difference(Enum):
    """A pair, against the position before."""

    SAME = ""
    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


@dataclass(frozen=True, slots=True)
class Offer:
    """A step that may be taken if `why_not` is empty. `is_statement`: a statement, or a step of one; a whole one
    `takes` all its steps (begin, read, write, commit)."""

    id: str
    actor: str
    label: Text
    takes: tuple[str, ...] = ()
    why_not: Text = NOTHING
    rule: str = ""
    is_statement: bool = False
    changes_nothing: bool = False


@dataclass(frozen=True, slots=True)
class Element:
    """`state` is a value of `catalog.elements.State`."""

    name: str
    kind: str
    state: str
    is_filling: bool = False


@dataclass(frozen=True, slots=True)
class Version:
    table: str
    number: int
    elements: tuple[Element, ...]
    is_newest: bool
    is_in_force: bool


@dataclass(frozen=True, slots=True)
class Lease:
    """`left_s` and `length_s` are seconds, if the session has a clock."""

    table: str
    version: int
    is_live: bool
    left_s: float | None = None
    length_s: float | None = None


@dataclass(frozen=True, slots=True)
class Transaction:
    """The version it pinned of each table, and its statements so far."""

    versions: Mapping[str, int]
    did: Text
    why_not_commit: Text = NOTHING


@dataclass(frozen=True, slots=True)
class Node:
    """`condition` is running, frozen, down or cut off."""

    name: str
    condition: str
    leases: tuple[Lease, ...]
    transactions: tuple[Transaction, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    sender: str
    receiver: str
    text: Text
    is_lost: bool = False
    """It has not arrived, and never will."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair of the store. Entries stand beside their row: `row` is its number, "" without one. `storage` counts from
    1, `sort` is row, value or entry. `unseen_by`: versions in force without the pair's element."""

    id: str
    table: str
    storage: int
    row: str
    sort: str
    key: str
    value: str
    difference: Difference
    is_tombstone: bool = False
    dangles: bool = False
    unseen_by: tuple[int, ...] = ()
    is_new: bool = False
    """In the new placement of a table that gets another one."""

    @property
    def is_there(self) -> bool:
        """False for a pair of the position before only: a page animates its end."""
        return self.difference is not Difference.REMOVED


@dataclass(frozen=True, slots=True)
class PlanStep:
    """`status` is done, now or ahead."""

    text: Text
    status: str


@dataclass(frozen=True, slots=True)
class Cluster:
    versions: tuple[Version, ...]
    nodes: tuple[Node, ...]
    pairs: tuple[Pair, ...]
    plan: tuple[PlanStep, ...] = ()
    messages: tuple[Message, ...] = ()
    clock_s: float | None = None

    @property
    def present(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.is_there)


@dataclass(frozen=True, slots=True)
class Verdict:
    clause: str
    version: int
    severity: Severity
    why: Text


@dataclass(frozen=True, slots=True)
class Strip:
    """A clause at each position, the start first."""

    clause: str
    cells: tuple[Severity, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    version: int
    query: str
    by_table: tuple[str, ...]
    by_index: tuple[str, ...] | None
    """None where the version may not read the index."""

    differs: bool = field(init=False)

    def __post_init__(self) -> None:
        differs = self.by_index is not None and set(self.by_index) != set(self.by_table)
        object.__setattr__(self, "differs", differs)


@dataclass(frozen=True, slots=True)
class TraceLine:
    """A step that was taken: an arrow from `actor` to `to` ("" for no other lane). `until`: the position after it, set
    by `lab.sessions.fold`, where a whole statement may be one line."""

    id: str
    actor: str
    to: str
    text: Text
    severity: Severity = Severity.HOLDS
    until: int = 0
    statement: Text = NOTHING


@dataclass(frozen=True, slots=True)
class RefusedStep:
    """The first step that could not be taken: the trace ends before it."""

    at: int
    step: str
    label: Text
    why: Text


SAY_WHO_ACTS = frozenset({"executor", "time", "network", "office"})
"""Actors whose steps name them, or need no name."""


def step_text(actor: str, label: Text) -> Text:
    if actor in SAY_WHO_ACTS:
        return label
    return Text("{actor}: {step}", {"actor": Text("fill") if actor == "fill" else actor, "step": label})


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session at position `at` (0: before its first step)."""

    at: int
    actors: tuple[str, ...]
    offers: tuple[Offer, ...]
    cluster: Cluster
    verdicts: tuple[Verdict, ...]
    strip: tuple[Strip, ...]
    probe: tuple[Probe, ...]
    trace: tuple[TraceLine, ...]
    refused: RefusedStep | None = None
