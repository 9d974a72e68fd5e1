"""Messages to workers that may get lost: what is to be done is in the database, and the timetable looks for it there.

    whoever commits    hint --> a worker, at once
    the timetable      hint --> a worker, every few seconds, for what nobody does

So a broker that is away costs seconds and fails nobody, and a message that nobody took in time is dropped: while all
workers are busy, others do not pile up behind it.
"""

import logging
from collections.abc import Callable

from kombu.exceptions import OperationalError as BrokerDown
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

EXPIRES_S = 10.0


def send_hint(ask: Callable[..., object], number: int, what: str) -> None:
    """Ask for a task that takes an id, `what` it is of. May be sent again; a broker that is away raises nothing.

    `ask` is Celery's `apply_async` of the task, or its `send_task`, which never does the task here and now.
    """
    try:
        ask((number,), retry=False, expires=EXPIRES_S)
    except (BrokerDown, RedisError, OSError) as error:
        log.warning("%s %s not sent to a worker, the timetable will: %s", what, number, error)
