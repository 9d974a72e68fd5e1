"""The context of the next event: the cluster, the seed, its habits. An event is a line of the scripts' language."""

from dataclasses import dataclass
from random import Random

from catalog.descriptor import Descriptor
from catalog.elements import State, TableId
from lab.cluster.driver import Driver
from lab.cluster.parts import Node
from lab.scripts.commands import Lab
from lab.simulator.faults import Fault
from lab.simulator.oracle import Write


def apart(rng: Random) -> Random:
    """A generator that follows from `rng` and leaves it as it is, so that the rest of the run stays the same."""
    twin = Random()
    twin.setstate(rng.getstate())
    return Random(twin.getrandbits(64))


@dataclass(frozen=True, slots=True)
class Event:
    """One line. `write` is its effect on a row, `reads` the session that shall see all rows of `table`."""

    line: str
    write: Write | None = None
    reads: str | None = None
    table: str = "users"


@dataclass(frozen=True, slots=True)
class Habits:
    """The habits of a seed: how often it does what, to which rows. `haste`: how soon a session goes on and ends.
    `family`: the kinds of change it prefers (`lab.simulator.ddl_generator`)."""

    weights: tuple[float, ...]
    faults: frozenset[Fault]
    haste: float
    keys: tuple[str, ...]
    names: tuple[str, ...]
    family: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Situation:
    lab: Lab
    rng: Random
    habits: Habits
    calls: list[str]

    def pick(self, *of: str) -> str:
        return of[int(self.rng.random() * len(of))]

    @property
    def faults(self) -> frozenset[Fault]:
        return self.habits.faults

    @property
    def change(self) -> Driver | None:
        return self.lab.changes[-1] if self.lab.changes and not self.lab.changes[-1].is_over else None

    @property
    def node(self) -> Node:
        nodes = list(self.lab.world.nodes.values())
        return nodes[int(self.rng.random() * len(nodes))]

    @property
    def users(self) -> Descriptor:
        return self.lab.world.control.newest(TableId(1))

    @property
    def pets(self) -> Descriptor | None:
        control = self.lab.world.control
        newest = control.newest(list(control.published)[-1])
        return newest if newest.name == "pets" and newest.state is not State.ABSENT else None

    def some_table(self) -> Descriptor:
        """Most often one that is being changed."""
        change, pets = self.change, self.pets
        if change is not None and self.rng.random() < 0.7:
            moving = [table for table in (self.users, pets) if table and table.table_id in change.state.plan.table_ids]
            if moving:
                return moving[int(self.rng.random() * len(moving))]
        return pets if pets is not None and self.rng.random() < 0.4 else self.users


Made = Event | str | None
