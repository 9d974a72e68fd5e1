"""Prepared statements while their table goes through schema_changes.tsv, through another node; every answer is judged.

A worker owns a range of keys, so it knows its rows. An answer has the columns of a version between the one at the
question and the one that came about meanwhile, with values and counts of the ledger. An error is one of PostgreSQL's
and did nothing: 0A000 when something changed since the statement was prepared, 42703 for a column that one of these
versions lacks, 40001. Errors alone are no answer: after the first and the last change, and between any two, each
worker's statements succeed.
"""

import os
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from trial import about, check

LINES = [line.split("\t") for line in Path(__file__).with_name("schema_changes.tsv").read_text().splitlines()]
OIDS = {"int4": 23, "int8": 20, "numeric": 1700, "text": 25, "varchar": 1043}
CLASSES = {23: int, 20: int, 1700: Decimal, 25: str, 1043: str}
Shape = tuple[tuple[str, int], ...]
SHAPES: list[Shape] = [
    tuple((name, OIDS[kind]) for name, kind in (column.split(":") for column in columns.split()))
    for columns, _ in LINES
]
TITLE = "prepared statements across schema changes"
WORKERS, KEYS, SECONDS_MAX, JOIN_S_MAX = 3, 1000, 240, 30
SUCCESSES = 15
"""Of each worker between two changes."""
PORTS = [int(port) for port in os.environ.get("PGPORTS", os.environ["PGPORT"]).split(",")]

STATEMENTS = {
    "put": "INSERT INTO {t} (id, n) VALUES (:id, :n) RETURNING *",
    "put both": "INSERT INTO {t} (id, n, w) VALUES (:id, :n, :w)",
    "add": "UPDATE {t} SET n = n + :n WHERE id = :id RETURNING *",
    "write": "UPDATE {t} SET w = :w WHERE id = :id RETURNING id, w",
    "get": "SELECT * FROM {t} WHERE id = :id",
    "range": "SELECT id, n FROM {t} WHERE id >= :low AND id < :high ORDER BY id",
    "sum": "SELECT count(*) AS c, sum(n) AS s FROM {t} WHERE id >= :low AND id < :high",
    "take": "DELETE FROM {t} WHERE id = :id RETURNING *",
    "drop": "DELETE FROM {t} WHERE id = :id",
}


@dataclass(slots=True)
class Answer:
    """Columns with the oids of their types (None: no rows are returned), rows, rows affected."""

    columns: Shape | None
    rows: list[tuple[Any, ...]]
    count: int


class Door(Protocol):
    """A connection of a driver that prepares what it is asked, and keeps it."""

    def ask(self, sql: str, values: dict[str, Any]) -> Answer: ...

    def prepare_again(self, sql: str) -> None:
        """Prepare it anew after 0A000, as an application does when its driver does not."""


@dataclass(slots=True)
class Progress:
    """The number of changes that have begun, and of those that are done."""

    begun: int = 0
    done: int = 0
    is_over: bool = False


