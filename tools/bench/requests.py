"""Requests of crud: what their check costs, what they cost beside SQL, and what they do while the schema moves. One
client sends two statements in turn, one of each kind, so that whatever else the machine does falls on both alike: the
ratio of their medians is what is measured. `python -m tools.bench.requests` prints the lines."""

import asyncio
import os
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.hashing import schema_hash, sharding_hash
from nodes.client import AsyncCrud
from storage.postgres import enter_sql, session_options
from tests.harness.cluster import RunningCluster, running_cluster
from tools.bench.report import Figure
from tools.bench.rows import make_table, newest
from tools.bench.writers import write_beside

PAIRS = 1000
WARM_UP = 100
STORAGES = 2
AT_ONCE = 100
HELD_S = 1.0
ROUNDS_MAX = 10
RESHARDED = "bench_fill"
RESHARDED_ROWS = 100_000
REST_S = 8.0
Work = Callable[[int], object]


def measure(cluster: RunningCluster) -> list[Figure]:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute("CREATE TABLE bench_requests (id bigint PRIMARY KEY, name text, score integer)")
        node.prepare_threshold = 2
        figures = [*check(node), *beside(node)]
    figures.append(door(cluster))
    figures.append(asyncio.run(reload(cluster)))
    figures.append(resharded(cluster))
    return figures


def in_turn(one: Work, other: Work, pairs: int = PAIRS) -> tuple[float, float]:
    """Median seconds of each of two kinds of work, done in turn."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for number in range(WARM_UP + pairs):
        for place in (0, 1) if number % 2 else (1, 0):
            began = time.perf_counter()
            (one, other)[place](2 * number + place)
            if number >= WARM_UP:
                seconds[place].append(time.perf_counter() - began)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def shown(one_s: float, other_s: float) -> str:
    return f"{1000 * one_s:.2f} ms against {1000 * other_s:.2f} ms"


# -- the check


def check(node: "psycopg.Connection[Any]") -> list[Figure]:
    hashed, plain = '{"add_space_schema_hash": true}', "{}"

    def insert(options: str, base: int) -> Work:
        sql = "SELECT crud.insert('bench_requests', %s, %s)"
        return lambda number: node.execute(sql, [f'[{base + number}, "name {number}", 7]', options])

    def get(options: str) -> Work:
        sql = "SELECT crud.get('bench_requests', %s, %s)"
        return lambda number: node.execute(sql, [str(10**6 + number % 200), options])

    cases = (("insert", "at most 5 %", insert(hashed, 10**6), insert(plain, 10**6)),
             ("get by key", "at most 1.5 %", get(hashed), get(plain)))  # fmt: skip
    figures = []
    for what, goal, with_it, without in cases:
        with_s, without_s = in_turn(with_it, without)
        cost = 100 * (with_s / without_s - 1)
        method = f"{PAIRS} requests of each kind in turn by one client: with option add_space_schema_hash, and without."
        figures.append(Figure(
            f"the check of the schema's hash, {what}", f"{goal} slower",
            f"{cost:+.1f} % ({shown(with_s, without_s)})", method,
        ))  # fmt: skip
    return figures


def door(cluster: RunningCluster) -> Figure:
    """A transaction that writes three pairs at the store, with and without `enter`."""
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        known = newest(database, "bench_requests")
        database.execute("CREATE TABLE bench_door (key bytea PRIMARY KEY, value bytea)")
    with psycopg.connect(cluster.database_url, autocommit=True, **session_options("bench")) as store:
        until = store.execute("SELECT clock_timestamp() + interval '1 hour'").fetchone()
        assert until is not None
        entering, raw = enter_sql(tuple(range(1, STORAGES + 1))), psycopg.RawCursor(store)
        params = (known.table_id, known.version, schema_hash(known), sharding_hash(known), until[0])

        def write(number: int, *, enters: bool) -> None:
            keys = [number.to_bytes(8) + bytes([column]) for column in range(3)]
            with store.pipeline(), store.transaction():
                if enters:
                    raw.execute(entering, params, prepare=True)
                store.execute("INSERT INTO bench_door SELECT unnest(%s::bytea[]), ''", [keys], prepare=True)

        with_s, without_s = in_turn(lambda n: write(n, enters=True), lambda n: write(n, enters=False))
    return Figure(
        "the door itself: a transaction of three pairs at the store with `enter`",
        "none; it is in every statement, with leases too",
        f"{1000 * (with_s - without_s):.2f} ms more ({shown(with_s, without_s)})",
        f"{PAIRS} transactions of each kind in turn by one client that pipelines: lock, fence, version and hashes of"
        " both storages, and the deadline, in one statement.",
    )


# -- beside SQL


def beside(node: "psycopg.Connection[Any]") -> list[Figure]:
    insert_sql = "INSERT INTO bench_requests VALUES (%s, %s, 7) RETURNING *"
    cases = (
        ("insert", lambda n: node.execute("SELECT crud.insert('bench_requests', %s)", [f'[{2 * 10**6 + n}, "x", 7]']),
         lambda n: node.execute(insert_sql, [2 * 10**6 + n, "x"])),
        ("get by key", lambda n: node.execute("SELECT crud.get('bench_requests', %s)", [str(10**6 + n % 200)]),
         lambda n: node.execute("SELECT * FROM bench_requests WHERE id = %s", [10**6 + n % 200]).fetchall()),
    )  # fmt: skip
    figures = []
    for what, request, statement in cases:
        request_s, statement_s = in_turn(request, statement)
        figures.append(Figure(
            f"a keyed request beside its SQL, {what}", "at least 0.8 of its rate",
            f"{statement_s / request_s:.2f} ({shown(request_s, statement_s)})",
            f"{PAIRS} of each kind in turn by one client on one node, prepared, each a transaction of its own.",
        ))  # fmt: skip
    return figures


# -- the reload


async def reload(cluster: RunningCluster) -> Figure:
    """The best round of those with most requests refused at once."""
    address = cluster.nodes["n1"].dsn
    with psycopg.connect(address, autocommit=True) as node:
        node.execute("CREATE TABLE bench_stale (id bigint PRIMARY KEY, a text, b text) WITH (coordination = 'both')")
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(await AsyncCrud.connect(address, timeout=60)) for _ in range(AT_ONCE)
        ]
        await clients[0].insert_object_many("bench_stale", [{"id": n, "a": "a", "b": "b"} for n in range(AT_ONCE)])
        rounds = [await refused_at_once(cluster, clients) for _ in range(ROUNDS_MAX)]
    refused, reloads, took_s = max(rounds)
    return Figure(
        f"{AT_ONCE} requests that meet a mismatch at once",
        "at most 2 reloads",
        f"{refused} refused, {reloads} reload{'s' * (reloads != 1)}, all answered {took_s - HELD_S:.2f} s after the"
        " reload was let through",
        f"{ROUNDS_MAX} rounds on one node; the catalog is held up for {HELD_S:g} s so that all meet in one reload; a"
        " heartbeat may bring the news before any is refused, so the round with most refusals counts.",
    )


async def refused_at_once(cluster: RunningCluster, clients: list[AsyncCrud]) -> tuple[int, int, float]:
    """The refusals, the reloads, and the seconds until all were answered."""
    before = await clients[0].stats("bench_stale")
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        new = swapped(newest(database, "bench_stale"))
        publish(database, new)
        began = time.perf_counter()
        with database.transaction():
            database.execute("SELECT 1 FROM catalog_table WHERE id = %s FOR UPDATE", [new.table_id])
            rows = [{"id": n, "a": "a", "b": "b"} for n in range(len(clients))]
            asked = [
                asyncio.create_task(one.replace_object("bench_stale", row, timeout=60))
                for one, row in zip(clients, rows, strict=True)
            ]
            await asyncio.sleep(HELD_S)
        await asyncio.gather(*asked)
        took_s = time.perf_counter() - began
    after = await clients[0].stats("bench_stale")
    return int(after["mismatches"] - before["mismatches"]), int(after["reloads"] - before["reloads"]), took_s


def swapped(table: Descriptor) -> Descriptor:
    names = {"a": "b", "b": "a"}
    return table.next_version(columns=tuple(replace(c, name=names.get(c.name, c.name)) for c in table.columns))


def publisher() -> Any:
    """Imports `changes.driver.publish`, whose models need Django's settings."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schemalab.settings")
    django.setup()
    from changes.driver import publish as publishing

    return publishing


