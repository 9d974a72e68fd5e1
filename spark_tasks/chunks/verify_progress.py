"""Marks the progress of a verification, for pages. Unlike a fill's marks they let no attempt skip a range, since it has
another snapshot; the number that is shown never goes back (R11)."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from spark_tasks.chunks.chunk import Connection, RunClosed, RunToken, rest
from spark_tasks.runs.pacing import rest_s
from spark_tasks.runs.ranges import KeyRange

MARK = """UPDATE spark_tasks_reorgrange range SET rows_done = %(rows)s, is_done = %(is_done)s,
 rows_total = CASE WHEN %(is_done)s THEN %(rows)s ELSE coalesce(%(total)s, greatest(range.rows_total, %(rows)s)) END
FROM spark_tasks_reorgrun run JOIN spark_tasks_reorgpulse pulse ON pulse.run_id = run.id
WHERE range.id = %(range)s AND run.id = range.run_id AND run.token = %(token)s RETURNING pulse.wanted, pulse.works"""

REST_AFTER_S = 0.03
"""Work for less than that is not worth a mark."""


@dataclass(slots=True)
class Marks:
    """Leaves marks, and reads the run's requests; an audit has neither. `total`: rows of the judged range (R11)."""

    run_token: RunToken | None = None
    connection: Connection | None = None
    wanted: str = "run"
    works: float = 1.0
    total: int | None = None
    since: float = field(default_factory=time.perf_counter)

    def rest_at(self, key_range: KeyRange, rows: int) -> None:
        """The same, with a rest for the traffic of nodes."""
        seconds = time.perf_counter() - self.since
        if seconds < REST_AFTER_S:
            return
        self.at(key_range, rows)
        rest(lambda: rest_s(seconds=seconds, works=self.works, rows_per_s_max=None), lambda: self.at(key_range, rows))
        self.since = time.perf_counter()

    def at(self, key_range: KeyRange, rows: int) -> None:
        """So many rows are judged. Raises `RunClosed`."""
        self._mark(key_range, rows, is_done=False)
        if self.wanted != "run":
            assert self.run_token is not None
            raise RunClosed(f"run {self.run_token.run_id} is wanted to {self.wanted}: no further rows are judged")

    def done(self, key_range: KeyRange, rows: int) -> None:
        self._mark(key_range, rows, is_done=True)
        self.total = None

    def _mark(self, key_range: KeyRange, rows: int, *, is_done: bool) -> None:
        if self.run_token is None or self.connection is None:
            return
        params = {
            "rows": rows,
            "total": self.total,
            "is_done": is_done,
            "range": key_range.id,
            "token": self.run_token.token,
        }
        row = self.connection.execute(MARK, params).fetchone()
        self.wanted, self.works = ("close", 1.0) if row is None else row


@contextmanager
def marking(run_token: RunToken | None) -> Iterator[Marks]:
    with nullcontext() if run_token is None else run_token.connect() as connection:
        yield Marks(run_token, connection)
