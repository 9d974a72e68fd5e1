"""Live leases and newest versions, sampled by one statement all the time: the live leases of a table are on its two
newest versions (L2); and the steps that changes have reached."""

import threading
import time
from collections import Counter
from dataclasses import dataclass

import psycopg

from tests.soak.clients.actors import Stage
from tests.soak.kinds import kind_of

PAUSE_S = 0.03
LEASES = """
SELECT l.table_id, array_agg(DISTINCT l.version ORDER BY l.version),
       (SELECT max(d.version) FROM catalog_descriptor d WHERE d.table_id = l.table_id)
FROM leases_lease l WHERE l.expires_at > clock_timestamp() GROUP BY l.table_id
"""
STEPS = """
SELECT s.id, c.id, c.statement, s.road, s.kind
FROM changes_step s JOIN changes_change c ON c.id = s.change_id
WHERE s.ended_at IS NULL AND c.status NOT IN ('done', 'failed', 'cancelled')
"""


@dataclass(frozen=True, slots=True)
class StepSeen:
    """A step that a change has just begun."""

    number: int
    change: int
    kind: str
    step: str

    def __str__(self) -> str:
        return f"{self.step} of change {self.change} ({self.kind})"


def fault_of_leases(versions: list[int], newest: int) -> str | None:
    """Faults of the live leases of a table, if there are any."""
    allowed = {newest, newest - 1}
    if not set(versions) <= allowed:
        return f"live leases on versions {versions}, the newest is {newest}"
    return None


class Sampler(threading.Thread):
    """Looks at the store directly; while it is away there is nothing to see."""

    def __init__(self, stage: Stage, database_url: str) -> None:
        super().__init__(name="samples", daemon=True)
        self._stage, self._url = stage, database_url
        self._over = threading.Event()
        self._steps_known: set[int] = set()
        self._news = threading.Condition()
        self._last: StepSeen | None = None
        self.samples = self.two_versions = 0
        self.steps: Counter[str] = Counter()

    def run(self) -> None:
        while not self._over.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True, connect_timeout=5) as database:
                    while not self._over.wait(PAUSE_S):
                        self._look(database)
            except psycopg.Error:
                self._over.wait(0.2)

    def _look(self, database: "psycopg.Connection") -> None:
        for table_id, versions, newest in database.execute(LEASES).fetchall():
            self.samples += 1
            self.two_versions += len(versions) > 1
            fault = fault_of_leases(versions, newest)
            if fault is not None:
                self._stage.chronicle.violation("samples", f"table {table_id}: {fault}")
        for number, change, statement, direction, kind in database.execute(STEPS).fetchall():
            if number not in self._steps_known:
                self._steps_known.add(number)
                self._notify(StepSeen(number, change, kind_of(statement), f"{kind} {direction}"))

    def _notify(self, step: StepSeen) -> None:
        with self._news:
            self._last = step
            self.steps[step.step] += 1
            self._news.notify_all()

    def next_step(self, seconds_max: float) -> StepSeen | None:
        """The next step that a change begins from now on, if one does in time."""
        deadline = time.monotonic() + seconds_max
        with self._news:
            self._last = None
            while self._last is None and (left_s := deadline - time.monotonic()) > 0:
                self._news.wait(left_s)
            return self._last

    def close(self) -> None:
        self._over.set()
        self.join(10)