def publish(database: "psycopg.Connection[Any]", new: Descriptor) -> None:
    """Publishes without news, as soon as the last version but one is free."""
    publishing = publisher()
    for _ in range(2000):
        with database.transaction():
            hindrance = publishing.publish(database.cursor(), [new], storages=STORAGES)
            if hindrance is None:
                publishing.close_last_but_one(database.cursor(), [new], storages=STORAGES)
                break
        time.sleep(0.02)
    else:
        raise AssertionError(f"{new} could not be published: {hindrance}")
    publishing.accept_only_newest(database.cursor(), [new], storages=STORAGES)


# -- another sharding key


def resharded(cluster: RunningCluster) -> Figure:
    """Updates by four clients while their table's sharding key changes, there and back."""
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute(f"DROP TABLE IF EXISTS {RESHARDED}")
    make_table(cluster, RESHARDED, RESHARDED_ROWS)
    windows: list[tuple[float, float]] = []
    seconds: list[float] = []

    def change() -> None:
        with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
            time.sleep(REST_S)
            for key in ("note", "id"):
                began = time.time()
                node.execute(f"ALTER TABLE {RESHARDED} SET (sharding_key = '{key}')")
                windows.append((began, time.time()))
                seconds.append(windows[-1][1] - began)
                time.sleep(REST_S)

    changing = threading.Thread(target=change)
    changing.start()
    found = []
    while changing.is_alive():
        found.append(write_beside([node.dsn for node in cluster.nodes.values()], 4, REST_S, RESHARDED_ROWS))
    changing.join()
    moving = [seen.within(windows) for seen in found]
    at_rest = [seen for seen, of in zip(found, moving, strict=True) if not of.statements]
    during = [seen for seen in moving if seen.statements]
    rate = sum(len(seen.statements) for seen in during) / max(sum(seen.seconds for seen in during), 1e-9)
    idle = sum(len(seen.statements) for seen in at_rest) / max(sum(seen.seconds for seen in at_rest), 1e-9)
    errors = sum(seen.errors for seen in found)
    return Figure(
        f"4 writers while a sharding key changes, {RESHARDED_ROWS:,} rows, there and back",
        "no error",
        f"{rate / max(idle, 1e-9):.2f} of {idle:.0f} statements/s, {errors} errors, worst"
        f" {max((seen.worst_ms for seen in during), default=0):.0f} ms;"
        f" changes took {', '.join(f'{one:.1f} s' for one in seconds)} beside them",
        f"Updates through all nodes in stretches of {REST_S:g} s, before, during and after two changes of the sharding"
        " key (id to note, and back), each with a fill of the new placement, its verification, and a deletion.",
    )


def main() -> None:
    with running_cluster(LEASE_S="30") as cluster:
        for one in measure(cluster):
            print(f"{one.what}: {one.seen}", flush=True)


if __name__ == "__main__":
    main()
