"""One run: from a seed, or again from a list of events. The judge looks after each event; then faults stop, and time
goes on until every change is over. A replay does refused events, too, so that one event can be left out."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random

from catalog.descriptor import Descriptor
from changes.plan.model import Move
from lab.cluster.control_plane import Without
from lab.scripts.commands_of import COMMIT_ANSWERS, TRIED_AGAIN, Lab, Refusal, perform
from lab.simulator.events import CLOSING_ROUNDS_MAX, Event, Situation, calm, ending, habits, next_event, opening
from lab.simulator.faults import ALL, Fault
from lab.simulator.invariants import Finding, Judge, Memory
from lab.simulator.oracle import Inconsistent, Ledger
from storage import commit_outcomes
from storage.store import MemoryTransaction, TransactionStatus

EVENTS = 120


@dataclass(frozen=True, slots=True)
class Setup:
    """`without`: rules left out, to see that the judge notices."""

    events: int = EVENTS
    faults: frozenset[Fault] = ALL
    without: frozenset[Without] = frozenset()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run and its finding (None: nothing). `at_end`: after faults had stopped."""

    seed: int | None
    happened: tuple[Event, ...]
    finding: Finding | None
    at_end: bool
    counts: Counter[str]


@dataclass
class Simulation:
    memory: Memory = field(default_factory=Memory)
    without: frozenset[Without] = frozenset()
    lab: Lab = field(default_factory=Lab)
    ledger: Ledger = field(default_factory=Ledger)
    happened: list[Event] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    finding: Finding | None = None
    sent: dict[str, MemoryTransaction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lab.world.control.without |= self.without
        self.judge = Judge(self.lab, self.ledger, self.memory)

    def do_all(self, events: Iterable[Event]) -> bool:
        return all(self.do(event) for event in events)

    def do(self, event: Event) -> bool:
        """One event, and a look at its result. True if nothing is wrong."""
        self.happened.append(event)
        self.counts["events"] += 1
        try:
            self._happen(event)
            self.finding = self.finding or self.judge.look()
        except Inconsistent as error:
            self.finding = Finding("lost", str(error))
        except Exception as error:  # noqa: BLE001 - whatever a rule of the product raises is a finding
            self.finding = Finding("mistake", f"{type(error).__name__}: {error}")
        return self.finding is None

    def _happen(self, event: Event) -> None:
        actor, _, sentence = event.line.rpartition(": ")
        verb, one = sentence.split(" ")[0], self.lab.world.transactions.get(actor)
        if verb == "finish" and one is not None and (one.expired or one.ended):
            self.counts["finish without a lease"] += 1
        try:
            output = perform(self.lab, event.line)
        except Refusal:
            self.counts[f"{verb} refused"] += 1
            self._learn_outcomes()
        else:
            self.counts[verb] += 1
            self._learn_outcomes()
            self._note(event, verb, output)
        finally:
            for actor in [actor for actor in self.ledger.opened if actor not in self.lab.world.transactions]:
                self.ledger.forget(actor)
            self.sent = {actor: one for actor, one in self.sent.items() if actor in self.lab.world.transactions}

    def _note(self, event: Event, verb: str, output: list[str]) -> None:
        actor = event.line.partition(":")[0]
        if event.write is not None:
            used = self._version(f"{actor}: under ", output)
            self.ledger.wrote(used.table_id, self.judge.columns.meant(event.write, used))
        elif event.reads is not None:
            if any(line.endswith(TRIED_AGAIN) for line in output):
                self.ledger.forget(actor)
            line = next(line for line in reversed(output) if line.startswith(f"{event.reads}: "))
            listed = line.split(": ", 2)[2]
            rows = [] if listed == "no row" else [f"({row}" for row in listed.removeprefix("(").split(", (")]
            self.finding = self.judge.read(event.reads, self._version(f"{actor}: ", output), rows)
        elif verb == "begin" or (verb == "start" and actor in self.lab.world.transactions):
            if actor not in self.ledger.opened:
                self.ledger.begin(actor)
        elif verb == "send":
            self.sent[actor] = self.lab.world.transactions[actor].store
        elif verb == "ask":
            self._check_answer(actor, output[-1].removeprefix(f"{actor}: "))
        elif verb in ("commit", "late"):
            self._acknowledged(actor)
        elif verb in ("release", "revoke"):
            self.judge.is_blind_to_leases = True

    def _learn_outcomes(self) -> None:
        """The store's outcome of each COMMIT on its way, in order, before any node reports it."""
        for actor, one in self.sent.items():
            if actor in self.ledger.opened and one.status is TransactionStatus.COMMITTED:
                self.ledger.commit(actor)
            elif one.status is TransactionStatus.ABORTED:
                self.ledger.forget(actor)

    def _acknowledged(self, actor: str) -> None:
        one = self.sent.pop(actor, None)
        if one is None:
            self.ledger.commit(actor)
        elif one.status is not TransactionStatus.COMMITTED:
            self.finding = Finding("lost", f"{actor} heard that its transaction has committed, but it was lost")

    def _check_answer(self, actor: str, answer: str) -> None:
        """A node's answer about a lost COMMIT must be true; "unknown" always is."""
        self.counts[f"answered: {answer}"] += 1
        if answer == COMMIT_ANSWERS[commit_outcomes.Outcome.COMMITTED]:
            self._acknowledged(actor)
        elif answer != COMMIT_ANSWERS[commit_outcomes.Outcome.IN_PROGRESS]:
            one = self.sent.pop(actor)
            if (
                answer == COMMIT_ANSWERS[commit_outcomes.Outcome.ABORTED]
                and one.status is not TransactionStatus.ABORTED
            ):
                self.finding = Finding("lost", f"{actor} heard that nothing was committed, but it was")

    def _version(self, beginning: str, output: list[str]) -> Descriptor:
        line = next(line for line in reversed(output) if line.startswith(beginning))
        name, _, version = line.removeprefix(beginning).partition(":")[0].partition("@")
        control = self.lab.world.control
        return control.version(control.find(name), int(version))

    def close(self) -> None:
        if not self.do_all(calm(self.lab)):
            return
        for _ in range(CLOSING_ROUNDS_MAX):
            following = ending(self.lab)
            if not following or not self.do_all(following):
                break
        self.finding = self.finding or self.judge.end()
        for driver in self.lab.changes:
            outcome = driver.state.outcome.value if driver.is_over else "unfinished"
            self.counts[f"change {outcome}"] += 1
            self.counts.update(f"{kind} {outcome}" for kind in {_kind_of(move) for move in driver.state.plan.moves})


def _kind_of(move: Move) -> str:
    spans_tables = move.element.partner is not None
    return f"{'foreign key' if spans_tables else move.element.kind.value} {move.kind.value}"


def simulate(seed: int, setup: Setup, memory: Memory) -> Outcome:
    rng = Random(seed)
    simulation = Simulation(memory, setup.without)
    now = Situation(simulation.lab, rng, habits(rng, setup.faults), [])
    if simulation.do_all(opening(rng, setup.faults)):
        for _ in range(setup.events):
            if not simulation.do(next_event(now)):
                break
    return _closed(simulation, seed)


def replay(events: Iterable[Event], without: frozenset[Without], memory: Memory, *, to_end: bool) -> Outcome:
    """`to_end`: and the events that it takes to end."""
    simulation = Simulation(memory, without)
    simulation.do_all(events)
    if to_end:
        return _closed(simulation, None)
    return Outcome(None, tuple(simulation.happened), simulation.finding, at_end=False, counts=simulation.counts)


def _closed(simulation: Simulation, seed: int | None) -> Outcome:
    happened, at_end = tuple(simulation.happened), simulation.finding is None
    if at_end:
        simulation.close()
    return Outcome(seed, happened, simulation.finding, at_end, simulation.counts)