@dataclass(slots=True)
class Worker:
    table: str
    door: Door
    low: int
    progress: Progress
    rows: dict[int, tuple[int, str | None]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    prepared_at: dict[str, int] = field(default_factory=dict)
    succeeded: int = 0
    succeeded_at: dict[str, int] = field(default_factory=dict)
    """The number of changes that were done when a statement was last asked that succeeded."""

    def work(self) -> None:
        chance = random.Random(self.low)
        while not self.progress.is_over and not self.wrong:
            self.step(chance)

    def step(self, chance: random.Random) -> None:
        key = self.low + chance.randrange(40)
        name = chance.choice(list(STATEMENTS) if key in self.rows else ["put", "put both", "get", "range", "add"])
        if key in self.rows and name.startswith("put"):
            name = "add"
        number, word = chance.randrange(1000), f"w{chance.randrange(1000)}"
        values = {"id": key, "n": number, "w": word, "low": self.low, "high": self.low + KEYS}
        sql = STATEMENTS[name].format(t=self.table)
        values = {one: value for one, value in values.items() if f":{one}" in sql}
        first = self.progress.done
        try:
            answer = self.door.ask(sql, values)
        except Exception as error:  # noqa: BLE001 - judged by its SQLSTATE
            self.judge_error(name, sql, about(error), first)
            return
        self.prepared_at.setdefault(name, first)
        shapes = SHAPES[first : self.progress.begun + 1]
        self.counts[name] += 1
        self.succeeded += 1
        self.succeeded_at[name] = first
        before = self.rows.get(key)
        self.write(name, key, number, word)
        expected = [self.expected(name, key, before, shape) for shape in shapes]
        if (answer.columns, answer.rows, answer.count) not in expected or not self.is_of_its_types(answer):
            self.wrong.append(f"{name} {values} was answered {answer}, not one of {expected}")

    def is_of_its_types(self, answer: Answer) -> bool:
        return all(
            value is None or type(value) is CLASSES[oid]
            for row in answer.rows
            for value, (_, oid) in zip(row, answer.columns or (), strict=True)
        )

    def judge_error(self, name: str, sql: str, error: dict[str, str], first: int) -> None:
        self.counts[error["sqlstate"]] += 1
        last = self.progress.begun
        if error["sqlstate"] == "42703" and name in ("put both", "write"):
            if all("w" in dict(shape) for shape in SHAPES[first : last + 1]):
                self.wrong.append(f"{name}: {error}: the column was there all the time")
        elif error["sqlstate"] == "0A000" and "cached" in error["message"]:
            if self.prepared_at.get(name, first) == last:
                self.wrong.append(f"{name}: {error}: nothing changed since it was prepared")
            self.prepared_at.pop(name, None)
            self.door.prepare_again(sql)
        elif error["sqlstate"] != "40001":
            self.wrong.append(f"{name}: {error}")

    def write(self, name: str, key: int, number: int, word: str) -> None:
        """Change the ledger as the statement changes the table."""
        row = self.rows.get(key)
        if name == "put":
            self.rows[key] = (number, None)
        elif name == "put both":
            self.rows[key] = (number, word)
        elif name == "add" and row:
            self.rows[key] = (row[0] + number, row[1])
        elif name == "write" and row:
            self.rows[key] = (row[0], word)
        elif name in ("take", "drop"):
            del self.rows[key]

    def expected(
        self, name: str, key: int, before: tuple[int, str | None] | None, shape: Shape
    ) -> tuple[Shape | None, list[tuple[Any, ...]], int]:
        """The right answer at a version."""
        types = dict(shape)
        if name in ("put both", "drop"):
            return None, [], 1
        if name == "write":
            return (shape[0], ("w", types.get("w", 0))), [(key, self.rows[key][1])], 1
        if name == "range":
            found = [(one, n) for one, (n, _) in sorted(self.rows.items())]
            return shape[:2], found, len(found)
        if name == "sum":
            kind = OIDS["int8"] if types["n"] == OIDS["int4"] else OIDS["numeric"]
            total = sum(n for n, _ in self.rows.values()) if self.rows else None
            return (("c", OIDS["int8"]), ("s", kind)), [(len(self.rows), total)], 1
        row = before if name == "take" else self.rows.get(key)
        if row is None:
            return shape, [], 0
        n, w = row
        known = {"id": key, "n": n, "w": w, "word": w, "seven": 7}
        return shape, [tuple(known[column] for column, _ in shape)], 1


def across_changes(table: str, connected: Callable[[int], Door], run: Callable[[int, str], object]) -> Counter[str]:
    """Raises AssertionError at the first answer that is not right. `connected(port)`; `run(port, sql)` changes."""
    run(PORTS[-1], f"DROP TABLE IF EXISTS {table}")
    run(PORTS[-1], LINES[0][1].format(t=table))
    progress = Progress()
    workers = [Worker(table, connected(PORTS[n % len(PORTS)]), n * KEYS, progress) for n in range(WORKERS)]
    threads = [threading.Thread(target=worker.work, daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        for number, (_, ddl) in enumerate(LINES[1:]):
            wait_for(workers, of_each=number == 1)
            progress.begun += 1
            run(PORTS[-1], ddl.format(t=table))
            progress.done += 1
        wait_for(workers, of_each=True)
    finally:
        progress.is_over = True
        for thread in threads:
            thread.join(JOIN_S_MAX)
    check([thread.is_alive() for thread in threads], [False] * WORKERS)
    check([text for worker in workers for text in worker.wrong], [])
    ledger = sorted((key, *row) for worker in workers for key, row in worker.rows.items())
    answer = workers[0].door.ask(f"SELECT id, n, w FROM {table} WHERE id >= :low ORDER BY id", {"low": 0})
    check(answer.rows, ledger)
    counts = sum((worker.counts for worker in workers), Counter())
    print(table, dict(sorted(counts.items())), file=sys.stderr)
    return counts


def wait_for(workers: Sequence[Worker], *, of_each: bool) -> None:
    """Until so many statements of each worker have succeeded, and one `of_each` since the last change. Raises
    AssertionError when something is wrong, or too few succeed."""
    until = [worker.succeeded + SUCCESSES for worker in workers]
    names = STATEMENTS if of_each else {}
    left: list[str] = []
    for _ in range(SECONDS_MAX * 100):
        if any(worker.wrong for worker in workers):
            raise AssertionError([text for worker in workers for text in worker.wrong])
        left = [
            f"{worker.low}: {name}"
            for worker in workers
            for name in names
            if worker.succeeded_at.get(name, -1) < worker.progress.done
        ]
        if not left and all(worker.succeeded >= count for worker, count in zip(workers, until, strict=True)):
            return
        threading.Event().wait(0.01)
    counts = [dict(worker.counts) for worker in workers]
    raise AssertionError(f"not done after {SECONDS_MAX} s: {counts}; without success since the last change: {left}")
