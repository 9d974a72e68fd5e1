"""Trims seconds and past leases by age and number, and seconds of the future; changes keep their own part."""

from django.db import connection

from leases.staircase.seconds import AHEAD_S

SECONDS_KEPT_S = 2 * 3600
PAST_KEPT_S = 24 * 3600
PAST_KEPT = 100_000
TRIM_SECONDS = """
    DELETE FROM leases_recordedsecond
    WHERE at < extract(epoch FROM clock_timestamp()) - %s OR at > extract(epoch FROM clock_timestamp()) + %s
"""
TRIM_PAST = """
    DELETE FROM leases_pastlease
    WHERE id <= (SELECT max(id) FROM leases_pastlease) - %s
       OR ended_at < clock_timestamp() - make_interval(secs => %s)
"""


def trim() -> None:
    with connection.cursor() as cursor:
        cursor.execute(TRIM_SECONDS, [SECONDS_KEPT_S, AHEAD_S])
        cursor.execute(TRIM_PAST, [PAST_KEPT, PAST_KEPT_S])
