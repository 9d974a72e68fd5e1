"""Closes live pages when a person signs out."""

from typing import Any

from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest

from catalog.services import end_sockets


@receiver(user_logged_out)
def end_live_pages(request: HttpRequest, **_: Any) -> None:
    """A page open in another tab must stop showing what only signed-in people see. Django ends the session after this
    signal: a page closed earlier would reopen signed in. A session that gets a new key (a new password) keeps its
    pages."""
    key = request.session.session_key
    if key:
        request.session.delete(key)
        end_sockets(key)
