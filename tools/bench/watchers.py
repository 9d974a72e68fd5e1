"""From an event's commit to two hundred WebSocket clients that follow the cluster. All live in this process, which
parses each message: their own work is part of what is measured."""

import asyncio
import http.cookiejar
import json
import statistics
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import psycopg
import websockets

from tests.harness.cluster import RunningCluster
from tools.bench.report import Figure, percentile

CLIENTS = 200
CLIENTS_EACH = 40
"""Sockets of one person: their number is bounded."""
STREAM = "cluster"
ROUNDS = 5
PAUSE_S = 1.0
SETTLE_S = 2.0
READY_S_MAX = 60.0


class Missed(Exception):
    """A client did not get an event that others got."""


@dataclass
class Watcher:
    """The number of the last event of its snapshot, and the delay of each later one, in seconds."""

    since: int = 0
    seen: dict[int, float] = field(default_factory=dict)


def measure(cluster: RunningCluster) -> list[Figure]:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute("CREATE TABLE bench_watched (id bigint PRIMARY KEY, name text)")
    delays = asyncio.run(watch(cluster))
    events = len(delays) // CLIENTS
    return [
        Figure(
            f"event committed, to seen by {CLIENTS} WebSocket clients",
            "p95 at most 60 ms",
            f"p50 {1000 * statistics.median(delays):.0f} ms, p95 {1000 * percentile(delays, 0.95):.0f} ms, "
            f"worst {1000 * max(delays):.0f} ms ({events} events)",
            f"{ROUNDS} indexes are created and dropped on an empty table, a second apart. From the event's own time,"
            f" taken in its transaction before the commit, to the message parsed by the client; all {CLIENTS} share"
            " one process.",
        )
    ]


async def watch(cluster: RunningCluster) -> list[float]:
    """Seconds from each event to each client. Raises `Missed`."""
    cookies = [sign_in(cluster, f"watcher{number}") for number in range(CLIENTS // CLIENTS_EACH)]
    watchers = [Watcher() for _ in range(CLIENTS)]
    ready = asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(listen(cluster, cookies[number // CLIENTS_EACH], ready, watcher))
            for number, watcher in enumerate(watchers)
        ]
        for _ in tasks:
            await asyncio.wait_for(ready.acquire(), READY_S_MAX)
        await asyncio.to_thread(make_events, cluster)
        await asyncio.sleep(SETTLE_S)
        for task in tasks:
            task.cancel()
    return delays_of([watcher.seen for watcher in watchers], since=max(watcher.since for watcher in watchers))


def delays_of(clients: Sequence[dict[int, float]], *, since: int) -> list[float]:
    """Seconds, of each event after number `since` at each client. Raises `Missed`."""
    events = {seq for seen in clients for seq in seen if seq > since}
    missed = [events - seen.keys() for seen in clients if events - seen.keys()]
    if missed:
        which = f"one of them event {min(missed[0])}"
        raise Missed(f"{len(missed)} of {len(clients)} clients did not get all {len(events)} events, {which}")
    return [seen[seq] for seen in clients for seq in events]


async def listen(cluster: RunningCluster, cookie: str, ready: asyncio.Semaphore, watcher: Watcher) -> None:
    url = f"{cluster.address.replace('http', 'ws', 1)}/live/"
    headers, is_ready = {"Cookie": cookie, "Origin": cluster.address}, False
    async with websockets.connect(url, additional_headers=headers, max_size=None, open_timeout=READY_S_MAX) as socket:
        await socket.send(json.dumps({"type": "subscribe", "stream": STREAM}))
        async for text in socket:
            kind = str(text[:20]).split('"')[3]  # what it is; only events are read whole
            if kind == "snapshot" and not is_ready:
                is_ready, watcher.since = True, json.loads(text)["seq"]
                ready.release()
            elif kind == "event":
                event = json.loads(text)
                watcher.seen[event["seq"]] = time.time() - datetime.fromisoformat(event["at"]).timestamp()
            elif kind == "ping":
                await socket.send(json.dumps({"type": "pong"}))


def make_events(cluster: RunningCluster) -> None:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        for _ in range(ROUNDS):
            node.execute("CREATE INDEX bench_watched_name ON bench_watched (name)")
            node.execute("DROP INDEX bench_watched_name")
            time.sleep(PAUSE_S)


def sign_in(cluster: RunningCluster, name: str) -> str:
    """The Cookie header of a new person's session."""
    cluster.manage("users", "add", name)
    link = cluster.manage("signin-link", "--user", name).stdout.strip()
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with opener.open(link) as answer:
        answer.read()
    return "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)
