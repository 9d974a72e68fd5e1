"""Driving changes in a worker: a task takes an id, may run twice, and can resume."""

from __future__ import annotations

import os
import socket
import threading

from celery import shared_task
from django.db import connection

from changes import driving, services

BEAT = {
    "find-stuck-changes": {"task": "changes.tasks.find_stuck", "schedule": 2.0, "options": {"expires": 2}},
    "free-orphaned-tables": {"task": "changes.tasks.free_orphaned_tables", "schedule": 5.0, "options": {"expires": 5}},
}

STUCK = """
SELECT DISTINCT ON (c.table_id) c.id, c.status, c.wishes <> '[]'
FROM changes_change c LEFT JOIN changes_schemachangelease l ON l.table_id = c.table_id
WHERE c.status NOT IN ('done', 'failed', 'cancelled') AND (l.expires_at IS NULL OR l.expires_at <= clock_timestamp())
ORDER BY c.table_id, c.id
"""
"""The change whose turn it is on each table that no worker moves."""


def holder() -> str:
    """This worker's name in the schema-change lease."""
    return f"{socket.gethostname()} {os.getpid()} {threading.get_ident()}"


@shared_task
def drive(change_id: int) -> None:
    """Walk a change until it ends or rests."""
    driving.drive(change_id, holder=holder())


@shared_task
def find_stuck() -> list[int]:
    """Send a driver for every change that should move and that nobody moves (X2, X3)."""
    with connection.cursor() as cursor:
        cursor.execute(STUCK)
        found = [change_id for change_id, status, is_wished in cursor.fetchall() if status != "paused" or is_wished]
    for change_id in found:
        services.send_driver(change_id)
    return found


@shared_task
def free_orphaned_tables() -> None:
    """Free names that died nodes had reserved."""
    services.free_orphaned_tables()
