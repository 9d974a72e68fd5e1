"""The one shape of everything a session shows, whichever machine it runs on: the explorer's model, the lab's cluster,
or the handbooks of the first chapter.

    Shown
      trace      one line per step of the session, those after `at` included: going back keeps the future
      strip      a row per clause, a cell per position 0..n
      offers     what each actor may do at `at`, and what it may not do and why
      cluster    versions, nodes, messages, pairs as they are at `at`, with the difference to the position before
      probe      what readers find by table and by index under each version in force

Texts are `Text`: a template in English and what stands in it, so that a page can put them into another language.
The browser draws this; it never works anything out from it (no rule of the protocol is written in JavaScript).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any

from lab.texts import NOTHING as NOTHING
from lab.texts import Text as Text


class Severity(Enum):
    """The weight of a broken clause: danger is not damage."""

    HOLDS = "holds"
    DANGER = "danger"
    """Broken under an older version in force only, which could not tidy up: nobody has met it yet."""

    DAMAGE = "damage"
    """Somebody meets it: C2, C4, C5, C6, a lost write, or a third version."""


class Difference(Enum):
    """A pair, against the position before."""

    SAME = ""
    ADDED = "+"
    REMOVED = "-"
    CHANGED = "~"


@dataclass(frozen=True, slots=True)
class Offer:
    """A step somebody may want to take; `why_not` is empty when it may be taken.

    `is_statement`: it is a statement, or a step of one; a whole one `takes` all its steps (begin, read, write, commit).
    `changes_nothing`: it leaves all as it is.
    """

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
    """An element in a version: its state is a value of `catalog.elements.State`."""

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
    """A node's lease. `left_s` and `length_s` are seconds, where the session has a clock."""

    table: str
    version: int
    is_live: bool
    left_s: float | None = None
    length_s: float | None = None


@dataclass(frozen=True, slots=True)
class Transaction:
    """An open transaction: the version it pinned of each table, and what it has done so far."""

    versions: Mapping[str, int]
    did: Text
    why_not_commit: Text = NOTHING


@dataclass(frozen=True, slots=True)
class Node:
    """A node: `condition` is running, frozen, down or cut off."""

    name: str
    condition: str
    leases: tuple[Lease, ...]
    transactions: tuple[Transaction, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """On its way to a node, or from it."""

    id: str
    sender: str
    receiver: str
    text: Text
    is_lost: bool = False
    """It has not arrived, and never will."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair of the store. Entries stand beside the row they belong to: `row` is its number, or "" when it has none.

    `storage` is counted from 1, `sort` is row, value or entry. `unseen_by` are the versions in force that do not know
    of the pair's element.
    """

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
        """False of one that only the position before has: a page draws it going."""
        return self.difference is not Difference.REMOVED


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of the executor: `status` is done, now or ahead."""

    text: Text
    status: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """Versions, nodes and pairs at a position."""

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
    """A clause under a version that does not hold at a position."""

    clause: str
    version: int
    severity: Severity
    why: Text


@dataclass(frozen=True, slots=True)
class Strip:
    """A clause, and how it is at each position, the start first."""

    clause: str
    cells: tuple[Severity, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """Rows that a query finds under a version in force, by the table and by an index."""

    version: int
    query: str
    by_table: tuple[str, ...]
    by_index: tuple[str, ...] | None
    """None where the version may not read the index."""

    @property
    def differs(self) -> bool:
        return self.by_index is not None and set(self.by_index) != set(self.by_table)


@dataclass(frozen=True, slots=True)
class TraceLine:
    """A step that was taken: an arrow from `actor` to `to` ("" when it concerns nobody else).

    `until` is the position after it, where `lab.sessions.fold` has set it: a whole statement may be one line, in the
    plain words of `statement` where its last step has them.
    """

    id: str
    actor: str
    to: str
    text: Text
    severity: Severity = Severity.HOLDS
    until: int = 0
    statement: Text = NOTHING


@dataclass(frozen=True, slots=True)
class Refused:
    """The first step of a session that could not be taken: the trace ends before it. `label` is the step in words."""

    at: int
    step: str
    label: Text
    why: Text


SAY_WHO_ACTS = frozenset({"executor", "time", "network", "office"})
"""Actors whose steps name them, or need no name."""


def step_text(actor: str, label: Text) -> Text:
    """A step in words, with whose it is."""
    if actor in SAY_WHO_ACTS:
        return label
    return Text("{actor}: {step}", {"actor": Text("fill") if actor == "fill" else actor, "step": label})


@dataclass(frozen=True, slots=True)
class Shown:
    """Everything shown at position `at` of a session (0: before its first step)."""

    at: int
    actors: tuple[str, ...]
    offers: tuple[Offer, ...]
    cluster: Cluster
    verdicts: tuple[Verdict, ...]
    strip: tuple[Strip, ...]
    probe: tuple[Probe, ...]
    trace: tuple[TraceLine, ...]
    refused: Refused | None = None


def to_json(value: Any, say: Callable[[Text], str] = str) -> Any:
    """`Shown`, or a part of it, as JSON has it: enums by value, texts as `say` words them (English by default)."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Text):
        return say(value)
    if isinstance(value, tuple | list | frozenset):
        return [to_json(one, say) for one in value]
    if isinstance(value, Mapping):
        return {name: to_json(one, say) for name, one in value.items()}
    body = {name: to_json(getattr(value, name), say) for name in _names_of(type(value))}
    return body | {"differs": value.differs} if isinstance(value, Probe) else body


_NAMES: dict[type[Any], tuple[str, ...]] = {}


def _names_of(kind: type[Any]) -> tuple[str, ...]:
    """The names of a dataclass's fields, looked up once."""
    if kind not in _NAMES:
        _NAMES[kind] = tuple(one.name for one in fields(kind))
    return _NAMES[kind]
