"""Runs as jobs. A pause is no failure, and a run with progress continues however often workers end. A verification
keeps nothing of a failed attempt, so each failure counts."""

import time

from django.db import connection
from django.db.models import Q, Sum

from catalog.database import database_dsn
from spark_tasks.jobs.beside import Beside
from spark_tasks.jobs.claim import CATCH_UP, MARKS, TO_MARKS, Claim
from spark_tasks.jobs.heartbeat import Connection, Heartbeat
from spark_tasks.jobs.lifecycle import Lifecycle, Values
from spark_tasks.jobs.phases import WORK
from spark_tasks.models import Kind, ReorgPulse, ReorgRun, RunRequest
from spark_tasks.runs.feedback import LEADS_ON_S, Target
from spark_tasks.runs.throughput import Rate

SILENCES_MAX = 10
"""Workers end for many reasons that are not the run's: more often in a row than that, and it is the run's."""
YOUNG_S = 0.1
"""A transaction that is older is not one of many short ones that wait for the processor."""

RUN_MARKS = f"""{MARKS}
SELECT marks.done::bigint, marks.total::bigint, rows_per_s_max, slower_ms_max, throughput_min,
    ARRAY(SELECT name FROM leases_node WHERE state <> 'down'),
    (SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'schemalab node %%' AND state <> 'idle'
        AND xact_start > clock_timestamp() - make_interval(secs => %(young)s))
FROM marks, spark_tasks_reorgpulse WHERE run_id = %(run)s
"""

RUN_BEAT = f"""WITH marks (done, total) AS (VALUES (%(done)s::bigint, %(total)s::bigint))
UPDATE spark_tasks_reorgpulse pulse
SET heartbeat_at = clock_timestamp(), rows_per_s = %(rate)s, is_stalled = %(is_stalled)s, traffic = %(traffic)s,
    works = %(works)s, is_quiet = %(is_quiet)s, felt = %(felt)s, {TO_MARKS}
FROM marks WHERE pulse.run_id = %(run)s
    AND EXISTS (SELECT FROM spark_tasks_reorgrun WHERE id = %(run)s AND token = %(token)s)
"""
"""An attempt that another has replaced does not speak for the run: a dead successor would seem to live."""

FELT_OF_LATE = """SELECT felt FROM spark_tasks_reorgpulse pulse JOIN spark_tasks_reorgrun run ON run.id = pulse.run_id
WHERE run.change_id = %(change)s AND run.id <> %(run)s AND felt <> '{}'
    AND pulse.heartbeat_at > clock_timestamp() - make_interval(secs => %(seconds)s)
ORDER BY pulse.heartbeat_at DESC LIMIT 1
"""
"""From the newest beat of the change's other runs. The run's own is its claim's, which may be hours old."""


def run_heartbeat(run: ReorgRun) -> Heartbeat:
    """The attempt lives, its progress and rate, and how hard it may work."""
    rate, beside = Rate(), Beside()
    has_begun = False

    def begin(opened: Connection) -> None:
        nonlocal has_begun
        of_late = {"change": run.change_id, "run": run.pk, "seconds": LEADS_ON_S}
        for (felt,) in opened.execute(FELT_OF_LATE, of_late).fetchall():
            beside.lead_on(felt, time.monotonic())
        has_begun = True

    def beat(opened: Connection) -> None:
        if not has_begun:
            begin(opened)
        row = opened.execute(RUN_MARKS, {"run": run.pk, "young": YOUNG_S}).fetchone()
        if row is None:
            return
        done, total, rate.rows_per_s_max, slower_ms_max, throughput_min, nodes, transactions = row
        now = time.monotonic()
        rate.hear(done, now)
        found = beside.look(nodes, Target(slower_ms_max, throughput_min), transactions, now)
        seen = {"rate": rate.rows_per_s, "is_stalled": rate.is_stalled(now), **found}
        opened.execute(RUN_BEAT, {"run": run.pk, "token": run.token, "done": done, "total": total, **seen})

    return Heartbeat(str(run), beat, dsn=database_dsn())


def _work(run: ReorgRun) -> Values:
    WORK[Kind(run.kind)](Claim(run, run.token))
    return {"violations": []}


def _announce_end(run: ReorgRun) -> None:
    with connection.cursor() as cursor:
        cursor.execute(CATCH_UP, {"run": run.pk})
        cursor.execute("SELECT pg_notify('schemalab_reorg', %s)", [str(run.pk)])


def _rows_done(run: ReorgRun) -> int:
    return 0 if run.kind == Kind.VERIFY else run.ranges.aggregate(rows=Sum("rows_done"))["rows"] or 0


RUNS = Lifecycle(
    model=ReorgRun,
    work=_work,
    heartbeat=run_heartbeat,
    silences_max=SILENCES_MAX,
    silence="the workers of {failures} attempts in a row fell silent, and none came further",
    token="token",  # noqa: S106
    wanted=Q(is_closed=False, pulse__wanted=RunRequest.RUN),
    heartbeat_at="pulse__heartbeat_at",
    beats_of=lambda run: ReorgPulse.objects.filter(run_id=run.pk),
    rows_done=_rows_done,
    announce=_announce_end,
)
