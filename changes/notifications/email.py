"""Sends a message over the SMTP server of EMAIL_URL, within a time. The Message-ID is the delivery's id."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parseaddr
from smtplib import SMTP, SMTPException
from threading import Timer
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend

from changes.notifications import messages
from changes.notifications.webhook import NotDelivered, cut

ADDRESSES_MAX = 20
SECONDS_MAX = 20.0


def addresses(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]


def send(to: str, message: dict[str, Any], *, delivery: str) -> str:
    """Raises `NotDelivered`."""
    if not settings.EMAIL_HOST:
        raise NotDelivered("no SMTP server: set EMAIL_URL")
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    backend = Backend()
    prepared = EmailMessage(
        messages.subject(message),
        messages.body(message),
        to=addresses(to),
        connection=backend,
        headers={"Message-ID": f"<{delivery}@{domain}>", "Auto-Submitted": "auto-generated"},
    )
    try:
        with _in_time(backend):
            prepared.send()
    except (OSError, SMTPException) as error:
        raise NotDelivered(f"{type(error).__name__}: {error}"[:200]) from error
    return "accepted by the SMTP server"


class Backend(EmailBackend):
    """Django's backend, whose socket another thread can shut down before the server's greeting, too."""

    def __init__(self) -> None:
        super().__init__()
        self.conversation: SMTP | None = None

    @property
    def connection_class(self) -> type[SMTP]:
        backend, known = self, super().connection_class

        class Conversation(known):  # type: ignore[misc, valid-type]
            def _get_socket(self, *where: Any) -> Any:
                self.sock = super()._get_socket(*where)
                backend.conversation = self
                return self.sock

        return Conversation

    def cut(self) -> None:
        if self.conversation is not None and self.conversation.sock is not None:
            cut(self.conversation.sock)


@contextmanager
def _in_time(backend: Backend) -> Iterator[None]:
    timer = Timer(SECONDS_MAX, backend.cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
