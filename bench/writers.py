"""Clients that update rows as correct ones do, and how long each statement took, retries included."""

import multiprocessing
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

RETRIES_MAX = 50
READY_S_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Seen:
    """When each statement began (seconds since 1970), and how long it took in seconds, over `seconds` in all."""

    statements: list[tuple[float, float]]
    retries: int
    errors: int
    seconds: float

    @property
    def worst_ms(self) -> float:
        return 1000 * max((took for _, took in self.statements), default=0.0)

    @property
    def p99_ms(self) -> float:
        ordered = sorted(took for _, took in self.statements)
        return 1000 * ordered[len(ordered) * 99 // 100] if ordered else 0.0

    @property
    def per_s(self) -> float:
        return len(self.statements) / max(self.seconds, 1e-9)

    def within(self, windows: Sequence[tuple[float, float]]) -> "Seen":
        """Statements that ran while one of the windows was open."""
        if not self.statements:
            return self
        first, last = self.statements[0][0], max(at + took for at, took in self.statements)
        cut = [(max(begin, first), min(end, last)) for begin, end in windows if end > first and begin < last]
        ran = [(at, took) for at, took in self.statements if any(at < end and at + took > begin for begin, end in cut)]
        return Seen(ran, self.retries, self.errors, sum(end - begin for begin, end in cut))


def write_beside(addresses: list[str], clients: int, seconds: float, rows: int) -> Seen:
    """Let client processes write for some seconds."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    processes = [
        context.Process(target=client, args=(addresses[n % len(addresses)], n, seconds, rows, start, results))
        for n in range(clients)
    ]
    for process in processes:
        process.start()
    for _ in processes:
        results.get(timeout=READY_S_MAX)
    start.set()
    found: list[Seen] = [results.get(timeout=seconds + READY_S_MAX) for _ in processes]
    for process in processes:
        process.join(READY_S_MAX)
    statements = sorted(statement for seen in found for statement in seen.statements)
    return Seen(statements, sum(s.retries for s in found), sum(s.errors for s in found), seconds)


def client(address: str, number: int, seconds: float, rows: int, start: Any, results: Any) -> None:
    """Say that the connection stands, wait for the others, write for the time, say what was seen."""
    chance, statements, retries, errors = random.Random(number), [], 0, 0
    with psycopg.connect(address, autocommit=True) as connection:
        results.put(None)
        start.wait(READY_S_MAX)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            at, began = time.time(), time.perf_counter()
            again = update(connection, chance.randrange(rows), f"name {chance.randrange(10**6)}")
            statements.append((at, time.perf_counter() - began))
            retries, errors = retries + max(again, 0), errors + (again < 0)
    results.put(Seen(statements, retries, errors, seconds))


def update(connection: psycopg.Connection[Any], row: int, name: str) -> int:
    """Tries beyond the first; -1 when none succeeded."""
    for again in range(RETRIES_MAX):
        try:
            connection.execute("UPDATE bench_fill SET name = %s WHERE id = %s", (name, row))
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            continue
        except psycopg.Error:
            return -1
        return again
    return -1
