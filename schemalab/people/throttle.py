"""The page's password throttle, over all its processes. Waits are those of the SQL ports (`nodes.people.attempts`). A
try counts before its password is checked and is taken back when right, so that concurrent tries gain nothing."""

from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from nodes.people.attempts import FORGOTTEN_S, KNOWN_S, Subjects, Tally, is_forgotten, wait_s
from schemalab.models import SignInTally


def begin_try(subjects: Subjects) -> float:
    """Counts a try as failed; when it has to wait, counts nothing and returns the seconds."""
    keys, now = sorted(set(subjects)), timezone.now()
    # so the table holds no more than what an hour of wrong passwords leaves, and who signed in within a month
    SignInTally.objects.filter(last_at__lt=now - timedelta(seconds=FORGOTTEN_S), is_known=False).delete()
    SignInTally.objects.filter(last_at__lt=now - timedelta(seconds=KNOWN_S)).delete()
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
    """Takes the try back; the name is known at this address from now on."""
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
