"""The outbox: makes deliveries from the story, each event once for each destination, even after crashes. The story's
numbers have no gaps and follow commits, so one number, moved in the same transaction, says how far it was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from django.db import connection

from catalog.models import StoryEvent
from catalog.selectors import event_json, newest_seq
from catalog.services import control_transaction
from catalog.story import CLUSTER
from changes import selectors
from changes.models import Change, Delivery, Destination, OutboxPlace
from changes.notifications import messages

EVENTS_AT_ONCE = 500
KEPT = timedelta(days=30)
"""So long deliveries that have ended are kept for people to look at."""
FORGOTTEN_AT_ONCE = 1000
FORGET = """
DELETE FROM changes_delivery WHERE id IN (
    SELECT id FROM changes_delivery WHERE ended_at < clock_timestamp() - %s ORDER BY ended_at LIMIT %s
)
"""


def collect() -> int:
    """Makes deliveries of new events and of waits that are too long; returns their number."""
    with control_transaction() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        at = cursor.fetchone()[0]
        events = _new_events()
        destinations = list(Destination.objects.filter(is_on=True, created_at__lte=at))
        made = [*_of_events(events, destinations, at), *_of_waits(destinations, at)]
        Delivery.objects.bulk_create(made, ignore_conflicts=True)
    return len(made)


def forget_old() -> None:
    with connection.cursor() as cursor:
        cursor.execute(FORGET, [KEPT, FORGOTTEN_AT_ONCE])


def _new_events() -> list[StoryEvent]:
    """The events after the last place, which moves. The first call starts at the end of the story."""
    place = OutboxPlace.objects.select_for_update().filter(pk=CLUSTER).first()
    newest = newest_seq(CLUSTER)
    if place is None:
        OutboxPlace.objects.bulk_create([OutboxPlace(stream=CLUSTER, seq=newest)], ignore_conflicts=True)
        return []
    upto = min(newest, place.seq + EVENTS_AT_ONCE)
    if upto <= place.seq:
        return []
    found = StoryEvent.objects.filter(stream=CLUSTER, seq__gt=place.seq, seq__lte=upto, kind__in=messages.OCCASIONS)
    events = list(found.order_by("seq"))
    OutboxPlace.objects.filter(pk=CLUSTER).update(seq=upto)
    return events


def _of_events(events: Iterable[StoryEvent], destinations: list[Destination], at: datetime) -> Iterator[Delivery]:
    changes = Change.objects.in_bulk([event.payload.get("change") for event in events])
    for event in events:
        change = changes.get(event.payload.get("change"))
        if change is None:
            continue
        message = messages.of_event(event_json(event), change)
        for one in destinations:
            if message["occasion"] in one.occasions and event.at >= one.created_at:
                yield Delivery(destination=one, about=f"event {event.seq}", message=message, due_at=at)


def _of_waits(destinations: list[Destination], at: datetime) -> Iterator[Delivery]:
    wanting = [one for one in destinations if Destination.Occasion.WAITING in one.occasions]
    if not wanting:
        return
    for step, waited_s in selectors.waits_now(at.timestamp()):
        what = f"{step.kind} of v{step.version}"
        message = messages.of_wait(
            step.change, step=what, waited_s=waited_s, nodes=list(step.waited_for), at=at.isoformat()
        )
        for one in wanting:
            if waited_s >= one.wait_s:
                about = f"wait of change {step.change_id} {step.road} {step.number}"
                yield Delivery(destination=one, about=about, message=message, due_at=at)
