"""A fill beside writers that never stop: every row ends with its entry, and no entry without its row."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from spark_tasks.models import Kind, ReorgRun
from spark_tasks.reorganise import backfill
from spark_tasks.runs.pacing import Pace
from spark_tasks.services import close_run
from storage.pairs import StoredRow
from tests.spark_tasks.runs import Runs, entries, to_filling, to_public, tombstones
from tests.storage.stage import Stage, user

ROWS = 400
SEEDS = (1, 2)


class Writer(threading.Thread):
    """Deletes, inserts and renames rows of its own half, one transaction each, until told to stop."""

    def __init__(self, stage: Stage, seed: int) -> None:
        super().__init__(daemon=True, name=f"writer {seed}")
        self.stage, self.random = stage, random.Random(seed)
        self.rows: dict[int, StoredRow | None] = {
            n: user(stage.now, n, f"name {n % 7}") for n in range(seed % 2, ROWS, 2)
        }
        self.enough = threading.Event()
        self.done = self.refused = 0
        self.trouble: Exception | None = None

    def run(self) -> None:
        try:
            while not self.enough.is_set():
                self._one(self.random.choice(list(self.rows)))
        except Exception as trouble:
            self.trouble = trouble
            raise

    def _one(self, number: int) -> None:
        row = self.rows[number]
        try:
            if row is None:
                row = user(self.stage.now, number, f"name {self.random.randrange(7)}")
                self.stage.insert([row])
            elif self.random.random() < 0.5:
                self.stage.delete([row])
                row = None
            else:
                row = self.stage.rename(row, f"name {self.random.randrange(7)}")
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected):
            self.refused += 1
            return
        self.rows[number] = row
        self.done += 1


@contextmanager
def writing(stage: Stage) -> Iterator[list[Writer]]:
    writers = [Writer(stage, seed) for seed in SEEDS]
    for writer in writers:
        writer.start()
    try:
        yield writers
    finally:
        for writer in writers:
            writer.enough.set()
            writer.join(timeout=10)


def test_a_fill_beside_writers_leaves_a_consistent_index(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
    monkeypatch.setattr("spark_tasks.runs.ranges.ROWS_PER_RANGE", 20)
    monkeypatch.setattr("spark_tasks.runs.ranges.FILL_ROWS", 20)
    monkeypatch.setattr("spark_tasks.chunks.snapshot_reads.ROWS_PER_RANGE", 20)
    monkeypatch.setattr(backfill, "Pace", lambda: Pace(7))
    stage.insert(user(stage.now, n, f"name {n % 7}") for n in range(ROWS))
    to_filling(stage)
    runs = Runs(stage, stage.table_id)
    with writing(stage) as writers:
        for kind in ("fill", "verify"):
            status = runs.do(kind)
            assert status.state == "done", (status.error, status.violations)
    assert [writer.trouble for writer in writers] == [None, None]
    assert min(writer.done for writer in writers) > 0, "sometimes: writers really wrote"
    assert tombstones(stage), "sometimes: a delete really raced the fill"
    close_run(runs.of(Kind.FILL).id)
    to_public(stage)
    assert runs.do("purge").state == "done"
    assert stage.violations() == []
    alive = sum(row is not None for writer in writers for row in writer.rows.values())
    assert len(entries(stage)) == alive
    ReorgRun.objects.filter(table_id=stage.table_id).delete()
