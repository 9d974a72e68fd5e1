"""A statement through a node, against psycopg writing the same ready-made pairs itself: the difference is the node's.
Both sides have as many client processes, one statement at a time, each a SERIALIZABLE transaction."""

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from typing import Any

import psycopg

from tests.harness.cluster import RunningCluster
from tools.bench.report import Figure

CLIENTS = 4
SECONDS = 2.0
ROUNDS = 3
DIRECT_TABLE = "bench_pairs"


def measure(cluster: RunningCluster) -> list[Figure]:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute("CREATE TABLE bench_rows (id bigint PRIMARY KEY, name text, score integer)")
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        database.execute(f"CREATE TABLE {DIRECT_TABLE} (key bytea PRIMARY KEY, value bytea)")
    figures = []
    for what, goal, through_node, direct in CASES:
        rounds = [
            {side: rate(work, address, nth) for side, work, address in sides(cluster, through_node, direct)}
            for nth in range(ROUNDS)
        ]
        figures.append(figure(what, goal, rounds))
    return figures


def sides(cluster: RunningCluster, through_node: "Work", direct: "Work") -> list[tuple[str, "Work", list[str]]]:
    nodes = [node.dsn for node in cluster.nodes.values()]
    return [("direct", direct, [cluster.database_url]), ("node", through_node, nodes)]


def figure(what: str, goal: float, rounds: list[dict[str, float]]) -> Figure:
    """The middle round; all are shown."""
    in_order = sorted(rounds, key=ratio)
    middle = in_order[len(rounds) // 2]
    every = ", ".join(f"{ratio(seen):.2f}" for seen in rounds)
    return Figure(
        what=f"{what} through a node",
        goal=f"at least {goal:g} of psycopg",
        seen=f"{ratio(middle):.2f} ({middle['node']:.0f}/s against {middle['direct']:.0f}/s; rounds: {every})",
        method=f"{CLIENTS} client processes, {ROUNDS} rounds of {SECONDS:.0f} s a side;"
        " see `tools/bench/statements.py`.",
    )


def ratio(seen: dict[str, float]) -> float:
    return seen["node"] / seen["direct"]


Work = Callable[[psycopg.Connection[Any], int], None]


def insert_through_node(connection: psycopg.Connection[Any], number: int) -> None:
    connection.execute("INSERT INTO bench_rows (id, name, score) VALUES (%s, %s, %s)", (number, f"name {number}", 7))


def insert_directly(connection: psycopg.Connection[Any], number: int) -> None:
    keys = [number.to_bytes(8) + bytes([column]) for column in range(3)]
    values = [b"", b"\x01name %d\x00" % number, b"\x01\x80\x00\x00\x07"]
    with connection.transaction():
        connection.execute(
            f"INSERT INTO {DIRECT_TABLE} SELECT * FROM unnest(%s::bytea[], %s::bytea[])", (keys, values), prepare=True
        )


def update_through_node(connection: psycopg.Connection[Any], number: int) -> None:
    connection.execute("UPDATE bench_rows SET score = %s WHERE id = %s", (number % 100, row_of(number)))


def update_directly(connection: psycopg.Connection[Any], number: int) -> None:
    key = row_of(number).to_bytes(8)
    with connection.transaction():
        connection.execute(
            f"SELECT key, value FROM {DIRECT_TABLE} WHERE key >= %s AND key < %s", (key, key + b"\xff"), prepare=True
        ).fetchall()
        connection.execute(
            f"UPDATE {DIRECT_TABLE} SET value = %s WHERE key = %s", (b"\x01x", key + b"\x02"), prepare=True
        )


def row_of(number: int) -> int:
    """A row that the insert case has made, of the same client."""
    client, nth = divmod(number, 10**9)
    return client * 10**9 + nth % 500


def read_through_node(connection: psycopg.Connection[Any], number: int) -> None:
    connection.execute("SELECT name, score FROM bench_rows WHERE id = %s", (row_of(number),)).fetchall()


def read_directly(connection: psycopg.Connection[Any], number: int) -> None:
    key = row_of(number).to_bytes(8)
    with connection.transaction():
        connection.execute(
            f"SELECT key, value FROM {DIRECT_TABLE} WHERE key >= %s AND key < %s", (key, key + b"\xff"), prepare=True
        ).fetchall()


CASES: list[tuple[str, float, Work, Work]] = [
    ("INSERT of a row", 0.55, insert_through_node, insert_directly),
    ("UPDATE by key", 0.55, update_through_node, update_directly),
    ("SELECT by key", 0.4, read_through_node, read_directly),
]
"""Each with the share of psycopg's rate that it should reach."""


def rate(work: Work, addresses: list[str], nth: int) -> float:
    """Statements per second of all clients together; the clients of each round have rows of their own."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    clients = [
        context.Process(target=client, args=(work, addresses[n % len(addresses)], nth * CLIENTS + n, start, results))
        for n in range(CLIENTS)
    ]
    for process in clients:
        process.start()
    for _ in clients:
        results.get(timeout=60)
    start.set()
    done = sum(results.get(timeout=60 + SECONDS) for _ in clients)
    for process in clients:
        process.join(30)
    return done / SECONDS


def client(work: Work, address: str, number: int, start: Event, results: "multiprocessing.Queue[int]") -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        connection.prepare_threshold = 2
        results.put(0)
        start.wait(60)
        results.put(count(work, connection, number))


def count(work: Work, connection: psycopg.Connection[Any], number: int) -> int:
    done, end = 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        work_until_done(work, connection, number * 10**9 + done)
        done += 1
    return done


def work_until_done(work: Work, connection: psycopg.Connection[Any], number: int, tries_max: int = 20) -> None:
    """As a correct client does: again after a serialization failure."""
    for _ in range(tries_max - 1):
        try:
            return work(connection, number)
        except psycopg.errors.SerializationFailure:
            continue
    return work(connection, number)
