"""Messages of notifications, as data and as text."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.urls import reverse

from catalog.text.plain_text import plain
from changes.models import Change, Destination

Json = dict[str, Any]
STATEMENT_MAX = 500
OCCASIONS = {
    "change failed": Destination.Occasion.FAILED,
    "change done": Destination.Occasion.DONE,
    "change cancelled": Destination.Occasion.CANCELLED,
    "change awaiting approval": Destination.Occasion.APPROVAL,
    "change approved": Destination.Occasion.APPROVAL,
    "change rejected": Destination.Occasion.APPROVAL,
}
"""The kinds of events that somebody may be notified of."""


def of_event(event: Json, change: Change) -> Json:
    return _message(OCCASIONS[event["kind"]], event["sentence"], event["at"], change)


def of_wait(change: Change, *, step: str, waited_s: float, nodes: list[str], at: str) -> Json:
    whom = f" for {', '.join(nodes)}" if nodes else ""
    words = f"Change {change.pk} of {change.table_name} has waited {waited_s:.0f} s{whom} ({step})."
    return _message(Destination.Occasion.WAITING, words, at, change) | {"waited_s": round(waited_s, 1), "nodes": nodes}


def of_test(who: str, at: str) -> Json:
    return {
        "occasion": "test",
        "text": f"{who} tries out notifications of this Schema Lab: nothing has happened.",
        "at": at,
        "address": address("/"),
    }


def _message(occasion: str, words: str, at: str, change: Change) -> Json:
    return {
        "occasion": str(occasion),
        "text": words,
        "at": at,
        "address": address(reverse("change", args=[change.pk])),
        "change": {
            "id": change.pk,
            "table": change.table_name,
            "statement": change.statement[:STATEMENT_MAX],
            "who": change.who,
            "status": change.status,
        },
    }


def address(path: str) -> str:
    """A page's public address; the path alone when neither PUBLIC_URL nor the port is known."""
    if settings.PUBLIC_URL:
        return f"{settings.PUBLIC_URL}{path}"
    return f"http://{settings.HOST}:{settings.PORT}{path}" if settings.PORT else path


def subject(message: Json) -> str:
    change = message.get("change")
    words = f"{message['occasion']}: change {change['id']} of {change['table']}" if change else message["occasion"]
    return f"[Schema Lab] {' '.join(plain(words).split())}"


def body(message: Json) -> str:
    change = message.get("change")
    lines = [message["text"], "", message["address"]]
    if change:
        lines += ["", change["statement"], f"submitted by {change['who']}"]
    return "\n".join(lines) + "\n"
