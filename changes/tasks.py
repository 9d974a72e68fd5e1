"""Celery tasks: each takes an id, may run twice, and can resume."""

from __future__ import annotations

import os
import socket
import threading
from uuid import UUID

from celery import shared_task
from django.db import connection

from changes import notices, selectors
from changes.driver import driver
from changes.notifications import outbox, sending
from changes.queue import free_to_move
from changes.records import keeping
from changes.submission import new_tables

BEAT = {
    "find-stuck-changes": {"task": "changes.tasks.find_stuck", "schedule": 2.0, "options": {"expires": 2}},
    "free-orphaned-tables": {"task": "changes.tasks.free_orphaned_tables", "schedule": 5.0, "options": {"expires": 5}},
    "collect-notifications": {
        "task": "changes.tasks.collect_notifications",
        "schedule": 2.0,
        "options": {"expires": 2},
    },
    "keep-records": {"task": "changes.tasks.keep_records", "schedule": 5.0, "options": {"expires": 5}},
}

STUCK = """
SELECT id FROM changes_change WHERE id = ANY(%s) AND (status <> 'paused' OR wishes <> '[]') AND NOT EXISTS (
    SELECT FROM changes_schemachangelease AS lease
    WHERE lease.table_id = ANY(table_ids) AND lease.expires_at > clock_timestamp()
) ORDER BY id
"""
"""Of the changes whose turn it is those that should move, and whose tables no worker moves."""


def holder() -> str:
    """This worker's name in the schema-change lease."""
    return f"{socket.gethostname()} {os.getpid()} {threading.get_ident()}"


@shared_task
def drive(change_id: int) -> None:
    driver.drive(change_id, holder=holder())


@shared_task
def find_stuck() -> list[int]:
    """Sends a driver for every change that should move and does not (X2, X3)."""
    with connection.cursor() as cursor:
        cursor.execute(STUCK, [free_to_move(selectors.places())])
        found = [change_id for (change_id,) in cursor.fetchall()]
    for change_id in found:
        notices.send_driver(change_id)
    return found


@shared_task
def free_orphaned_tables() -> None:
    new_tables.free_orphaned_tables()


@shared_task
def keep_records() -> None:
    keeping.keep_records()


@shared_task
def collect_notifications() -> None:
    outbox.collect()
    sending.find_due()
    outbox.forget_old()


@shared_task
def deliver(delivery: str) -> None:
    sending.deliver(UUID(delivery))
