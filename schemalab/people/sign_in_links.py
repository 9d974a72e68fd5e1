"""Sign-in by a signed link that works once, for 15 minutes. It carries the time of the user's last sign-in; using it
moves that time (compare-and-set), which ends all earlier links."""

from datetime import datetime

from django.contrib.auth.models import User
from django.core import signing
from django.utils import timezone

from nodes.people.rights import OWNER
from schemalab.people.roles import ROLES, give_roles

MINUTES_MAX = 15
SALT = "schemalab.sign-in-link"


class LinkRefused(Exception):
    """The link is invalid, too old, or used."""


def owner() -> User:
    """The first user of a cluster, who may do everything and signs in by links."""
    user, created = User.objects.get_or_create(username=OWNER, defaults={"is_staff": True, "is_superuser": True})
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
        give_roles(user, tuple(ROLES))
    return user


def make_token(user: User) -> str:
    return signing.dumps({"user": user.pk, "last": _stamp(user.last_login)}, salt=SALT)


def use_token(token: str) -> User:
    try:
        claims = signing.loads(token, salt=SALT, max_age=MINUTES_MAX * 60)
    except signing.SignatureExpired:
        raise LinkRefused("expired") from None
    except signing.BadSignature:
        raise LinkRefused("unknown") from None
    user = User.objects.filter(pk=claims["user"], is_active=True).first()
    if user is None:
        raise LinkRefused("unknown")
    if _stamp(user.last_login) != claims["last"] or not _move_last_login(user):
        raise LinkRefused("used")
    return user


def _move_last_login(user: User) -> bool:
    """Zero rows: another use of the link was first."""
    unmoved = User.objects.filter(pk=user.pk, last_login=user.last_login)
    if user.last_login is None:
        unmoved = User.objects.filter(pk=user.pk, last_login__isnull=True)
    user.last_login = timezone.now()
    return bool(unmoved.update(last_login=user.last_login))


def _stamp(moment: datetime | None) -> str:
    return moment.isoformat() if moment else "never"
