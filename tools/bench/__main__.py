"""Run every benchmark on a cluster of its own and write docs/benchmarks.md."""

import argparse
import os
import platform

from tests.harness.cluster import running_cluster
from tools.bench import (
    classroom,
    crossings,
    crowd,
    end_to_end,
    fill,
    jobs,
    ladders,
    picture,
    proofs,
    requests,
    stage,
    statements,
    steps,
    watchers,
)
from tools.bench.report import Figure, write_page

BENCHMARKS = (
    proofs,
    steps,
    watchers,
    picture,
    classroom,
    ladders,
    end_to_end,
    fill,
    jobs,
    statements,
    crossings,
    requests,
)


def main() -> None:
    argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__).parse_args()
    figures: list[Figure] = []
    with running_cluster(LEASE_S="30") as cluster:
        for benchmark in BENCHMARKS:
            figures += shown(benchmark.measure(cluster))
    figures += shown(crowd.measure())
    figures += shown(end_to_end.measure_cold())
    figures += shown(stage.measure())
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    print(f"written to {write_page(machine, figures)}")


def shown(figures: list[Figure]) -> list[Figure]:
    """Prints the figures at once: all of them take half an hour."""
    for figure in figures:
        print(f"{figure.what}: {figure.seen}", flush=True)
    return figures


if __name__ == "__main__":
    main()
