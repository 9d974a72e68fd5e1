"""The events that may happen next: one line of a script, chosen by the seed among those that make sense now. A kind is
drawn by weight, again if it has no line. Each seed has habits of its own, so that runs differ more than by chance."""

from collections.abc import Callable
from itertools import accumulate
from random import Random

from changes.executor.state import Mode
from changes.plan.model import RUNS, StepKind
from lab.cluster.driver import Driver
from lab.scripts.commands import Lab
from lab.simulator.clients import NUMBERS, caller, client, reader
from lab.simulator.context import Event, Habits, Made, Situation, apart
from lab.simulator.ddl_generator import PETS, family, submit
from lab.simulator.faults import Fault
from lab.simulator.oracle import Write
from leases.gossip import News
from storage.store import TransactionStatus

__all__ = ["CLOSING_ROUNDS_MAX", "Event", "Situation", "calm", "ending", "habits", "next_event", "opening"]

NODES = ("n1", "n2", "n3")
KEYS = ("1", "2", "3", "4")
NAMES = ("'a'", "'b'", "'c'", "null")
DRAWS_MAX = 60
"""So often a kind is drawn before time passes instead."""

Maker = Callable[[Situation], Made]


def habits(rng: Random, faults: frozenset[Fault]) -> Habits:
    kept = frozenset(fault for fault in Fault if fault in faults and rng.random() < 0.75)
    weights = accumulate(
        weight * rng.choice(FACTORS) if fault is None or fault in kept else 0.0 for weight, fault, _ in KINDS
    )
    keys, names = rng.choice((1, 2, 2, 3, 4)), rng.choice((1, 2, 2, 3, 4))
    haste = rng.choice((0.05, 0.2, 1.0))
    return Habits(tuple(weights), kept, haste, KEYS[:keys], NAMES[:names], family(rng))


def next_event(now: Situation) -> Event:
    for _ in range(DRAWS_MAX):
        _, _, maker = now.rng.choices(KINDS, cum_weights=now.habits.weights)[0]
        made = maker(now)
        if made is not None:
            return made if isinstance(made, Event) else Event(made)
    return Event("tick 1 s")


def time(now: Situation) -> Made:
    return f"tick {now.pick('0.1', '0.3', '1', '1', '2', '4')} s"


def long_time(now: Situation) -> Made:
    return f"tick {now.pick('6', '11')} s"


# Changes


def step(now: Situation) -> Made:
    """The worker takes its next step; without one, another worker comes."""
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
    name = driver.filled[0].name
    if run.chunks and (Fault.ZOMBIE not in now.faults or now.rng.random() < 0.6):
        return f"put {name}"
    return f"read {name} 1 row"


def _is_filling(driver: Driver) -> bool:
    """True if chunks may be read: the fill has cleared old tombstones (R6)."""
    return driver.step is not None and driver.step.kind is StepKind.FILL and driver.run.is_cleared


def zombie_chunk(now: Situation) -> Made:
    """A forgotten attempt puts its chunk, whatever has happened to the run."""
    for driver in now.lab.changes:
        if driver.started is not None and driver.started.chunks:
            return f"put {driver.filled[0].name}{' last' if now.rng.random() < 0.5 else ''}"
    return None


def second_attempt(now: Situation) -> Made:
    driver = now.change
    return f"read {driver.filled[0].name} 1 row" if driver is not None and _is_filling(driver) else None


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


def request(now: Situation) -> Made:
    return now.pick("cancel", "pause", "resume", "cancel") if now.change is not None else None


# Faults


def delivery(now: Situation) -> Made:
    held = [name for name, node in now.lab.world.nodes.items() if node.holds_messages]
    frozen = [name for name in held if now.lab.world.nodes[name].is_frozen]
    waiting = (message for message in now.lab.world.messages if message.node in held)
    messages = [message for message in waiting if message.is_request or message.node not in frozen]
    if not messages:
        return None
    name = messages[int(now.rng.random() * len(messages))].node
    return f"{name}: deliver{' last' if now.rng.random() < 0.3 else ''}"


def hold(now: Situation) -> Made:
    node = now.node
    return f"{node.name}: {'flush' if node.holds_messages else 'hold'}"


def loss(now: Situation) -> Made:
    lost = [one for one in now.lab.world.messages if one.is_request or isinstance(one.content, News)]
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
    revoke = f"revoke {now.some_table().name} {node.name}"
    return now.pick(f"{node.name}: drain", f"{node.name}: undrain", f"{node.name}: undrain", revoke)


