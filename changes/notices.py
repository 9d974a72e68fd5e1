"""Wakes the driver of a change, the pages that show it and the commands that follow it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

from django.db import connection

from catalog.hints import celery_app, send_hint
from catalog.selectors import events_since
from catalog.story import CLUSTER, change_stream, table_stream
from changes.driver.listener import Listener
from changes.models import ENDED, Change

FOLLOW_S = 5.0


def streams_of(change: Change) -> list[str]:
    return [CLUSTER, change_stream(change.pk), *map(table_stream, change.table_ids)]


def notify(change_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify('schemalab_change', %s)", [str(change_id)])


def send_driver(change_id: int) -> None:
    """Asks a worker to drive the change. Without a broker the timetable finds it later (X3)."""
    send_hint(partial(celery_app().send_task, "changes.tasks.drive"), change_id, "change")


def follow(change_id: int, *, since: int = 0, until: float | None = None) -> Iterator[dict[str, Any]]:
    """Yields the change's story from event `since` as it is committed, until the change ends or `until` (monotonic)."""
    with closing(Listener("schemalab_change")) as listener:
        while True:
            is_over = Change.objects.values_list("status", flat=True).get(pk=change_id) in ENDED
            for event in events_since(change_stream(change_id), since):
                since = event["seq"]
                yield event
            left_s = FOLLOW_S if until is None else min(FOLLOW_S, until - time.monotonic())
            if is_over or left_s <= 0:
                return
            listener.wait({("schemalab_change", str(change_id))}, left_s)
