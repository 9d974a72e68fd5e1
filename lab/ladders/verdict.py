"""The explorer's verdict on an order: a run for each damage that it can do, or a quiet one when it does none. Danger is
no damage: a tombstone that an old version does not know harms no query, and an order that leaves one is safe."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from catalog.text.message import NOTHING, Text, Values
from lab.explorer.contents.effects import Effects
from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.contents.numbered import Fault
from lab.explorer.model import stage_named
from lab.explorer.spaces.config import Config, step_id
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.reduced_space import World
from lab.explorer.spaces.search import Budget, Watch
from lab.explorer.verdict import Answer, Verdict, explore_spaces
from lab.explorer.witness import Steps, replay
from lab.ladders import runs
from lab.ladders.elements import ANOMALIES, OF_KIND, Mark, marks_of, target_of
from lab.ladders.frames import WORKS, Film, Frame, Query, places_of
from lab.ladders.order import Order
from lab.ladders.sentences import PUTS_NOTHING
from lab.questions.aimed import AimedAtomic, AimedPlain
from lab.questions.goal import DAMAGE, Goal
from lab.sessions.model.fault_texts import fault_text

NOTHING_BREAKS = "none"

HAPPENED: Mapping[str, Text] = {
    "the fill met a tombstone that a writer had left": Text(
        "The fill came to an entry that a server had just removed."
    ),
    "the fill met a pair that a writer had put": Text("The fill came to an entry that a server had already put."),
    "a node one version behind wrote after the next was published": Text(
        "A server one version behind wrote after the next version was published."
    ),
    "a second worker took over a range": Text("A second worker took over from one believed dead."),
    "verification failed and the change rolled back": Text("Verification failed, and the change rolled back."),
}

WHY: Mapping[str, Text] = {
    "orphan": Text(
        "The entry points at a row that is gone, or that has another value now. The server that wrote last could not "
        "remove the entry, and no later step removes it."
    ),
    "missing": Text("From this version on, queries read the index, and they do not find this row."),
    "duplicate": Text("Two rows have one value, and queries rely on an index that says there is only one."),
}


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is played: the damage in which it ends ("" when in none), and why."""

    anomaly: str
    clause: str
    version: int
    why: Text
    steps: tuple[str, ...]
    frames: tuple[Frame, ...]
    query: Query | None = None
    shortest: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to an order. `runs` has the one that is played first at its head; `tried` the states at each distance
    from the start, by the newest version."""

    verdict: Verdict
    states: int
    bounds: Text
    marks: tuple[Mark, ...]
    runs: tuple[Run, ...] = ()
    arrives: bool = False
    is_finished: bool = False
    tried: tuple[tuple[int, ...], ...] = ()
    happened: tuple[Text, ...] = ()
    why: Text = NOTHING

    @property
    def anomalies(self) -> tuple[str, ...]:
        return tuple(run.anomaly for run in self.runs if run.anomaly)

    def played(self, predicted: str) -> Run | None:
        return next((run for run in self.runs if run.anomaly == predicted), next(iter(self.runs), None))


@dataclass(frozen=True, slots=True)
class DamageOf(Goal):
    """Damage by any of these clauses that a query meets."""

    def is_met_by(self, fault: Fault, newest: int) -> bool:
        return fault.clause in self.clauses and DAMAGE.is_met_by(fault, newest)


class _Tally(AimedAtomic):
    """The same space, counting its worlds as a search comes to them: level by level, by their newest version."""

    def __init__(self, effects: Effects, goal: Goal, config: Config) -> None:
        super().__init__(effects, goal, config)
        self.levels: list[Counter[int]] = [Counter()]
        self._left = 0

    def faults(self, world: World) -> tuple[Fault, ...]:
        self.levels[-1][self.stops[world.stop].newest - 1] += 1
        return super().faults(world)

    def steps(self, world: World) -> Iterator[tuple[Step, World, int]]:
        if not self._left:
            self._left = sum(self.levels[-1].values())
            self.levels.append(Counter())
        self._left -= 1
        return super().steps(world)

    @property
    def tried(self) -> tuple[tuple[int, ...], ...]:
        versions = max((max(level, default=0) for level in self.levels), default=0) + 1
        return tuple(tuple(level[at] for at in range(versions)) for level in self.levels if level)


class Asking:
    def __init__(self, order: Order, budget: Budget, watch: Watch | None) -> None:
        self.order, self.budget, self.watch = order, budget, watch
        self.model = order.model
        self.plain = Plain(effects_of(self.model))
        self.film = Film(self.plain, places_of(self.plain, order.tiles, WORKS))
        self.config = self.plain.start()
        if order.rows:
            self.config = self.plain.after(self.config, ("given", *order.rows))[0]
        self.spent = 0

    def search(self, goal: Goal) -> tuple[Answer, tuple[tuple[int, ...], ...]]:
        space = _Tally(self.plain.effects, goal, self.config)
        fused = AimedPlain(self.plain.effects, goal, self.config, fused=True)
        left = Budget(self.budget.states - self.spent, self.budget.seconds)
        found = explore_spaces(space, fused, budget=left, watch=self.watch)
        self.spent += found.states
        return found, space.tried

    def answer(self) -> Answered:
        found, tried = self.search(DAMAGE)
        body = Answered(
            found.verdict,
            found.states,
            self.model.bounds,
            marks_of(self.model),
            is_finished=self._target == self.model.stages[-1],
            tried=tried,
            happened=tuple(HAPPENED[one] for one, did in found.sometimes.items() if did and one in HAPPENED),
            why=found.why,
        )
        if found.verdict is Verdict.UNKNOWN:
            return body
        if found.verdict is Verdict.PROVED:
            steps = runs.quiet(self.model, self.plain)
            comes = runs.arrives(self.model, steps, self._target, self.plain)
            return replace(body, runs=(self.run(steps, None),), arrives=comes)
        return replace(body, runs=tuple(self._damages(found)))

    @property
    def _target(self) -> tuple[Any, ...]:
        return stage_named(target_of(self.order.ground))

    def _damages(self, shortest: Answer) -> Iterator[Run]:
        """A run for each damage, first that of the first pair that is not compatible, else the shortest."""
        first = self.run(runs.tidied(self.plain, self._given(shortest.steps)), self._foremost(shortest.faults))
        made = {first.anomaly: replace(first, shortest=True)}
        order: list[str] = []
        for version, mark in enumerate(marks_of(self.model), 2):
            steps = () if mark.ok or self.order.rows else runs.for_pair(self.plain, version)
            if steps:
                run = self.run(steps, self._foremost(self._damages_after(steps)))
                if run.anomaly not in order:
                    order.append(run.anomaly)
                    made[run.anomaly] = run
        kinds = OF_KIND.get(self.model.kind, ())
        for anomaly in kinds:
            if anomaly not in made:
                clauses = frozenset(clause for clause, of in ANOMALIES.items() if of == anomaly)
                found, _ = self.search(DamageOf(clauses))
                if found.verdict is Verdict.VIOLATED:
                    steps = runs.tidied(self.plain, self._given(found.steps))
                    fault = next(one for one in self._damages_after(steps) if one.clause in clauses)
                    made[anomaly] = self.run(steps, fault)
        yield from (made[name] for name in dict.fromkeys([*order, *made]))

    def _given(self, steps: Steps) -> Steps:
        return (("given", *self.order.rows), *steps) if self.order.rows else steps

    def _damages_after(self, steps: Steps) -> tuple[Fault, ...]:
        config = replay(self.plain, steps)[-1]
        return DAMAGE.of(self.plain.faults(config), self.plain.stops[config.stop].newest)

    def _foremost(self, faults: Sequence[Fault]) -> Fault:
        usual = OF_KIND.get(self.model.kind, ())
        return min(faults, key=lambda one: usual.index(ANOMALIES[one.clause]) if ANOMALIES[one.clause] in usual else 99)

    def run(self, steps: Steps, fault: Fault | None) -> Run:
        if fault is None:
            query = self._query(replay(self.plain, steps)[-1], 0)
            return Run("", "", 0, NOTHING, tuple(map(step_id, steps)), self.film.frames(steps, queries=query), query)
        anomaly = ANOMALIES[fault.clause]
        if anomaly == "missing":
            steps = self._queried(steps)
        query = self._query(replay(self.plain, steps)[-1], fault.version)
        frames = self.film.frames(steps, queries=query if anomaly == "missing" else None)
        why = WHY.get(anomaly, fault_text(fault.why)) if self.model.kind.is_index else fault_text(fault.why)
        if anomaly == "missing":
            why = _with_cause(why, frames)
        return Run(anomaly, fault.clause, fault.version, why, tuple(map(step_id, steps)), frames, query)

    def _queried(self, steps: Steps) -> Steps:
        """The same, and a server that leases the newest version: it is the one that queries."""
        config = replay(self.plain, steps)[-1]
        newest = self.plain.stops[config.stop].newest
        if any(node.use[0] == newest for node in config.nodes):
            return steps
        acquire: Step = (runs.AHEAD, "acquire")
        return (*steps, acquire) if self.plain.why_not(config, acquire) is None else steps

    def _query(self, config: Config, version: int) -> Query | None:
        """The first query that table and index answer differently under a version; of a safe run (0) any by the index.
        None where no version in use reads the index."""
        for probe in self.film.probes(config):
            is_meant = probe.version == version and probe.differs if version else bool(probe.by_index)
            if is_meant and probe.by_index is not None:
                return Query(probe.version, probe.query, probe.by_table, probe.by_index)
        return None


def _with_cause(why: Text, frames: Sequence[Frame]) -> Text:
    """Why an entry is missing; of a fill that came too early with its step, which may be far before the damage."""
    for number, frame in enumerate(frames):
        if frame.sentence.template == PUTS_NOTHING.template:
            values: Values = {"why": why, "n": number, "states": frame.sentence.values["states"]}
            return Text("{why} The cause is step {n}: the fill ran while {states}, so it put nothing.", values)
    return why


def answer(order: Order, *, budget: Budget, watch: Watch | None = None) -> Answered:
    return Asking(order, budget, watch).answer()
