"""The heartbeat of whoever works on a job: that it lives, and how far it has come."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg

from spark_tasks.chunks.dsn import database_dsn
from spark_tasks.jobs.lifecycle import MARKS, STALE_S, TO_MARKS, Claim
from spark_tasks.runs.pacing import Traffic
from spark_tasks.runs.throughput import Rate

log = logging.getLogger(__name__)

BEAT_S = 0.25
YOUNG_S = 0.1
"""A transaction that is older is not one of many short ones that wait for the processor."""

Connection = psycopg.Connection[Any]
Beat = Callable[[Connection], object]


class Heart:
    """Beats from a thread of its own, four times a second while the block lasts, and once more at its end."""

    def __init__(self, owner: str, beat: Beat) -> None:
        self._owner, self._beat = owner, beat
        self._stop = threading.Event()
        self._dsn = database_dsn()
        self._thread = threading.Thread(target=self._run, name=f"heart of {owner}", daemon=True)

    def __enter__(self) -> "Heart":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=STALE_S)

    def _run(self) -> None:
        """Until told to stop; a connection that breaks is opened anew at the next beat."""
        beats: Connection | None = None
        is_last = False
        while True:
            try:
                if beats is None or beats.closed:
                    beats = psycopg.connect(self._dsn, autocommit=True, application_name="schemalab heart")
                self._beat(beats)
            except psycopg.OperationalError as error:
                log.warning("heartbeat of %s missed: %s", self._owner, error)
                beats = None
            if is_last:
                break
            is_last = self._stop.wait(BEAT_S)
        if beats is not None:
            beats.close()


RUN_MARKS = """
SELECT (SELECT coalesce(sum(rows_done), 0)::bigint FROM spark_tasks_reorgrange WHERE run_id = %(run)s), rows_per_s_max,
    (SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'schemalab node %%' AND state <> 'idle'
        AND xact_start > clock_timestamp() - make_interval(secs => %(young)s))
FROM spark_tasks_reorgpulse WHERE run_id = %(run)s
"""

RUN_BEAT = f"""{MARKS}
UPDATE spark_tasks_reorgpulse pulse
SET heartbeat_at = clock_timestamp(), rows_per_s = %(rate)s, is_stalled = %(is_stalled)s, traffic = %(traffic)s,
    {TO_MARKS}
FROM marks WHERE pulse.run_id = %(run)s
    AND EXISTS (SELECT FROM spark_tasks_reorgrun WHERE id = %(run)s AND token = %(token)s)
"""
"""An attempt that another has replaced does not speak for the run: a dead successor would seem to live."""


def heart_of_run(claim: Claim) -> Heart:
    """Says that the attempt lives, how far its marks have come, and how fast they come now."""
    run_id, rate, traffic = claim.run.id, Rate(), Traffic()

    def beat(connection: Connection) -> None:
        row = connection.execute(RUN_MARKS, {"run": run_id, "young": YOUNG_S}).fetchone()
        now = time.monotonic()
        if row is not None:
            rate.rows_per_s_max = row[1]
            rate.hear(row[0], now)
            traffic.hear(row[2], now)
        told = {"run": run_id, "token": claim.token, "rate": rate.rows_per_s, "is_stalled": rate.is_stalled(now)}
        told["traffic"] = traffic.at_a_time
        connection.execute(RUN_BEAT, told)

    return Heart(str(claim.run), beat)
