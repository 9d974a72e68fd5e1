"""SQL passwords of people: made, replaced and removed."""

import logging
from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password

from nodes.models import SqlPassword
from nodes.wire.scram import is_password_of, verifier_from, verifier_of

log = logging.getLogger(__name__)


def set_sql_password(user: User, password: str, *, who: str) -> None:
    """Keep a verifier of this password for the user. Raises Django's `ValidationError` for one that is too weak."""
    validate_password(password, user)
    SqlPassword.objects.update_or_create(user=user, defaults={"verifier": str(verifier_of(password))})
    log.info("SQL password of %r set by %r", user.get_username(), who)


def remove_sql_password(user: User, *, who: str) -> bool:
    removed, _ = SqlPassword.objects.filter(user=user).delete()
    if removed:
        log.info("SQL password of %r removed by %r", user.get_username(), who)
    return bool(removed)


def is_sql_password(user: User, password: str) -> bool:
    kept = SqlPassword.objects.filter(user=user).values_list("verifier", flat=True).first()
    return kept is not None and is_password_of(verifier_from(kept), password)


def sql_password_changed_at(user: User) -> datetime | None:
    return SqlPassword.objects.filter(user=user).values_list("changed_at", flat=True).first()
