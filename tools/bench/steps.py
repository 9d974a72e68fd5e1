"""Times a change that has nothing to move: the steps alone."""

import statistics
import time

import psycopg

from tests.harness.cluster import RunningCluster
from tools.bench.report import Figure

ROUNDS = 10


def measure(cluster: RunningCluster) -> list[Figure]:
    """CREATE INDEX and DROP INDEX on an empty table that all three nodes use."""
    connections = [psycopg.connect(node.dsn, autocommit=True) for node in cluster.nodes.values()]
    connections[0].execute("CREATE TABLE bench_empty (id bigint PRIMARY KEY, name text)")
    seconds = []
    for _ in range(ROUNDS):
        for connection in connections:
            connection.execute("SELECT count(*) FROM bench_empty").fetchall()
        began = time.monotonic()
        connections[0].execute("CREATE INDEX bench_empty_name ON bench_empty (name)")
        seconds.append(time.monotonic() - began)
        connections[0].execute("DROP INDEX bench_empty_name")
    waits = drain_waits(cluster, "bench_empty")
    for connection in connections:
        connection.close()
    return [
        Figure(
            "CREATE INDEX on an empty table, submit to public",
            "p50 at most 0.4 s",
            f"median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s",
            f"{ROUNDS} rounds, sent to a node, three nodes hold the table's lease.",
        ),
        Figure(
            "one step, publish to drained, 3 nodes",
            "p50 at most 30 ms",
            f"p50 {1000 * statistics.median(waits):.0f} ms, worst {1000 * max(waits):.0f} ms ({len(waits)} steps)",
            "From the story: the time between `version published` and `version drained` of the same version.",
        ),
    ]


def drain_waits(cluster: RunningCluster, table: str) -> list[float]:
    """Seconds between the publication of each version of the table and its drain."""
    query = """
        SELECT extract(epoch FROM drained.at - published.at)::float8
        FROM catalog_storyevent published
        JOIN catalog_storyevent drained ON drained.stream = published.stream AND drained.kind = 'version drained'
            AND drained.payload -> 'version' = published.payload -> 'version'
        WHERE published.kind = 'version published' AND published.stream = 'table:' ||
            (SELECT id FROM catalog_table WHERE name = %s AND state = 'live')
        """
    with psycopg.connect(cluster.database_url) as database:
        return [row[0] for row in database.execute(query, (table,)).fetchall()]
