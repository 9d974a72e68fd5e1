"""At sign-in a visitor's progress becomes the person's."""

from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest


@receiver(user_logged_in, dispatch_uid="lab.learning")
def keep_progress(request: HttpRequest | None, user: User, **_: Any) -> None:
    """Sign-in by a command has no request."""
    from lab.learning import services  # the graders, which most processes never need

    session = getattr(request, "session", None)
    if session is not None:
        services.take_over(user.pk, session)
