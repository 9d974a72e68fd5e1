"""The language of golden scripts (docs/reference/scripts.md): one command a line, each a sentence about a cluster. A
name before a colon makes the node, `n1.b` is a second session of n1. `COMMANDS`, filled by `lab.scripts.commands_of`,
is the whole language. A command returns its lines, or raises `LabError`."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

from catalog.descriptor import UnknownElement
from catalog.elements import NodeId, TableId
from catalog.text.sentence import Sentence
from catalog.values.errors import BadValue
from changes.ddl.errors import DdlError
from changes.ddl.resolve import NothingToDo
from changes.plan.model import Element, StepKind
from lab.cluster import reorganisation
from lab.cluster.control_plane import LabError
from lab.cluster.driver import Driver
from lab.cluster.lines import words_of
from lab.cluster.requests import Routers
from lab.cluster.world import World
from lab.scripts.text import BadRow

REFUSALS = (LabError, BadRow, BadValue, DdlError, NothingToDo, UnknownElement)
"""Errors that refuse a command; any other is a mistake of the lab's own."""


@dataclass
class Lab:
    """A cluster and a script's state. `callers` wait for a lease or hold one, by request."""

    world: World = field(default_factory=World)
    changes: list[Driver] = field(default_factory=list)
    runs: dict[str, reorganisation.Run] = field(default_factory=dict)
    callers: dict[int, tuple[NodeId, TableId, str]] = field(default_factory=dict)
    routers: Routers | None = None

    @property
    def change(self) -> Driver:
        if not self.changes:
            raise LabError("there is no change: create or drop something first")
        return self.changes[-1]

    def element(self, name: str) -> tuple[TableId, Element]:
        for table, versions in self.world.control.published.items():
            for descriptor in reversed(versions):
                found = [index for index in descriptor.indexes if index.name == name]
                if found:
                    return table, reorganisation.element_of(found[0])
        for driver in reversed(self.changes):
            moved = [move.element for move in driver.state.plan.moves if move.element.name == name]
            if moved:
                return driver.table, moved[0]
        raise LabError(f"there is no index {name}")

    def run_of(self, name: str) -> reorganisation.Run:
        """The run that fills an element: its change's, also one that is over, or one begun by hand."""
        its = [driver for driver in self.changes if any(element.name == name for element in driver.filled)]
        for driver in its:
            if not driver.is_over:
                return driver.run
        for driver in reversed(its):
            if driver.started is not None and driver.started.chunks:
                return driver.started
        table, element = self.element(name)
        return self.runs.setdefault(name, reorganisation.Run(table, (element,)))

    def may_read(self, name: str) -> bool:
        """The change of an index hands out chunks only while it fills; without a change any script may."""
        its = [driver for driver in self.changes if driver.moves_element(name)]
        at = its[-1].step if its else None
        return not its or (at is not None and at.kind is StepKind.FILL)


Match = re.Match[str]
Handler = Callable[[Lab, Match], None]


@dataclass(frozen=True, slots=True)
class Command:
    pattern: re.Pattern[str]
    usage: str
    does: str
    handler: Handler


COMMANDS: list[Command] = []


def command(usage: str, pattern: str, does: str) -> Callable[[Handler], Handler]:
    def add(handler: Handler) -> Handler:
        COMMANDS.append(Command(re.compile(pattern), usage, does, handler))
        return handler

    return add


def perform(lab: Lab, line: str) -> list[str]:
    """Raises `Refusal` if it is refused or unknown."""
    one, match = _understood(line)
    try:
        one.handler(lab, match)
    except REFUSALS as error:
        raise Refusal(words_of(error), _output(lab)) from error
    return _output(lab)


@lru_cache(maxsize=10_000)
def _understood(line: str) -> tuple[Command, Match]:
    for one in COMMANDS:
        match = one.pattern.fullmatch(line)
        if match is not None:
            return one, match
    raise Refusal(f"{line!r} is no command", [])


def _output(lab: Lab) -> list[str]:
    """A repeated line comes once, with its number."""
    lab.world.settle()
    _hear_callers(lab)
    lab.world.output, lines = [], lab.world.output
    counted = ((line, sum(1 for _ in same)) for line, same in groupby(lines))
    return [
        line if times == 1 else Sentence("{line} ({times} times)", line=line, times=times) for line, times in counted
    ]


class Refusal(LabError):
    def __init__(self, message: str, output: list[str]) -> None:
        super().__init__(message)
        self.output = output


def _hear_callers(lab: Lab) -> None:
    for request in list(lab.callers):
        node, table, name = lab.callers[request]
        who = f"{node}: {name} " if name else f"{node}: "
        if request in lab.world.granted:
            version = lab.world.granted.pop(request)
            lab.world.nodes[node].taken.setdefault(table, []).append(request)
            lab.world.say(Sentence("{who}uses {what}", who=who, node=node, what=lab.world.table_name(table, version)))
        if request in lab.world.refused:
            del lab.callers[request]
            lab.world.say(Sentence("{who}refused: {why}", who=who, node=node, why=lab.world.refused.pop(request)))
