"""What may happen next: one line of a script, chosen by the seed among what makes sense now.

A kind of event is drawn by weight and then asked for a line; a kind that has none now is drawn again.
An event is a line and, for a statement that writes or reads rows, what it means for the ledger. Each seed
has habits of its own: some kinds often, some rarely, some faults not at all; so runs differ more
than chance alone would make them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from catalog.elements import Kind, State, TableId
from changes.execution import Mode
from changes.plan import RUNS, StepKind
from lab.driving import Driver
from lab.language import Lab
from lab.simulator.faults import Fault
from lab.simulator.ledger import Write
from lab.world import Node
from leases.gossip import News

NODES = ("n1", "n2", "n3")
SESSIONS = ("a", "b")
KEYS = ("1", "2", "3", "4")
NAMES = ("'a'", "'b'", "'c'", "null")
AGES = ("1", "2")
COLUMNS = ("(name)", "(name)", "(name desc, id)", "(age, name)")
DRAWS_MAX = 60
"""So often a kind is drawn before time passes instead."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line. `write` is what it does to a row, `reads` the session that shall see all rows of `table`."""

    line: str
    write: Write | None = None
    reads: str | None = None
    table: str = "users"


@dataclass(frozen=True, slots=True)
class Habits:
    """What a seed does how often, to which rows. `haste`: how soon a session that has begun goes on and ends."""

    weights: tuple[float, ...]
    faults: frozenset[Fault]
    haste: float
    keys: tuple[str, ...]
    names: tuple[str, ...]


