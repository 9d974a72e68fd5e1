"""Rate limits of changes and proofs against accidents, kept by the database for all processes."""

from __future__ import annotations

import math
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils.timezone import now

from changes.ddl.errors import DdlError
from changes.models import Change, Proof

QUESTIONS_MAX = 120
"""Of all people together, for the one process that answers them in turn."""
SPAN = timedelta(minutes=1)
CONFIGURATION_LIMIT_EXCEEDED = "53400"


class TooFast(DdlError):
    """More submissions within a minute than allowed; there is room again in `left_s` seconds."""

    def __init__(self, limit: int, left_s: int) -> None:
        message = f"you have submitted {limit} changes within a minute, which is the limit"
        super().__init__(CONFIGURATION_LIMIT_EXCEEDED, message, hint=f"Try again in {left_s} s.")
        self.left_s = left_s


def check_pace(who: str) -> None:
    left_s = _pause_s(Change.objects.filter(who=who), "created_at", settings.CHANGES_PER_MINUTE)
    if left_s:
        raise TooFast(settings.CHANGES_PER_MINUTE, left_s)


def pause_before_question_s() -> int:
    """Seconds before a new proof may be requested; 0: now."""
    return _pause_s(Proof.objects.all(), "asked_at", QUESTIONS_MAX)


def _pause_s(rows: QuerySet[Change] | QuerySet[Proof], at: str, limit: int) -> int:
    """Whole seconds until fewer than `limit` of these rows are of the last minute. Rows of the future do not count."""
    recent = (
        rows.filter(**{f"{at}__gt": now() - SPAN, f"{at}__lt": now() + SPAN})
        .order_by(f"-{at}")
        .values_list(at, flat=True)
    )
    last = list(recent[limit - 1 : limit])
    return math.ceil((last[0] + SPAN - now()).total_seconds()) if last else 0
