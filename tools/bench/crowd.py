"""A hundred lease machines on one table: eight nodes, and 92 keepers without SQL in a process of their own. Each uses
the table for two milliseconds now and then, so that every version meets a hundred leases."""

import asyncio
import multiprocessing
import random
import statistics
from contextlib import AsyncExitStack
from multiprocessing.synchronize import Event

import psycopg

from leases.asyncio.keeper import LeaseKeeper
from tests.harness.cluster import RunningCluster, running_cluster
from tools.bench.report import Figure
from tools.bench.steps import drain_waits

NODES, KEEPERS = 8, 92
ROUNDS = 3
USE_S, REST_S = 0.002, 0.5
READY_S_MAX = 60.0
LEASE_S = 30.0
TABLE = "bench_crowd"


def measure() -> list[Figure]:
    with running_cluster(nodes=NODES, LEASE_S="30") as cluster:
        return [figure(cluster)]


def figure(cluster: RunningCluster) -> Figure:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute(f"CREATE TABLE {TABLE} (id bigint PRIMARY KEY, name text)")
        context = multiprocessing.get_context("spawn")
        ready, stop = context.Event(), context.Event()
        arguments = (cluster.database_url, cluster.redis_url, registered(cluster), table_id(cluster), ready, stop)
        keepers = context.Process(target=keep, args=arguments)
        keepers.start()
        try:
            assert ready.wait(READY_S_MAX), f"{KEEPERS} keepers hold no leases after {READY_S_MAX:.0f} s"
            for _ in range(ROUNDS):
                node.execute(f"CREATE INDEX bench_crowd_name ON {TABLE} (name)")
                node.execute("DROP INDEX bench_crowd_name")
        finally:
            stop.set()
            keepers.join(READY_S_MAX)
    waits = drain_waits(cluster, TABLE)
    return Figure(
        f"one step, publish to drained, {NODES + KEEPERS} lease machines",
        "p50 at most 200 ms",
        f"p50 {1000 * statistics.median(waits):.0f} ms, worst {1000 * max(waits):.0f} ms ({len(waits)} steps)",
        f"{NODES} nodes, and {KEEPERS} keepers in one process, each using the table every {REST_S:g} s or so; from the"
        " story, as above.",
    )


def registered(cluster: RunningCluster) -> dict[str, int]:
    names = [f"k{number}" for number in range(1, KEEPERS + 1)]
    sql = "SELECT incarnation FROM node_register(%s, '127.0.0.1', 1, 1)"
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        return {name: database.execute(sql, (name,)).fetchone()[0] for name in names}  # type: ignore[index]


def table_id(cluster: RunningCluster) -> int:
    with psycopg.connect(cluster.database_url) as database:
        row = database.execute("SELECT id FROM catalog_table WHERE name = %s AND state = 'live'", (TABLE,)).fetchone()
    assert row is not None, f"there is no table {TABLE}"
    return int(row[0])


def keep(dsn: str, redis_url: str, names: dict[str, int], table: int, ready: Event, stop: Event) -> None:
    asyncio.run(keep_all(dsn, redis_url, names, table, ready, stop))


async def keep_all(dsn: str, redis_url: str, names: dict[str, int], table: int, ready: Event, stop: Event) -> None:
    async with AsyncExitStack() as stack:
        keepers = []
        for name, incarnation in names.items():
            keeper = LeaseKeeper(
                node=name, incarnation=incarnation, dsn=dsn, redis_url=redis_url, lease_s=LEASE_S,
                on_fatal=lambda why: print(f"a keeper stopped: {why}", flush=True),
            )  # fmt: skip
            keepers.append(await stack.enter_async_context(keeper))
            keeper.unpin(await keeper.pin(table))
        ready.set()
        await asyncio.gather(*(use(keeper, table, stop) for keeper in keepers))


async def use(keeper: LeaseKeeper, table: int, stop: Event) -> None:
    while not stop.is_set():
        pin = await keeper.pin(table)
        await asyncio.sleep(USE_S)
        keeper.unpin(pin)
        await asyncio.sleep(random.uniform(0.5, 1.5) * REST_S)


if __name__ == "__main__":
    for seen in measure():
        print(seen)
