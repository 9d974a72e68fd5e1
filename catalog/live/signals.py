"""Receives a signal of Django: somebody has signed out."""

from typing import Any

from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest

from catalog.services import end_sockets


@receiver(user_logged_out)
def end_live_pages(request: HttpRequest, **_: Any) -> None:
    """A page that stays open in another tab must not go on showing what only signed-in people may see.

    Django ends the session only after this signal: a page that is closed before, and opens anew, would be signed in. A
    session that gets another key (a new password) goes on, and so do its pages.
    """
    key = request.session.session_key
    if key:
        request.session.delete(key)
        end_sockets(key)