def habits(rng: Random, faults: frozenset[Fault]) -> Habits:
    """Drawn once for a run."""
    kept = frozenset(fault for fault in Fault if fault in faults and rng.random() < 0.75)
    weights = accumulate(
        weight * rng.choice(FACTORS) if fault is None or fault in kept else 0.0 for weight, fault, _ in KINDS
    )
    keys, names = rng.choice((1, 2, 2, 3, 4)), rng.choice((1, 2, 2, 3, 4))
    return Habits(tuple(weights), kept, rng.choice((0.05, 0.2, 1.0)), KEYS[:keys], NAMES[:names])


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a kind of event looks at."""

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


Made = Event | str | None
Maker = Callable[[Situation], Made]


def next_event(now: Situation) -> Event:
    """What happens next."""
    for _ in range(DRAWS_MAX):
        _, _, maker = now.rng.choices(KINDS, cum_weights=now.habits.weights)[0]
        made = maker(now)
        if made is not None:
            return made if isinstance(made, Event) else Event(made)
    return Event("tick 1 s")


# Clients


def client(now: Situation) -> Made:
    """A session does the next thing: begins, pins, writes, reads, commits."""
    node = now.node
    if not node.is_running:
        return None
    session = f"{node.name}.{now.pick(*SESSIONS)}"
    is_open = session in now.lab.world.transactions
    if node.is_frozen:
        return f"{session}: late commit" if is_open and now.rng.random() < 0.05 else None
    if is_open and now.rng.random() > now.habits.haste:
        return None
    dice = now.rng.random()
    if not is_open:
        return f"{session}: begin" if dice < 0.3 else _statement(now, session)
    if dice < 0.12 and not now.lab.world.transactions[session].pins:
        return f"{session}: pin users"
    if dice < 0.4:
        return f"{session}: {'commit' if dice < 0.37 else 'rollback'}"
    return _statement(now, session)


def _statement(now: Situation, session: str) -> Event:
    key, dice = now.pick(*now.habits.keys), now.rng.random()
    table = _some_table(now)
    if dice < 0.3:
        values = (now.pick(*now.habits.names), now.pick(*AGES))
        write = Write(session, "insert", key, values)
        return Event(f"{session}: insert {table} ({key}, {values[0]}, {values[1]})", write, table=table)
    if dice < 0.45:
        name = now.pick(*now.habits.names)
        line = f"{session}: update {table} ({key}) set name = {name}"
        return Event(line, Write(session, "update", key, (name, None)), table=table)
    if dice < 0.55:
        age = now.pick(*AGES)
        line = f"{session}: update {table} ({key}) set age = {age}"
        return Event(line, Write(session, "update", key, (None, age)), table=table)
    if dice < 0.62:
        to = now.pick(*now.habits.keys)
        line = f"{session}: update {table} ({key}) set id = {to}"
        return Event(line, Write(session, "move", key, (to,)), table=table)
    if dice < 0.8:
        return Event(f"{session}: delete {table} ({key})", Write(session, "delete", key), table=table)
    return _query(now, session, table)


def _query(now: Situation, session: str, table: str) -> Event:
    known = now.lab.world.control.newest(now.lab.world.control.find(table)).indexes
    by = f" by {known[int(now.rng.random() * len(known))].name}" if known and now.rng.random() < 0.7 else ""
    return Event(f"{session}: select {table}{by}", reads=session, table=table)


def _some_table(now: Situation) -> str:
    return "pets" if len(now.lab.world.control.published) > 1 and now.rng.random() < 0.3 else "users"


def caller(now: Situation) -> Made:
    """Somebody uses the table for a while without a transaction."""
    node = now.node
    if not node.is_running or node.is_frozen:
        return None
    name = f"as c{len(now.calls)}"
    mine = [call for call in now.calls if call.startswith(f"{node.name}:")]
    if mine and now.rng.random() < 0.6:
        now.calls.remove(mine[0])
        return mine[0]
    now.calls.append(f"{node.name}: give users {name}")
    return f"{node.name}: take users{' fresh' if now.rng.random() < 0.4 else ''} {name}"


def time(now: Situation) -> Made:
    return f"tick {now.pick('0.1', '0.3', '1', '1', '2', '4')} s"


def long_time(now: Situation) -> Made:
    return f"tick {now.pick('6', '11')} s"


# Changes


def submit(now: Situation) -> Made:
    """A new change, when there is none."""
    if now.change is not None:
        return None
    number, control, dice = len(now.lab.changes), now.lab.world.control, now.rng.random()
    indexes = control.newest(TableId(1)).indexes
    if indexes and dice < 0.35:
        return f"drop index {indexes[int(now.rng.random() * len(indexes))].name}"
    pets = [t for t in control.published if control.newest(t).name == "pets"]
    alive = [t for t in pets if control.newest(t).state is not State.ABSENT]
    if dice > 0.85:
        return "drop table pets" if alive else "create table pets (id int primary key, name text, age int)"
    unique = "unique " if dice > 0.8 else ""
    return f"create {unique}index i{number} on users {now.pick(*COLUMNS)}"


def step(now: Situation) -> Made:
    """The worker does the next thing; where there is none, another one comes."""
    driver = now.change
    if driver is None:
        return None
    if driver.asked is None:
        return "resume" if driver.state.mode is Mode.PAUSED else "start worker"
    if not _is_filling(driver):
        return "step"
    run = driver.run
    if run.is_finished:
        return "step"
    name = driver.state.plan.moves[0].element.name
    if run.chunks and (Fault.ZOMBIE not in now.faults or now.rng.random() < 0.6):
        return f"put {name}"
    return f"read {name} 1 row"


def _is_filling(driver: Driver) -> bool:
    return driver.step is not None and driver.step.kind is StepKind.FILL


def zombie_chunk(now: Situation) -> Made:
    """An attempt that everybody has forgotten puts what it read, whatever has happened to the run."""
    for driver in now.lab.changes:
        if driver.state.plan.moves[0].element.kind is Kind.TABLE:
            continue
        if driver.started is not None and driver.started.chunks:
            return f"put {driver.state.plan.moves[0].element.name}{' last' if now.rng.random() < 0.5 else ''}"
    return None


def second_attempt(now: Situation) -> Made:
    driver = now.change
    return (
        f"read {driver.state.plan.moves[0].element.name} 1 row" if driver is not None and _is_filling(driver) else None
    )


def zombie_executor(now: Situation) -> Made:
    driver = now.lab.changes[-1] if now.lab.changes else None
    if driver is None or driver.is_over:
        return None
    if driver.zombies:
        return now.pick("zombie acts", "zombie acts", "cancel", "step")
    return "lose worker" if driver.asked is not None else None


def worker_crash(now: Situation) -> Made:
    driver = now.change
    if driver is None or driver.asked is None:
        return None
    return "crash worker late" if now.rng.random() < 0.5 else "crash worker"


def run_failure(now: Situation) -> Made:
    driver = now.change
    if driver is None or driver.asked is None or driver.step is None or driver.step.kind not in RUNS:
        return None
    return "fail run" if driver.state.mode is Mode.ASKING else None


def wish(now: Situation) -> Made:
    return now.pick("cancel", "pause", "resume", "cancel") if now.change is not None else None


# Faults


def mail(now: Situation) -> Made:
    """One letter of a node that holds its mail arrives: the oldest, or the last."""
    held = [name for name, node in now.lab.world.nodes.items() if node.holds_mail]
    frozen = [name for name in held if now.lab.world.nodes[name].is_frozen]
    waiting = (letter for letter in now.lab.world.mail if letter.node in held)
    letters = [letter for letter in waiting if letter.is_request or letter.node not in frozen]
    if not letters:
        return None
    name = letters[int(now.rng.random() * len(letters))].node
    return f"{name}: deliver{' last' if now.rng.random() < 0.3 else ''}"


def hold(now: Situation) -> Made:
    node = now.node
    return f"{node.name}: {'let go' if node.holds_mail else 'hold'}"


def loss(now: Situation) -> Made:
    """A letter that waits is lost, or the next news."""
    lost = [one for one in now.lab.world.mail if one.is_request or isinstance(one.content, News)]
    if lost:
        return f"{lost[0].node}: lose{' last' if now.rng.random() < 0.5 else ''}"
    return "spread news" if now.lab.world.loses_news else "lose news"


def cut(now: Situation) -> Made:
    node = now.node
    return f"{node.name}: {'mend' if node.is_cut_off else 'cut off'}"


def crash(now: Situation) -> Made:
    node = now.node
    if not node.is_running:
        return f"{node.name}: start"
    return f"{node.name}: {'crash' if now.rng.random() < 0.7 else 'start'}"


def start(now: Situation) -> Made:
    dead = [node.name for node in now.lab.world.nodes.values() if not node.is_running]
    return f"{dead[0]}: start" if dead else None


def freeze(now: Situation) -> Made:
    node = now.node
    return f"{node.name}: {'thaw' if node.is_frozen else 'freeze'}" if node.is_running else None


def operator(now: Situation) -> Made:
    node = now.node
    if not node.is_running or node.is_frozen:
        return None
    return now.pick(
        f"{node.name}: drain", f"{node.name}: undrain", f"{node.name}: undrain", f"revoke users {node.name}"
    )


def release(now: Situation) -> Made:
    return f"release users {now.node.name}"


FACTORS = (0.3, 1.0, 1.0, 3.0)
KINDS: tuple[tuple[float, Fault | None, Maker], ...] = (
    (30, None, client),
    (4, None, caller),
    (6, None, time),
    (4, None, submit),
    (26, None, step),
    (2, None, start),
    (10, Fault.DELAY, mail),
    (3, Fault.DELAY, hold),
    (2, Fault.LOSS, loss),
    (0.7, Fault.LOSS, cut),
    (1, Fault.CRASH, crash),
    (1, Fault.CRASH, worker_crash),
    (0.8, Fault.CRASH, run_failure),
    (2, Fault.FREEZE, freeze),
    (0.7, Fault.FREEZE, long_time),
    (3, Fault.ZOMBIE, zombie_chunk),
    (2, Fault.ZOMBIE, second_attempt),
    (1.5, Fault.ZOMBIE, zombie_executor),
    (1, Fault.OPERATOR, operator),
    (0.8, Fault.OPERATOR, release),
    (1.5, Fault.OPERATOR, wish),
)


# The beginning and the end


def opening(rng: Random, faults: frozenset[Fault]) -> list[Event]:
    """A table with some rows, perhaps an index, and two or three nodes."""
    nodes = NODES[: 2 + (rng.random() < 0.4)]
    lines = ["lease 10 s", "table users (id int primary key, name text, age int)"]
    if Fault.SKEW in faults:
        lines += [f"{node}: clock {rng.randint(-50, 50)} s" for node in nodes]
    events = [Event(line) for line in lines]
    for key in KEYS[: int(rng.random() * 4)]:
        values = (NAMES[int(rng.random() * 3)], AGES[int(rng.random() * 2)])
        line = f"n1: insert users ({key}, {values[0]}, {values[1]})"
        events.append(Event(line, Write("n1", "insert", key, values)))
    events += [Event(f"{node}: select users", reads=node) for node in nodes]
    if rng.random() < 0.4:
        events += [Event("create index i0 on users (name)"), Event("run")]
    return [*events, Event("by hand")]


CLOSING_ROUNDS_MAX = 12


def calm(lab: Lab) -> list[Event]:
    """Faults stop."""
    lines = ["spread news"]
    for name, node in lab.world.nodes.items():
        lines += [f"{name}: mend", f"{name}: let go", f"{name}: thaw"]
        lines += [] if node.is_running else [f"{name}: start"]
        lines.append(f"{name}: undrain")
    return [Event(line) for line in lines]


def ending(lab: Lab) -> list[Event]:
    """Time runs on, and workers do what they are there for; empty when all is over."""
    driver = lab.changes[-1] if lab.changes else None
    if driver is None or driver.is_over:
        return []
    lines = ["by itself", "tick 15 s"]
    if driver.asked is None:
        lines.append("resume" if driver.state.mode is Mode.PAUSED else "start worker")
    return [Event(line) for line in [*lines, "run"]]
