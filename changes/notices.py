"""Notices of a change: to the worker that drives it, the pages that show it, and whoever follows it to its end."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from celery import current_app
from django.db import connection
from kombu.exceptions import OperationalError as BrokerDown
from redis.exceptions import RedisError

from catalog.selectors import events_since
from catalog.story import CLUSTER, change_stream, table_stream
from changes.driver.listener import Listener
from changes.models import ENDED, Change

log = logging.getLogger(__name__)


FOLLOW_S = 5.0
DRIVER_WANTED_S = 10


def streams_of(change: Change) -> list[str]:
    """The streams of the cluster, the change, and each of its tables."""
    return [CLUSTER, change_stream(change.pk), *map(table_stream, change.table_ids)]


def notify(change_id: int) -> None:
    """Wake the change's driver, and the pages that show it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify('schemalab_change', %s)", [str(change_id)])


def send_driver(change_id: int) -> None:
    """Ask a worker to drive the change. Without a broker nothing is lost: the beat finds the change (X3).

    While all workers are busy the beat asks every two seconds: an old question goes, so that they do not pile up.
    """
    try:
        current_app.send_task(
            "changes.tasks.drive", (change_id,), queue="default", retry=False, expires=DRIVER_WANTED_S
        )
    except (BrokerDown, RedisError, OSError) as error:
        log.warning("change %s not sent to a worker, the beat will: %s", change_id, error)


def follow(change_id: int, *, since: int = 0, until: float | None = None) -> Iterator[dict[str, Any]]:
    """The change's story from event `since` on, each event as it is committed, until the change has ended.

    `until` (on the monotonic clock) ends it earlier.
    """
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
