"""A chapter: screens in order, each with one idea, some with a task. The languages' files have the texts
(`text_keys`)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

Parameter = str | int | bool | tuple[str | int, ...]
Answer = str | int | frozenset[str] | tuple[str, ...] | Mapping[str, str]
"""A choice, a number, a set of pairs, an order, or a choice for each of several items."""

Observed = str | int | frozenset[str]
HINTS = ("hint-1", "hint-2", "hint-3")
"""Where to look, which rule, which step."""

AFTERWARDS = ("solution", "why")
"""Shown after success, or on demand."""


class Outcome(Enum):
    """UNKNOWN: it could not be explored in time."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"


class Form(Enum):
    CHOICE = "choice"
    NUMBER = "number"
    TIME = "time"
    PAIRS = "pairs"
    ORDER = "order"
    MATCH = "match"


@dataclass(frozen=True, slots=True)
class Start:
    setup: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    left_out: frozenset[str] = frozenset()
    steps: tuple[str, ...] = ()
    single_steps: bool | None = None
    """None: as the set-up has it."""

    def __hash__(self) -> int:
        return hash((self.setup, self.left_out, self.steps))


@dataclass(frozen=True, slots=True)
class Sources:
    rules: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    code: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    start: Start
    answer: str


@dataclass(frozen=True, slots=True)
class Predict:
    """The machine's answer to `asks` after the steps `then` is the right one. `values` are the meanings of the choices;
    `options` the pairs, or the items of an order; `answer` is the author's, which the check compares."""

    asks: str
    form: Form
    answer: Answer
    then: tuple[str, ...] = ()
    values: Mapping[str, Observed] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    given: Mapping[str, Parameter] = field(default_factory=dict)
    """What a question is about beside the session: numbers of a handbook, a variant of the explorer."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Played until each clause of `until` is broken (`C5@v2`), or all is `public`, or a version (`v3`) is out, without
    harm. `by`: the kind of the last statement. `statements`: the most that each node may run. `without`: forbidden
    steps. `seconds_max`: on the session's clock."""

    until: tuple[str, ...]
    solution: tuple[str, ...]
    by: str = ""
    statements: Mapping[str, int] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    seconds_max: int = 0


@dataclass(frozen=True, slots=True)
class Survive:
    """Played against an adversary until the element `goal` is public, in at most `moves_max` moves and without damage.
    `solution` are moves of the learner (`lab.exercises.adversary`), `seed` is the adversary's."""

    goal: str
    moves_max: int
    solution: tuple[str, ...]
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Explain:
    """The clause, the step at which it broke, and the missing rule; `mended` is a session that has it."""

    clauses: tuple[str, ...]
    rules: tuple[str, ...]
    missing: str
    clause: str
    step: int
    mended: Start


@dataclass(frozen=True, slots=True)
class Design:
    """A sequence that the learner builds: `grammar` is plan (steps as in a plan file), states, ladder or handbooks. Of
    a plan, `given` are the DDL statements that make the tables, `statement` the change. Of states, `elements` are the
    kinds that move, each line the states of one version. Of a ladder, `ground` is the first state, each line a tile.
    `tiles` are offered; empty: those of the solution and of the wrong answer."""

    grammar: str
    solution: tuple[str, ...]
    wrong: tuple[str, ...]
    """A sequence that fails, so that a check that lets everything pass is noticed."""

    given: tuple[str, ...] = ()
    statement: str = ""
    elements: str = ""
    lines: int = 0
    """How many lines an answer has; 0: any number."""

    ground: str = "absent"
    tiles: tuple[str, ...] = ()
    one_channel: bool = False
    nodes: int = 2
    hidden_nodes: int = 0
    """Judged again with so many nodes; 0: not."""


@dataclass(frozen=True, slots=True)
class Live:
    """Done on the real cluster: all feats in `asks` (`lab.replays.feats`). Without any it is only read."""

    asks: tuple[str, ...] = ()


Task = Predict | Reach | Survive | Explain | Design | Live
KINDS: Mapping[str, type[Task]] = {
    "predict": Predict,
    "reach": Reach,
    "survive": Survive,
    "explain": Explain,
    "design": Design,
    "live": Live,
}


@dataclass(frozen=True, slots=True)
class Screen:
    """One idea. `do`: steps for the reader to take on the stage, ungraded."""

    id: str
    start: Start | None = None
    do: tuple[str, ...] = ()
    task: Task | None = None
    sources: Sources = Sources()

    @property
    def kind(self) -> str:
        return next((name for name, kind in KINDS.items() if isinstance(self.task, kind)), "")

    def text_keys(self) -> Iterator[str]:
        task = self.task
        if isinstance(task, Predict):
            yield from (f"choice {name}" for name in _choices(task))
            yield from (f"item {one.id}" for one in task.items)
        if isinstance(task, Explain):
            yield from (f"choice {rule}" for rule in task.rules)
        if task is not None and not isinstance(task, Live):
            yield from HINTS
            yield from AFTERWARDS


def _choices(task: Predict) -> tuple[str, ...]:
    if task.form is Form.ORDER:
        return task.options
    return tuple(task.values) if task.form in (Form.CHOICE, Form.MATCH) else ()


@dataclass(frozen=True, slots=True)
class Chapter:
    """A folder of the shelf; `id` is its name, 01-one-jump."""

    number: int
    id: str
    act: int
    minutes: int
    screens: tuple[Screen, ...]
    sources: Sources = Sources()
    waits_for: str = ""
    """What it needs and this version lacks; such a chapter is listed, and says so."""
    drawn: str = ""
    """The screen whose task its picture shows; "": `lab.exercises.pictures` chooses."""

    def screen(self, screen_id: str) -> Screen | None:
        return next((one for one in self.screens if one.id == screen_id), None)

    @property
    def tasks(self) -> tuple[Screen, ...]:
        return tuple(one for one in self.screens if one.task is not None)
