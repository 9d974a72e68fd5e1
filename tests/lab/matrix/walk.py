"""One cell of the matrix: a change of one kind, interrupted at one step in one way, judged after every event by the
simulator's judge. At the end the tables are as before or as planned, and the store holds exactly the pairs of the
acknowledged rows under that version. A cell is a golden script."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from catalog.descriptor import Descriptor
from catalog.elements import State, TableId
from changes.executor.events import Outcome, Wait
from changes.executor.machine import RETRIES_MAX
from changes.executor.state import Direction, Mode
from changes.plan.model import Plan, StepKind, describe
from changes.plan.rollback import rollback_steps
from lab.cluster.control_plane import Without
from lab.cluster.driver import Driver
from lab.simulator.context import Event
from lab.simulator.invariants import Finding, Memory
from lab.simulator.oracle import Write
from lab.simulator.simulation import Simulation
from storage.encoding import NULL
from storage.mutations import insert_row
from storage.pairs import rows_of
from tests.lab.matrix import traffic
from tests.lab.matrix.interruptions import Interruption, expected_outcome
from tests.lab.matrix.kinds import OPENING, ChangeKind

TURNS_MAX = 150
"""So many things a change may do before it is called endless."""
FROZEN_TURNS = 14
"""A frozen node stands still for so many seconds: longer than its lease, and than the grace after it."""
RESTS_TURNS = 2
CHUNK_ROWS = 2
"""Of the four or five that there are."""

Place = tuple[Direction, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """Interrupt a change of this kind, in this direction, at this step, in this way."""

    kind: ChangeKind
    direction: Direction
    position: int
    interruption: Interruption

    def __str__(self) -> str:
        return f"{self.kind.name}, {self.direction.value} {self.position}, {self.interruption.value}"


@dataclass(frozen=True, slots=True)
class Shown:
    """The result of a cell: how the change ended, and what was wrong (None: nothing)."""

    cell: Cell
    outcome: str
    finding: Finding | None
    happened: tuple[Event, ...]


@dataclass
class Walk:
    """A cell on its way. `interrupted`: its interruption has come; `cancelled`: to meet the rollback."""

    cell: Cell
    simulation: Simulation
    round_number: int = 0
    interrupted: bool = False
    cancelled: bool = False
    fails: StepKind | None = None
    late: list[str] = field(default_factory=list)

    @property
    def driver(self) -> Driver:
        return self.simulation.lab.change

    @property
    def plan(self) -> Plan:
        return self.driver.state.plan

    @property
    def tables(self) -> tuple[TableId, ...]:
        """The tables that the change moves."""
        return tuple(map(TableId, self.plan.table_ids))

    @property
    def place(self) -> Place:
        return self.driver.state.direction, self.driver.state.position

    def do(self, *lines: str) -> None:
        for line in lines:
            self.happens(Event(line))

    def happens(self, event: Event) -> None:
        if self.simulation.finding is None:
            self.simulation.do(event)

    def meanwhile(self) -> None:
        """The clients' next round."""
        for event in traffic.meanwhile(self.simulation.lab, self.tables, self.round_number):
            self.happens(event)
        self.round_number += 1

    def find(self, rule: str, why: str) -> None:
        self.simulation.finding = self.simulation.finding or Finding(rule, why)

    # --- the change

    def open(self) -> None:
        """The tables, their rows, what must be there before; then the change is submitted."""
        self.do(*OPENING)
        for event in traffic.first_rows(self.simulation.lab):
            self.happens(event)
        for statement in self.cell.kind.before:
            self.do(statement, "run")
        self.do("by hand", self.cell.kind.statement)

    def go(self) -> None:
        """Until the change is over."""
        for _ in range(TURNS_MAX):
            if self.simulation.finding is not None or self.driver.is_over:
                return
            if not self.interrupted and self._is_there():
                self.interrupted = True
                INTERRUPT[self.cell.interruption](self)
            elif self._is_last_moment_to_cancel():
                self.cancelled = True
                self.do("cancel")
            else:
                self._next()
            self.meanwhile()
        self.find("X4", f"the change goes on after {TURNS_MAX} turns: it is {self.driver.state.mode.value}")

    def _is_last_moment_to_cancel(self) -> bool:
        """Of a cell in the rollback: the last moment at which a cancel is accepted."""
        state, plan = self.driver.state, self.plan
        if self.cell.direction is not Direction.BACK or self.cancelled or self.driver.asked is None:
            return False
        return state.position == plan.last_reversible

    def _is_there(self) -> bool:
        """At the step of the cell, in the middle of it where it has one."""
        if self.place != (self.cell.direction, self.cell.position) or self.driver.asked is None:
            return False
        if self._is_filling:
            return bool(self.driver.run.chunks)
        return not isinstance(self.driver.asked, Wait)

    @property
    def _is_filling(self) -> bool:
        at = self.driver.step
        return at is not None and at.kind is StepKind.FILL and not self.driver.run.is_finished

    def _next(self) -> None:
        """The worker does the next thing, or time passes while it waits; where there is no worker another one comes."""
        driver = self.driver
        at = driver.step.kind if driver.step is not None and driver.asked is not None else None
        if self.fails is not None and at is self.fails and not isinstance(driver.asked, Wait):
            self.do("fail step")
        elif driver.asked is None:
            self._rested() if driver.state.mode is Mode.PAUSED else self.do("start worker")
        elif isinstance(driver.asked, Wait):
            self.do("tick 1 s", "step")
        elif not (self._is_filling and driver.run.is_cleared):
            self.do("step")
        elif driver.run.chunks:
            self.do(f"put {driver.filled[0].name}")
        else:
            self.do(f"read {driver.filled[0].name} {CHUNK_ROWS} rows")

    def _rested(self) -> None:
        """It waits for a person, who has now seen to what went wrong."""
        if self.fails is not None and not self.driver.state.trouble:
            self.find("X4", "it rests after failures, and does not say which")
        self.fails = None
        self.do("resume")

    def end(self) -> None:
        """Time runs on; then everything must be as if nothing had come in between."""
        for line in self.late:
            self.do(line)
        self.do("n1: thaw", "n2: thaw", *(f"{n}: start" for n in ("n1", "n2") if not self._runs(n)), "tick 12 s")
        for event in traffic.reads(self.simulation.lab):
            self.happens(event)
        expected = expected_outcome(self.plan, self.cell.direction, self.cell.position, self.cell.interruption)
        if not self.interrupted:
            self.find("matrix", "the change never came to this step")
        if self.driver.is_over and self.driver.state.outcome is not expected:
            self.find("X6", f"the change is {self.driver.state.outcome.value}, but should be {expected.value}")
        if expected is Outcome.FAILED and not self.driver.state.error:
            self.find("X4", "the first error was not kept")
        self.simulation.finding = self.simulation.finding or self.simulation.judge.end()
        self.simulation.finding = self.simulation.finding or next(self._left(), None)

    def _runs(self, name: str) -> bool:
        return any(node.name == name and node.is_running for node in self.simulation.lab.world.nodes.values())

    def _left(self) -> Iterator[Finding]:
        """Leases on older versions, and pairs that are not exactly those of the rows. An optional column may have no
        pair where its value is NULL."""
        world = self.simulation.lab.world
        for table in map(world.control.newest, world.control.published):
            old = [one for one in world.control.live(table.table_id, world.now) if one.version != table.version]
            for lease in old:
                yield Finding("L4", f"{lease.node} still leases version {lease.version} of {table}")
            there = [dict(pairs) for pairs in world.pairs(table.table_id)]
            wanted = self._pairs(table)
            for home, (is_there, is_wanted) in enumerate(zip(there, wanted, strict=True), 1):
                keys = {key for key in is_there if is_there[key] != is_wanted.get(key, b"?")}
                keys |= {key for key in is_wanted.keys() - is_there.keys() if is_wanted[key] != NULL}
                if keys:
                    yield Finding("C7", f"{len(keys)} pairs of {table} on storage {home} are not those of its rows")

    def _pairs(self, table: Descriptor) -> list[dict[bytes, bytes | None]]:
        """Exactly what the rows must have in the store under the newest version."""
        world = self.simulation.lab.world
        made: list[dict[bytes, bytes | None]] = [{} for _ in world.store.pairs]
        if table.state is State.PUBLIC:
            pairs = sorted(pair for one in world.pairs(table.table_id) for pair in one if pair[1] is not None)
            for row in rows_of(table, table.placement, pairs):
                for op in insert_row(table, row, world.store.buckets):
                    made[world.store.home(op) - 1][op.key] = op.value
        return made


