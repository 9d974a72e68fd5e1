"""A session on the lab's cluster: lines of the scripts' language, from a set-up's scenery on. A cluster is stored as
bytes at each position: going back, trying a line, and a second session with the same beginning cost a copy and no
replay. Copies share descriptors and plans, which never change."""

import io
import pickle
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from catalog.descriptor import Descriptor
from changes.plan.model import Plan
from lab.cluster import consistency
from lab.cluster.control_plane import Without
from lab.cluster.lines import words_of
from lab.explorer.contents.numbered import Fault, third_version
from lab.scripts.commands_of import Lab, Refusal, perform
from lab.sessions import pairs
from lab.sessions.session import Session
from lab.sessions.setup import Setup
from lab.sessions.severity import CLAUSES, severities_of, severity_of, verdicts_of, worst
from lab.sessions.shown import NOTHING, Offer, RefusedStep, SessionView, Severity, Strip, Text, TraceLine, step_text
from lab.sessions.world.cluster import Drawing, T, held_by
from lab.sessions.world.script_texts import heard_text, text_of
from lab.sessions.world.setups import EXECUTOR, SCENERY, Line, Scenery

POSITIONS_MAX = 4_000
RULE = re.compile(r"\(([LTXR]\d+)")
NODE = re.compile(r"(n\d+)[:.]")
LOST = "lost write"


class Copies:
    def __init__(self) -> None:
        self.shared: list[object] = []
        self.places: dict[object, int] = {}
        self.places_by_id: dict[int, int] = {}

    def freeze(self, lab: Lab) -> bytes:
        out = io.BytesIO()
        pickler = pickle.Pickler(out, pickle.HIGHEST_PROTOCOL)
        pickler.dispatch_table = {Descriptor: self._reference, Plan: self._reference}
        pickler.dump(lab)
        return out.getvalue()

    def thaw(self, frozen: bytes) -> Lab:
        lab = pickle.loads(frozen)  # noqa: S301 - our own bytes, from this process
        assert isinstance(lab, Lab)
        return lab

    def _reference(self, value: object) -> tuple[Callable[[int], object], tuple[int]]:
        """A stored value stands for all that are equal to it."""
        place = self.places_by_id.get(id(value))
        if place is None:
            place = self.places.setdefault(value, len(self.shared))
            if place == len(self.shared):
                self.shared.append(value)
                self.places_by_id[id(value)] = place
        return _shared, (place,)


COPIES = Copies()


def _shared(place: int) -> object:
    return COPIES.shared[place]


@dataclass(eq=False)
class Position:
    frozen: bytes
    line: TraceLine | None
    faults: tuple[Fault, ...]
    newest: int
    severities: tuple[Severity, ...]
    tried: dict[str, Offer] = field(default_factory=dict)
    """Lines of the palette that were tried here, by their text."""

    def lab(self) -> Lab:
        """A copy that the caller may change."""
        return COPIES.thaw(self.frozen)

    @cached_property
    def held(self) -> pairs.StoredPairs:
        return held_by(self.lab())


class Machine:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.positions: OrderedDict[tuple[str, ...], Position] = OrderedDict()

    def follow(
        self, setup: str, left_out: frozenset[str], steps: Sequence[str]
    ) -> tuple[list[Position], RefusedStep | None]:
        key: tuple[str, ...] = (setup, *sorted(left_out), "")
        position = self.positions.get(key) or self._keep(key, self._first(setup, left_out))
        found = [position]
        for number, step in enumerate(steps):
            key = (*key, step)
            after = self.positions.get(key)
            if after is None:
                taken = self._take(SCENERY[setup], position, step)
                if isinstance(taken, Text):
                    known = next((line for line in SCENERY[setup].palette if line.text == step), None)
                    label = Text("{step}", {"step": step}) if known is None else step_text(known.actor, known.label)
                    return found, RefusedStep(number, step, label, taken)
                after = self._keep(key, taken)
            self.positions.move_to_end(key)
            position = after
            found.append(position)
        return found, None

    def _keep(self, key: tuple[str, ...], position: Position) -> Position:
        self.positions[key] = position
        while len(self.positions) > POSITIONS_MAX:
            self.positions.popitem(last=False)
        return position

    def _first(self, setup: str, left_out: frozenset[str]) -> Position:
        lab = Lab()
        lab.world.control.without.update(map(Without, left_out))
        for line in SCENERY[setup].prologue:
            perform(lab, line)
        return self._position(lab, None, ())

    def _take(self, scenery: Scenery, position: Position, step: str) -> Position | Text:
        known = next((line for line in scenery.palette if line.text == step), None)
        if known is None:
            return Text("this set-up has no such step")
        lab = position.lab()
        try:
            output = perform(lab, step)
        except Refusal as refusal:
            return text_of(words_of(refusal))
        line = TraceLine(step, known.actor, known.to or _receiver(known, output), _narrated(known, output))
        return self._position(lab, line, position.faults)

    def _position(self, lab: Lab, line: TraceLine | None, before: tuple[Fault, ...]) -> Position:
        newest = lab.world.control.newest(T).version
        faults = tuple(_faults(lab))
        if line is not None:
            severity = worst(severity_of(fault, newest) for fault in faults if fault not in before)
            line = TraceLine(line.id, line.actor, line.to, line.text, severity)
        return Position(COPIES.freeze(lab), line, faults, newest, severities_of(faults, newest))


