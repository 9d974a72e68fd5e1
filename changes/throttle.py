"""How often one person may submit: a limit against accidents, kept by the database so that every process sees it."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from changes.models import Change

SUBMISSIONS_MAX = 20
SPAN = timedelta(minutes=1)


class TooFast(Exception):
    """More submissions within a minute than one person can mean."""

    sqlstate = "53400"


def check_pace(who: str) -> None:
    """Raises `TooFast` when this person has submitted too many changes within the last minute."""
    recent = Change.objects.filter(who=who, created_at__gt=Now() - SPAN).count()
    if recent >= SUBMISSIONS_MAX:
        raise TooFast(f"{recent} changes within a minute are yours; the limit is {SUBMISSIONS_MAX}: wait a little")
