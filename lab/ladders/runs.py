"""Runs of a plan in order, as steps of the plain model, each replayed: quiet ones (no damage), the shortest damage of
two neighbouring versions, and witnesses with their nodes named as the chapters do."""

from collections.abc import Iterator
from functools import lru_cache

from catalog.elements import NodeId, State
from changes.plan.element_states import state_of
from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.contents.statements import DELETE, INSERT, NO_VALUE, UPDATE, Statement
from lab.explorer.model import Model, Stage
from lab.explorer.plans.program import Do
from lab.explorer.plans.small_tables import elements_of
from lab.explorer.spaces.config import Impossible
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.reduced_space import act_step
from lab.explorer.spaces.search import Budget
from lab.explorer.verdict import explore_spaces
from lab.explorer.witness import Steps, replay
from lab.questions.aimed import AimedAtomic, AimedPlain
from lab.questions.goal import DAMAGE, Goal

STEPS_MAX = 160
AHEAD, BEHIND = "n2", "n1"
"""The node that leases a new version first, and the one that follows."""

WRITERS = (State.WRITE_ONLY, State.PUBLIC)


class Quiet:
    """A plan that goes on by itself; nodes lease a new version when the plan waits for them."""

    def __init__(self, plain: Plain, rows: tuple[str | int, ...] = ()) -> None:
        self.plain, self.config = plain, plain.start()
        self.steps: list[Step] = []
        if any(row != "-" for row in rows):
            self.take(("given", *rows))

    @property
    def newest(self) -> int:
        return self.plain.stops[self.config.stop].newest

    @property
    def is_at_end(self) -> bool:
        return self.plain.stops[self.config.stop].do is Do.END

    @property
    def puts(self) -> bool:
        """True if the newest version writes an element that the one before it writes less of."""
        stop, elements = self.plain.stops[self.config.stop], elements_of(self.plain.model)
        before, now = (self.plain.effects.program.descriptor(stop, stop.newest - back) for back in (1, 0))
        states = ((state_of(before, one), state_of(now, one)) for one in elements)
        return any(new in WRITERS and new is not old for old, new in states)

    def take(self, step: Step) -> bool:
        if self.plain.why_not(self.config, step) is not None:
            return False
        self.config = self.plain.after(self.config, step)[0]
        self.steps.append(step)
        return True

    def statement(self, name: str, statement: Statement) -> bool:
        """A whole statement of a node; False, and nothing done, when it is refused."""
        before, count = self.config, len(self.steps)
        run: Steps = ((name, "begin"), (name, "read", *_row(statement)), (name, "write", statement), (name, "commit"))
        if all(self.take(step) for step in run):
            return True
        self.config, self.steps[count:] = before, []
        return False

    def follow(self, name: str) -> bool:
        """A node leases what it has not yet; False when it has the newest versions."""
        acquires = [step for step in self.plain.lease_steps(name) if step[1] == "acquire"]
        node = self.config.nodes[self.plain.names.index(NodeId(name))]
        tables = self.plain.stops[self.config.stop].tables
        behind = [step for at, step in enumerate(acquires) if node.use[at] < tables[at].newest]
        taken = [self.take(step) for step in behind]
        return any(taken)

    def onward(self) -> bool:
        """The next step of the change; the nodes follow where it waits. False when it has ended, or stands."""
        if self.is_at_end:
            return False
        stop, at = self.plain.stops[self.config.stop], (self.config.stop, self.config.ranges)
        fills = (step for step in self.plain.candidates(self.config) if step[:2] in FILLS and step[3] == 1)
        if any(self.take(step) for step in fills) or self.take(act_step(stop)):
            return (self.config.stop, self.config.ranges) != at
        followed = [self.follow(name) for name in (AHEAD, BEHIND, *map(str, self.plain.names[2:]))]
        return any(followed)


FILLS = (("fill", "read"), ("fill", "put"))


def _row(statement: Statement) -> tuple[object, ...]:
    what, row, _ = statement
    return ("parent", row) if "parent" in what else (row,)


def quiet(model: Model, plain: Plain) -> Steps:
    """A plan over a table that has a row, to its end or rollback. At the first version that puts pairs two nodes a
    version apart insert and delete a row, to show what this version and the one before it are for."""
    run = Quiet(plain, _one_row(plain))
    ends = next(at for at, stop in enumerate(plain.stops) if stop.do is Do.END)
    has_shown = False
    for _ in range(STEPS_MAX):
        before = run.newest
        if not run.onward() or run.config.stop > ends:
            break
        if run.newest > before and not has_shown and run.puts:
            run.follow(AHEAD)
            has_shown = _insert_and_delete(model, run)
    return tuple(run.steps)