_machine = Machine()


def show(setup: Setup, session: Session, at: int | None, *, single_steps: bool) -> SessionView:
    scenery = SCENERY[setup.name]
    with _machine.lock:
        positions, refused = _followed(setup, session)
        place = len(positions) - 1 if at is None else max(0, min(at, len(positions) - 1))
        position, before = positions[place], positions[max(place - 1, 0)]
        drawing = Drawing(position.lab(), before.held)
        lines = [line for line in scenery.palette if single_steps or not line.is_single]
        return SessionView(
            place,
            tuple(dict.fromkeys(line.actor for line in scenery.palette)),
            tuple(_offered(position, line) for line in lines),
            drawing.cluster(),
            verdicts_of(position.faults, position.newest),
            tuple(map(Strip, CLAUSES, zip(*(one.severities for one in positions), strict=True))),
            drawing.probes(),
            tuple(one.line for one in positions if one.line is not None),
            refused,
        )


def taken(setup: Setup, session: Session) -> int:
    """The number of its steps that can be taken. Raises `BadSession`."""
    return len(followed(setup, session)[0]) - 1


def followed(setup: Setup, session: Session) -> tuple[list[Position], RefusedStep | None]:
    """The positions of a session, as far as its steps can be taken. Raises `BadSession`."""
    with _machine.lock:
        return _followed(setup, session)


def refusal(position: Position, line: Line) -> Text:
    """Why a line of the palette cannot be taken; empty if it can."""
    with _machine.lock:
        return _offered(position, line).why_not


def _followed(setup: Setup, session: Session) -> tuple[list[Position], RefusedStep | None]:
    setup.values(session)
    setup.check_left_out(session)
    return _machine.follow(setup.name, session.left_out, session.steps)


def _offered(position: Position, line: Line) -> Offer:
    if line.text not in position.tried:
        position.tried[line.text] = _offer(position, line)
    return position.tried[line.text]


def _offer(position: Position, line: Line) -> Offer:
    lab = position.lab()
    try:
        is_heard = bool(perform(lab, line.text))
    except Refusal as refusal:
        why = words_of(refusal)
        rule = RULE.search(why)
        return Offer(line.text, line.actor, line.label, (line.text,), text_of(why), rule[1] if rule else "")
    same = not is_heard and COPIES.freeze(lab) == position.frozen
    return Offer(line.text, line.actor, line.label, (line.text,), NOTHING, changes_nothing=same)


def _narrated(line: Line, output: Sequence[str]) -> Text:
    if not output:
        return line.label
    heard = heard_text(output)
    return heard if line.actor == EXECUTOR else Text("{what}: {heard}", {"what": line.label, "heard": heard})


def _receiver(line: Line, output: Sequence[str]) -> str:
    heard = (NODE.match(one) for one in output)
    return next((match[1] for match in heard if match and match[1] != line.actor), "")


def _faults(lab: Lab) -> list[Fault]:
    """The faults under each version that may be in use, and leases outside of two versions (L2)."""
    world = lab.world
    found = [
        Fault(violation.clause, one.version, violation.why)
        for one in world.control.accepted_versions(T, world.now, world.locked())
        for violation in consistency.violations(world, T, one)
    ]
    newest = world.control.newest(T).version
    outside = world.control.outside_two_versions(world.now)
    found += [third_version(one.node, one.version, newest) for one in outside]
    if lab.routers is not None:
        found += [Fault(LOST, version, why) for version, why in lab.routers.acknowledged.misread(world, T)]
    return found
