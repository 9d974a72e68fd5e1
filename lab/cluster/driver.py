"""Changes in the lab: the executor's machine, with the lab's cluster as its shell. Between two calls of `Driver.do` the
state goes through JSON, as in the database (X3)."""

import json
from contextlib import suppress
from dataclasses import dataclass, field

from catalog.descriptor import Descriptor
from catalog.elements import Kind, TableId
from catalog.text.sentence import Sentence
from changes.executor import events, machine
from changes.executor.grace import Grace
from changes.executor.state import Execution, Mode, execution_from_json
from changes.plan.model import RUNS, Element, Plan, Step, StepKind, Transition, edits_in, pairs_of
from lab.cluster.control_plane import Hindrances, LabError, Without
from lab.cluster.lines import listed, names_of
from lab.cluster.reorganisation import Run, clear, close, delete, fill, labels, names, purge, verify
from lab.cluster.world import World
from leases.rules import Hindrance, all_hindrances, grace_s
from storage.integrity.clauses import element_label
from storage.pairs import CannotDerive

ENDINGS = {
    (outcome, has_error): f"change {{change}} {outcome.value}" + (": {error}" if has_error else "")
    for outcome in events.Outcome
    for has_error in (False, True)
}
NOTHING_MOVES = Sentence("nothing moves")
STEPS_MAX = 200
"""A change takes a dozen steps; one that takes so many runs in a circle."""

SENTENCES = {
    "change started": "change {change} starts",
    "executor replaced": "another worker takes over change {change}",
    "change pausing": "change {change} pauses, as {who} requested",
    "change resumed": "change {change} goes on",
    "change cancelling": "{who} cancels change {change}",
    "change rolling back": "change {change} rolls back: {error}",
    "reorganisation failed": "failed: {error}",
}
"""The stories that a script shows; the others are seen by their effects."""


