"""Kills and freezes processes, by the clock or just when a change begins a step: a deck of all strikes is dealt to its
end before it is shuffled again, from one seed. The store has a deck of its own, so that it crashes at least twice a
minute. `up` restarts a killed postmaster later each time when it dies soon again: it is left alone for a while
afterwards."""

import contextlib
import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import psutil
import psycopg

from schemalab.polling import TookTooLong, wait_for
from schemalab.supervisor.control import CommandRefused, NotRunning
from tests.harness.cluster import RunningCluster
from tests.soak.clients.actors import Stage
from tests.soak.faults.recovery import Recovery
from tests.soak.faults.victims import Victim, victims
from tests.soak.judge.samples import Sampler, StepSeen

PAUSE_S = (2.0, 10.0)
STORE_PAUSE_S = (10.0, 26.0)
STEP_S_MAX = 8.0
AT_A_STEP_SHARE = 0.6
POSTMASTER_PAUSE_S = 70.0
HEALED_S_MAX = 120.0
KILL, FREEZE, FREEZE_LONG = "kill", "freeze", "freeze beyond a lease"


@dataclass(frozen=True, slots=True)
class Strike:
    action: str
    victim: Victim

    def __str__(self) -> str:
        return f"{self.action} {self.victim.name}"

    @property
    def crashes_the_store(self) -> bool:
        return self.action == KILL and self.victim.is_store


def strikes_of(all_victims: tuple[Victim, ...]) -> tuple[list[Strike], list[Strike]]:
    """Those that make PostgreSQL recover, and all others."""
    every = [Strike(action, victim) for victim in all_victims for action in (KILL, FREEZE, FREEZE_LONG)]
    return [one for one in every if one.crashes_the_store], [one for one in every if not one.crashes_the_store]


def deck(strikes: list[Strike], chance: random.Random) -> Iterator[Strike]:
    """Each strike once in every round, in an order of chance."""
    while True:
        yield from chance.sample(strikes, len(strikes))


class Nemesis:
    """Two threads that strike until they are told to end; then everything is healed."""

    def __init__(self, stage: Stage, cluster: RunningCluster, sampler: Sampler, recovery: Recovery, lease_s: float):
        self._stage, self._cluster, self._sampler, self._recovery = stage, cluster, sampler, recovery
        self._lease_s = lease_s
        self._over = threading.Event()
        self._frozen: list[psutil.Process] = []
        self._lock = threading.Lock()
        self._postmaster_died_at = -POSTMASTER_PAUSE_S
        self.counts: Counter[str] = Counter()
        self.cells: Counter[str] = Counter()
        self.store_crashes = 0
        store, others = strikes_of(victims(cluster))
        self._threads = [
            threading.Thread(target=self._act, args=("nemesis", others, PAUSE_S), daemon=True),
            threading.Thread(target=self._act, args=("nemesis of the store", store, STORE_PAUSE_S), daemon=True),
        ]

    def begin(self) -> None:
        for thread in self._threads:
            thread.start()

    def _act(self, name: str, strikes: list[Strike], pause_s: tuple[float, float]) -> None:
        chance = self._stage.chance(name)
        dealt = deck(strikes, chance)
        try:
            while not self._over.wait(chance.uniform(*pause_s)):
                strike, at_a_step = next(dealt), chance.random() < AT_A_STEP_SHARE
                share, at = chance.random(), chance.random()
                step = self._sampler.next_step(STEP_S_MAX) if at_a_step else None
                if not self._over.is_set():
                    self._strike(strike, step, share, at)
        except Exception:  # noqa: BLE001 (a storm without strikes would prove nothing)
            self._stage.chronicle.violation(name, f"ended by a mistake of its own:\n{traceback.format_exc()}")

    def _strike(self, strike: Strike, step: StepSeen | None, share: float, at: float) -> None:
        """`share` chooses how long it lasts, `at` which of several processes it is."""
        if strike.action == KILL and strike.victim.name == "postmaster":
            if time.monotonic() - self._postmaster_died_at < POSTMASTER_PAUSE_S:
                return
            self._postmaster_died_at = time.monotonic()
        found = strike.victim.find(self._cluster)
        if found and not strike.victim.is_group:
            found = [sorted(found, key=lambda one: one.pid)[int(at * len(found))]]
        pids = ", ".join(str(one.pid) for one in found) or "none is there"
        self._stage.chronicle.note("nemesis", f"{strike} ({pids})" + (f" at {step}" if step else ""))
        if not found:
            return
        self.counts[str(strike)] += 1
        if step is not None:
            self.cells[f"{step.kind} | {step.step} | {strike}"] += 1
        if strike.action == KILL:
            self._kill(strike, found)
        else:
            self._freeze(strike, found, self._length_s(strike, share))

    def _kill(self, strike: Strike, found: list[psutil.Process]) -> None:
        struck = 0
        for one in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
                struck += 1
        self.store_crashes += bool(struck and strike.crashes_the_store)
        self._recovery.struck(str(strike))

    def _length_s(self, strike: Strike, share: float) -> float:
        low, high = (0.05, 0.6) if strike.action == FREEZE else (1.2, 2.5)
        return self._lease_s * (low + share * (high - low))

    def _freeze(self, strike: Strike, found: list[psutil.Process], seconds: float) -> None:
        try:
            for one in found:
                with contextlib.suppress(psutil.NoSuchProcess):
                    with self._lock:
                        self._frozen.append(one)
                    one.suspend()
            self._over.wait(seconds)
        finally:
            self.thaw()
        self._stage.chronicle.note("nemesis", f"thawed {strike.victim.name} after {seconds:.1f} s")
        self._recovery.struck(str(strike))

    def thaw(self) -> None:
        with self._lock:
            frozen, self._frozen = self._frozen, []
        for one in frozen:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.resume()

    # --- the end

    def heal(self) -> float:
        """No further strike; everything runs again, or it is a violation. Returns how many seconds it took."""
        self._over.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(60)
        self.thaw()
        began = time.monotonic()
        try:
            wait_for(self._is_all_up, what="every process", seconds_max=HEALED_S_MAX)
        except TookTooLong:
            states = {name: one["state"] for name, one in self._cluster.processes().items()}
            self._stage.chronicle.violation("nemesis", f"not healed after {HEALED_S_MAX:g} s: {states}")
        return time.monotonic() - began

    def _is_all_up(self) -> bool:
        try:
            processes = self._cluster.processes()
        except (NotRunning, OSError):
            return False
        down = [name for name, one in processes.items() if one["state"] != "up" and name != "migrate"]
        for name in down:
            with contextlib.suppress(CommandRefused, NotRunning, OSError):
                self._cluster.control("start", name)
        return not down and all(answers(node.dsn) for node in self._cluster.nodes.values())


def answers(dsn: str) -> bool:
    try:
        with psycopg.connect(dsn, autocommit=True, connect_timeout=2) as node:
            node.execute("SET statement_timeout = 5000")
            return bool(node.execute("SELECT count(*) FROM accounts").fetchall())
    except psycopg.Error:
        return False
