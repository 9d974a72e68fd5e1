"""Run every benchmark on a cluster of its own and write docs/benchmarks.md."""

import os
import platform

from bench import classroom, crowd, end_to_end, fill, jobs, proofs, requests, stage, statements, steps, watchers
from bench.report import write_page
from schemalab.testing.cluster import running_cluster

BENCHMARKS = (proofs, steps, watchers, classroom, end_to_end, fill, jobs, statements, requests)


def main() -> None:
    figures = []
    with running_cluster(LEASE_S="30") as cluster:
        for benchmark in BENCHMARKS:
            figures += benchmark.measure(cluster)
    figures += crowd.measure()
    figures += end_to_end.measure_cold()
    figures += stage.measure()
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    print(f"written to {write_page(machine, figures)}")


if __name__ == "__main__":
    main()