@dataclass
class Driver:
    """One change and its worker. `asked`: the machine's effect; `zombies`: those of workers that were replaced."""

    state: Execution
    asked: events.Effect | None = None
    grace: Grace = field(default_factory=Grace)
    blocked_by: Hindrances = field(default_factory=dict)
    zombies: list[events.Effect] = field(default_factory=list)
    started: Run | None = None

    @property
    def table(self) -> TableId:
        return TableId(self.state.plan.table_id)

    @property
    def is_over(self) -> bool:
        return self.state.mode is Mode.ENDED

    @property
    def step(self) -> Step | None:
        return self.state.step

    def hears(self, world: World, event: events.Event) -> None:
        if isinstance(event, events.LeaseLost) and self.asked is not None:
            self.zombies.append(self.asked)
            self.asked = None
        self.state, effects = machine.step(self.state, event, world.now)
        for effect in effects:
            self._take(world, effect)
        for effect in effects:
            if isinstance(effect, events.PauseRun):  # no chunk is under way between two events of the lab
                self.hears(world, events.RunPaused(effect.kind))
            if isinstance(effect, events.RefuseCancel):
                raise LabError(effect.reason)

    def _take(self, world: World, effect: events.Effect) -> None:
        match effect:
            case events.AppendEvent(story):
                if story.kind in SENTENCES:
                    world.say(Sentence(SENTENCES[story.kind], **story.payload))
            case events.RefuseCancel():
                pass
            case events.Finish(outcome, error, _):
                self.asked = None
                world.untidy -= labels(tuple(move.element for move in self.state.plan.moves))
                ended = ENDINGS[outcome, bool(error)]
                world.say(Sentence(ended, change=self.state.change, error=error))
            case events.PauseRun():
                self.asked = None
            case events.Wait():
                self.asked = effect
                if effect.hindrance is not None:
                    blocks = world.hindered_by(self.blocked_by, of=len(self.state.plan.table_ids))
                    world.say(Sentence("waits: {hindrances}", hindrances=blocks))
            case _:
                self.asked = effect

    def start(self, world: World) -> None:
        published = world.control.published.get(self.table, [])
        self.hears(world, events.Started(published[-1].version if published else 0))

    def crash(self, world: World, *, after_doing: bool) -> None:
        """The worker dies, perhaps after doing its effect. The next one knows what was stored."""
        if after_doing and self.asked is not None:
            with suppress(LabError):
                self._answer(world, self.asked)
        self.state = execution_from_json(json.loads(json.dumps(self.state.to_json())))
        self.asked = None
        world.settle()

    def fails(self, world: World, error: str) -> None:
        at = self.step
        if at is None or self.asked is None or isinstance(self.asked, events.Wait):
            raise LabError("nothing is asked for that could fail")
        self.asked = None
        self.hears(world, events.RunFailed(at.kind, error) if at.kind in RUNS else events.StepFailed(error))

    def loses_answer(self, world: World) -> None:
        if self.asked is None:
            raise LabError("nothing is asked for")
        self._answer(world, self.asked)
        world.settle()

    def act_as_zombie(self, world: World) -> None:
        """The oldest zombie acts; the token of its schema-change lease is out of date (X2)."""
        if not self.zombies:
            raise LabError("no worker was replaced")
        asked = self.zombies.pop(0)
        if Without.EXECUTOR not in world.control.without:
            raise LabError("the table was taken over: the worker's token has moved on (X2)")
        published = world.control.published.get(self.table, [])
        at = published[-1].version if published else None
        if isinstance(asked, events.TryPublish) and at not in (None, asked.descriptor.version - 1):
            raise LabError(f"there is a {asked.descriptor} already")
        self._answer(world, asked)

    def do(self, world: World) -> bool:
        """Does the effect and hears the answer. False: nothing to do, or it has to wait."""
        if self.asked is None:
            return False
        asked, was_waiting = self.asked, isinstance(self.asked, events.Wait)
        answer = self._answer(world, asked)
        if answer is None:
            return not world.by_hand
        self.asked = None
        self.hears(world, answer)
        world.settle()
        if was_waiting:
            return self.do(world)
        return not isinstance(self.asked, events.Wait)

    def _answer(self, world: World, asked: events.Effect) -> events.Event | None:
        match asked:
            case events.TryPublish(_, descriptor, _, partners):
                return self._publish(world, descriptor, self._kept(world, partners))
            case events.TryDrain(version, _, partners):
                return self._drain(world, version, self._kept(world, partners))
            case events.StartRun(kind, elements, _):
                return self._run(world, kind, elements)
            case events.CloseRun():
                if self.started is not None:
                    close(self.started)
                world.say(Sentence("closed the run"))
                return events.RunClosed()
            case _:
                return events.Woken()

    def _kept(self, world: World, partners: tuple[Descriptor, ...]) -> tuple[Descriptor, ...]:
        return () if Without.PARTNERS in world.control.without else partners

    def _publish(self, world: World, descriptor: Descriptor, partners: tuple[Descriptor, ...]) -> events.Event:
        """One publish over all tables that meets every table's condition, or none (L11)."""
        published, tables = world.control.published.get(self.table, []), (descriptor, *partners)
        if published and published[-1].version == descriptor.version:
            return events.Published(descriptor.version)
        if self.state.cancel_wanted:
            return events.Blocked(Hindrance(()))
        hindrances = world.control.publish(tables, world.now, world.locked())
        if hindrances:
            return self._blocked(world, hindrances, {one.table_id: one.version - 1 for one in tables})
        self.grace = Grace()
        world.say(self._published(tables))
        for one in tables:
            note_filling(world, one)
            world.spread_news(one)
        return events.Published(descriptor.version)

    def _published(self, tables: tuple[Descriptor, ...]) -> Sentence:
        at, what = self.step, names_of(tables)
        if at is None:
            return Sentence("published {what}: {changes}", what=what, changes="")
        changes = listed([*map(_moved, at.transitions), *map(_as_is, edits_in(self.state.plan, at))] or [NOTHING_MOVES])
        return Sentence("published {what}: {changes}", what=what, changes=changes)

    def _drain(self, world: World, version: int, partners: tuple[Descriptor, ...]) -> events.Event:
        versions = {self.table: version} | {one.table_id: one.version for one in partners}
        hindrances = world.control.drain(versions, world.now, world.locked())
        if hindrances:
            return self._blocked(world, hindrances, versions)
        self.grace = Grace()
        drained = listed([world.table_name(table, one) for table, one in versions.items()])
        world.say(Sentence("drained {what}", what=drained))
        return events.Drained(version)

    def _blocked(self, world: World, hindrances: Hindrances, below: dict[TableId, int]) -> events.Event:
        """Sessions that hold a lock without a lease are ended after a grace, each table's own (L8)."""
        self.blocked_by = hindrances
        held = {int(table): self._grace_s(world, table, one) for table, one in hindrances.items() if not one.leases}
        self.grace = self.grace.seen(held, world.now)
        over = () if Without.GRACE in world.control.without else self.grace.over(world.now)
        for table in over:
            world.end_lock_holders(TableId(table), below=below[TableId(table)])
        self.grace = self.grace.anew(over)
        return events.Blocked(all_hindrances(hindrances.values()) or Hindrance(()))

    @staticmethod
    def _grace_s(world: World, table: TableId, hindrance: Hindrance) -> float:
        used = [world.control.version(table, version).coordination for version in hindrance.locked]
        return max(grace_s(one, world.control.lease_s) for one in used)

    # Reorganisation

    @property
    def filled(self) -> tuple[Element, ...]:
        """The elements that the change fills, in order; those it moves, if it fills nothing."""
        fills = (step.elements for step in self.state.plan.forward if step.kind is StepKind.FILL)
        return next(fills, tuple(move.element for move in self.state.plan.moves))

    @property
    def run(self) -> Run:
        if self.started is None:
            self.started = Run(self.table, self.filled)
        return self.started

    def moves_element(self, name: str) -> bool:
        return any(move.element.name == name for move in self.state.plan.moves)

    def _run(self, world: World, kind: StepKind, elements: tuple[Element, ...]) -> events.Event | None:
        if kind is StepKind.DELETE:
            return self._delete(world, elements)
        if kind is StepKind.VERIFY:
            wrong = verify(world, self.table, elements)
            if wrong:
                return events.RunFailed(StepKind.VERIFY, "; ".join(wrong))
            world.say(Sentence("verified {elements}", elements=names(elements)))
            return events.RunDone(StepKind.VERIFY)
        if kind is StepKind.FILL:
            return self._fill(world)
        count = purge(world, self.table, elements)
        world.say(Sentence("purged {elements}: {count} tombstones", elements=names(elements), count=count))
        return events.RunDone(kind)

    def _fill(self, world: World) -> events.Event | None:
        if not self.run.is_cleared:
            clear(world, self.run)
            return None
        if not world.by_hand:
            try:
                world.say(filled(self.run.name, fill(world, self.run)))
            except CannotDerive as error:
                return events.RunFailed(StepKind.FILL, str(error))
        elif not self.run.is_finished:
            raise LabError(f"the fill of {self.run.name} goes on")
        return events.RunDone(StepKind.FILL)

    def _delete(self, world: World, elements: tuple[Element, ...]) -> events.Event | None:
        gone = delete(world, self.table, elements)
        if world.by_hand and gone:
            world.say(f"deleted {gone} pairs of {self.state.plan.title}")
            return None
        world.untidy -= labels(elements)
        is_table = any(element.kind is Kind.TABLE for element in elements)
        what = (
            f"all rows of {self.state.plan.table} ({gone} pairs)" if is_table else f"all {pairs_of(elements)}: {gone}"
        )
        world.say(f"deleted {what}")
        return events.RunDone(StepKind.DELETE)

    def go(self, world: World) -> None:
        for _ in range(STEPS_MAX):
            if not self.do(world):
                return
        raise AssertionError(f"change {self.state.change} took more than {STEPS_MAX} steps")


def filled(name: str, count: int) -> Sentence:
    return Sentence("filled {elements}: {count} put", elements=name, count=count)


def _moved(moved: Transition) -> Sentence:
    values = {"before": moved.before.value, "after": moved.after.value}
    return Sentence("{element} {before} -> {after}", element=moved.element, name=moved.element.name, **values)


def _as_is(words: str) -> Sentence:
    return Sentence("{words}", words=words)


def note_filling(world: World, descriptor: Descriptor) -> None:
    """From now on tombstones of these elements are no fault, until they are purged."""
    world.untidy.update(element_label(index) for index in descriptor.indexes if index.filling)
    world.untidy.update(element_label(column) for column in descriptor.columns if column.filling)
    world.untidy.update(element_label(placement) for placement in descriptor.placements if placement.filling)


def drive(world: World, change: int, plan: Plan) -> Driver:
    driver = Driver(Execution(change, plan))
    driver.start(world)
    return driver
