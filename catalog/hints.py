"""Messages to workers that may get lost: what is to be done is in the database, and the timetable looks for it there.

    whoever commits    hint --> a worker, at once
    the timetable      hint --> a worker, every few seconds, for what nobody does

So a broker that is away costs seconds and fails nobody, and a message that nobody took in time is dropped: while all
workers are busy, others do not pile up behind it.
"""

import logging

from celery import current_app
from kombu.exceptions import OperationalError as BrokerDown
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

EXPIRES_S = 10.0


def send_hint(task: str, number: int, what: str) -> None:
    """Ask for a task that takes an id. `what` it is of, for the log. May be sent again; raises nothing."""
    try:
        current_app.send_task(task, (number,), retry=False, expires=EXPIRES_S)
    except (BrokerDown, RedisError, OSError) as error:
        log.warning("%s %s not sent to a worker, the timetable will: %s", what, number, error)
