"""Records the cluster's seconds from Redis. A second is written again when more nodes have reported it."""

from django.db import connection, transaction

from catalog.database import database_clock_s
from leases.models import Node
from leases.redis.samples import read_all
from leases.staircase.facts import Second
from leases.staircase.seconds import AHEAD_S, seconds_of

AGAIN_S = 5
"""The last recorded seconds that may not be whole yet."""
NEWEST = """
    SELECT coalesce(max(at), 0) FROM leases_recordedsecond WHERE at <= extract(epoch FROM clock_timestamp()) + %s
"""
WRITE = """
    INSERT INTO leases_recordedsecond AS kept (at, statements_per_s, p50_ms, p99_ms, nodes) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (at) DO UPDATE SET statements_per_s = excluded.statements_per_s, p50_ms = excluded.p50_ms,
        p99_ms = excluded.p99_ms, nodes = excluded.nodes
    WHERE kept.nodes < excluded.nodes
"""


def reported_seconds() -> dict[Second, int]:
    """The last minute of the cluster, with the number of nodes that reported each second."""
    return seconds_of(read_all(Node.objects.values_list("name", flat=True)), database_clock_s())


def record_seconds() -> int:
    reported = reported_seconds()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
        cursor.execute(NEWEST, [AHEAD_S])
        since = cursor.fetchone()[0] - AGAIN_S
        new = [
            (int(one.at), one.statements_per_s, one.p50_ms, one.p99_ms, nodes)
            for one, nodes in reported.items()
            if one.at > since
        ]
        cursor.executemany(WRITE, new)
    return len(new)
