"""Rate limits of changes and proofs: limits against accidents, kept by the database for every process."""

from __future__ import annotations

import math
from datetime import timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils.timezone import now

from changes.ddl.errors import DdlError
from changes.models import Change, Proof

QUESTIONS_MAX = 120
"""Of all people together: one process answers them, one after the other."""
SPAN = timedelta(minutes=1)
CONFIGURATION_LIMIT_EXCEEDED = "53400"


class TooFast(DdlError):
    """More submissions within a minute than one person may make; in `left_s` seconds there is room again."""

    def __init__(self, limit: int, left_s: int) -> None:
        message = f"you have submitted {limit} changes within a minute, which is the limit"
        super().__init__(CONFIGURATION_LIMIT_EXCEEDED, message, hint=f"Try again in {left_s} s.")
        self.left_s = left_s


def check_pace(who: str) -> None:
    """Raises `TooFast` when this person has submitted too many changes within the last minute.

    The limit is of one person, whichever way they come: page, command or node.
    """
    left_s = _pause_s(Change.objects.filter(who=who), "created_at", settings.CHANGES_PER_MINUTE)
    if left_s:
        raise TooFast(settings.CHANGES_PER_MINUTE, left_s)


def pause_before_question_s() -> int:
    """Seconds to wait before a new plan may be asked about; 0: not at all."""
    return _pause_s(Proof.objects.all(), "asked_at", QUESTIONS_MAX)


def _pause_s(rows: QuerySet[Change] | QuerySet[Proof], at: str, limit: int) -> int:
    """Whole seconds until fewer than `limit` of these rows are of the last minute.

    Those of a process whose clock is far ahead are of no minute yet: they would count until that comes.
    """
    recent = (
        rows.filter(**{f"{at}__gt": now() - SPAN, f"{at}__lt": now() + SPAN})
        .order_by(f"-{at}")
        .values_list(at, flat=True)
    )
    last = list(recent[limit - 1 : limit])
    return math.ceil((last[0] + SPAN - now()).total_seconds()) if last else 0
