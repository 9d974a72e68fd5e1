"""Receives a signal of Django: somebody has signed out."""

from typing import Any

from django.contrib.auth.signals import user_logged_out
from django.dispatch import receiver
from django.http import HttpRequest

from catalog.services import end_sockets


@receiver(user_logged_out)
def end_live_pages(request: HttpRequest, **_: Any) -> None:
    """A page that stays open in another tab must not go on showing what only signed-in people may see."""
    if request.session.session_key:
        end_sockets(request.session.session_key)
