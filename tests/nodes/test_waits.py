"""What is under way for longer than a lease shows up: it may hold a schema change back, and others' rows."""

import asyncio
import time
from typing import Any

import psycopg
from redis import Redis

from leases.samples import Sample, from_text
from tests.nodes.conftest import SHORT_LEASE_S, Cluster
from tests.nodes.within import Within, within

LEASE_S = 0.2
"""As long as a lease lasts in these tests; the cluster's own last longer than a test."""


def test_a_statement_that_waits_for_longer_than_a_lease_is_counted(
    cluster: Cluster, n1: "psycopg.Connection[Any]"
) -> None:
    table = cluster.table("id int primary key, v int")
    n1.execute(f"INSERT INTO {table} VALUES (1, 0)")

    async def work(node: Within) -> None:
        env = node.session.env
        n1.execute("BEGIN")
        n1.execute(f"UPDATE {table} SET v = 1 WHERE id = 1")
        waiting = asyncio.create_task(node.run(f"UPDATE {table} SET v = 2 WHERE id = 1"))
        (waits_for_s,) = await long_waits(node, LEASE_S)
        assert LEASE_S <= waits_for_s < 15
        n1.execute("ROLLBACK")
        assert await waiting is None
        assert env.long_waits(0.0) == []

    within(cluster, work)


def test_an_open_transaction_is_counted_while_its_client_is_idle(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, v int")

    async def work(node: Within) -> None:
        env = node.session.env
        await node.run("BEGIN")
        await node.run(f"SELECT * FROM {table}", alone=False)
        assert len(await long_waits(node, LEASE_S)) == 1
        await node.run("COMMIT")
        assert env.long_waits(0.0) == []

    within(cluster, work)


def test_a_node_with_short_leases_reports_its_long_waits(cluster: Cluster, short: str) -> None:
    table = cluster.table("id int primary key, v int")
    with cluster.connect(short) as client, client.transaction():
        client.execute(f"SELECT * FROM {table}")
        sample = reported(cluster, short)
        assert (sample.long_waits, sample.open_transactions) == (1, 1)
        assert sample.longest_wait_s >= SHORT_LEASE_S  # in tenths


async def long_waits(node: Within, longer_than_s: float) -> list[float]:
    """What the node counts, in seconds, once it counts anything: a busy machine starts a statement late."""
    async with asyncio.timeout(15):
        while not (waits_s := list(node.session.env.long_waits(longer_than_s))):
            await asyncio.sleep(0.02)
    return waits_s


def reported(cluster: Cluster, node: str) -> Sample:
    """The first sample of a node that has a long wait."""
    deadline = time.monotonic() + 15
    with Redis.from_url(cluster.redis_url) as client:
        while time.monotonic() < deadline:
            for text in client.lrange(f"schemalab:samples:{node}", 0, -1):
                if (sample := from_text(text)).long_waits:
                    return sample
            time.sleep(0.05)
    raise AssertionError(f"{node} reported no long wait within 15 s")
