"""From a change of the cluster that waits or has failed, to a session on its own plan in that state, with its names,
versions and blocking node. None if a plan has no model whose versions are the plan's, one for one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from changes.plan.model import Plan, StepKind
from lab.explorer.contents.statements import INSERT, Statement, row_of
from lab.explorer.lanes import EXECUTOR, FILL, actor_of
from lab.explorer.model import BadModel
from lab.explorer.planned import Part, parts_of
from lab.explorer.spaces.config import Config, step_id
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Plain
from lab.own.naming import names_for
from lab.sessions.model.session import machine_of
from lab.sessions.model.setups import CHAPTER, NAMES, model_of, model_parameter
from lab.sessions.names import Names
from lab.sessions.session import STEPS_MAX, Session
from lab.sessions.setups import setup_named

NODES = 2
HOLDER, OTHER = "n1", "n2"
"""The model's node that blocks a change, and the other one."""

VERIFY: Step = ("verify",)
BAD_ROWS: Sequence[tuple[Statement, ...]] = (
    ((INSERT, 1, 1), (INSERT, 2, 1)),
    ((INSERT, 1, 0),),
    ((INSERT, 1, 2),),
    ((INSERT, 1, 1),),
)
"""Rows that an old version writes and a verification may refuse: two alike, no value, one that a CHECK refuses, a child
without its parent."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A node that blocks a change: it uses `version`, by a lease, by a transaction, or by both."""

    node: str
    version: int
    has_lease: bool
    has_transaction: bool


def session_of_wait(plan: Plan, kind: StepKind, version: int, holder: Holder, chapter: str) -> Session | None:
    """The change before the publish, or the drain, of `version`, which waits for a holder."""
    for part, first in _parts(plan):
        number = version - first + 1
        targets: list[Step] = [("publish", number)]
        if kind is StepKind.DRAIN:
            # a model drains only where a reorganisation follows; elsewhere the next publish waits for the same
            targets = [("drain", number), ("publish", number + 1)]
        walk = _Walk(part, names_for(plan, part), chapter, first)
        steps = walk.to_wait(targets, holder.version - first + 1, holder)
        if steps is not None:
            return walk.session(steps, holder.node)
    return None


def session_of_failure(plan: Plan, chapter: str) -> Session | None:
    """The change after a verification that found rows which break the new element."""
    for part, first in _parts(plan):
        walk = _Walk(part, names_for(plan, part), chapter, first)
        steps = walk.to_failure()
        if steps is not None:
            return walk.session(steps, "")
    return None


def _parts(plan: Plan) -> Iterator[tuple[Part, int]]:
    try:
        parts = parts_of(plan, nodes=NODES).explored
    except BadModel:
        return
    first = plan.publishes[0].version - 1
    for part in parts:
        if len(part.model.stages) == len(plan.publishes) + 1:
            yield part, first


class _Walk:
    def __init__(self, part: Part, names: Names, chapter: str, first: int) -> None:
        self.names, self.first = names, first
        self.parameters = {"model": model_parameter(part.model), CHAPTER: chapter}
        begun = Session("model", self.parameters)
        self.plain: Plain = machine_of(*model_of(setup_named(begun.setup), begun)).plain

    def session(self, steps: Sequence[str], node: str) -> Session | None:
        """The session with the cluster's names; its holder has the name of the node."""
        words = dict(self.names.words)
        if node and node != HOLDER:
            words |= {HOLDER: node} | ({OTHER: HOLDER} if node == OTHER else {})
        names = replace(self.names, words=words, versions=self.first - 1)
        return Session("model", {**self.parameters, NAMES: names.to_json()}, frozenset(), tuple(steps))

    def to_wait(self, targets: Sequence[Step], behind: int, holder: Holder) -> list[str] | None:
        """Steps up to one of those that wait; n1 stays at the version `behind`."""
        config, steps = self.plain.start(), list[str]()
        has_begun = not holder.has_transaction
        if behind < 1:
            return None
        for _ in range(STEPS_MAX):
            newest = self.plain.stops[config.stop].newest
            may = self._possible(config)
            step = self._acquired(may, follows=newest <= behind)
            if step is None and not has_begun and newest >= behind:
                step, has_begun = (HOLDER, "begin"), True
            elif step is None and any(target in self.plain.candidates(config) for target in targets):
                return steps if holder.has_lease else [*steps, f"{HOLDER}.expire"]
            step = step or self._onward(may)
            if step not in may:
                return None
            config = self.plain.after(config, step)[0]
            steps.append(step_id(step))
        return None

    def to_failure(self) -> list[str] | None:
        without = self._verified(self.plain.start(), [])
        if without is None:
            return None
        for rows in BAD_ROWS:
            begun = self._written(rows)
            found = None if begun is None else self._verified(*begun)
            if found is not None and found[0].stop != without[0].stop:
                return found[1]
        return None

    def _written(self, rows: Sequence[Statement]) -> tuple[Config, list[str]] | None:
        config, steps = self.plain.start(), list[str]()
        for row in rows:
            if row not in self.plain.statements:
                return None
            for step in ((HOLDER, "begin"), (HOLDER, "read", *row_of(row)), (HOLDER, "write", row), (HOLDER, "commit")):
                after = self._take(config, step)
                if after is None:
                    return None
                config = after
                steps.append(step_id(step))
        return config, steps

    def _verified(self, config: Config, steps: list[str]) -> tuple[Config, list[str]] | None:
        for _ in range(STEPS_MAX):
            may = self._possible(config)
            step = self._acquired(may, follows=True) or self._onward(may)
            if step is None:
                return None
            config = self.plain.after(config, step)[0]
            steps = [*steps, step_id(step)]
            if step == VERIFY:
                return config, steps
        return None

    def _take(self, config: Config, step: Step) -> Config | None:
        if step not in self.plain.candidates(config) or self.plain.why_not(config, step) is not None:
            return None
        return self.plain.after(config, step)[0]

    def _possible(self, config: Config) -> list[Step]:
        return [step for step in self.plain.candidates(config) if self.plain.why_not(config, step) is None]

    @staticmethod
    def _acquired(may: Sequence[Step], *, follows: bool) -> Step | None:
        return next((step for step in may if step[1:2] == ("acquire",) and (follows or step[0] != HOLDER)), None)

    @staticmethod
    def _onward(may: Sequence[Step]) -> Step | None:
        return next((step for step in may if actor_of(step) in (EXECUTOR, FILL) and not _is_aside(step)), None)


def _is_aside(step: Step) -> bool:
    return step == ("cancel",) or step[:2] in ((FILL, "again"), (FILL, "purge")) or (step[0] == FILL and step[-1] == 2)
