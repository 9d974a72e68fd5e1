"""Clients that update rows as correct ones do, and the duration of each statement, retries included."""

import multiprocessing
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

RETRIES_MAX = 50
READY_S_MAX = 60.0
LATE_S_MAX = 0.05


@dataclass(frozen=True, slots=True, order=True)
class Statement:
    """Its begin (seconds since 1970), its duration, and its tries beyond the first; -1: none succeeded."""

    at: float
    took_s: float
    again: int

    @property
    def end(self) -> float:
        return self.at + self.took_s


@dataclass(frozen=True, slots=True)
class Latencies:
    statements: list[Statement]
    seconds: float

    @property
    def retries(self) -> int:
        return sum(max(one.again, 0) for one in self.statements)

    @property
    def errors(self) -> int:
        return sum(one.again < 0 for one in self.statements)

    @property
    def worst_ms(self) -> float:
        return 1000 * max((one.took_s for one in self.statements), default=0.0)

    @property
    def p99_ms(self) -> float:
        ordered = sorted(one.took_s for one in self.statements)
        return 1000 * ordered[len(ordered) * 99 // 100] if ordered else 0.0

    @property
    def per_s(self) -> float:
        return len(self.statements) / max(self.seconds, 1e-9)

    def within(self, windows: Sequence[tuple[float, float]]) -> "Latencies":
        """Statements that ran while one of the windows was open."""
        if not self.statements:
            return self
        first, last = self.statements[0].at, max(one.end for one in self.statements)
        cut = [(max(begin, first), min(end, last)) for begin, end in windows if end > first and begin < last]
        ran = [one for one in self.statements if any(one.at < end and one.end > begin for begin, end in cut)]
        return Latencies(ran, sum(end - begin for begin, end in cut))


def write_beside(addresses: list[str], clients: int, seconds: float, rows: int) -> Latencies:
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
    found: list[Latencies] = [results.get(timeout=seconds + READY_S_MAX) for _ in processes]
    for process in processes:
        process.join(READY_S_MAX)
    statements = sorted(statement for seen in found for statement in seen.statements)
    return Latencies(statements, seconds)


def client(address: str, number: int, seconds: float, rows: int, start: Any, results: Any) -> None:
    chance, statements = random.Random(number), []
    with psycopg.connect(address, autocommit=True) as connection:
        results.put(None)
        start.wait(READY_S_MAX)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            at, began = time.time(), time.perf_counter()
            again = update(connection, chance.randrange(rows), f"name {chance.randrange(10**6)}")
            statements.append(Statement(at, time.perf_counter() - began, again))
    results.put(Latencies(statements, seconds))


def write_paced(address: str, table: str, rows: int, per_s: float, stop: Any) -> Latencies:
    """A late update does not make the next ones faster."""
    with psycopg.connect(address, autocommit=True) as connection:
        return paced(lambda row, name: update(connection, row, name, table), rows, per_s, stop)


def paced(update_row: Callable[[int, str], int], rows: int, per_s: float, stop: Any) -> Latencies:
    """The same with any client: `update_row` takes a row and its new name, and returns the tries beyond the first."""
    chance, statements, began = random.Random(5), [], time.monotonic()
    due = began
    while not stop.is_set():
        at, since = time.time(), time.perf_counter()
        again = update_row(chance.randrange(rows), f"name {chance.randrange(10**6)}")
        statements.append(Statement(at, time.perf_counter() - since, again))
        due = max(due + 1 / per_s, time.monotonic() - LATE_S_MAX)
        time.sleep(max(0.0, due - time.monotonic()))
    return Latencies(statements, time.monotonic() - began)


def update(connection: psycopg.Connection[Any], row: int, name: str, table: str = "bench_fill") -> int:
    """Tries beyond the first; -1: none succeeded."""
    for again in range(RETRIES_MAX):
        try:
            connection.execute(f"UPDATE {table} SET name = %s WHERE id = %s", (name, row))
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            continue
        except psycopg.Error:
            return -1
        return again
    return -1
