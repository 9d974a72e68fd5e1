"""Signing in with a password, on the page and in the admin: a wrong one delays the next (`nodes.people.attempts`).

A try is counted before its password is looked at and taken back when it was right, so that many at once are not more
than one after the other. A sign-in link (`schemalab.people.sign_in_links`) never waits: whoever has the cluster's
terminal always gets in.
"""

import logging
import math
from datetime import timedelta
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import ngettext

from nodes.people.attempts import (
    FORGOTTEN_S,
    KNOWN_S,
    NAME_CHARS_MAX,
    Subjects,
    Tally,
    is_forgotten,
    subjects_of,
    wait_s,
)
from schemalab.models import SignInTally

log = logging.getLogger(__name__)

TOO_SOON = "too_soon"


class SlowedBackend(ModelBackend):
    """Django's own backend, which refuses to look at a password that comes too soon after wrong ones."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **more: Any
    ) -> AbstractBaseUser | None:
        if request is None or username is None or password is None:
            return super().authenticate(request, username, password, **more)
        address = request.META.get("REMOTE_ADDR") or ""
        subjects = subjects_of(username, address)
        left_s = begin_try(subjects)
        if left_s > 0:
            raise ValidationError(too_soon(math.ceil(left_s)), code=TOO_SOON)
        user = super().authenticate(request, username, password, **more)
        if user is None:
            log.warning("wrong password on the page for %r from %s", username[:NAME_CHARS_MAX], address)
        else:
            note_success(subjects)
        return user


def too_soon(seconds: int) -> str:
    return ngettext(
        "There were too many wrong passwords: wait %(n)s second, then try again.",
        "There were too many wrong passwords: wait %(n)s seconds, then try again.",
        seconds,
    ) % {"n": seconds}


def begin_try(subjects: Subjects) -> float:
    """Count a try as if it failed; or, when it has to wait, count nothing and return for how long."""
    keys, now = sorted(set(subjects)), timezone.now()
    _forget_old(now)
    with transaction.atomic():
        SignInTally.objects.bulk_create([SignInTally(subject=key, last_at=now) for key in keys], ignore_conflicts=True)
        rows = list(SignInTally.objects.select_for_update().filter(pk__in=keys).order_by("pk"))
        tallies = {row.subject: _tally(row, now.timestamp()) for row in rows}
        left_s = wait_s(subjects, tallies, now.timestamp())
        if left_s > 0:
            return left_s
        for row in rows:
            row.failures, row.last_at = tallies[row.subject].failures + 1, now
        SignInTally.objects.bulk_update(rows, ["failures", "last_at"])
    return 0.0


def note_success(subjects: Subjects) -> None:
    """The try was none of those that count, and the name is known at this address from now on."""
    with transaction.atomic():
        for subject in sorted(set(subjects)):
            row = SignInTally.objects.filter(pk=subject)
            if subject == subjects.pair:
                row.update(failures=0, is_known=True)
            else:
                row.update(failures=Greatest(F("failures") - 1, 0))


def _tally(row: SignInTally, now: float) -> Tally:
    tally = Tally(row.failures, row.last_at.timestamp(), row.is_known)
    return Tally() if is_forgotten(tally, now) else tally


def _forget_old(now: Any) -> None:
    """So the table holds no more than what an hour of wrong passwords leaves, and who signed in within a month."""
    SignInTally.objects.filter(last_at__lt=now - timedelta(seconds=FORGOTTEN_S), is_known=False).delete()
    SignInTally.objects.filter(last_at__lt=now - timedelta(seconds=KNOWN_S)).delete()
