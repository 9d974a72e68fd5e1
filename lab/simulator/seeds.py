"""Runs seeds until one finds something."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lab.simulator.invariants import Memory
from lab.simulator.minimise import minimise
from lab.simulator.simulation import Outcome, Setup, simulate


@dataclass
class Report:
    """`shortest` is the first finding, minimised; `sometimes` counts events."""

    runs: int = 0
    seconds: float = 0.0
    found: Outcome | None = None
    shortest: Outcome | None = None
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def events(self) -> int:
        return self.counts["events"]


def run_all(
    seeds: Iterable[int],
    setup: Setup,
    *,
    watch: Callable[[Report], bool] = lambda _: True,
    minimises: bool = True,
    clock: Callable[[], float] = time.monotonic,
) -> Report:
    """Ends with a finding, without more seeds, or when `watch` says stop."""
    report, memory, began = Report(), Memory(), clock()
    for seed in seeds:
        outcome = simulate(seed, setup, memory)
        report.runs += 1
        report.counts += outcome.counts
        report.seconds = clock() - began
        if outcome.finding is not None:
            report.found = outcome
            report.shortest = minimise(outcome, setup.without, memory) if minimises else outcome
            break
        if not watch(report):
            break
    return report
