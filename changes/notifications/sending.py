"""Sends one delivery: claims it, sends it, and on failure tries again later, until it gives up the eighth time. A
worker that dies after sending sends again, with the same id, by which a receiver can tell."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from catalog.hints import EXPIRES_S, celery_app, sent
from catalog.uninterrupted import uninterrupted
from changes.models import Delivery, Destination
from changes.notifications import email, messages, webhook
from changes.notifications.webhook import NotDelivered

log = logging.getLogger(__name__)

AT_ONCE = 20
TRIES_MAX = 8
FIRST_PAUSE = timedelta(seconds=5)
PAUSE_MAX = timedelta(hours=1)
CLAIM = timedelta(minutes=10)
"""Longer than any sending takes: then the worker that claimed it has died."""
AT_ONCE_SENT = 2
"""Deliveries that are sent at the same time: their workers drive changes, too, and an address may take its seconds."""
SLOTS = 7_302_201
ANSWER_MAX = 500
CLAIMED = """
UPDATE changes_delivery SET due_at = clock_timestamp() + %s, tries = tries + 1
WHERE id = %s AND state = 'pending' AND due_at <= clock_timestamp()
"""
DUE = """
UPDATE changes_delivery SET asked_until = clock_timestamp() + %s WHERE id IN (
    SELECT id FROM changes_delivery WHERE state = 'pending' AND due_at <= clock_timestamp()
    AND (asked_until IS NULL OR asked_until <= clock_timestamp()) ORDER BY due_at LIMIT %s FOR UPDATE SKIP LOCKED
) RETURNING id
"""
LOST = """
UPDATE changes_delivery SET state = 'given_up', answer = 'its worker died at each try', ended_at = clock_timestamp()
WHERE state = 'pending' AND due_at <= clock_timestamp() AND tries >= %s
"""
ENDED = "UPDATE changes_delivery SET state = %s, answer = %s, ended_at = clock_timestamp() WHERE id = %s AND tries = %s"
LATER = "UPDATE changes_delivery SET due_at = clock_timestamp() + %s, answer = %s WHERE id = %s AND tries = %s"


def find_due() -> list[UUID]:
    """Asks workers to send due deliveries, a bounded number; gives up those whose worker died each time."""
    with connection.cursor() as cursor:
        cursor.execute(LOST, [TRIES_MAX])
        cursor.execute(DUE, [timedelta(seconds=EXPIRES_S), AT_ONCE])
        found = [row[0] for row in cursor.fetchall()]
    for number in found:
        ask = partial(celery_app().send_task, "changes.tasks.deliver", (str(number),), retry=False, expires=EXPIRES_S)
        sent(ask, f"delivery {number}", "the timetable will")
    return found


def deliver(number: UUID) -> Delivery.State | None:
    """Sends one delivery if it is due and a slot is free; its state, or None when it was left alone."""
    with connection.cursor() as cursor:
        slot = _free_slot(cursor)
        if slot is None:
            return None
        try:
            cursor.execute(CLAIMED, [CLAIM, number])
            if not cursor.rowcount:
                return None
            with uninterrupted():
                return _try(number)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [SLOTS, slot])


def _free_slot(cursor: Any) -> int | None:
    """Takes one of the slots for concurrent sending; the end of the session frees it, too."""
    for slot in range(AT_ONCE_SENT):
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [SLOTS, slot])
        if cursor.fetchone()[0]:
            return slot
    return None


def _try(number: UUID) -> Delivery.State | None:
    delivery = Delivery.objects.select_related("destination").filter(pk=number).first()
    if delivery is None:
        return None
    try:
        answer = _send(delivery)
    except NotDelivered as why:
        return _failed(delivery, str(why))
    except Exception as mistake:  # ours, or of a setting: given up after as many tries as a refusal
        log.exception("delivery %s", delivery.pk)
        return _failed(delivery, f"{type(mistake).__name__}: {mistake}")
    _write(ENDED, [Delivery.State.DELIVERED, answer[:ANSWER_MAX], number, delivery.tries])
    return Delivery.State.DELIVERED


def _send(delivery: Delivery) -> str:
    to, number = delivery.destination, str(delivery.pk)
    if not to.is_on:
        raise NotDelivered("the destination was switched off")
    if to.kind == Destination.Kind.WEBHOOK:
        return webhook.post(to.address, delivery.message, delivery=number, secret=to.secret)
    return email.send(to.address, delivery.message, delivery=number)


def _failed(delivery: Delivery, why: str) -> Delivery.State:
    log.warning("delivery %s to %s failed, try %s: %s", delivery.pk, delivery.destination, delivery.tries, why)
    if delivery.tries >= TRIES_MAX:
        _write(ENDED, [Delivery.State.GIVEN_UP, why[:ANSWER_MAX], delivery.pk, delivery.tries])
        return Delivery.State.GIVEN_UP
    _write(LATER, [pause_after(delivery.tries), why[:ANSWER_MAX], delivery.pk, delivery.tries])
    return Delivery.State.PENDING


def pause_after(tries: int) -> timedelta:
    return min(FIRST_PAUSE * 2 ** (tries - 1), PAUSE_MAX)


def _write(statement: str, values: list[object]) -> None:
    """Writes the outcome, unless the claim expired and another worker tries."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def ask_for_test(destination: Destination, *, who: str) -> Delivery:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        at = cursor.fetchone()[0]
        made = Delivery(destination=destination, message=messages.of_test(who, at.isoformat()), due_at=at)
        made.about = f"test {made.pk}"
        made.save(force_insert=True)
    return made
