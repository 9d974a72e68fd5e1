"""Keeps the window of each change that ended, once what followed it is known, too."""

import logging
from datetime import timedelta

from django.utils.timezone import now

from catalog.live.snapshot import one_snapshot
from changes.models import ENDED, Change, Record
from changes.records.windows import fresh
from leases.recorder.reading import REST_S
from leases.recorder.trim import SECONDS_KEPT_S
from leases.staircase.facts import to_json

log = logging.getLogger(__name__)

AT_ONCE = 20
SETTLED = timedelta(seconds=REST_S + 5)
"""Seconds are recorded by then."""


def keep_records() -> list[int]:
    """Writes down windows while they can still be read; returns the changes. An error costs only its own change."""
    is_over = now() - SETTLED
    ended = Change.objects.filter(
        status__in=ENDED,
        started_at__isnull=False,
        ended_at__lte=is_over,
        ended_at__gt=is_over - timedelta(seconds=SECONDS_KEPT_S),
        record=None,
    ).order_by("id")[:AT_ONCE]
    kept = []
    for change in ended:
        try:
            with one_snapshot():
                facts = to_json(fresh(change))
            Record.objects.bulk_create([Record(change=change, facts=facts)], ignore_conflicts=True)
        except Exception:
            log.exception("the time around change %s is not kept", change.pk)
            continue
        kept.append(change.pk)
    return kept
