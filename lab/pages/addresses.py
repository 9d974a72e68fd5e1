"""Addresses of pages that open a session."""

from django.urls import reverse

from lab.sessions.session import Session, link_of


def address_of(page: str, session: Session, at: int | None = None, **named: str) -> str:
    """The page with a session at a position (None: its end); "" if the session is too long for a link."""
    link = link_of(session, at)
    return f"{reverse(page, kwargs=named)}?s={link}" if link else ""