def release(now: Situation) -> Made:
    """A lease is taken away behind a node's back, most often one with a transaction."""
    used = [(one.node, table) for one in now.lab.world.transactions.values() for table in one.entered]
    if used and now.rng.random() < 0.8:
        node, table = used[int(now.rng.random() * len(used))]
        return f"release {now.lab.world.control.newest(table).name} {node}"
    return f"release {now.some_table().name} {now.node.name}"


def unanswered_commit(now: Situation) -> Made:
    """A session that has written sends its COMMIT, which takes a while to be flushed."""
    world = now.lab.world
    ready = [
        actor
        for actor, one in world.transactions.items()
        if one.store.status is TransactionStatus.OPEN and one.store.ops and not world.nodes[one.node].is_frozen
    ]
    return f"{ready[int(now.rng.random() * len(ready))]}: send commit" if ready else None


def store_crash(now: Situation) -> Made:
    """Most often when a COMMIT is on its way."""
    flushing = len(now.lab.world.store.flushing)
    if not flushing:
        return "store crashes" if now.rng.random() < 0.02 else None
    if now.rng.random() < 0.2:
        return "store flushes"
    return f"store crashes keeping {int(now.rng.random() * (flushing + 1))}"


FACTORS = (0.3, 1.0, 1.0, 3.0)
KINDS: tuple[tuple[float, Fault | None, Maker], ...] = (
    (30, None, client),
    (4, None, caller),
    (6, None, time),
    (4, None, submit),
    (26, None, step),
    (2, None, start),
    (10, Fault.DELAY, delivery),
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
    (1.5, Fault.OPERATOR, request),
    (15, Fault.FORGET, unanswered_commit),
    (12, Fault.FORGET, store_crash),
    (8, Fault.READS, reader),
)


# The beginning and the end


def opening(rng: Random, faults: frozenset[Fault]) -> list[Event]:
    nodes = NODES[: 2 + (rng.random() < 0.4)]
    age = rng.choice(("int", "int", "int not null", "int not null default 2"))
    ways = [_coordination(apart(rng), n) if Fault.UNLEASED in faults else "" for n in range(2)]
    lines = ["lease 10 s", f"table users (id int primary key, name text, age {age}){ways[0]}"]
    has_pets = rng.random() < 0.4
    lines += [f"table {PETS}{ways[1]}"] if has_pets else []
    if Fault.SKEW in faults:
        lines += [f"{node}: clock {rng.randint(-50, 50)} s" for node in nodes]
    events = [Event(line) for line in lines]
    for key in KEYS[: int(rng.random() * 4)]:
        values = (NAMES[int(rng.random() * 3)], NUMBERS[int(rng.random() * 2)])
        line = f"n1: insert users ({key}, {values[0]}, {values[1]})"
        events.append(Event(line, Write("n1", "insert", key, values)))
    events += [Event(f"{node}: select users", reads=node) for node in nodes]
    first = rng.choice(FIRST_CHANGES)
    if first and (has_pets or "pets" not in first):
        events += [Event(first), Event("run")]
    return [*events, Event("by hand")]


def _coordination(rng: Random, number: int) -> str:
    chosen = rng.choices(("", "both", "hash"), (3, 1, 2), k=2)[number]
    return f" with (coordination = '{chosen}')" if chosen else ""


FIRST_CHANGES = (
    "create index i0 on users (name)",
    "create index i0 on users (name)",
    "alter table users add column c0 int default 1",
    "alter table users add constraint k0 check (age <> 3)",
    "alter table pets add constraint f0 foreign key (owner) references users (id)",
    "",
    "",
)
"""What a run may begin with; none: as often."""

CLOSING_ROUNDS_MAX = 12


def calm(lab: Lab) -> list[Event]:
    lines = ["spread news"]
    lines += ["store flushes"] if lab.world.store.flushing else []
    for name, node in lab.world.nodes.items():
        lines += [f"{name}: mend", f"{name}: flush", f"{name}: thaw"]
        lines += [] if node.is_running else [f"{name}: start"]
        lines.append(f"{name}: undrain")
    return [Event(line) for line in lines]


def ending(lab: Lab) -> list[Event]:
    """Time goes on, and workers take their steps; empty when all is over."""
    driver = lab.changes[-1] if lab.changes else None
    if driver is None or driver.is_over:
        return []
    lines = ["by itself", "tick 15 s"]
    if driver.asked is None:
        lines.append("resume" if driver.state.mode is Mode.PAUSED else "start worker")
    return [Event(line) for line in [*lines, "run"]]