# --- the interruptions


def _lines(*lines: str) -> Callable[[Walk], None]:
    return lambda walk: walk.do(*lines)


def _driver_crash_late(walk: Walk) -> None:
    if walk.simulation.lab.world.by_hand and walk._is_filling:
        walk.do(f"put {walk.driver.filled[0].name}")
    walk.do("crash worker late", "start worker")


def _spark_crash(walk: Walk) -> None:
    if not walk._is_filling:
        walk.do("lose answer")
        return
    name = walk.driver.filled[0].name
    walk.do(f"read {name} {CHUNK_ROWS} rows", f"put {name} last")
    walk.late.append(f"put {name}")


def _error_for_good(walk: Walk) -> None:
    at = walk.driver.step
    walk.fails = at.kind if at is not None else None
    walk.do("fail step")


def _pause(walk: Walk) -> None:
    """It comes to rest, and nothing of it moves while it rests."""
    walk.do("pause")
    for _ in range(RETRIES_MAX):
        if walk.driver.state.mode is Mode.PAUSED or walk.driver.is_over:
            break
        walk.do("step" if not isinstance(walk.driver.asked, Wait) else "tick 1 s")
        walk.meanwhile()
    at = walk.place
    for _ in range(RESTS_TURNS):
        walk.meanwhile()
        walk.do("tick 1 s")
    if not walk.driver.is_over and (walk.driver.state.mode is not Mode.PAUSED or walk.place != at):
        walk.find("X4", f"a pause was asked for, but the change is {walk.driver.state.mode.value}")


