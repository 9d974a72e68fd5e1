"""A message by email, over the SMTP server of EMAIL_URL. Its Message-ID is the delivery's id, also when sent again."""

from __future__ import annotations

from email.utils import parseaddr
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail import get_connection as open_connection

from changes.notifications import messages
from changes.notifications.webhook import NotDelivered

ADDRESSES_MAX = 20


def addresses(text: str) -> list[str]:
    """The addresses of a text in which commas stand between them."""
    return [one.strip() for one in text.split(",") if one.strip()]


def send(to: str, message: dict[str, Any], *, delivery: str) -> str:
    """Send the message; raises `NotDelivered`."""
    if not settings.EMAIL_HOST:
        raise NotDelivered("no SMTP server: set EMAIL_URL")
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    prepared = EmailMessage(
        messages.subject(message),
        messages.body(message),
        to=addresses(to),
        connection=open_connection("django.core.mail.backends.smtp.EmailBackend"),
        headers={"Message-ID": f"<{delivery}@{domain}>", "Auto-Submitted": "auto-generated"},
    )
    try:
        prepared.send()
    except (OSError, SMTPException) as error:
        raise NotDelivered(f"{type(error).__name__}: {error}"[:200]) from error
    return "accepted by the SMTP server"
