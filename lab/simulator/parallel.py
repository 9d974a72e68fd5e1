"""A range of seeds over several processes, each with every n-th; the lowest finding wins."""

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context

from lab.simulator.seeds import Report, run_all
from lab.simulator.simulation import Setup

BATCH = 50


def run_parallel(seeds: range, setup: Setup, *, jobs: int, watch: Callable[[Report], bool]) -> Report:
    total = Report()
    batches = iter([seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH)])
    fresh = get_context("spawn")  # a fork would inherit the locks of threads that it does not have
    with ProcessPoolExecutor(jobs, mp_context=fresh) as pool:
        running = {pool.submit(run_all, batch, setup) for batch in islice(batches, jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in (future.result() for future in done):
                total.runs += one.runs
                total.counts += one.counts
                is_first = total.found is None or (one.found is not None and _seed(one) < _seed(total))
                if one.found is not None and is_first:
                    total.found, total.shortest = one.found, one.shortest
            if watch(total) and total.found is None:
                running |= {pool.submit(run_all, batch, setup) for batch in islice(batches, len(done))}
    return total


def _seed(report: Report) -> int:
    assert report.found is not None, "only a finding has a seed"
    return report.found.seed or 0
