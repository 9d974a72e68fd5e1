"""A session on an explorer's model: positions that a list of steps leads through. They do not depend on the way to
them, so all sessions on a model share them, up to `POSITIONS_MAX`."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.contents.numbered import Fault
from lab.explorer.contents.statements import row_of
from lab.explorer.lanes import STORE, actor_of, ends
from lab.explorer.model import BadModel, Model
from lab.explorer.narration import narrator_of
from lab.explorer.plans.small_tables import CHILD, NAMES, PARENT
from lab.explorer.spaces.config import Config, step_id
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.reasons import NO_STEP, Reason
from lab.explorer.witness import given_named
from lab.ladders.sentences import Sentences
from lab.sessions.grain import ACTS, label_of, offers
from lab.sessions.model.cluster import Drawing
from lab.sessions.model.setups import model_of, names_of
from lab.sessions.session import BadSession, Session
from lab.sessions.setup import Setup
from lab.sessions.severity import CLAUSES, severities_of, severity_of, verdicts_of, worst
from lab.sessions.shown import NOTHING, RefusedStep, SessionView, Severity, Strip, Text, TraceLine, step_text

POSITIONS_MAX = 20_000
MACHINES_MAX = 32


@dataclass(slots=True, eq=False)
class Position:
    config: Config
    faults: tuple[Fault, ...]
    newest: int
    severities: tuple[Severity, ...]
    """Of each of `CLAUSES`."""

    taken: dict[str, "TakenStep"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class TakenStep:
    step: Step
    after: Position
    line: TraceLine


class Machine:
    def __init__(self, model: Model, rows: Sequence[str | int]) -> None:
        self.plain = Plain(effects_of(model))
        self.model, self.narrator, self.sentences = model, narrator_of(self.plain), Sentences(self.plain)
        self.lock = threading.Lock()
        self.first = self.plain.start()
        if rows:
            step: Step = ("given", *rows)
            why = self.plain.why_not(self.first, step)
            if why is not None:
                raise BadSession(f"rows {', '.join(map(str, rows))}: {why}")
            self.first = self.plain.after(self.first, step)[0]
        self.positions: dict[Config, Position] = {}

    def followed(self, steps: Sequence[str]) -> tuple[list[Position], list[TraceLine], RefusedStep | None]:
        with self.lock:
            return self.follow(steps)

    def follow(self, steps: Sequence[str]) -> tuple[list[Position], list[TraceLine], RefusedStep | None]:
        if len(self.positions) > POSITIONS_MAX:
            self.positions.clear()
        position = self.at(self.first)
        positions = [position]
        lines: list[TraceLine] = []
        for number, name in enumerate(steps):
            taken = position.taken.get(name) or self._take(position, name)
            if isinstance(taken, Reason):
                step = self._steps(position.config).get(name) or self._every_step.get(name)
                unknown = Text("{step}", {"step": name})
                label = unknown if step is None else step_text(actor_of(step), label_of(self.plain, step))
                return positions, lines, RefusedStep(number, name, label, taken.text)
            position = taken.after
            positions.append(position)
            lines.append(taken.line)
        return positions, lines, None

    def at(self, config: Config) -> Position:
        found = self.positions.get(config)
        if found is None:
            newest = self.plain.stops[config.stop].newest
            faults = tuple(dict.fromkeys((*self.plain.faults(config), *self.plain.too_many_versions(config))))
            found = self.positions[config] = Position(config, faults, newest, severities_of(faults, newest))
        return found

    @cached_property
    def _every_step(self) -> dict[str, Step]:
        steps: list[Step] = [(act,) for act in ACTS]
        steps += [(do, number) for do in ("publish", "drain") for number in range(2, len(self.model.stages) + 1)]
        for name in self.plain.names:
            steps += [
                (name, verb) for verb in ("acquire", "expire", "begin", "pin", "enter", "commit", "rollback", "end")
            ]
            for statement in self.plain.statements:
                steps += [(name, "read", *row_of(statement)), (name, "write", statement)]
        return {step_id(step): step for step in steps}

    def _steps(self, config: Config) -> dict[str, Step]:
        return {step_id(step): step for step in self.plain.candidates(config)}

    def _take(self, position: Position, name: str) -> TakenStep | Reason:
        config = position.config
        step = self._steps(config).get(name) or given_named(name)
        if step is None:
            return NO_STEP
        why = self.plain.why_not(config, step)
        if why is not None:
            return why
        after = self.at(self.plain.after(config, step)[0])
        broken = [fault for fault in after.faults if fault not in position.faults]
        severity = worst(severity_of(fault, after.newest) for fault in broken)
        sentence = self.narrator.sentence(config, step, after.config)
        actor, lanes = actor_of(step), ends(step, self._store(config, step))
        to = next((lane for lane in lanes if lane != actor), "")
        line = TraceLine(name, actor, to, sentence, severity, statement=self._statement(config, step, after.config))
        taken = position.taken[name] = TakenStep(step, after, line)
        return taken

    def _statement(self, config: Config, step: Step, after: Config) -> Text:
        if step[1:] != ("commit",) or after.contents == config.contents:
            return NOTHING
        ended = config.nodes[self.plain.names.index(step[0])].transaction  # type: ignore[arg-type]
        if ended is None or ended.statement is None:
            return NOTHING
        return self.sentences.written(str(step[0]), ended.statement, config, after)

    def _store(self, config: Config, step: Step) -> str:
        if len(self.plain.tables) == 1:
            return STORE
        about = step_id(step)
        if step[1:] == ("commit",):
            one = config.nodes[self.plain.names.index(step[0])].transaction  # type: ignore[arg-type]
            about = "" if one is None or one.statement is None else one.statement[0]
        return NAMES[PARENT if "parent" in about else CHILD]


@lru_cache(maxsize=MACHINES_MAX)
def machine_of(model: Model, rows: tuple[str | int, ...]) -> Machine:
    """The machine that all sessions with this model and these first rows share. Raises `BadSession`."""
    try:
        return Machine(model, rows)
    except BadModel as error:
        raise BadSession(str(error)) from error


def show(setup: Setup, session: Session, at: int | None, *, single_steps: bool) -> SessionView:
    machine, names = machine_of(*model_of(setup, session)), names_of(setup, session)
    with machine.lock:
        positions, lines, refused = machine.follow(session.steps)
        place = len(positions) - 1 if at is None else max(0, min(at, len(positions) - 1))
        position, before = positions[place], positions[max(place - 1, 0)]
        drawing = Drawing(machine.plain, position.config, before.config, names)
        found = SessionView(
            place,
            drawing.actors,
            offers(machine.plain, position.config, single_steps=single_steps),
            drawing.cluster(),
            drawing.verdicts(verdicts_of(position.faults, position.newest)),
            tuple(map(Strip, CLAUSES, zip(*(one.severities for one in positions), strict=True))),
            drawing.probes(),
            tuple(lines),
            refused,
        )
    return names.shown(found)
