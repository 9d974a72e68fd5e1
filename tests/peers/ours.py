"""Schema Lab: statements through a node of a cluster with three."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.harness.cluster import RunningCluster, running_cluster
from tests.peers.rows import TABLE
from tests.peers.tools import INDEX, TYPE, Tool
from tools.bench.fill import wait_until_warm
from tools.bench.rows import make_table
from tools.bench.writers import write_paced

CHECKS = "every entry and value compared with its row, both ways; every node on the new version"
CHANGES = (
    (INDEX, f"CREATE INDEX bench_index ON {TABLE} (name)", "DROP INDEX bench_index"),
    (TYPE, f"ALTER TABLE {TABLE} ALTER age TYPE bigint", f"ALTER TABLE {TABLE} ALTER age TYPE integer"),
)


@contextmanager
def tools(rows: int) -> Iterator[list[Tool]]:
    with running_cluster(LEASE_S="30") as cluster:
        wait_until_warm(cluster)
        make_table(cluster, TABLE, rows)
        yield [_tool(cluster, *change) for change in CHANGES]


def _tool(cluster: RunningCluster, task: str, there: str, back: str) -> Tool:
    def run(statement: str) -> None:
        with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
            node.execute(statement)

    address = cluster.nodes["n2"].dsn
    return Tool("Schema Lab", task, f"`{there}`", CHECKS, lambda: run(there), lambda: run(back), address, write_paced)