def _one_row(plain: Plain) -> tuple[str | int, ...]:
    """First rows: one, which every reorganisation has to care for; of two tables with what it refers to."""
    for value in (1, NO_VALUE):
        rows: tuple[str | int, ...] = (value, *("-",) * (len(plain.effects.subjects) - 1))
        if plain.why_not(plain.start(), ("given", *rows)) is None:
            return rows
    return ()


def _insert_and_delete(model: Model, run: Quiet) -> bool:
    row = model.rows
    values = (model.values, 1, NO_VALUE)
    if row < 2 or not any(run.statement(AHEAD, (INSERT, row, value)) for value in values):
        return False
    return run.statement(BEHIND, (DELETE, row, 0))


def arrives(model: Model, steps: Steps, target: Stage, plain: Plain) -> bool:
    """True if a quiet run ends with the change at its target: all its versions are out, and it has not rolled back."""
    config = replay(plain, steps)[-1]
    ends = next(at for at, stop in enumerate(plain.stops) if stop.do is Do.END)
    return config.stop == ends and model.stages[-1] == target


def for_pair(plain: Plain, version: int) -> Steps:
    """Damage that nodes do which use `version` and the one before it, on an empty table: () when there is none."""
    model = plain.model
    own = _of_pair(model, version)
    run = Quiet(plain)
    for _ in range(STEPS_MAX):
        if run.newest >= version or not run.onward():
            break
    if not own or run.newest != version:
        return ()
    taken = all(run.take(step) for step in own)
    return tuple(run.steps) if taken and DAMAGE.of(plain.faults(run.config), run.newest) else ()


def _of_pair(model: Model, version: int) -> Steps:
    options = {"also": model.also, "foreign_key": model.foreign_key, "refers_to_itself": model.refers_to_itself}
    options["widths"] = ",".join(model.widths.split(",")[version - 2 : version])
    pair = Model(model.kind, model.stages[version - 2 : version], pair=True, nodes=2, **options)  # type: ignore[arg-type]
    return _witness_of_pair(pair)


@lru_cache(maxsize=256)
def _witness_of_pair(pair: Model) -> Steps:
    plain = Plain(effects_of(pair))
    found = search(plain, DAMAGE, Budget(states=20_000))
    return tidied(plain, found) if found else ()


def search(plain: Plain, goal: Goal, budget: Budget) -> Steps:
    """The shortest steps that end with what is looked for; () when there are none, or the budget is spent."""
    config = plain.start()
    atomic = AimedAtomic(plain.effects, goal, config)
    fused = AimedPlain(plain.effects, goal, config, fused=True)
    return explore_spaces(atomic, fused, budget=budget).steps


def tidied(plain: Plain, steps: Steps) -> Steps:
    """The same run in the names of the chapters, with deletes for updates; each change only if it breaks the same."""
    broken = _broken(plain, steps)
    renamed = _ahead_first(steps)
    if _broken(plain, renamed) == broken:
        steps = renamed
    return next((other for other in _with_deletes(steps) if _broken(plain, other) == broken), steps)


def _broken(plain: Plain, steps: Steps) -> frozenset[tuple[str, int]]:
    try:
        return frozenset((fault.clause, fault.version) for fault in plain.faults(replay(plain, steps)[-1]))
    except Impossible:
        return frozenset()


def _ahead_first(steps: Steps) -> Steps:
    """The node that leases first is `AHEAD`; where nobody leases, the one that writes is `BEHIND`."""
    first = next((step[0] for step in steps if step[1:2] == ("acquire",)), None)
    writer = next((step[0] for step in steps if step[1:] == ("begin",)), BEHIND)
    names = {first: AHEAD, AHEAD: first} if first is not None else {writer: BEHIND, BEHIND: writer}
    return tuple((names.get(step[0], step[0]), *step[1:]) for step in steps)


def _with_deletes(steps: Steps) -> Iterator[Steps]:
    for at, step in enumerate(steps):
        if step[1:2] == ("write",) and step[2][0] == UPDATE:  # type: ignore[index]
            yield (*steps[:at], (step[0], "write", (DELETE, step[2][1], 0)), *steps[at + 1 :])  # type: ignore[index]