def _postgres_crash(walk: Walk) -> None:
    walk.happens(Event("n1.a: begin"))
    walk.happens(Event("n1.a: delete users (2)", Write("n1.a", "delete", "2")))
    walk.do("n1.a: send commit", "store crashes", "n1.a: ask", "crash worker", "start worker")
    if walk._is_filling:
        walk.driver.run.chunks.clear()


def _node_freeze(walk: Walk) -> None:
    table = (
        next(iter(traffic.tables_of(walk.simulation.lab, walk.tables)), None)
        or traffic.tables_of(walk.simulation.lab)[0]
    )
    walk.happens(Event("n2.a: begin"))
    walk.happens(traffic.update("n2.a", table, "2", table.public_columns[1], walk.round_number))
    walk.do("n2: freeze")
    for _ in range(FROZEN_TURNS):
        walk.do("tick 1 s")
        if not walk.driver.is_over and walk.driver.asked is not None:
            walk._next()
        walk.meanwhile()
    walk.do("n2.a: late commit", "n2: thaw")


def _node_crash(walk: Walk) -> None:
    walk.do("n2.a: begin", "n2: crash")
    walk.meanwhile()
    walk.do("n2: start")


INTERRUPT: dict[Interruption, Callable[[Walk], None]] = {
    Interruption.NONE: _lines(),
    Interruption.DRIVER_CRASH: _lines("crash worker", "start worker"),
    Interruption.DRIVER_CRASH_LATE: _driver_crash_late,
    Interruption.DRIVER_REPLACED: _lines("lose worker", "start worker", "zombie acts"),
    Interruption.SPARK_CRASH: _spark_crash,
    Interruption.ERROR_ONCE: _lines("fail step"),
    Interruption.ERROR_FOR_GOOD: _error_for_good,
    Interruption.PAUSE: _pause,
    Interruption.CANCEL: _lines("cancel"),
    Interruption.PAUSE_AND_CANCEL: _lines("pause", "cancel"),
    Interruption.POSTGRES_CRASH: _postgres_crash,
    Interruption.NODE_FREEZE: _node_freeze,
    Interruption.NODE_CRASH: _node_crash,
}


def steps_of(kind: ChangeKind) -> dict[Direction, tuple[str, ...]]:
    """The steps of a change of this kind, in words: there, and back from the last step that may be cancelled."""
    walk = Walk(Cell(kind, Direction.FORWARD, 0, Interruption.NONE), Simulation())
    walk.open()
    assert walk.simulation.finding is None, f"{kind.name}: {walk.simulation.finding}"
    assert walk.simulation.lab.changes, f"{kind.name} is no change"
    plan = walk.plan
    published = sum(step.kind is StepKind.PUBLISH for step in plan.forward[: plan.last_reversible])
    directions = {Direction.FORWARD: plan.forward, Direction.BACK: rollback_steps(plan, published)}
    return {direction: tuple(describe(plan, step) for step in steps) for direction, steps in directions.items()}


def run_cell(cell: Cell, memory: Memory, without: frozenset[Without] = frozenset()) -> Shown:
    """Walk one cell to its end."""
    walk = Walk(cell, Simulation(memory, without))
    walk.open()
    walk.go()
    if walk.simulation.finding is None:
        walk.end()
    outcome = walk.driver.state.outcome.value if walk.driver.is_over else walk.driver.state.mode.value
    return Shown(cell, outcome, walk.simulation.finding, tuple(walk.simulation.happened))
