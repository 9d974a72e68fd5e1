"""The right to be served, checked at every heartbeat: an open socket would outlive its session, account and roles."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.utils import timezone

from catalog.live import snapshot


class Reader(Protocol):
    """A socket: `session_hash` is what its session had from the account's password."""

    user: Any
    session_key: str
    session_hash: str
    streams: dict[str, int]


class Verdict(enum.Enum):
    SERVED = enum.auto()
    WITHOUT_SESSION = enum.auto()
    """Signed out, expired, or of an older password."""
    REFUSED = enum.auto()
    """The account is closed, or may not follow one of the streams."""


Socket = TypeVar("Socket", bound=Reader)


def verdicts(sockets: Iterable[Socket]) -> dict[Socket, Verdict]:
    """Look at all of them with two queries; each socket's user is read anew, with the roles of now."""
    sockets = list(sockets)
    users = get_user_model().objects.in_bulk({socket.user.pk for socket in sockets})
    keys = {socket.session_key for socket in sockets}
    alive = Session.objects.filter(pk__in=keys, expire_date__gt=timezone.now()).values_list("pk", flat=True)
    return {socket: _verdict(socket, users.get(socket.user.pk), set(alive)) for socket in sockets}


def _verdict(socket: Reader, user: Any, alive: set[str]) -> Verdict:
    if user is None or not user.is_active:
        return Verdict.REFUSED
    socket.user = user
    if not all(snapshot.may_follow(user, stream) for stream in list(socket.streams)):
        return Verdict.REFUSED
    if socket.session_key not in alive or socket.session_hash != user.get_session_auth_hash():
        return Verdict.WITHOUT_SESSION
    return Verdict.SERVED
