"""The pace of recent reorganisations on this machine, with the traffic beside them."""

from __future__ import annotations

from django.db import connection

from changes.pages.estimates import ROWS_LEAST, ROWS_PER_S, Ended, Observed
from changes.plan.model import StepKind
from spark_tasks.models import RunState

LOOKED_AT = 200
SEEN_MAX = 20
NOW_S = 5
ENDED = """
    SELECT r.kind, p.rows_done, extract(epoch FROM r.ended_at - r.started_at)::float8, beside.per_s
    FROM (SELECT * FROM spark_tasks_reorgrun ORDER BY id DESC LIMIT %s) r
    JOIN spark_tasks_reorgpulse p ON p.run_id = r.id
    CROSS JOIN LATERAL (
        SELECT avg(s.statements_per_s) AS per_s FROM leases_recordedsecond s
        WHERE s.at > extract(epoch FROM r.started_at) AND s.at <= extract(epoch FROM r.ended_at) + 1
    ) beside
    WHERE r.state = %s AND r.kind = ANY(%s) AND r.attempt = 1 AND p.rows_per_s_max IS NULL AND p.rows_done >= %s
        AND beside.per_s IS NOT NULL
    ORDER BY r.id DESC LIMIT %s
"""
NOW = """
    SELECT coalesce(avg(statements_per_s), 0) FROM leases_recordedsecond
    WHERE at > extract(epoch FROM clock_timestamp()) - %s
"""


def observed() -> Observed:
    """The basis of estimates, without runs that were paused, taken over or throttled."""
    kinds = [kind.value for kind in ROWS_PER_S]
    with connection.cursor() as cursor:
        cursor.execute(ENDED, [LOOKED_AT, RunState.DONE.value, kinds, ROWS_LEAST, SEEN_MAX])
        ended = tuple(Ended(StepKind(kind), rows, seconds, beside) for kind, rows, seconds, beside in cursor.fetchall())
        cursor.execute(NOW, [NOW_S])
        return Observed(ended, float(cursor.fetchone()[0]))
